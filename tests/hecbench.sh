#!/usr/bin/env bash
# Studies every CUDA file with a kernel in a HeCBench checkout (zjin-lcf/HeCBench) whose program begins with a to m, as
# its authors wrote it and with nothing but the program's own folder on the include path, and prints a table: how many,
# what kept the others, and with --nvcc how registers and spills of the author's code compare with nvcc's on the
# untouched file. A line without a checkout.
#   tests/hecbench.sh PROGRAM CHECKOUT [--sample N] [--jobs N] [--nvcc] [--keep FOLDER]
# --sample N takes every Nth file (a tenth is about a minute on 16 cores, all of them some minutes); --nvcc makes the
# baseline, and counts only files that nvcc compiles; --keep leaves what the compilers said in FOLDER.
set -u
program=${1:-} checkout=${2:-} every=1 jobs=$(nproc) with_nvcc=0 keep=
[ $# -ge 2 ] && shift 2
while [ $# -gt 0 ]; do
  case $1 in
    --sample) every=${2:?a number}; shift ;;
    --jobs) jobs=${2:?a number}; shift ;;
    --nvcc) with_nvcc=1 ;;
    --keep) keep=${2:?a folder}; shift ;;
    *) echo "unknown: $1"; exit 2 ;;
  esac
  shift
done
if [ ! -x "$program" ] || [ ! -d "$checkout/src" ]; then
  echo "skipped: usage: tests/hecbench.sh PROGRAM CHECKOUT; there is no checkout of HeCBench at '$checkout'"
  exit 0
fi
nvcc=${REGTUNE_NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
if [ $with_nvcc = 1 ] && [ ! -x "$nvcc" ]; then
  echo "skipped: there is no nvcc at '$nvcc'"
  exit 0
fi
table=$(realpath "$(dirname "$0")/hecbench_table.py")
program=$(realpath "$program")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
if [ -n "$keep" ]; then mkdir -p "$keep" && keep=$(realpath "$keep"); else keep=$scratch; fi
mkdir -p "$keep/regtune" "$keep/nvcc"
cd "$checkout/src" || exit 1
export program nvcc with_nvcc keep scratch
one() {
  local file=$1 top=${1%%/*} name=${1//\//%} start
  if [ "$with_nvcc" = 1 ]; then
    timeout 300 "$nvcc" -arch=sm_90 -std=c++17 -cubin -Xptxas -v -I "$top" -o "$scratch/$name.cubin" "$file" \
      >"$keep/nvcc/$name.log" 2>&1
    echo "$? $file" >"$keep/nvcc/$name.rc"
    rm -f "$scratch/$name.cubin"
  fi
  start=$(date +%s%N)
  timeout 300 "$program" analyze "$file" -I "$top" --kernel all --compiler nvrtc --arch sm_90 --compile-budget 0.01 --jobs 1 \
    --cache "$scratch/$name.db" --quiet --json >"$keep/regtune/$name.out" 2>"$keep/regtune/$name.err"
  echo "$? $((($(date +%s%N) - start) / 1000000)) $file" >"$keep/regtune/$name.rc"
  rm -f "$scratch/$name.db"*
}
export -f one
find . -path './[a-m]*-cuda/*' -name '*.cu' -exec grep -l '__global__' {} + | sed 's,^\./,,' | sort |
  awk -v n="$every" 'NR % n == 0' | xargs -d '\n' -n 1 -P "$jobs" bash -c 'one "$1"' -
if [ "$with_nvcc" = 1 ]; then python3 "$table" "$keep/regtune" "$keep/nvcc"; else python3 "$table" "$keep/regtune"; fi
