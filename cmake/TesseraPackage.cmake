# Packages of what `cmake --install` installs: `cpack -G "DEB;TGZ"` in the build tree. One package holds the command, the
# library and its documents, as the prefix of an installation does. With -DTESSERA_STATIC_RUNTIME=ON it needs the C library
# alone, and installs on later releases of Debian and Ubuntu, too.

set(CPACK_PACKAGE_NAME tessera)
set(CPACK_PACKAGE_VENDOR "The Tessera authors")
set(TESSERA_MAINTAINER "The Tessera authors <maintainers@tessera.invalid>" CACHE STRING "Maintainer named in packages")
set(CPACK_PACKAGE_CONTACT "${TESSERA_MAINTAINER}")
set(CPACK_PACKAGE_VERSION "${PROJECT_VERSION}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "sparse systems, ranks of graphs and sparse products")
set(CPACK_PACKAGE_DESCRIPTION "The command solve and a C++20 library, on hosts and NVIDIA GPUs: Krylov
methods, multigrid, incomplete and direct factors, least squares,
PageRank, products of sparse matrices, and a choice of kernels for sparse
matrix-vector products.")
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_GENERATOR "DEB;TGZ")

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION math)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# For programs that link the library; not under STATIC_RUNTIME, where zlib is inside, too.
if(library_type STREQUAL "STATIC_LIBRARY" AND NOT TESSERA_STATIC_RUNTIME)
  set(CPACK_DEBIAN_PACKAGE_SUGGESTS "g++, cmake, libfmt-dev, zlib1g-dev")
else()
  set(CPACK_DEBIAN_PACKAGE_SUGGESTS "g++, cmake, libfmt-dev")
endif()

# What Debian asks for beside: compressed pages, a changelog, the licence by its name, no site functions of its own.
configure_file("${PROJECT_SOURCE_DIR}/cmake/debian-package.cmake.in" "${PROJECT_BINARY_DIR}/debian-package.cmake" @ONLY)
set(CPACK_PRE_BUILD_SCRIPTS "${PROJECT_BINARY_DIR}/debian-package.cmake")
include(CPack)
