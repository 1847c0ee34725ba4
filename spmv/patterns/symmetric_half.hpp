/// \file
/// Symmetric half of a matrix of row patterns: its values by diagonals. Diagonal D >= 0 holds a(i, i + D) at place i;
/// a(i, i - D) is read at place i - D of the same diagonal. So each entry of a list stands at one offset from its row.
/// A half is taken where it holds every entry of all rows on lists, bit by bit; nothing else is asked of the matrix.
#pragma once

#include "core/detail_namespace.hpp"
#include "spmv/patterns/pattern_values.hpp"
#include "spmv/patterns/patterns_tuning.hpp"
#include "spmv/patterns/row_patterns.hpp"
#include "tessera/array.hpp"
#include "tessera/csr.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tessera::detail {

/// Where the entries of lists stand in the half.
struct HalfOffsets {
  std::vector<index_t> diagonals;  ///< the distinct |column - row| of all lists, ascending
  index_t leading = 0;             ///< places of a diagonal
  /// In the order of RowPatterns::table: what is added to a row for the place of its entry; 0 where that holds a length
  /// or stands for a row without entries.
  std::vector<index_t> places;
  /// lists + 1 times the diagonals: the entry of the list on it, or -1.
  std::vector<std::int16_t> upper;

  [[nodiscard]] std::int64_t size() const noexcept {
    return static_cast<std::int64_t>(diagonals.size()) * std::int64_t{leading};
  }
};

/// Whether the longest list has the relative columns of all others. \param table as RowPatterns::table
[[nodiscard]] bool has_list_of_all(std::span<const index_t> table, int width);

/// Whether lists are long enough for a half, or rows uniform. \param value_bytes of the matrix \param table as
/// RowPatterns::table
[[nodiscard]] inline bool is_filled_for_half(index_t rows, offset_t nnz, int width, std::size_t value_bytes,
                                             std::span<const index_t> table) {
  if (value_bytes < 8) return true;
  const double filled = static_cast<double>(nnz) / (static_cast<double>(width) * rows);
  return filled >= least_fill_of_half || (width <= cuda::most_uniform_terms && has_list_of_all(table, width));
}

/// Rows that decide whether a half is filled.
[[nodiscard]] inline SampledRows sample_for_half(index_t rows) noexcept {
  return {rows, rows < sampled_rows_for_half ? rows : sampled_rows_for_half};
}

/// Entry of a row that stands in a column, or -1: columns ascend.
struct SortedColumns {
  const offset_t* row_offsets;
  const index_t* columns;
  [[nodiscard]] TESSERA_HOST_DEVICE offset_t find(std::int64_t row, index_t column) const noexcept {
    offset_t begin = row_offsets[row];
    const offset_t end = row_offsets[row + 1];
    offset_t count = end - begin;
    while (count > 0) {
      const offset_t half = count / 2;
      if (columns[begin + half] < column) {
        begin += half + 1;
        count -= half + 1;
      } else {
        count = half;
      }
    }
    return begin < end && columns[begin] == column ? begin : -1;
  }
};

/// Whether a row of the sample equals, left of the diagonal, its mirror image, bit by bit; true for longer ones, which
/// are exceptions.
template <class T>
[[nodiscard]] TESSERA_HOST_DEVICE bool equals_mirror_image(const SortedColumns& matrix, const T* values, index_t row,
                                                           index_t longest) noexcept {
  using Source = RowSource<T, true>;
  const offset_t begin = matrix.row_offsets[row];
  const offset_t end = matrix.row_offsets[row + 1];
  if (end - begin > longest) return true;
  for (offset_t k = begin; k < end && matrix.columns[k] < row; ++k) {
    const offset_t mirror = matrix.find(matrix.columns[k], row);
    if (mirror < 0 || Source::bits_of(values[k]) != Source::bits_of(values[mirror])) return false;
  }
  return true;
}

/// \param table of RowPatterns \param most_places beyond which the half does not pay \param why gets the reason of
/// none, where not null \returns none where it has too many diagonals or places
[[nodiscard]] std::optional<HalfOffsets> half_offsets(std::span<const index_t> table, int width, index_t rows,
                                                      double most_places, std::string* why = nullptr);

}  // namespace tessera::detail

namespace tessera::cuda {

/// The same on a GPU.
struct SymmetricHalf {
  int diagonals = 0;
  index_t leading = 0;
  Array<index_t> offsets;  ///< of the diagonals
  Array<index_t> places;
  Array<std::int16_t> upper;
  /// Exceptions times the diagonals: the entry of the row on it, or -1. Their neighbours read it.
  Array<index_t> upper_of_exceptions;

  [[nodiscard]] std::int64_t size() const noexcept { return std::int64_t{diagonals} * leading; }
  [[nodiscard]] std::uint64_t bytes() const noexcept {
    return offsets.bytes() + places.bytes() + upper.bytes() + upper_of_exceptions.bytes();
  }
};

/// Where a sample of rows is symmetric. Waits. \throws OutOfMemory, CudaError
template <class T>
[[nodiscard]] std::optional<SymmetricHalf> find_symmetric_half(const Device& device, const SlicedRows& rows,
                                                               const CsrView<T>& a);

/// Values by diagonals, rounded where To is narrower; 0 in places that no row has. O(rows of the half); neither waits
/// nor allocates. \param from in the order of CSR
template <class From, class To>
void fill_symmetric_half(const Device& device, const SlicedRows& rows, const SymmetricHalf& half,
                         std::span<const From> from, std::span<To> to);

/// Whether the half holds every entry of all rows on lists, bit by bit. Waits. \param from rounded first
template <class From, class To>
[[nodiscard]] bool symmetric_half_holds(const Device& device, const SlicedRows& rows, const SymmetricHalf& half,
                                        std::span<const From> from, std::span<const To> values);

}  // namespace tessera::cuda
