#!/usr/bin/env bash
# Checks formatting and runs clang-tidy with the project's configuration; any finding fails.
#
#   scripts/lint.sh              all formatting, clang-tidy of the sources that changed since the commit in .ci/linted
#   scripts/lint.sh --all        all formatting, clang-tidy of all sources
#   scripts/lint.sh --format     all formatting
#   scripts/lint.sh FILE...      all formatting, clang-tidy of these sources
#
# A source counts as changed with one of the headers that it alone, or it first, includes (scripts/changed-sources.py).
# What was clean before and is the same byte by byte is passed over (scripts/clang-tidy-cached.py; TESSERA_LINT_CACHE
# names another place to remember it).
set -euo pipefail
cd "$(dirname "$0")/.."

git ls-files '*.hpp' '*.cpp' '*.cuh' '*.cu' | xargs -n 64 -P "$(nproc)" clang-format --dry-run --Werror
[ "${1:-}" != --format ] || exit 0

# Into a variable first: a failure inside < <(...) would pass for an empty list.
if [ "${1:-}" = --all ]; then
  list=$(scripts/changed-sources.py --all)
elif [ $# -gt 0 ]; then
  list=$(printf '%s\n' "$@")
else
  linted=$(cat .ci/linted)
  list=$(scripts/changed-sources.py "$linted")
fi
sources=()
[ -z "$list" ] || mapfile -t sources <<<"$list"
echo "clang-tidy: ${#sources[@]} sources"
[ ${#sources[@]} -gt 0 ] || exit 0

# The bindings of Python need the headers of nanobind, which a virtual environment brings along.
bindings=()
if printf '%s\n' "${sources[@]}" | grep '^python/' >/dev/null; then
  if python3 -m venv build/lint-python && build/lint-python/bin/python -m pip install --quiet --timeout 20 nanobind; then
    bindings=(-DTESSERA_BUILD_PYTHON=ON "-DPython_EXECUTABLE=$PWD/build/lint-python/bin/python")
  else
    echo "clang-tidy: python/ SKIPPED, pip cannot install nanobind"
    mapfile -t sources < <(printf '%s\n' "${sources[@]}" | grep -v '^python/')
  fi
fi

# Without precompiled headers: clang does not read GCC's, and every source has to include what it uses.
cmake --preset release -B build/lint -DTESSERA_PRECOMPILED_HEADERS=OFF -DTESSERA_BUILD_TESTS=OFF "${bindings[@]}" >/dev/null
cache=${TESSERA_LINT_CACHE:-${HOME:-build}/.cache/tessera-lint}
mkdir -p "$cache" 2>/dev/null || { cache=build/lint-cache; mkdir -p "$cache"; }
export TESSERA_LINT_CACHE=$cache
printf '%s\0' "${sources[@]}" | xargs -0 -P "$(nproc)" -n 1 scripts/clang-tidy-cached.py build/lint
find "$cache" -type f -mtime +30 -delete
