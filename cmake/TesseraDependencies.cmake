# Finds what Tessera is built on, and says which Debian package to install when something is missing.

set(TESSERA_MISSING "")

# What pip brings along for a wheel (pyproject.toml), where the system has no headers.
if(SKBUILD)
  list(TRANSFORM CMAKE_PREFIX_PATH APPEND /cmeel.prefix OUTPUT_VARIABLE pip_prefixes)
  list(APPEND CMAKE_SYSTEM_PREFIX_PATH ${pip_prefixes})
  list(TRANSFORM pip_prefixes APPEND /lib64)
  list(APPEND CMAKE_SYSTEM_LIBRARY_PATH ${pip_prefixes})
endif()

macro(tessera_find package debian_package)
  find_package(${package} QUIET ${ARGN})
  if(NOT ${package}_FOUND)
    string(APPEND TESSERA_MISSING "\n  ${package} (Debian/Ubuntu: ${debian_package})")
  endif()
endmacro()

tessera_find(ZLIB zlib1g-dev)
tessera_find(fmt libfmt-dev)
find_path(XXHASH_INCLUDE_DIR xxhash.h)
mark_as_advanced(XXHASH_INCLUDE_DIR)
if(SKBUILD AND NOT XXHASH_INCLUDE_DIR)
  # No package that pip could bring along has the header, but the source archive of the Python package xxhash does.
  message(STATUS "xxHash (Debian/Ubuntu: libxxhash-dev): no header found, downloading it")
  include(FetchContent)
  FetchContent_Declare(xxhash
    URL https://files.pythonhosted.org/packages/00/5e/d6e5258d69df8b4ed8c83b6664f2b47d30d2dec551a29ad72a6c69eafd31/xxhash-3.5.0.tar.gz
    URL_HASH SHA256=84f2caddf951c9cbf8dc2e22a89d4ccf5d86391ac6418fe81e3c67d0cf60b45f)
  FetchContent_MakeAvailable(xxhash)
  set(XXHASH_INCLUDE_DIR "${xxhash_SOURCE_DIR}/deps/xxhash" CACHE PATH "" FORCE)
endif()
if(NOT XXHASH_INCLUDE_DIR)
  string(APPEND TESSERA_MISSING "\n  xxhash.h (Debian/Ubuntu: libxxhash-dev)")
endif()
tessera_find(Eigen3 libeigen3-dev)
set(THREADS_PREFER_PTHREAD_FLAG ON)
tessera_find(Threads libc6-dev)
if(TESSERA_BUILD_APPS)
  tessera_find(nlohmann_json nlohmann-json3-dev)
  tessera_find(tomlplusplus libtomlplusplus-dev)
endif()
if(TESSERA_BUILD_BENCH)
  tessera_find(CLI11 libcli11-dev)
  tessera_find(nlohmann_json nlohmann-json3-dev)
endif()
if(TESSERA_BUILD_TESTS)
  tessera_find(GTest libgtest-dev)
endif()

if(TESSERA_MISSING)
  message(FATAL_ERROR "Tessera needs packages that were not found:${TESSERA_MISSING}\n"
    "On Debian and Ubuntu, scripts/install-dependencies.sh installs them all.")
endif()
