/// \file
/// File formats that the readers of Matrix Market and of vectors do not take, told by their content, with the way from
/// them.
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

/// Whether the first lines are pairs of numbers, with a third or without, below comments ("# FromNodeId ToNodeId") or a
/// line of names.
[[nodiscard]] bool is_edge_list(std::string_view bytes);

/// The same for a file that may be a plain list of numbers: lists of edges are not looked for.
[[nodiscard]] std::optional<ForeignFormat> foreign_vector_format(std::string_view bytes);

}  // namespace tessera::io
