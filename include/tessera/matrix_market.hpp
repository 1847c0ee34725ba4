/// \file
/// Matrix Market files, plain or compressed by gzip or zstd. Format: R. Boisvert, R. Pozo, K. Remington, "The Matrix
/// Market Exchange Formats: Initial Design", NISTIR 5935, 1996.
#pragma once

#include "tessera/assemble.hpp"
#include "tessera/csr.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

enum class MatrixMarketFormat { coordinate, array };
enum class MatrixMarketField { real, integer, pattern };
enum class MatrixMarketSymmetry { general, symmetric, skew_symmetric };

[[nodiscard]] std::string_view to_string(MatrixMarketFormat format);
[[nodiscard]] std::string_view to_string(MatrixMarketField field);
[[nodiscard]] std::string_view to_string(MatrixMarketSymmetry symmetry);

/// First line and size line of a file.
struct MatrixMarketHeader {
  MatrixMarketFormat format = MatrixMarketFormat::coordinate;
  MatrixMarketField field = MatrixMarketField::real;
  MatrixMarketSymmetry symmetry = MatrixMarketSymmetry::general;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t entries = 0;  ///< data lines: as declared (coordinate) or implied (array)
};

struct ReadOptions {
  Duplicates duplicates = Duplicates::sum;
  Device device;  ///< host threads that parse
  /// Limit of buffers and result in bytes, beyond which OutOfMemory is thrown; 0: what the machine has.
  std::uint64_t memory_limit_bytes = 0;
};

/// An integer of a file that the type of the values does not hold: double holds those up to 2^53, float up to 2^24.
struct RoundedInteger {
  std::int64_t line = 0;   ///< of the file, from 1
  std::int64_t value = 0;  ///< as it stands there
};

/// A matrix and the header of its file.
template <class T>
struct MatrixMarketMatrix {
  Csr<T> matrix;  ///< general storage: symmetric files are expanded, the diagonal once; pattern files have no values
  MatrixMarketHeader header;
  offset_t duplicates = 0;  ///< entries summed into others, counted after expansion
  offset_t explicit_zeros =
      0;  ///< zero values stored in the file; they stay structural nonzeros (array files drop them)
  std::optional<RoundedInteger> first_rounded = {};  ///< of a text file with integers
};

/// Reads a sparse or dense matrix. Coordinate and array; real, integer, pattern; general, symmetric, skew-symmetric.
/// Complex and Hermitian files are refused by name. CRLF line ends, blank lines and comments anywhere after the first
/// line are accepted. A symmetric or skew-symmetric file holds entries of one triangle, either one. Parsing is
/// parallel.
///
/// \param path file; gzip, also of several members, and zstd are recognised by the content, not by the name
/// \throws IoError     when the file cannot be read
/// \throws ParseError  with file, line and column for the first malformed content; with Duplicates::error also at the
///                     first line that repeats a position
/// \throws OutOfMemory when data and matrix need more memory than there is; entries that a header claims do not count
template <class T>
[[nodiscard]] MatrixMarketMatrix<T> read_matrix_market(const std::filesystem::path& path,
                                                       const ReadOptions& options = {});

/// The same for text in memory (plain, not compressed). \param name stands for the file in error messages
template <class T>
[[nodiscard]] MatrixMarketMatrix<T> parse_matrix_market(std::string_view text, const std::string& name,
                                                        const ReadOptions& options = {});

/// A vector may have any number of elements.
inline constexpr std::int64_t any_size = -1;

/// Reads a vector: an array file with one column (or one row), a coordinate file with one column (or one row; places
/// without an entry are 0), plain text with one number per line and no header, where '%' and '#' start comment
/// lines, or an array of a NumPy (.npy), MATLAB, PETSc, Harwell-Boeing or AMGX file, whose right-hand side it is.
/// \param path of a MATLAB file also "b.mat:NAME" \param expected the number of elements, compared with what a header
/// claims before memory is allocated; any_size: not checked \throws as read_matrix_market; ParseError when the file
/// holds a matrix with more than one row and column; DimensionError with both numbers when the size is not the expected
/// one
template <class T>
[[nodiscard]] std::vector<T> read_vector(const std::filesystem::path& path, const ReadOptions& options = {},
                                         std::int64_t expected = any_size);

template <class T>
[[nodiscard]] std::vector<T> parse_vector(std::string_view text, const std::string& name,
                                          const ReadOptions& options = {}, std::int64_t expected = any_size);

/// How a matrix is written. `symmetric` stores the lower triangle of a symmetric matrix; `skew_symmetric` stores the
/// strictly lower triangle, so that zeros stored on the diagonal are dropped.
struct WriteOptions {
  MatrixMarketSymmetry symmetry = MatrixMarketSymmetry::general;
  std::vector<std::string> comments;  ///< one line each, without the leading '%'
};

/// Writes coordinate format, 1-based, with the shortest decimal digits that read back to the same value. A path that
/// ends in ".gz" is compressed. A pattern matrix becomes a pattern file, any other one a real file. The file appears
/// under its name only when complete; anything else than a regular file (a pipe, /dev/stdout) is written to directly.
///
/// \throws IoError
/// \throws InvalidMatrix when the matrix does not have the symmetry asked for or holds NaN or infinity
template <class T>
void write_matrix_market(const std::filesystem::path& path, const CsrView<T>& matrix, const WriteOptions& options = {});

/// Writes an n x 1 array file; as write_matrix_market. NaN and infinity are refused with InvalidMatrix.
template <class T>
void write_vector(const std::filesystem::path& path, std::span<const T> vector,
                  const std::vector<std::string>& comments = {});

/// The text that write_vector writes.
template <class T>
[[nodiscard]] std::string format_vector(std::span<const T> vector, const std::vector<std::string>& comments = {});

}  // namespace tessera
