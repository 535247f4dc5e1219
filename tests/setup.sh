# shellcheck shell=bash
# What quickstart.sh and run-tests.sh share; both source it. It installs what is missing, finds the CUDA toolkit
# and builds a preset: one line per step, the rest in build/*.log.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

step() { printf '== %s\n' "$*"; }

fail() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# quiet LOG COMMAND...: runs the command with its output in build/LOG.log, and shows the end of it on failure.
quiet() {
  local log=$root/build/$1.log
  shift
  mkdir -p "$root/build"
  "$@" >"$log" 2>&1 && return
  tail -n 40 "$log" >&2
  fail "'${*:1:6}' failed. All that it said is in $log"
}

# install_packages PACKAGE...: asks apt only when something is missing.
install_packages() {
  if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    step "packages: no apt here; the build needs what Debian calls $*"
    return
  fi
  local missing=() unknown=() package sudo=()
  for package; do
    [[ $package == libtomlplusplus-dev && -f /usr/local/include/toml++/toml.h ]] && continue
    [[ $(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) == installed ]] || missing+=("$package")
  done
  ((${#missing[@]})) || return 0
  step "packages: installing ${missing[*]}"
  if ((EUID != 0)); then
    command -v sudo >/dev/null || fail "neither root nor sudo. As root, run: apt-get install -y ${missing[*]}"
    sudo=(sudo)
  fi
  # One unreachable source among several need not matter: the installation decides.
  "${sudo[@]}" apt-get update >/dev/null 2>&1 || true
  for package in "${missing[@]}"; do
    apt-cache show "$package" >/dev/null 2>&1 || unknown+=("$package")
  done
  ((${#unknown[@]})) && fail "this system has no package ${unknown[*]}. Debian 12 and Ubuntu 24.04 have all that the build" \
    "needs; toml++ is also taken from /usr/local/include"
  quiet packages "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}"
}

# Leaves the toolkit's folder in CUDA_HOME, where the build and the program look first. Where there is none, NVRTC,
# nvJitLink and the headers come from NVIDIA's wheels on PyPI, into a folder in which the program looks, too: a driver is
# all that the machine itself needs.
find_cuda_toolkit() {
  local folder nvcc
  nvcc=$(command -v nvcc || true)
  nvcc=${nvcc:+$(dirname "$(dirname "$(readlink -f "$nvcc")")")}
  for folder in "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda /usr/local/cuda-* "$nvcc" /opt/cuda; do
    [[ -n $folder && -f $folder/include/nvrtc.h && -f $folder/include/nvJitLink.h ]] || continue
    export CUDA_HOME=$folder
    return
  done
  local site=${XDG_DATA_HOME:-$HOME/.local/share}/regtune/cuda
  fetch_cuda_wheels "$site"
  export CUDA_HOME=$site/nvidia/cu13
}

# fetch_cuda_wheels FOLDER: 135 MB, once. Pinned: the versions that the project is tested with.
fetch_cuda_wheels() {
  local wheels=(nvidia-cuda-nvrtc==13.0.88 nvidia-nvjitlink==13.0.88 nvidia-cuda-runtime==13.0.96
    nvidia-cuda-cccl==13.0.85 nvidia-cuda-crt==13.0.88)
  [[ -e $1/complete-13.0 ]] && return
  step "cuda: no toolkit here; NVRTC, nvJitLink and the headers come from PyPI into $1"
  python3 -m pip --version >/dev/null 2>&1 || install_packages python3-pip
  rm -rf "$1"
  quiet wheels python3 -m pip install --disable-pip-version-check --no-deps --target "$1" "${wheels[@]}"
  touch "$1/complete-13.0"
}

# For the tests alone: a toolkit without cuobjdump, as some images have it, is completed by the wheel.
find_cuobjdump() {
  [[ -z ${REGTUNE_CUOBJDUMP:-} ]] && ! command -v cuobjdump >/dev/null && [[ ! -x $CUDA_HOME/bin/cuobjdump ]] || return 0
  local site=${XDG_DATA_HOME:-$HOME/.local/share}/regtune/cuobjdump
  if [[ ! -x $site/nvidia/cu13/bin/cuobjdump ]]; then
    step "cuda: no cuobjdump here; it comes from PyPI into $site"
    python3 -m pip --version >/dev/null 2>&1 || install_packages python3-pip
    quiet cuobjdump python3 -m pip install --disable-pip-version-check --no-deps --target "$site" \
      nvidia-cuda-cuobjdump==13.5.37
  fi
  export REGTUNE_CUOBJDUMP=$site/nvidia/cu13/bin/cuobjdump
}

# Ubuntu 22.04 has no package of toml++, and its CMake is older than the build takes. The headers are those of Ubuntu
# 24.04's package, known by its hash, and CMake is its wheel from PyPI, in a folder where nothing else looks.
complete_ubuntu_22_04() {
  local site=${XDG_DATA_HOME:-$HOME/.local/share}/regtune/build
  local toml=http://archive.ubuntu.com/ubuntu/pool/universe/t/tomlplusplus/libtomlplusplus-dev_3.4.0+ds-0.2build1_amd64.deb
  local hash=e6d68dbb89f11c71fc33bd1397ab1b405e83e96b959e5c18ef82871c12051c46
  if [[ ! -f $site/usr/include/toml++/toml.h || ! -x $site/cmake/data/bin/cmake ]]; then
    step "packages: toml++ and a newer cmake, which Ubuntu 22.04 lacks, into $site"
    mkdir -p "$site"
    quiet toml /usr/lib/apt/apt-helper download-file "$toml" "$site/toml.deb" "SHA256:$hash"
    quiet toml dpkg-deb -x "$site/toml.deb" "$site"
    python3 -m pip --version >/dev/null 2>&1 || install_packages python3-pip
    quiet cmake python3 -m pip install --disable-pip-version-check --no-deps --upgrade --target "$site" cmake==3.31.10
  fi
  export CMAKE_INCLUDE_PATH=$site/usr/include${CMAKE_INCLUDE_PATH:+:$CMAKE_INCLUDE_PATH} PATH=$site/cmake/data/bin:$PATH
}

# set_up program|tests: what the build needs, or the tests too.
set_up() {
  local packages=(g++ ninja-build libboost-program-options-dev libsqlite3-dev nlohmann-json3-dev libxxhash-dev
    libfmt-dev liblua5.4-dev libzstd-dev)
  if [[ $1 == tests ]]; then
    packages+=(libgtest-dev libgmock-dev clang-format clang-tidy ccache pkg-config dpkg-dev python3)
    # The page of a report is looked at in a browser. Elsewhere that package is a snap, which a container cannot have.
    grep -q '^ID=debian' /etc/os-release 2>/dev/null && packages+=(chromium)
  fi
  if grep -q '^VERSION_ID="22.04"' /etc/os-release 2>/dev/null; then
    complete_ubuntu_22_04
  else
    packages+=(cmake libtomlplusplus-dev)
  fi
  install_packages "${packages[@]}"
  find_cuda_toolkit
  [[ $1 != tests ]] || find_cuobjdump
}

# What one clone has compiled serves the next, which CI makes in another folder. Elsewhere the folder is part of what
# ccache compares: a debugger looks for the sources there.
[[ -z ${CI:-} ]] || export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1

# build PRESET [TARGET...]
build() {
  local preset=$1
  shift
  step "build: $preset, in build/$preset"
  cd "$root" || exit
  quiet "$preset-configure" cmake --preset "$preset"
  quiet "$preset-build" cmake --build --preset "$preset" ${1:+--target "$@"}
  cd "$OLDPWD" || exit
}
