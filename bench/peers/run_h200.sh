#!/usr/bin/env bash
# The comparison on a GPU machine, in a folder that pack.sh made or in the repository, all parts or those named:
#   bash bench/peers/run_h200.sh OUT [PART...]
# LIMIT: seconds for all of it (default: 560). CASES: kernels of the parts strategies and public (default: all). The raw
# results are in OUT/results.jsonl from the first second on, so that a run that is cut loses nothing; a second call with
# other parts adds to them.
set -u

if [ $# -lt 1 ]; then
  echo "usage: $0 OUT [PART...]" >&2
  exit 2
fi
out=$1
shift
folder=$(cd "$(dirname "$0")/../.." && pwd)
cd "$folder" || exit 2
export PATH=$PATH:/usr/local/cuda/bin
regtune=$folder/regtune
[ -x "$regtune" ] || regtune=$folder/build/release/regtune
# Work files, with machine code and compilers' caches, stay on that machine.
arguments=(--regtune "$regtune" --out "$out" --work "$(mktemp -d)" --limit "${LIMIT:-560}")
[ -d site ] && arguments+=(--site "$folder/site")
[ -d public ] && arguments+=(--public "$folder/public")
[ -z "${CASES:-}" ] || arguments+=(--cases "$CASES")
if [ $# -gt 0 ]; then
  parts=$(IFS=,; echo "$*")
  arguments+=(--parts "$parts")
fi
PYTHONUNBUFFERED=1 exec python3 -B bench/peers "${arguments[@]}"
