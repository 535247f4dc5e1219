#!/usr/bin/env bash
# ./quickstart.sh KERNEL.cu [OPTIONS]: installs what is missing, builds regtune, and runs it on that kernel.
set -euo pipefail
# shellcheck source=tests/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/tests/setup.sh"

(($# > 0)) || fail "which kernel? For example: ./quickstart.sh kernels/decay_wide.cu"
set_up program
build release regtune

step "run: regtune $*"
code=0
"$root/build/release/regtune" "$@" || code=$?
if ((code == 20)); then  # compiled and analysed, but no GPU
  step "no GPU here: everything was compiled and analysed, nothing was timed or stored. On a machine with a GPU, run the same command."
  exit 0
fi
exit "$code"
