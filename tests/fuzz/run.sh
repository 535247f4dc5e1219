#!/usr/bin/env bash
# run.sh PROGRAMS FOLDER SECONDS NAME...: fuzzes each NAME for so many seconds, as many at once as there are cores, or as
# REGTUNE_FUZZ_JOBS says. Starts from the seeds, goes on from what earlier runs left in FOLDER/corpus, and leaves inputs
# that failed in FOLDER/findings.
set -euo pipefail
programs=$1 folder=$2 seconds=$3
shift 3
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$here/../..
mkdir -p "$folder/findings"

seeds_of() {
  case $1 in
    source_scan) printf '%s\n' "$root"/kernels/*.cu "$root"/examples/*/* ;;
    description) printf '%s\n' "$root"/kernels/*.cu "$root"/examples/*/* "$here"/seeds/description/* ;;
    ncu) printf '%s\n' "$root"/tests/data/ncu/*.csv ;;
    *) printf '%s\n' "$here/seeds/$1"/* ;;
  esac
}

# A compiler of kernels finds its seeds in texts of a few KiB, cubins and records are larger.
longest_input() {
  case $1 in
    bundle | cubin | replay) echo 32768 ;;
    *) echo 8192 ;;
  esac
}

fuzz() {
  local name=$1 corpus=$folder/corpus/$1 log=$folder/$1.log seed
  mkdir -p "$corpus"
  while read -r seed; do cp "$seed" "$corpus/seed-${seed##*/}"; done < <(seeds_of "$name")
  # 10 s for one input is a hang: the readers are linear in their input.
  if "$programs/${name}_fuzz" "$corpus" -max_total_time="$seconds" -max_len="$(longest_input "$name")" -timeout=10 \
    -rss_limit_mb=2048 -artifact_prefix="$folder/findings/$name-" -print_final_stats=1 >"$log" 2>&1; then
    printf '%s: %s inputs, nothing found\n' "$name" "$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")"
  else
    printf '%s: FAILED, all that it said is in %s\n' "$name" "$log" >&2
    grep -m 5 -E 'ERROR|runtime error|SUMMARY|artifact' "$log" >&2 || tail -n 5 "$log" >&2
    return 1
  fi
}
export -f fuzz seeds_of longest_input
export programs folder seconds here root
printf '%s\n' "$@" | xargs -P "${REGTUNE_FUZZ_JOBS:-$(nproc)}" -I NAME bash -c 'fuzz NAME'
