#!/usr/bin/env bash
# Gets the public repositories whose kernels are compared, as FOLDER/owner/name: the folders alone that they need.
#   bench/peers/fetch_public.sh FOLDER
# BASE says where from (default: https://github.com). What is there already is left alone; what cannot be fetched is
# said, and its kernels are skipped by the comparison.
set -euo pipefail

if [ $# -ne 1 ]; then
  echo "usage: $0 FOLDER" >&2
  exit 2
fi
base=${BASE:-https://github.com}
mkdir -p "$1"
cd "$1"

fetch() {  # owner/name, folders of it
  local repository=$1
  shift
  if [ -e "$repository/.git" ]; then
    echo "$repository: is there"
    return
  fi
  mkdir -p "$(dirname "$repository")"
  if git clone --quiet --depth 1 --filter=blob:none --sparse "$base/$repository" "$repository" &&
    git -C "$repository" sparse-checkout set "$@"; then
    echo "$repository: $(git -C "$repository" rev-parse --short HEAD)"
  else
    rm -rf "$repository"
    echo "$repository: not fetched from $base"
  fi
}

fetch siboehm/SGEMM_CUDA src
fetch karpathy/llm.c dev/cuda llmc
fetch gabrielfrtg/fletcher-io original
fetch zjin-lcf/HeCBench src/{floydwarshall2,mis,rushlarsen,lulesh,kalman}-cuda
fetch KernelTuner/kernel_tuner examples/cuda
fetch ethereum-mining/ethminer libethash-cuda
fetch straaljager/GPU-path-tracing-tutorial-1
fetch NVIDIA/cuda-samples Common Samples/2_Concepts_and_Techniques/imageDenoising \
  Samples/3_CUDA_Features/bf16TensorCoreGemm Samples/4_CUDA_Libraries/conjugateGradientMultiBlockCG
fetch pyscf/gpu4pyscf gpu4pyscf/lib/gvhf-md gpu4pyscf/lib/gvhf-rys
fetch brucefan1983/GPUMD src
