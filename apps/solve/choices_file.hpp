/// \file
/// --choices FILE: what --spmv measured chose, kept from run to run.
#pragma once

#include "options.hpp"

#include <optional>
#include <string>

namespace tessera::cli {

class ChoicesFile {
 public:
  /// Reads the file, if there is one and --spmv is `measured`; else all of this does nothing.
  /// \throws IoError; ParseError for a file of another kind, which keep() would replace
  explicit ChoicesFile(const Options& options);

  /// Writes the file if this run has measured, with what other runs have added meanwhile. \throws as the constructor
  void keep() const;

 private:
  std::optional<std::string> path_;
  std::string known_;  ///< the choices at the start
};

}  // namespace tessera::cli
