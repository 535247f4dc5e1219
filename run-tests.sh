#!/usr/bin/env bash
# Installs what is missing, builds, checks format and lint, and runs every test that this machine can run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
# shellcheck source=tests/setup.sh
. tests/setup.sh

set_up tests
build dev

# Another version formats and warns differently; the project follows the one of Debian 12.
has_version_14() { [[ $("$1" --version 2>/dev/null) == *"version 14."* ]]; }

if has_version_14 clang-format; then
  step "format: clang-format"
  mapfile -t files < <(find . \( -path ./build -o -path ./.git \) -prune -o \( -name '*.[ch]pp' -o -name '*.[ch]' \) -print)
  quiet format clang-format --dry-run --Werror "${files[@]}"
else
  step "format: left out, it takes clang-format 14"
fi

if has_version_14 clang-tidy; then
  step "lint: clang-tidy, on what it has not found clean before"
  mapfile -t files < <(find db inject tuner -name '*.cpp')
  quiet lint python3 -B tests/lint.py build/dev "${files[@]}"
  tail -n 1 build/lint.log
else
  step "lint: left out, it takes clang-tidy 14"
fi

# Each reader of foreign bytes for a few seconds; `cmake --build build/fuzz --target fuzz` takes ten minutes for each.
if command -v clang++ >/dev/null; then
  build fuzz fuzzers
  step "fuzz: five seconds for each reader of files and texts"
  quiet fuzz cmake --build build/fuzz --target fuzz_briefly
else
  step "fuzz: left out, it takes clang++"
fi

step "tests: ctest in build/dev, its output in build/tests.log"
code=0
ctest --preset dev --parallel "$(nproc)" >build/tests.log 2>&1 || code=$?
grep -q 'tests passed' build/tests.log || {
  tail -n 40 build/tests.log >&2
  fail "ctest ran no tests. All that it said is in build/tests.log"
}
if ((code != 0)); then
  # What the failed tests said, without the lines of those that passed.
  grep -v -E '^ *[0-9]+/[0-9]+ Test +#.*(Passed|Skipped)|^ +Start ' build/tests.log | head -n 200 >&2
  echo "error: tests failed. All that they said is in build/tests.log" >&2
fi
sed -n '/tests passed/,$p' build/tests.log
exit "$code"
