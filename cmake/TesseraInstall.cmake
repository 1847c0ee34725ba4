# What `cmake --install` puts where: headers, library, command, CMake package, pkg-config file, documents. Everything is
# found relative to itself, so that the prefix may be moved afterwards.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/tessera")
get_target_property(library_type tessera TYPE)

set_target_properties(tessera PROPERTIES SOVERSION "${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}")
target_include_directories(tessera INTERFACE "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
install(TARGETS tessera EXPORT tessera-targets
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/tessera" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  FILES_MATCHING PATTERN "*.hpp")

if(TESSERA_BUILD_APPS)
  file(RELATIVE_PATH library_from_program
    "${CMAKE_INSTALL_FULL_BINDIR}" "${CMAKE_INSTALL_FULL_LIBDIR}")
  set_target_properties(solve PROPERTIES INSTALL_RPATH "$ORIGIN/${library_from_program}")
  install(TARGETS solve RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endif()

install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" "${PROJECT_SOURCE_DIR}/README.md" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/docs" DESTINATION "${CMAKE_INSTALL_DOCDIR}" FILES_MATCHING PATTERN "*.md")

# The CMake package. A static library leaves it to the consumer to link what the library uses.
set(TESSERA_CONSUMER_DEPENDENCIES "")
if(library_type STREQUAL "STATIC_LIBRARY")
  string(APPEND TESSERA_CONSUMER_DEPENDENCIES "find_dependency(fmt)\n")
  if(NOT TESSERA_STATIC_RUNTIME)
    string(APPEND TESSERA_CONSUMER_DEPENDENCIES "find_dependency(ZLIB)\n")
    if(TESSERA_OPENMP)
      string(APPEND TESSERA_CONSUMER_DEPENDENCIES "find_dependency(OpenMP COMPONENTS CXX)\n")
    else()
      string(APPEND TESSERA_CONSUMER_DEPENDENCIES
        "if(NOT TARGET OpenMP::OpenMP_CXX)\n  add_library(OpenMP::OpenMP_CXX INTERFACE IMPORTED)\nendif()\n")
    endif()
  endif()
  if(TESSERA_HAS_CUDA)
    string(APPEND TESSERA_CONSUMER_DEPENDENCIES "find_dependency(CUDAToolkit)\n")
  endif()
endif()
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/tessera-config.cmake.in"
  "${PROJECT_BINARY_DIR}/tessera-config.cmake" INSTALL_DESTINATION "${package_dir}"
  NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/tessera-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/tessera-config.cmake" "${PROJECT_BINARY_DIR}/tessera-config-version.cmake"
  DESTINATION "${package_dir}")
install(EXPORT tessera-targets NAMESPACE tessera:: DESTINATION "${package_dir}")

# The pkg-config file; what a static library needs besides goes into the private fields (pkg-config --static).
set(TESSERA_PC_REQUIRES "")
set(TESSERA_PC_LIBS "")
if(library_type STREQUAL "STATIC_LIBRARY")
  set(TESSERA_PC_REQUIRES "fmt, zlib")
  set(TESSERA_PC_LIBS "${OpenMP_CXX_FLAGS}")
  if(TESSERA_HAS_CUDA)
    string(APPEND TESSERA_PC_LIBS " -L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -ldl -lrt -lpthread")
  endif()
endif()
file(RELATIVE_PATH TESSERA_PREFIX_FROM_PC
  "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")
string(REGEX REPLACE "/$" "" TESSERA_PREFIX_FROM_PC "${TESSERA_PREFIX_FROM_PC}")
configure_file("${PROJECT_SOURCE_DIR}/cmake/tessera.pc.in" "${PROJECT_BINARY_DIR}/tessera.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/tessera.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
