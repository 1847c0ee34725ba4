/// \file
/// Arrays of a file as entries or vectors: compressed sparse rows or columns, perhaps of small dense blocks, and dense
/// arrays.
#pragma once

#include "io/byte_reader.hpp"
#include "io/file_entries.hpp"
#include "tessera/multi_vector_file.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string>

namespace tessera::io {

struct CompressedArrays {
  PackedNumbers offsets;  ///< one more than rows (columns) of blocks
  PackedNumbers indices;  ///< column (row) of every block; may be longer than the last offset says
  PackedNumbers values;   ///< of every block row by row; none for a pattern
  bool by_columns = false;
  std::int64_t base = 0;  ///< what offsets and indices count from
  std::int64_t block_rows = 1;
  std::int64_t block_cols = 1;
};

/// \param header with sizes and field; its entries are set \param name of the file, for messages
/// \throws InvalidMatrix for offsets that descend or lead beyond the indices, arrays of other lengths than the sizes
/// ask
///         for, and indices outside the matrix; OutOfMemory
template <class T>
[[nodiscard]] FileEntries<T> expand(MatrixMarketHeader header, const CompressedArrays& in, const std::string& name,
                                    MemoryBudget& budget) {
  const std::int64_t block = in.block_rows * in.block_cols;
  const bool fits = header.rows % in.block_rows == 0 && header.cols % in.block_cols == 0;
  const std::int64_t groups = in.by_columns ? header.cols / in.block_cols : header.rows / in.block_rows;
  const std::int64_t others = in.by_columns ? header.rows / in.block_rows : header.cols / in.block_cols;
  if (!fits || in.offsets.size() != groups + 1) {
    throw InvalidMatrix(fmt::format("{}: {} offsets of {} x {} blocks do not make a {} x {} matrix by {}", name,
                                    in.offsets.size(), in.block_rows, in.block_cols, header.rows, header.cols,
                                    in.by_columns ? "columns" : "rows"));
  }
  const bool weighted = header.field != MatrixMarketField::pattern;
  const std::int64_t blocks = in.offsets.get<std::int64_t>(groups) - in.base;
  if (in.offsets.get<std::int64_t>(0) != in.base || blocks < 0 || blocks > in.indices.size() ||
      (weighted && blocks > in.values.size() / block)) {
    throw InvalidMatrix(fmt::format("{}: offsets from {} to {} with {} indices and {} values", name,
                                    in.offsets.get<std::int64_t>(0), blocks + in.base, in.indices.size(),
                                    in.values.size()));
  }
  header.entries = blocks * block;
  FileEntries<T> out = allocate_entries<T>(header, budget);
  std::int64_t next = 0;
  for (std::int64_t g = 0; g < groups; ++g) {
    const std::int64_t first = in.offsets.get<std::int64_t>(g) - in.base;
    const std::int64_t last = in.offsets.get<std::int64_t>(g + 1) - in.base;
    if (last < first || last > blocks) {
      throw InvalidMatrix(fmt::format("{}: offset {} is {}, outside {} ... {}", name, g + 2, last + in.base,
                                      first + in.base, blocks + in.base));
    }
    for (std::int64_t k = first; k < last; ++k) {
      const std::int64_t other = in.indices.get<std::int64_t>(k) - in.base;
      if (other < 0 || other >= others) {
        throw InvalidMatrix(fmt::format("{}: index {} is {}, expected {} ... {}", name, k + 1, other + in.base, in.base,
                                        others - 1 + in.base));
      }
      const std::int64_t row = (in.by_columns ? other : g) * in.block_rows;
      const std::int64_t column = (in.by_columns ? g : other) * in.block_cols;
      for (std::int64_t e = 0; e < block; ++e) {
        out.rows[next] = static_cast<index_t>(row + e / in.block_cols);
        out.columns[next] = static_cast<index_t>(column + e % in.block_cols);
        if (weighted) out.values[next] = in.values.get<T>(k * block + e);
        ++next;
      }
    }
  }
  return out;
}

/// A dense array in the order of its file.
struct DenseArray {
  PackedNumbers values;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  bool by_columns = false;

  /// The number of the value at (i, j).
  [[nodiscard]] std::int64_t at(std::int64_t i, std::int64_t j) const noexcept {
    return by_columns ? j * rows + i : i * cols + j;
  }
};

/// Its nonzeros, by rows: as of an array file of Matrix Market, zeros are no entries. \throws OutOfMemory
template <class T>
[[nodiscard]] FileEntries<T> dense_entries(const DenseArray& in, MemoryBudget& budget) {
  MatrixMarketHeader header;
  header.format = MatrixMarketFormat::array;
  header.rows = in.rows;
  header.cols = in.cols;
  for (std::int64_t k = 0; k < in.values.size(); ++k) header.entries += in.values.get<T>(k) != T{0} ? 1 : 0;
  FileEntries<T> out = allocate_entries<T>(header, budget);
  if (header.entries == 0) return out;
  std::int64_t next = 0;
  for (std::int64_t i = 0; i < in.rows; ++i) {
    for (std::int64_t j = 0; j < in.cols; ++j) {
      const T value = in.values.get<T>(in.at(i, j));
      if (value == T{0}) continue;
      out.rows[next] = static_cast<index_t>(i);
      out.columns[next] = static_cast<index_t>(j);
      out.values[next] = value;
      ++next;
    }
  }
  return out;
}

/// \param name of the file, for messages \throws InvalidMatrix for a value that is not finite; OutOfMemory
template <class T>
[[nodiscard]] MultiVector<T> dense_columns(const DenseArray& in, const std::string& name, MemoryBudget& budget) {
  budget.reserve(static_cast<std::uint64_t>(in.values.size()) * sizeof(T), "vectors");
  MultiVector<T> out{std::vector<T>(static_cast<std::size_t>(in.values.size())), in.rows, in.cols};
  std::size_t next = 0;
  for (std::int64_t j = 0; j < (out.elements.empty() ? 0 : in.cols); ++j) {
    for (std::int64_t i = 0; i < in.rows; ++i) {
      const T value = in.values.get<T>(in.at(i, j));
      if (!std::isfinite(value)) {
        throw InvalidMatrix(fmt::format("{}: element {} of column {} is {}{}", name, i + 1, j + 1, value,
                                        sizeof(T) < sizeof(double) ? " in single precision" : ""));
      }
      out.elements[next++] = value;
    }
  }
  return out;
}

}  // namespace tessera::io
