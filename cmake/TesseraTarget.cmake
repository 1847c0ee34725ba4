# How every target of this project is compiled.

function(tessera_compile_settings target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  set(warnings -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wdouble-promotion
    -Wnon-virtual-dtor -Wold-style-cast -Wcast-align -Woverloaded-virtual)
  # GCC 12 warns falsely about std::string's operator+ (GCC bug 105329).
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    list(APPEND warnings -Wno-restrict)
  endif()
  # With sanitizers GCC warns falsely about values that may be uninitialized, std::regex's among them (GCC bug 105616).
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND TESSERA_SANITIZE)
    list(APPEND warnings -Wno-maybe-uninitialized)
  endif()
  if(TESSERA_WARNINGS_AS_ERRORS)
    list(APPEND warnings -Werror)
  endif()
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${warnings}>")
  # CUDA_STANDARD 20 is unknown to the CMake of Debian 12.
  target_compile_options(${target} PRIVATE
    "$<$<COMPILE_LANGUAGE:CUDA>:-std=c++20;--extended-lambda;-Xcompiler=-Wall,-Wextra>"
    "$<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<BOOL:${TESSERA_WARNINGS_AS_ERRORS}>>:-Werror=all-warnings>")
  if(TESSERA_NATIVE)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-march=native>)
  endif()
  if(TESSERA_SANITIZE)
    target_compile_options(${target} PRIVATE
      $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${TESSERA_SANITIZE};-fno-sanitize-recover=all;-fno-omit-frame-pointer>)
    target_link_options(${target} PUBLIC -fsanitize=${TESSERA_SANITIZE})
    if(NOT TESSERA_SANITIZE_TESTS)
      # Eigen would allocate in another way than in the tests, which free what the library allocates.
      target_compile_definitions(${target} PRIVATE EIGEN_MALLOC_ALREADY_ALIGNED=1)
    endif()
  endif()
  if(TESSERA_STATIC_RUNTIME)
    target_link_options(${target} PUBLIC -static-libstdc++ -static-libgcc)
  endif()
endfunction()

# Headers that most sources of a target include. Sources stay self-contained: clang-tidy compiles them without these.
function(tessera_precompile target)
  if(TESSERA_PRECOMPILED_HEADERS)
    set(names algorithm array cmath cstdint functional memory optional span string string_view utility vector
      fmt/format.h ${ARGN})
    list(TRANSFORM names REPLACE "(.+)" "$<$<COMPILE_LANGUAGE:CXX>:<\\1$<ANGLE-R>>")
    target_precompile_headers(${target} PRIVATE ${names})
  endif()
endfunction()

# {fmt}: inside the binary where it must run on machines without the shared library.
if(TESSERA_STATIC_RUNTIME)
  set(TESSERA_FMT_TARGET fmt::fmt-header-only)
  if(SKBUILD)
    set(TESSERA_ZLIB_LIBRARY ZLIB::ZLIB)  # every machine that a wheel is for has libz.so.1
  else()
    find_library(TESSERA_ZLIB_LIBRARY NAMES libz.a)
  endif()
else()
  set(TESSERA_FMT_TARGET fmt::fmt)
endif()

function(tessera_link_runtime target)
  if(TESSERA_STATIC_RUNTIME)
    target_link_libraries(${target} PRIVATE ${TESSERA_ZLIB_LIBRARY} Threads::Threads dl)
  else()
    target_link_libraries(${target} PRIVATE Threads::Threads ZLIB::ZLIB)
  endif()
  target_link_libraries(${target} PRIVATE ${TESSERA_FMT_TARGET})
endfunction()

# The libraries of file formats that were found (TesseraDependencies.cmake); consumers of an installed static library link
# them by name.
function(tessera_link_formats target)
  foreach(library IN LISTS TESSERA_FORMAT_LIBRARIES)
    target_link_libraries(${target} PRIVATE "$<BUILD_INTERFACE:${library}>")
  endforeach()
  foreach(name IN LISTS TESSERA_FORMAT_NAMES)
    target_link_libraries(${target} PRIVATE "$<INSTALL_INTERFACE:${name}>")
  endforeach()
endfunction()

# Links with the folders that an installation has (ARGN). CMake would end those of a build tree with
# a colon, and an empty element is the working directory: whoever writes there would have his libraries run.
function(tessera_link_by_install_rpath target)
  set_target_properties(${target} PROPERTIES
    INSTALL_RPATH "${ARGN}" BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH_USE_LINK_PATH ON)
endfunction()

function(tessera_configure_library target)
  tessera_compile_settings(${target})
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON VERSION ${PROJECT_VERSION}
    LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
  tessera_link_by_install_rpath(${target})
  target_include_directories(${target}
    PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>"
    PRIVATE "${PROJECT_SOURCE_DIR}")
  tessera_link_runtime(${target})
  tessera_link_formats(${target})
  tessera_precompile(${target})
  if(TESSERA_HAS_CUDA)
    # Consumers of the installed package link the copy of the CUDA runtime that lies beside it (TesseraInstall.cmake).
    target_link_libraries(${target} PRIVATE
      "$<BUILD_INTERFACE:CUDA::cudart_static>" "$<INSTALL_INTERFACE:tessera::cudart>")
  endif()
endfunction()
