/// \file
/// Multivectors in Matrix Market files: n x k arrays, as several right-hand sides and their solutions.
#pragma once

#include "tessera/matrix_market.hpp"
#include "tessera/multi_vector.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tessera {

/// A multivector with its elements on the host, column by column.
template <class T>
struct MultiVector {
  std::vector<T> elements;  ///< rows * columns
  std::int64_t rows = 0;
  std::int64_t columns = 0;

  [[nodiscard]] MultiVectorView<T> view() { return {elements, rows, columns}; }
  [[nodiscard]] MultiVectorView<const T> view() const { return {elements, rows, columns}; }
};

/// Reads an array or coordinate file of `rows` rows, whose columns are those of the multivector; where an entry is
/// missing it is 0. What read_vector() takes is one column: also a file with one row, unless `rows` is 1, and plain
/// text. \param rows compared with what the header claims before memory is allocated
/// \throws as read_matrix_market(); ParseError for a file without columns; DimensionError with both numbers when it has
/// another number of rows
template <class T>
[[nodiscard]] MultiVector<T> read_multi_vector(const std::filesystem::path& path, std::int64_t rows,
                                               const ReadOptions& options = {});

/// Columns that read_multi_vector() would find, from the header alone; nothing where it does not tell: of a compressed
/// file, of a pipe, and of what is not a Matrix Market file. \throws IoError when the file cannot be read
[[nodiscard]] std::optional<std::int64_t> columns_of_file(const std::filesystem::path& path, std::int64_t rows);

/// Writes an n x k array file, column by column; as write_vector().
template <class T>
void write_multi_vector(const std::filesystem::path& path, const MultiVector<T>& multi_vector,
                        const std::vector<std::string>& comments = {});

/// The text that write_multi_vector() writes.
template <class T>
[[nodiscard]] std::string format_multi_vector(const MultiVector<T>& multi_vector,
                                              const std::vector<std::string>& comments = {});

}  // namespace tessera
