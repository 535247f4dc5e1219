#!/usr/bin/env bash
# Runs a command against the NVRTC and nvJitLink of another CUDA 12, from NVIDIA's wheels on PyPI:
#   tests/with_wheels.sh FOLDER 12.4 build/dev/tests/nvrtc_tests
# The wheels are installed into FOLDER/12.4 once; nothing else of the machine is touched.
set -euo pipefail

if [ $# -lt 3 ]; then
  echo "usage: $0 FOLDER 12.4|12.9 COMMAND..." >&2
  exit 2
fi
folder=$1
version=$2
shift 2

# Pinned: what docs/limits.md says was seen with these.
case $version in
  12.4) packages=(nvidia-cuda-nvrtc-cu12==12.4.127 nvidia-nvjitlink-cu12==12.4.127
                  nvidia-cuda-runtime-cu12==12.4.127 nvidia-cuda-cccl-cu12==12.4.127.post1) ;;
  12.9) packages=(nvidia-cuda-nvrtc-cu12==12.9.86 nvidia-nvjitlink-cu12==12.9.86
                  nvidia-cuda-runtime-cu12==12.9.79 nvidia-cuda-cccl-cu12==12.9.27) ;;
  *) echo "$0: no wheels are pinned for CUDA $version; there are 12.4 and 12.9" >&2; exit 2 ;;
esac

wheels=$folder/$version
if [ ! -e "$wheels/complete" ]; then
  rm -rf "$wheels"
  python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --no-deps \
    --target "$wheels" "${packages[@]}"
  touch "$wheels/complete"
fi

wheels=$(cd "$wheels" && pwd)
# Headers are looked for beside the library first, which CUDA_HOME and CUDA_PATH do not change.
export REGTUNE_NVRTC=$wheels/nvidia/cuda_nvrtc/lib/libnvrtc.so.12
export REGTUNE_NVJITLINK=$wheels/nvidia/nvjitlink/lib/libnvJitLink.so.12
exec "$@"
