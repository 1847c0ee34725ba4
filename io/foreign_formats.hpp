/// \file
/// File formats that are not read here, told by their magic bytes, with the way from them to Matrix Market.
#pragma once

#include <optional>
#include <string_view>

namespace tessera::io {

struct ForeignFormat {
  std::string_view name;    ///< "a MATLAB 5 .mat file"
  std::string_view remedy;  ///< what makes a readable file of it
};

/// The format of a matrix file without the banner of Matrix Market; nothing where the bytes tell none.
/// \param bytes the file, after inflating: a .tar.gz shows its tar
[[nodiscard]] std::optional<ForeignFormat> foreign_format(std::string_view bytes);

/// The same for a file that may be a plain list of numbers: lists of edges are not looked for.
[[nodiscard]] std::optional<ForeignFormat> foreign_vector_format(std::string_view bytes);

}  // namespace tessera::io
