/// \file
/// What the beginning and the name of a file say about its format.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace tessera::io {

/// The format that a suffix stands for, below that of a compression; empty: none. \return MatrixFormatInfo::name
[[nodiscard]] std::string_view promised_format(const std::filesystem::path& name);

/// The format of a matrix file that is not Tessera's own: by its content, and where that does not tell by its name.
/// Content of no known format is left to the reader of Matrix Market, which says what it is. \return
/// MatrixFormatInfo::name; empty where the name promises another format than the content can be
[[nodiscard]] std::string_view format_of(std::string_view bytes, const std::string& name);

/// "A.mat:NAME" taken apart.
struct MatrixPath {
  std::filesystem::path file;
  std::string variable;  ///< empty: not said
};

/// \param path taken whole where a file of that name exists
[[nodiscard]] MatrixPath split_matrix_path(const std::filesystem::path& path);

}  // namespace tessera::io
