#!/usr/bin/env bash
# Checks formatting and runs clang-tidy with the project's configuration; any finding fails. What was clean before and
# has not changed since is passed over (scripts/clang-tidy-cached.py; TESSERA_LINT_CACHE names another place).
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
  mapfile -t sources < <(git ls-files 'core/*.cpp' 'io/*.cpp' 'preprocess/*.cpp' 'spmv/*.cpp' 'spgemm/*.cpp' 'solvers/*.cpp' \
    'apps/*.cpp' 'examples/*.cpp')
fi
cache=${TESSERA_LINT_CACHE:-${HOME:-build}/.cache/tessera-lint}
mkdir -p "$cache" 2>/dev/null || { cache=build/lint-cache; mkdir -p "$cache"; }
export TESSERA_LINT_CACHE=$cache
printf '%s\0' "${sources[@]}" | xargs -0 -P "$(nproc)" -n 1 scripts/clang-tidy-cached.py "build/$preset"
find "$cache" -type f -mtime +30 -delete
