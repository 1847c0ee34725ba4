#!/usr/bin/env bash
# Builds everything and runs all tests.
#
#   scripts/test.sh [--build] [PRESET] [CTEST-ARGUMENT...]
#
#   --build        builds, and runs nothing
#   PRESET         release (default), dev, asan, asan-quick or host-only
#   CTEST-ARGUMENT goes to ctest, e.g. --label-regex spmv
#
# TESSERA_TEST_DATA   directory of real Matrix Market files; tests that need them skip where it is unset
# TESSERA_CMAKE_ARGS  further arguments for the configuration, e.g. -DTESSERA_WARNINGS_AS_ERRORS=ON
set -euo pipefail
cd "$(dirname "$0")/.."
only_build=
if [ "${1:-}" = --build ]; then
  only_build=yes
  shift
fi
preset=${1:-release}
shift || true

scripts/install-dependencies.sh
# shellcheck disable=SC2086  # several arguments in one variable
cmake --preset "$preset" -DTESSERA_BUILD_TESTS=ON ${TESSERA_CMAKE_ARGS:-}
cmake --build --preset "$preset" --parallel "$(nproc)"
[ -n "$only_build" ] || ctest --preset "$preset" --parallel "$(nproc)" "$@"
