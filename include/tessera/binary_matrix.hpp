/// \file
/// Matrices in a binary file: read at the speed of memory, refused when anything about the file is not as it should be.
/// docs/files.md describes the format byte by byte.
#pragma once

#include "tessera/csr.hpp"
#include "tessera/matrix_market.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

namespace tessera {

/// Of what type the values in a binary file are.
enum class BinaryValues { pattern, fp32, fp64 };

/// "pattern", "fp32" or "fp64".
[[nodiscard]] std::string_view to_string(BinaryValues values);

/// Which text file a binary file was made from.
struct BinarySource {
  std::uint64_t size_bytes = 0;
  std::int64_t modified_ns = 0;    ///< time of its last modification, since the epoch
  std::int64_t changed_ns = 0;     ///< time at which the system last changed anything about it; nobody else can set it
  std::uint64_t inode = 0;         ///< its number in the file system
  std::uint64_t content_hash = 0;  ///< of all its bytes
  /// Whether it had been left alone for so long before it was read that any later change has another time.
  bool settled = false;

  friend bool operator==(const BinarySource&, const BinarySource&) = default;
};

/// What a binary file says beside the matrix.
struct BinaryMatrixInfo {
  MatrixMarketHeader header;  ///< of the text the matrix came from
  offset_t nnz = 0;           ///< stored nonzeros, after expansion and merging
  BinaryValues values = BinaryValues::fp64;
  offset_t duplicates = 0;      ///< as in MatrixMarketMatrix
  offset_t explicit_zeros = 0;  ///< likewise
  std::optional<BinarySource> source;
};

/// Writes a matrix with what its text file said about it. The file appears under its name only when complete.
/// \param source the text file, where a later reader has to find out whether this file still belongs to it
/// \throws IoError; InvalidMatrix for NaN or infinity; InvalidArgument for a name that ends in ".gz" (binary files are
///         not compressed) and for a header of other sizes than the matrix
template <class T>
void write_binary(const std::filesystem::path& path, const MatrixMarketMatrix<T>& matrix,
                  const std::optional<BinarySource>& source = std::nullopt);

/// Writes a matrix that came from elsewhere; it is described as a general coordinate file with its nonzeros.
template <class T>
void write_binary(const std::filesystem::path& path, const CsrView<T>& matrix);

/// Reads a whole matrix, in parallel. Values of the other precision are converted.
///
/// \param options with Duplicates::error, a matrix whose text repeated positions is refused
/// \throws IoError       when it cannot be read or is no regular file
/// \throws ParseError    with the byte where the file is not what it has to be: another format, a newer version, cut
///                       off, longer than it says, a wrong checksum, sizes that do not fit each other
/// \throws InvalidMatrix when the checksums are right but the matrix breaks an invariant of CsrView, holds NaN or
///                       infinity, does not fit single precision, or has merged positions with Duplicates::error
/// \throws OutOfMemory   before anything is allocated that the file does not hold
template <class T>
[[nodiscard]] MatrixMarketMatrix<T> read_binary(const std::filesystem::path& path, const ReadOptions& options = {});

/// Reads and checks the header alone. Throws as read_binary.
[[nodiscard]] BinaryMatrixInfo read_binary_info(const std::filesystem::path& path);

/// Whether the file begins as a binary matrix does, whatever its name. \throws IoError when it cannot be read
[[nodiscard]] bool is_binary_matrix(const std::filesystem::path& path);

}  // namespace tessera
