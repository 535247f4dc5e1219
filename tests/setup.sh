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
  local missing=() package sudo=()
  for package; do
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
  quiet packages "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}"
}

# Leaves the toolkit's folder in CUDA_HOME, where the build and the program look first.
find_cuda_toolkit() {
  local folder nvcc
  nvcc=$(command -v nvcc || true)
  nvcc=${nvcc:+$(dirname "$(dirname "$(readlink -f "$nvcc")")")}
  for folder in "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda /usr/local/cuda-* "$nvcc" /opt/cuda; do
    [[ -n $folder && -f $folder/include/nvrtc.h && -f $folder/include/nvJitLink.h ]] || continue
    export CUDA_HOME=$folder
    return
  done
  local machine ID=debian VERSION_ID=12
  # shellcheck source=/dev/null
  [[ -r /etc/os-release ]] && . /etc/os-release
  machine=$(uname -m)
  [[ $machine == aarch64 ]] && machine=sbsa
  fail "the CUDA toolkit (12 or newer) was not found: no include/nvrtc.h and include/nvJitLink.h in CUDA_HOME,
  CUDA_PATH, /usr/local/cuda*, nvcc's folder or /opt/cuda. Set CUDA_HOME to
  where it is, or install it from NVIDIA's repository:
  curl -fLO https://developer.download.nvidia.com/compute/cuda/repos/$ID${VERSION_ID//./}/$machine/cuda-keyring_1.1-1_all.deb
  sudo dpkg -i cuda-keyring_1.1-1_all.deb && sudo apt-get update && sudo apt-get install -y cuda-toolkit-13-0"
}

# set_up program|tests: what the build needs, or the tests too.
set_up() {
  local packages=(g++ cmake ninja-build libboost-program-options-dev libsqlite3-dev libtomlplusplus-dev
    nlohmann-json3-dev libxxhash-dev libfmt-dev liblua5.4-dev)
  [[ $1 == tests ]] && packages+=(libgtest-dev libgmock-dev clang-format clang-tidy ccache pkg-config
    dpkg-dev)
  install_packages "${packages[@]}"
  find_cuda_toolkit
}

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
