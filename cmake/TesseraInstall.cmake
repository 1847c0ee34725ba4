# What `cmake --install` puts where: headers, library, command, CMake package, pkg-config file, documents, examples,
# schemas, completions, manual page. Everything is found relative to itself, so that the prefix may be moved afterwards.

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
  tessera_link_by_install_rpath(solve "$ORIGIN/../lib" "$ORIGIN/${library_from_program}")
  install(TARGETS solve RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endif()

# Documents lie as in the sources, so that the links between them lead somewhere.
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" "${PROJECT_SOURCE_DIR}/README.md" "${PROJECT_SOURCE_DIR}/HACKING.md"
  DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/docs" DESTINATION "${CMAKE_INSTALL_DOCDIR}" FILES_MATCHING PATTERN "*.md")
install(FILES "${PROJECT_SOURCE_DIR}/bench/README.md" "${PROJECT_SOURCE_DIR}/bench/NOTES.md"
  DESTINATION "${CMAKE_INSTALL_DOCDIR}/bench")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/examples" "${PROJECT_SOURCE_DIR}/schemas" DESTINATION "${CMAKE_INSTALL_DOCDIR}")

# Files that the command prints about itself, made by the command that was built. It runs only on the machine it is for.
function(tessera_install_printed directory name)
  install(CODE "
    execute_process(COMMAND \"$<TARGET_FILE:solve>\" ${ARGN} OUTPUT_FILE \"${PROJECT_BINARY_DIR}/printed/${name}\"
      COMMAND_ERROR_IS_FATAL ANY)
    file(INSTALL \"${PROJECT_BINARY_DIR}/printed/${name}\" DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${directory}\")")
endfunction()
if(TESSERA_BUILD_APPS AND NOT CMAKE_CROSSCOMPILING)
  file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/printed")
  tessera_install_printed("${CMAKE_INSTALL_DATADIR}/bash-completion/completions" solve completion bash)
  tessera_install_printed("${CMAKE_INSTALL_DATADIR}/zsh/site-functions" _solve completion zsh)
  tessera_install_printed("${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d" solve.fish completion fish)
  tessera_install_printed("${CMAKE_INSTALL_MANDIR}/man1" solve.1 help man)
endif()

# The CMake package. A static library leaves it to the consumer to link what the library uses.
set(TESSERA_CONSUMER_DEPENDENCIES "")
if(library_type STREQUAL "STATIC_LIBRARY")
  string(APPEND TESSERA_CONSUMER_DEPENDENCIES
    "set(THREADS_PREFER_PTHREAD_FLAG ON)\nfind_dependency(Threads)\nfind_dependency(fmt)\n")
  if(NOT TESSERA_STATIC_RUNTIME)
    string(APPEND TESSERA_CONSUMER_DEPENDENCIES "find_dependency(ZLIB)\n")
  endif()
  if(TESSERA_HAS_CUDA)
    # The toolkit's static runtime goes along, under a name of its own, so that consumers need no toolkit.
    install(FILES "${CUDA_cudart_static_LIBRARY}" DESTINATION "${CMAKE_INSTALL_LIBDIR}" RENAME libtessera_cudart.a)
    string(APPEND TESSERA_CONSUMER_DEPENDENCIES "find_dependency(Threads)\n"
      "if(NOT TARGET tessera::cudart)\n  add_library(tessera::cudart STATIC IMPORTED)\nendif()\n"
      "set_target_properties(tessera::cudart PROPERTIES\n"
      "  IMPORTED_LOCATION \"\${CMAKE_CURRENT_LIST_DIR}/../../libtessera_cudart.a\"\n"
      "  INTERFACE_LINK_LIBRARIES \"Threads::Threads;dl;rt\")\n")
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
  list(JOIN TESSERA_FORMAT_PACKAGES ", " packages)
  set(TESSERA_PC_REQUIRES "fmt, zlib, ${packages}")
  string(REGEX REPLACE ", $" "" TESSERA_PC_REQUIRES "${TESSERA_PC_REQUIRES}")
  set(TESSERA_PC_LIBS "-pthread")
  if(TESSERA_HAS_CUDA)
    string(APPEND TESSERA_PC_LIBS " -ltessera_cudart -ldl -lrt -lpthread")
  endif()
endif()
file(RELATIVE_PATH TESSERA_PREFIX_FROM_PC
  "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")
string(REGEX REPLACE "/$" "" TESSERA_PREFIX_FROM_PC "${TESSERA_PREFIX_FROM_PC}")
configure_file("${PROJECT_SOURCE_DIR}/cmake/tessera.pc.in" "${PROJECT_BINARY_DIR}/tessera.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/tessera.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
