/// \file
/// Sizes of a matrix file, from its first bytes alone.
#pragma once

#include "tessera/matrix_market.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>

namespace tessera {

struct MatrixFileInfo {
  MatrixMarketHeader header;
  std::uint64_t file_bytes = 0;
  bool is_binary = false;
  bool is_pattern = false;  ///< of a pattern file the matrix has no values

  /// Stored nonzeros once the file is read: exact for a binary file, else at most this many. Symmetric text is
  /// expanded, repeated entries are merged, and array files drop their zeros.
  offset_t most_nnz = 0;
  std::uint64_t tile_bytes = 0;  ///< of a file of tiles: their arrays, from which the rows are made
  /// Peak memory of reading it, the matrix included, at most: what the reader holds against its limit.
  /// \param element bytes of a value of the matrix in memory
  [[nodiscard]] std::uint64_t reading_bytes(std::size_t element, Duplicates duplicates = Duplicates::sum) const;
};

/// Reads and checks the header alone: at most 1 MiB of a text file.
/// \returns nothing where the header does not tell: of a compressed file, of a pipe, of other formats than Matrix
/// Market and Tessera's, and where the comments of a text file go on for more than 1 MiB \throws IoError when the file
/// cannot be read; ParseError for a header that is malformed, as read_matrix_market() and read_binary()
[[nodiscard]] std::optional<MatrixFileInfo> read_matrix_file_info(const std::filesystem::path& path);

}  // namespace tessera
