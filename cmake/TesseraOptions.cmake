# User-visible switches and the defaults of a single-configuration build.

set(TESSERA_EMULATOR_WORKS OFF)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(TESSERA_EMULATOR_WORKS ON)
endif()
option(TESSERA_BUILD_APPS "Build the command-line program solve" ${PROJECT_IS_TOP_LEVEL})
option(TESSERA_BUILD_EXAMPLES "Build the examples" ${PROJECT_IS_TOP_LEVEL})
option(TESSERA_BUILD_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(TESSERA_BUILD_EMULATOR "Build the tests of the CUDA backend on an emulated GPU (tests/emulator); x86-64 only"
  ${TESSERA_EMULATOR_WORKS})
option(TESSERA_SPARE_EMULATED_TESTS "Run fewer cases of each test on the emulated GPU" OFF)
option(TESSERA_BUILD_GPU_TESTS "Build the test programs of the CUDA backend that need a GPU, if CUDA is built" ON)
option(TESSERA_BUILD_BENCH "Build the programs that measure (bench/)" OFF)
option(TESSERA_BUILD_FUZZERS "Build the libFuzzer targets of tests/fuzz; needs clang (scripts/fuzz.sh does it all)" OFF)
option(TESSERA_INSTALL "Make rules for cmake --install" ${PROJECT_IS_TOP_LEVEL})
option(BUILD_SHARED_LIBS "Build a shared library instead of a static one" OFF)
option(TESSERA_PRECOMPILED_HEADERS "Parse the headers of the standard library, {fmt}, GoogleTest and Eigen once per kind of target" ${PROJECT_IS_TOP_LEVEL})
option(TESSERA_WARNINGS_AS_ERRORS "Treat compiler warnings as errors" OFF)
option(TESSERA_NATIVE "Tune for this machine's processor; the binaries may not run elsewhere" OFF)
option(TESSERA_STATIC_RUNTIME "Link compiler runtimes and {fmt} into the programs, so that they run without them" OFF)
set(TESSERA_SANITIZE "" CACHE STRING "Sanitizers to build with, e.g. address,undefined")
option(TESSERA_SANITIZE_TESTS "Build the tests themselves with the sanitizers, too" ON)
set(TESSERA_TEST_OBJECTS "" CACHE PATH
  "Build tree whose object files of the tests are linked instead of compiling the tests again; same sources, same compiler")
set(TESSERA_CUDA "AUTO" CACHE STRING "CUDA backend: AUTO (if nvcc is found), ON, or OFF")
set_property(CACHE TESSERA_CUDA PROPERTY STRINGS AUTO ON OFF)
set(TESSERA_CUDA_ARCHITECTURES "90" CACHE STRING "GPU architectures to compile for, e.g. 80;90;100;120")

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  find_program(TESSERA_CCACHE ccache)
  if(TESSERA_CCACHE)
    # ccache takes precompiled headers into account only when it is told that __TIME__ in them does not matter.
    set(CMAKE_CXX_COMPILER_LAUNCHER
      "${CMAKE_COMMAND};-E;env;CCACHE_SLOPPINESS=pch_defines,time_macros;${TESSERA_CCACHE}" CACHE STRING "Compiler launcher")
    set(CMAKE_CUDA_COMPILER_LAUNCHER "${TESSERA_CCACHE}" CACHE STRING "Compiler launcher")
  endif()
endif()
