# Run at every build: writes version.cpp anew when the commit, or whether the tree is modified, has changed.

set(TESSERA_COMMIT unknown)
# Only a repository of our own counts, not one that this source tree happens to lie in.
if(EXISTS "${SOURCE_DIR}/.git")
  execute_process(COMMAND git -C "${SOURCE_DIR}" rev-parse --short=12 HEAD
    OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  execute_process(COMMAND git -C "${SOURCE_DIR}" status --porcelain --untracked-files=no
    OUTPUT_VARIABLE modified ERROR_QUIET)
  if(commit)
    set(TESSERA_COMMIT "${commit}")
    if(modified)
      string(APPEND TESSERA_COMMIT "-dirty")
    endif()
  endif()
endif()
configure_file("${SOURCE_DIR}/core/version.cpp.in" "${OUTPUT}" @ONLY)
