#!/bin/bash
# Studies the public kernels of examples/public/ as their authors wrote them, and prints a table.
# usage: tests/public_corpus.sh CHECKOUTS [REGTUNE]
# CHECKOUTS holds the repositories as owner/name; what is not there is skipped with a line. BUDGET: seconds of compiling
# for each kernel (default 60).
set -u
folder=$(cd "$(dirname "$0")/.." && pwd)
if [ $# -lt 1 ] || [ ! -d "$1" ]; then
  echo "skipped: no checkouts of the public repositories (usage: $0 CHECKOUTS [REGTUNE])"
  exit 0
fi
checkouts=$(cd "$1" && pwd)
regtune=${2:-$folder/build/release/regtune}
cd "$folder" || exit 2

gromacs=$checkouts/gromacs/gromacs
madgraph=$checkouts/madgraph5/madgraph4gpu/epoch1/cuda/gg_ttgg

studied=0
passed=0
study() {  # name, file below CHECKOUTS, options of regtune
  local name=$1 file=$checkouts/$2
  shift 2
  if [ ! -f "$file" ]; then
    echo "| $name | skipped: ${file#"$checkouts"/} is not there | | | |"
    return
  fi
  studied=$((studied + 1))
  local answer
  answer=$(mktemp)
  if "$regtune" analyze "$file" --arch sm_90 --compile-budget "${BUDGET:-60}" --json --quiet "$@" > "$answer" 2> "$answer.err"; then
    passed=$((passed + 1))
    python3 - "$name" "$answer" << 'END'
import json, sys
study = json.load(open(sys.argv[2]))["studies"][0]
facts = study["record"]["trials"][0]["facts"]
spills = f'{facts["spill_store_bytes"]}/{facts["spill_load_bytes"]}'
print(f'| {sys.argv[1]} | passes | {facts["registers_per_thread"]} | {spills} | {study["distinct_codes"]} |')
END
  else
    echo "| $name | fails: $(grep -a 'error\|regtune:' "$answer.err" | tail -n 1 | cut -c1-160) | | | |"
  fi
  rm -f "$answer" "$answer.err"
}

echo "| case | analyze | registers | spill st/ld | distinct codes |"
echo "|---|---|---|---|---|"
for description in examples/public/*.toml; do
  name=$(basename "$description" .toml)
  # The first line says whose it is: "# owner/name: path/to/file.cu".
  read -r _ repository path _ < "$description"
  study "$name" "${repository%:}/$path" --description "$description"
done
study gromacs_nbnxm "${gromacs#"$checkouts"/}/src/gromacs/nbnxm/cuda/nbnxm_cuda_kernel_F_noprune.cu" \
  -k '*ElecEw_VdwLJ_F_cuda*' -D GMX_GPU_CUDA=1 -D GMX_GPU_NB_CLUSTER_SIZE=8 -D GMX_GPU_NB_NUM_CLUSTER_PER_BIN_X=2 \
  -D GMX_GPU_NB_NUM_CLUSTER_PER_BIN_Y=2 -D GMX_GPU_NB_NUM_CLUSTER_PER_BIN_Z=2 -I "$gromacs/src" \
  -I "$gromacs/api/legacy/include" -I "$gromacs/src/gromacs/utility/include" -I "$gromacs/src/gromacs/math/include" \
  -I "$gromacs/src/gromacs/pbcutil/include"
process=SubProcesses/P1_Sigma_sm_gg_ttxgg
study madgraph_sigmakin "${madgraph#"$checkouts"/}/$process/CPPProcess.cu" \
  -k sigmaKin --block 256 -I "$madgraph/src" -I "$madgraph/$process" -- -use_fast_math -lineinfo
echo "$passed of $studied pass"
[ "$passed" -eq "$studied" ]
