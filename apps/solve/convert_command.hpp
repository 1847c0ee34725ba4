/// \file
/// `convert`: its options understood.
#pragma once

#include "settings.hpp"

namespace tessera::cli {

enum class FileFormat { text, text_gzip, binary, tiles, petsc };

/// Whether a file is a binary one.
[[nodiscard]] constexpr bool is_binary(FileFormat format) noexcept {
  return format != FileFormat::text && format != FileFormat::text_gzip;
}

struct ConvertSettings {
  ProblemSettings problem;
  MachineSettings machine;
  OutputSettings output;  ///< output.vector is OUT
  FileFormat format = FileFormat::text;
  bool vector = false;
  bool lower_triangle = true;  ///< of a symmetric matrix, in text
};

/// \throws UsageError naming option and text
[[nodiscard]] ConvertSettings convert_settings(const Options& options);

}  // namespace tessera::cli
