#!/usr/bin/env bash
# Builds Tessera and solves a first problem: the Poisson equation on a 100 x 100 x 100 grid, a million unknowns.
# Leaves the program in build/release/bin/solve.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install-dependencies.sh
cmake --preset release
cmake --build --preset release --parallel "$(nproc)" --target solve

set -x
build/release/bin/solve --poisson3d 100
