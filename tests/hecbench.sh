#!/usr/bin/env bash
# Studies every CUDA program of a HeCBench checkout (zjin-lcf/HeCBench) whose folder begins with a to m, as its authors
# wrote it and with nothing but its own folder on the include path, and prints one line for each: the exit code, the
# file, and what kept it. Takes minutes to hours; --sample N takes every Nth file.
#   tests/hecbench.sh PROGRAM CHECKOUT [--sample N]
set -u
program=${1:-} checkout=${2:-} every=1
[ "${3:-}" = --sample ] && every=${4:?a number}
if [ ! -x "$program" ] || [ ! -d "$checkout/src" ]; then
  echo "skipped: usage: tests/hecbench.sh PROGRAM CHECKOUT; there is no checkout of HeCBench at '$checkout'"
  exit 0
fi
program=$(realpath "$program")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$checkout/src" || exit 1
grep -lE '__global__' [a-m]*-cuda/*.cu | awk -v n="$every" 'NR % n == 0' | while read -r file; do
  timeout 300 "$program" analyze "$file" --kernel all --compiler nvrtc --arch sm_90 --compile-budget 0.01 --cache "$scratch/cache.db" \
    --quiet --json >"$scratch/out" 2>"$scratch/err"
  code=$?
  case $code in
    0) class=studied ;;
    4) class="not compiled" ;;
    5) class="no instance" ;;
    124) class="too slow" ;;
    *) class=other ;;
  esac
  # A template argument that was guessed is told, since it is no fact of the program.
  [ $code = 0 ] && grep -q 'are a guess' "$scratch/out" && class="studied, instance guessed"
  why=
  [ $code != 0 ] && why=$(grep -m1 -E '\([0-9]+\): (catastrophic )?error' "$scratch/err" || head -1 "$scratch/err")
  echo "| $file | $class | ${why//|//} |"
done | tee "$scratch/table"
echo
awk -F' \\| ' '{count[$2]++} END {for (c in count) print count[c], c}' "$scratch/table" | sort -rn
