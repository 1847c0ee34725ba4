#!/usr/bin/env bash
# Uses Tessera from outside, as its users do; any failure ends it.
#
#   consume.sh MODE BUILD_DIR SOURCE_DIR WORK_DIR
#
# MODE   install        installs BUILD_DIR into WORK_DIR/first, looks at what is there and builds a project with
#                       find_package; then moves the prefix to WORK_DIR/moved
#        find_package   the same project against the moved prefix
#        pkg_config     the same program with pkg-config and the bare compiler against the moved prefix
#        sources        the same project with the sources as a part of it (FetchContent): configured, its own file compiled
# CMAKE, CXX, LIBRARY (static or shared) and BUILD_TYPE come from the environment.
set -euo pipefail
mode=$1 build=$2 source=$3 work=$4
consumer=$source/tests/install/consumer

fail() { echo "consume.sh $mode: $1" >&2; exit 1; }

# configure NAME ARGUMENTS...: configures the consumer in WORK_DIR/NAME.
configure() {
  local name=$1
  shift
  rm -rf "${work:?}/$name"
  "$CMAKE" -S "$consumer" -B "$work/$name" -G "Unix Makefiles" "-DCMAKE_CXX_COMPILER=$CXX" \
    "-DCMAKE_BUILD_TYPE=$BUILD_TYPE" "$@"
}

# use_package NAME PREFIX: configures, builds and runs it.
use_package() {
  configure "$1" "-DCMAKE_PREFIX_PATH=$2"
  "$CMAKE" --build "$work/$1" --target consumer
  [ "$("$work/$1/consumer")" = converged ] || fail "the consumer does not say 'converged'"
}

case $mode in
install)
  rm -rf "${work:?}/first" "$work/moved"
  "$CMAKE" --install "$build" --prefix "$work/first" >"$work/install.log"
  for file in bin/solve include/tessera/tessera.hpp share/doc/tessera/LICENSE share/doc/tessera/README.md \
    share/doc/tessera/docs/solving.md; do
    [ -e "$work/first/$file" ] || fail "$file is not installed"
  done
  # No installed text leads back to where it was built or first installed.
  for place in "$build" "$source" "$work"; do
    if grep -rIlF "$place" "$work/first"; then fail "these files mention $place"; fi
  done
  use_package with_first "$work/first"
  mv "$work/first" "$work/moved"
  [ "$("$work/moved/bin/solve" --poisson2d 10 | grep -c 'status *converged')" = 1 ] || fail "the moved solve does not work"
  ;;
find_package)
  use_package with_moved "$work/moved"
  ;;
pkg_config)
  PKG_CONFIG_PATH=$(dirname "$(find "$work/moved" -name tessera.pc)")
  export PKG_CONFIG_PATH
  flags=()
  [ "$LIBRARY" = shared ] || flags=(--static)
  read -ra compile <<<"$(pkg-config --cflags tessera)"
  read -ra link <<<"$(pkg-config "${flags[@]}" --libs tessera)"
  "$CXX" -std=c++20 "${compile[@]}" "$consumer/main.cpp" -o "$work/by_hand" "${link[@]}"
  lib=$(pkg-config --variable=libdir tessera)
  [ "$(LD_LIBRARY_PATH=$lib "$work/by_hand")" = converged ] || fail "the program does not say 'converged'"
  ;;
sources)
  configure with_sources "-DTESSERA_SOURCE_DIR=$source" -DTESSERA_CUDA=OFF
  # What a surrounding project could break: the generated source, and the include path that the target hands on. The
  # library itself has been compiled often enough.
  "$CMAKE" --build "$work/with_sources" --target tessera_version
  [ -s "$work/with_sources/_deps/tessera-build/core/version.cpp" ] || fail "version.cpp is not generated"
  "$CMAKE" --build "$work/with_sources" --target main.o
  ;;
*)
  fail "unknown mode"
  ;;
esac
