#!/usr/bin/env bash
# Installs Kernel Tuner from PyPI into FOLDER, a virtual environment of its own, and runs a command there if one is given:
#   tests/with_kernel_tuner.sh build/kernel_tuner tests/exchange_with_kernel_tuner.py build/dev/regtune tests/data/h200
# With all that it needs (NumPy, SciPy, pandas, ...) that took two minutes, so it is asked for and never done unasked.
set -euo pipefail

if [ $# -lt 1 ]; then
  echo "usage: $0 FOLDER [SCRIPT ARGUMENTS...]" >&2
  exit 2
fi
folder=$1
shift

# Pinned: the version whose files were compared.
package=kernel-tuner==1.4.0

if [ ! -e "$folder/complete" ]; then
  rm -rf "$folder"
  python3 -m venv "$folder"
  "$folder/bin/python" -m pip install --quiet --disable-pip-version-check "$package"
  touch "$folder/complete"
fi
[ $# -eq 0 ] || exec "$folder/bin/python" "$@"
