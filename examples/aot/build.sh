#!/bin/sh
# Builds decay.cu by nvcc, with the bound that the cache holds for decayBounded: build.sh FOLDER [ARCHITECTURE]
set -e
here=$(cd "$(dirname "$0")" && pwd)
nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
mkdir -p "$1"
"${REGTUNE:-regtune}" export decayBounded -o "$1/tuned_bounds.h"
"$nvcc" -arch="${2:-native}" -I "$1" -o "$1/decay" "$here/decay.cu"
