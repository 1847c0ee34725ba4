/// \file
/// Matrices in a binary file: read at the speed of memory, refused when anything about the file is not as it should be.
/// docs/files.md describes the format byte by byte.
#pragma once

#include "tessera/csr.hpp"
#include "tessera/matrix_market.hpp"
#include "tessera/tile_matrix.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>

namespace tessera {

/// Of what type the values in a binary file are.
enum class BinaryValues { pattern, fp32, fp64 };

/// How a binary file holds its matrix: compressed sparse rows, or bitmap tiles (tessera/tile_matrix.hpp).
enum class BinaryLayout { csr, tiles };

/// "pattern", "fp32" or "fp64".
[[nodiscard]] std::string_view to_string(BinaryValues values);

/// The text file that a binary file was made from.
struct BinarySource {
  std::uint64_t size_bytes = 0;
  std::int64_t modified_ns = 0;    ///< time of its last modification, since the epoch
  std::int64_t changed_ns = 0;     ///< time of the last change of data or metadata; set only by the system
  std::uint64_t inode = 0;         ///< its number in the file system
  std::uint64_t content_hash = 0;  ///< of all its bytes
  /// Whether it was unchanged for two seconds before it was read: then any later change has another time.
  bool settled = false;

  friend bool operator==(const BinarySource&, const BinarySource&) = default;
};

/// Facts in a binary file besides the matrix.
struct BinaryMatrixInfo {
  MatrixMarketHeader header;  ///< of the original text
  offset_t nnz = 0;           ///< stored nonzeros, after expansion and merging
  BinaryValues values = BinaryValues::fp64;
  BinaryLayout layout = BinaryLayout::csr;
  offset_t tiles = 0;           ///< of a file that holds tiles
  offset_t duplicates = 0;      ///< as in MatrixMarketMatrix
  offset_t explicit_zeros = 0;  ///< likewise
  std::optional<BinarySource> source;
};

/// Writes a matrix with the header of its text file. The file appears under its name only when complete.
/// \param source the text file, for readers that check whether this file still belongs to it
/// \throws IoError; InvalidMatrix for NaN or infinity; InvalidArgument for a name that ends in ".gz" (binary files are
///         not compressed) and for a header of other sizes than the matrix
template <class T>
void write_binary(const std::filesystem::path& path, const MatrixMarketMatrix<T>& matrix,
                  const std::optional<BinarySource>& source = std::nullopt);

/// Writes a matrix without a text file; its header is that of a general coordinate file.
template <class T>
void write_binary(const std::filesystem::path& path, const CsrView<T>& matrix);

/// Writes a matrix whose rows come one after the other, as those of spgemm_sliced() do, when its number of entries is
/// not known before the last of them. The memory is that of some pieces of 256 KiB; the file's sections grow in files
/// without a name beside it, so that the disk holds the matrix twice for a moment. The result has the bytes of
/// write_binary().
template <class T>
class BinaryMatrixWriter {
 public:
  /// \param rows, cols of the matrix \throws IoError; InvalidArgument for sizes beyond 2^31 - 1 or a name that ends in
  /// ".gz"
  BinaryMatrixWriter(const std::filesystem::path& path, std::int64_t rows, std::int64_t cols,
                     ValueStorage storage = ValueStorage::weighted);
  /// Without finish(), no file appears and one that was there stays.
  ~BinaryMatrixWriter();
  BinaryMatrixWriter(BinaryMatrixWriter&&) noexcept;
  BinaryMatrixWriter& operator=(BinaryMatrixWriter&&) noexcept;

  /// The next rows. \param rows on the host, with as many columns as the matrix
  /// \throws IoError; InvalidMatrix for NaN or infinity; InvalidArgument for other columns or storage, or too many rows
  void append(const CsrView<T>& rows);
  /// Puts the file in its place. \throws IoError; InvalidArgument before all rows were appended, or a second time
  void finish();
  /// Entries so far.
  [[nodiscard]] offset_t nnz() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

extern template class BinaryMatrixWriter<float>;
extern template class BinaryMatrixWriter<double>;

/// Writes a matrix as bitmap tiles; read_binary() and every command read it as any other binary file.
/// \param tiles  of `matrix`, on the host \param matrix whose text header is kept; throws as write_binary()
template <class T>
void write_binary_tiles(const std::filesystem::path& path, const TileView<T>& tiles,
                        const MatrixMarketMatrix<T>& matrix);

/// Writes tiles without a text file; their header is that of a general coordinate file.
template <class T>
void write_binary_tiles(const std::filesystem::path& path, const TileView<T>& tiles);

/// Reads a whole matrix, in parallel, of either layout: tiles are converted to rows. Values of the other precision are
/// converted.
///
/// \param options with Duplicates::error, a matrix whose text repeated positions is refused
/// \throws IoError       when it cannot be read or is no regular file
/// \throws ParseError    with the byte of the fault: another format, a newer version, a truncated file, surplus bytes,
/// a
///                       wrong checksum, inconsistent sizes
/// \throws InvalidMatrix when the checksums are right but the matrix breaks an invariant of CsrView or TileView, holds
/// NaN or
///                       infinity, does not fit single precision, or has merged positions with Duplicates::error
/// \throws OutOfMemory   before anything is allocated that is not in the file
template <class T>
[[nodiscard]] MatrixMarketMatrix<T> read_binary(const std::filesystem::path& path, const ReadOptions& options = {});

/// Reads and checks the header alone. Throws as read_binary.
[[nodiscard]] BinaryMatrixInfo read_binary_info(const std::filesystem::path& path);

/// Whether the file begins like a binary matrix; its name does not matter. \throws IoError when it cannot be read
[[nodiscard]] bool is_binary_matrix(const std::filesystem::path& path);

}  // namespace tessera
