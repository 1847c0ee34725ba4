#!/usr/bin/env bash
# Installs the Python package into a fresh virtual environment by `pip install .`, and runs its tests there.
#
#   scripts/test-python.sh [BUILD-TREE]    BUILD-TREE: a built one, e.g. build/release, whose library is taken instead of
#                                          building another
#
# Skips, and says so, where Python cannot make virtual environments or pip cannot reach a package index.
set -euo pipefail
cd "$(dirname "$0")/.."

python=${PYTHON:-python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Debian keeps both apart from python3.
if ! "$python" -c 'import ensurepip, os, sysconfig; os.stat(sysconfig.get_path("include") + "/Python.h")' 2>/dev/null &&
  ! scripts/install-dependencies.sh python3-venv python3-dev; then
  echo "Python package: SKIPPED, $python has no headers or no module venv (Debian: python3-dev python3-venv)"
  exit 0
fi
if ! "$python" -m venv "$work/venv" >"$work/log" 2>&1; then
  echo "Python package: SKIPPED, $python makes no virtual environments ($(tail -n 1 "$work/log"))"
  exit 0
fi
pip=("$work/venv/bin/python" -m pip --disable-pip-version-check --quiet)
if ! "${pip[@]}" install --timeout 20 --retries 1 nanobind scikit-build-core numpy scipy pytest networkx mypy >"$work/log" 2>&1; then
  echo "Python package: SKIPPED, pip cannot install what it needs ($(tail -n 1 "$work/log"))"
  exit 0
fi

settings=()
if [ $# -gt 0 ]; then
  cmake --install "$1" --prefix "$work/tessera" >/dev/null
  settings=(-Ccmake.define.TESSERA_INSTALLED=ON "-Ccmake.define.CMAKE_PREFIX_PATH=$work/tessera"
    "-Cbuild-dir=$work/build")
fi
"${pip[@]}" install --no-build-isolation "${settings[@]}" .
# An example that plots is run by the tests, too; without matplotlib it says so.
"$work/venv/bin/python" -m pytest -q -p no:cacheprovider tests/python
