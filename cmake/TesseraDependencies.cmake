# Finds what Tessera is built on, and says which Debian package to install when something is missing.

set(TESSERA_MISSING "")

macro(tessera_find package debian_package)
  find_package(${package} QUIET ${ARGN})
  if(NOT ${package}_FOUND)
    string(APPEND TESSERA_MISSING "\n  ${package} (Debian/Ubuntu: ${debian_package})")
  endif()
endmacro()

tessera_find(ZLIB zlib1g-dev)
tessera_find(fmt libfmt-dev)
if(TESSERA_OPENMP)
  tessera_find(OpenMP "g++, which brings libgomp" COMPONENTS CXX)
else()
  # Nothing to compile or link with: the pragmas are ignored.
  add_library(OpenMP::OpenMP_CXX INTERFACE IMPORTED)
  set_target_properties(OpenMP::OpenMP_CXX PROPERTIES INTERFACE_COMPILE_OPTIONS -Wno-unknown-pragmas)
endif()
if(TESSERA_BUILD_APPS)
  tessera_find(CLI11 libcli11-dev)
  tessera_find(nlohmann_json nlohmann-json3-dev)
  tessera_find(tomlplusplus libtomlplusplus-dev)
endif()
if(TESSERA_BUILD_BENCH)
  tessera_find(Eigen3 libeigen3-dev)
  tessera_find(CLI11 libcli11-dev)
  tessera_find(nlohmann_json nlohmann-json3-dev)
endif()
if(TESSERA_BUILD_TESTS)
  tessera_find(Eigen3 libeigen3-dev)
  tessera_find(GTest libgtest-dev)
endif()

if(TESSERA_MISSING)
  message(FATAL_ERROR "Tessera needs packages that were not found:${TESSERA_MISSING}\n"
    "On Debian and Ubuntu, scripts/install-dependencies.sh installs them all.")
endif()
