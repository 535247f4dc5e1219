#!/usr/bin/env bash
# Whether the author's own code has the same registers and spills under NVRTC, as regtune compiles it, as under nvcc on
# the untouched file. Prints a line for each kernel that differs, and how many of those that both compile are equal.
# Skips with a line where there is no nvcc, or none of the files is there.
#   tests/nvcc_baselines.sh PROGRAM FILE... [-- options of both compilers]
#   tests/nvcc_baselines.sh PROGRAM --checkout FOLDER [-- options of both compilers]   every .cu with a kernel below it
# ARCH is the architecture (sm_90), JOBS how many files at once. FOLDER's files are compiled with their own folder on the
# include path.
set -u
program=${1:-} arch=${ARCH:-sm_90} jobs=${JOBS:-$(nproc)}
[ $# -gt 0 ] && shift
if [ ! -x "$program" ]; then
  echo "skipped: there is no program '$program'; usage: tests/nvcc_baselines.sh PROGRAM FILE... [-- options]"
  exit 0
fi
nvcc=${REGTUNE_NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
if [ ! -x "$nvcc" ]; then
  echo "skipped: there is no nvcc"
  exit 0
fi
files=() options=()
while [ $# -gt 0 ]; do
  case $1 in
    --) shift; options=("$@"); break ;;
    --checkout)
      while IFS= read -r file; do files+=("$file"); done < <(grep -rlE --include='*.cu' '__global__' "${2:-/nowhere}" 2>/dev/null | sort)
      shift ;;
    *) [ -f "$1" ] && files+=("$1") ;;
  esac
  shift
done
if [ ${#files[@]} = 0 ]; then
  echo "skipped: none of the files is there"
  exit 0
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export program nvcc arch scratch
one() { # number file options...
  local number=$1 file=$2
  shift 2
  mkdir "$scratch/$number"
  printf '%s' "$file" >"$scratch/$number/file"
  timeout 300 "$nvcc" -cubin "-arch=$arch" -Xptxas -v -I "$(dirname "$file")" "$@" -o "$scratch/$number/cubin" "$file" \
    >"$scratch/$number/nvcc" 2>&1
  echo $? >"$scratch/$number/nvcc_rc"
  timeout 600 "$program" check "$file" --arch "$arch" --compiler nvrtc --max-spill-bytes 1000000000 --quiet --json \
    -- "$@" >"$scratch/$number/json" 2>"$scratch/$number/err"
  echo $? >"$scratch/$number/rc"
}
export -f one
for i in "${!files[@]}"; do printf '%s\0%s\0' "$i" "${files[$i]}"; done |
  xargs -0 -n 2 -P "$jobs" bash -c 'pair=("${@: -2}"); one "${pair[@]}" "${@:1:$#-2}"' - "${options[@]}"
python3 - "$scratch" <<'PYTHON'
import json, os, re, sys

folder = sys.argv[1]


def read(path):
    with open(path, errors="replace") as file:
        return file.read()


def alike(name):  # NVRTC's uint64_t is unsigned long long, nvcc's is unsigned long
    return name.translate(str.maketrans("yx", "ml"))


def of_nvcc(log):
    kernels, name, stack = {}, None, (0, 0)
    for line in log.splitlines():
        if found := re.search(r"Compiling entry function '([^']+)'", line):
            name, stack = found[1], (0, 0)
        elif found := re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", line):
            stack = (int(found[1]), int(found[2]))
        elif (found := re.search(r"Used (\d+) registers", line)) and name:
            kernels[alike(name)] = (int(found[1]), *stack)
            name = None
    return kernels


files = only_nvcc = neither = compared = equal = missing = 0
rows = []
for number in sorted((n for n in os.listdir(folder) if n.isdigit()), key=int):
    at = lambda name: os.path.join(folder, number, name)
    file = read(at("file"))
    if read(at("nvcc_rc")).strip() != "0":
        neither += 1
        continue
    files += 1
    nvcc = of_nvcc(read(at("nvcc")))
    if not nvcc:
        continue
    try:
        ours = {alike(k["kernel"]): k for k in json.loads(read(at("json")))["kernels"]}
    except (ValueError, KeyError):
        only_nvcc += 1
        continue
    for name, (registers, stores, loads) in sorted(nvcc.items()):
        kernel = ours.get(name)
        if kernel is None:
            missing += 1
            continue
        compared += 1
        mine = (kernel["registers_per_thread"], kernel["spill_store_bytes"], kernel["spill_load_bytes"])
        if mine == (registers, stores, loads):
            equal += 1
        else:
            rows.append((file, kernel["signature"], f"{registers}, {stores}/{loads}", f"{mine[0]}, {mine[1]}/{mine[2]}"))

if rows:
    print("| file | kernel | nvcc: registers, spills | NVRTC |\n|---|---|---|---|")
for row in rows:
    print("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |")
share = 100.0 * equal / compared if compared else 0.0
print(f"\n{compared} kernels that both compile, {equal} equal ({share:.1f} %)")
print(f"{files} files that nvcc compiles; {only_nvcc} of them not by NVRTC; {missing} kernels of nvcc's that NVRTC's code "
      f"does not have; {neither} files that nvcc does not compile")
PYTHON
