#!/usr/bin/env bash
# Builds everything and runs all tests.
#
#   scripts/test.sh [PRESET]     PRESET: release (default), dev, asan or host-only
#
# TESSERA_TEST_DATA   directory of real Matrix Market files; tests that need them skip where it is unset
# TESSERA_CMAKE_ARGS  further arguments for the configuration, e.g. -DTESSERA_WARNINGS_AS_ERRORS=ON
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:-release}

scripts/install-dependencies.sh
# shellcheck disable=SC2086  # several arguments in one variable
cmake --preset "$preset" -DTESSERA_BUILD_TESTS=ON ${TESSERA_CMAKE_ARGS:-}
cmake --build --preset "$preset" --parallel "$(nproc)"
ctest --preset "$preset" --parallel "$(nproc)"
