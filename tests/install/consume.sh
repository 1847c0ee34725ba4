#!/usr/bin/env bash
# Uses Tessera from outside, as its users do; any failure ends it.
#
#   consume.sh MODE BUILD_DIR SOURCE_DIR WORK_DIR
#
# MODE   install        installs BUILD_DIR into WORK_DIR/first, looks at what is there and builds a project with
#                       find_package; then moves the prefix to WORK_DIR/moved
#        find_package   the same project against the moved prefix
#        pkg_config     the same program with pkg-config and the bare compiler against the moved prefix
#        examples       the installed examples, as a project of their own, against the moved prefix
#        sources        the same project with the sources as a part of it (FetchContent): configured, its own file compiled
# CMAKE, CXX, LIBRARY (static or shared) and BUILD_TYPE come from the environment; CUDA_ROOT too, where the CUDA backend
# is built: the folder of the toolkit, which no consumer may need.
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
    "-DCMAKE_BUILD_TYPE=$BUILD_TYPE" -DCMAKE_DISABLE_FIND_PACKAGE_CUDAToolkit=ON "$@"
}

# without_toolkit DIRECTORY: nothing that a build there linked, or was told to link, lies in the CUDA toolkit.
without_toolkit() {
  if [ -n "${CUDA_ROOT:-}" ] && grep -rIlF "$CUDA_ROOT" "$1"; then fail "these files mention the CUDA toolkit"; fi
}

# use_package NAME PREFIX: configures, builds and runs it.
use_package() {
  configure "$1" "-DCMAKE_PREFIX_PATH=$2"
  "$CMAKE" --build "$work/$1" --target consumer
  [ "$("$work/$1/consumer")" = converged ] || fail "the consumer does not say 'converged'"
  without_toolkit "$work/$1/CMakeFiles/consumer.dir"
}

# As on a machine without the toolkit.
PATH=$(tr ':' '\n' <<<"$PATH" | while read -r folder; do [ -x "$folder/nvcc" ] || echo "$folder"; done | paste -sd:)
unset LIBRARY_PATH CPATH CUDA_PATH CUDA_HOME CUDACXX

case $mode in
install)
  rm -rf "${work:?}/first" "$work/moved"
  "$CMAKE" --install "$build" --prefix "$work/first" >"$work/install.log"
  for file in bin/solve include/tessera/tessera.hpp share/doc/tessera/LICENSE share/doc/tessera/README.md \
    share/doc/tessera/docs/solving.md share/doc/tessera/examples/CMakeLists.txt \
    share/doc/tessera/schemas/solve.run-1.schema.json share/bash-completion/completions/solve \
    share/zsh/site-functions/_solve share/fish/vendor_completions.d/solve.fish share/man/man1/solve.1; do
    [ -s "$work/first/$file" ] || fail "$file is not installed"
  done
  "$source/scripts/markdown_links.py" "$work/first" || fail "the installed documents have dead links"
  cmp <("$work/first/bin/solve" completion bash) "$work/first/share/bash-completion/completions/solve" ||
    fail "the installed completion is not what solve prints"
  # Text only: the command names the toolkit's libraries in its messages.
  without_toolkit "$work/first/lib"*
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
examples)
  consumer=$(find "$work/moved" -type d -path '*/doc/tessera/examples')
  configure with_examples "-DCMAKE_PREFIX_PATH=$work/moved"
  "$CMAKE" --build "$work/with_examples" --parallel 2
  "$work/with_examples/solve_matrix_market" "$consumer/data/chain.mtx" | grep -q 'status: *converged' ||
    fail "solve_matrix_market does not say 'converged'"
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
