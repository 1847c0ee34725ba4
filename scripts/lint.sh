#!/usr/bin/env bash
# Checks formatting and runs clang-tidy with the project's configuration; any finding fails.
#
#   scripts/lint.sh [PRESET] [FILE...]     PRESET: a configured build directory with compile commands (default release);
#                                          FILEs: sources to check (default: all of them)
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:-release}
shift || true

git ls-files '*.hpp' '*.cpp' '*.cuh' '*.cu' | xargs clang-format --dry-run --Werror

if [ $# -gt 0 ]; then
  sources=("$@")
else
  mapfile -t sources < <(git ls-files 'core/*.cpp' 'io/*.cpp' 'preprocess/*.cpp' 'spmv/*.cpp' 'solvers/*.cpp' \
    'apps/*.cpp' 'examples/*.cpp')
fi
printf '%s\0' "${sources[@]}" | xargs -0 -P "$(nproc)" -n 1 clang-tidy --quiet -p "build/$preset" --extra-arg=-Wno-unknown-warning-option
