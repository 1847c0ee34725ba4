/// \file
/// matio, for the sources that are built with it (TESSERA_HAS_MATIO).
#pragma once

#include "core/shared_library.hpp"

#include <matio.h>

namespace tessera::io {

/// The functions of matio, which is loaded at the first file.
struct Matio {
  const detail::SharedLibrary library{TESSERA_MATIO_NAME, "reading a MATLAB file"};
  decltype(&::Mat_Open) open = library.function<decltype(&::Mat_Open)>("Mat_Open");
  decltype(&::Mat_Close) close = library.function<decltype(&::Mat_Close)>("Mat_Close");
  decltype(&::Mat_Rewind) rewind = library.function<decltype(&::Mat_Rewind)>("Mat_Rewind");
  decltype(&::Mat_SizeOf) size_of = library.function<decltype(&::Mat_SizeOf)>("Mat_SizeOf");
  decltype(&::Mat_VarRead) read = library.function<decltype(&::Mat_VarRead)>("Mat_VarRead");
  decltype(&::Mat_VarReadNextInfo) next = library.function<decltype(&::Mat_VarReadNextInfo)>("Mat_VarReadNextInfo");
  decltype(&::Mat_VarGetStructFieldByName) field =
      library.function<decltype(&::Mat_VarGetStructFieldByName)>("Mat_VarGetStructFieldByName");
  decltype(&::Mat_VarGetNumberOfFields) field_count =
      library.function<decltype(&::Mat_VarGetNumberOfFields)>("Mat_VarGetNumberOfFields");
  decltype(&::Mat_VarGetStructFieldnames) field_names =
      library.function<decltype(&::Mat_VarGetStructFieldnames)>("Mat_VarGetStructFieldnames");
  decltype(&::Mat_VarFree) free = library.function<decltype(&::Mat_VarFree)>("Mat_VarFree");
};

/// \throws NotSupported where it cannot be loaded
[[nodiscard]] inline const Matio& matio() {
  static const Matio loaded;
  return loaded;
}

}  // namespace tessera::io
