/// \file
/// From unordered entries (i, j, v) to a sorted matrix without duplicates.
#pragma once

#include "tessera/csr.hpp"

#include <span>

namespace tessera {

/// Treatment of several entries at the same position. `sum` adds the values; a pattern matrix keeps one entry.
enum class Duplicates { sum, error };

/// A matrix and the number of entries that were merged into others.
template <class T>
struct Assembly {
  Csr<T> matrix;
  offset_t duplicates = 0;
};

/// Builds CSR from coordinates in any order. Duplicates are summed in their given order.
/// \param rows,cols   sizes
/// \param row_indices,column_indices 0-based, same length
/// \param values      same length, or empty with `storage` pattern
/// \throws InvalidMatrix for an index out of range or, with Duplicates::error, for the first repeated position;
///         DimensionError for spans of different lengths; OutOfMemory
/// Complexity: O(rows + nnz) work plus sorting inside rows; memory for one more copy of the entries.
template <class T>
[[nodiscard]] Assembly<T> assemble(std::int64_t rows, std::int64_t cols, std::span<const index_t> row_indices,
                                   std::span<const index_t> column_indices, std::span<const T> values,
                                   ValueStorage storage = ValueStorage::weighted,
                                   Duplicates duplicates = Duplicates::sum);

extern template Assembly<float> assemble(std::int64_t, std::int64_t, std::span<const index_t>, std::span<const index_t>,
                                         std::span<const float>, ValueStorage, Duplicates);
extern template Assembly<double> assemble(std::int64_t, std::int64_t, std::span<const index_t>,
                                          std::span<const index_t>, std::span<const double>, ValueStorage, Duplicates);

}  // namespace tessera
