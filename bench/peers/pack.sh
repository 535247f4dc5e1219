#!/usr/bin/env bash
# Makes one folder, and an archive of it, of all that the comparison needs, for a GPU machine that has neither a network
# nor a build of regtune:
#   bench/peers/pack.sh FOLDER [CHECKOUTS]
# BUILD is the release build (default: build/release), PYTHON_VERSION the other machine's (default: 3.12), which must
# have NumPy, SciPy, pandas, scikit-learn and CuPy; Triton and PyTorch for Triton's part. CHECKOUTS: as fetch_public.sh
# makes them; their sources alone are taken. There: unpack FOLDER.tar.gz, and bash bench/peers/run_h200.sh OUT in it.
set -euo pipefail

if [ $# -lt 1 ]; then
  echo "usage: $0 FOLDER [CHECKOUTS]" >&2
  exit 2
fi
repository=$(cd "$(dirname "$0")/../.." && pwd)
build=${BUILD:-$repository/build/release}
mkdir -p "$1"
folder=$(cd "$1" && pwd)
checkouts=${2:+$(cd "$2" && pwd)}

mkdir -p "$folder/bench" "$folder/examples"
rm -rf "$folder/bench/peers" "$folder/kernels" "$folder/examples/public"
cp -r "$repository/bench/peers" "$folder/bench/"
cp -r "$repository/kernels" "$folder/"
cp -r "$repository/examples/public" "$folder/examples/"
for program in regtune bench_compile_engine bench_lookup; do
  if [ -x "$build/$program" ]; then
    strip -o "$folder/$program" "$build/$program"
  else
    echo "$build/$program is not there: its part will be skipped"
  fi
done

if [ ! -d "$folder/site/kernel_tuner" ]; then
  platforms=()
  for platform in manylinux_2_28_x86_64 manylinux_2_27_x86_64 manylinux_2_24_x86_64 manylinux_2_17_x86_64 \
    manylinux2014_x86_64 manylinux1_x86_64; do
    platforms+=(--platform "$platform")
  done
  python3 -m pip install --quiet --disable-pip-version-check --no-deps --no-compile --only-binary=:all: \
    --python-version "${PYTHON_VERSION:-3.12}" --implementation cp "${platforms[@]}" --target "$folder/site" \
    --requirement "$repository/bench/peers/kernel_tuner_packages.txt" ||
    echo "Kernel Tuner could not be had from PyPI: its parts will be skipped"
  # The folder has to travel: what these packages hold for other versions of Python is left, as are their own sources
  # and tests.
  version=${PYTHON_VERSION:-3.12}
  find "$folder/site" -name '*.cpython-*.so' -not -name "*.cpython-${version/./}-*" -delete
  find "$folder/site" \( -name '*.c' -o -name '*.cpp' -o -name '*.pyx' \) -delete
  find "$folder/site" -depth -type d \( -name tests -o -name test -o -name __pycache__ -o -name bin \) -exec rm -r {} +
fi

if [ -n "$checkouts" ]; then
  rm -rf "$folder/public"
  mkdir -p "$folder/public"
  (cd "$checkouts" && find . -type f \( -name '*.cu' -o -name '*.cuh' -o -name '*.h' -o -name '*.hpp' -o -name '*.inl' \
    -o -name '*.cc' -o -name '*.c' \) -not -path '*/.git/*' -print0 | tar -c --null -T -) | tar -x -C "$folder/public"
fi
tar -czf "$folder.tar.gz" -C "$folder" .
du -h "$folder.tar.gz"
