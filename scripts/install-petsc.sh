#!/usr/bin/env bash
# Installs what the plug-in for PETSc (petsc/) is built and tested with: PETSc with its MPI, mpiexec, and the sources of
# PETSc's tutorials. Debian and Ubuntu; about 290 MB. Does nothing on a prepared machine.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install-dependencies.sh pkg-config petsc-dev mpi-default-bin
version=$(pkg-config --modversion PETSc | cut -d. -f1,2)
scripts/install-dependencies.sh "libpetsc$version-dev-examples"
