/// \file
/// Codes and values of row patterns on a GPU in the order of slices, as the kernel reads them.
#pragma once

#include "core/detail_namespace.hpp"
#include "spmv/patterns/row_patterns.hpp"
#include "tessera/array.hpp"
#include "tessera/device.hpp"

#include <cstdint>
#include <span>
#include <string>

namespace tessera::cuda {

/// How rows and values lie in slices.
struct SliceShape {
  int rows_per_lane = 2;
  bool jagged = false;

  /// Of 32 rows_per_lane rows.
  [[nodiscard]] std::int64_t slices(index_t rows) const noexcept {
    const std::int64_t rows_of_slice = std::int64_t{32} * rows_per_lane;
    return (rows + rows_of_slice - 1) / rows_of_slice;
  }
  friend bool operator==(const SliceShape&, const SliceShape&) = default;
};

/// What the values are brought into order by. Pointers on the device; none into the matrix, which may be another one of
/// the same structure when its values change.
struct SlicedRows {
  index_t rows = 0;
  int width = 0;
  int lists = 0;
  SliceShape shape;
  const index_t* table = nullptr;
  const std::uint8_t* codes = nullptr;  ///< by slices
  const offset_t* begin = nullptr;      ///< first nonzero, in CSR, of each 32 rows
  const index_t* exceptions = nullptr;  ///< ascending
  const index_t* exception_lengths = nullptr;
  std::int64_t exception_count = 0;
};

/// Codes by slices: those of the R rows of a lane follow each other. \param codes of the rows \param none beyond the
/// end of the matrix
[[nodiscard]] Array<std::uint8_t> arrange_codes(const Device& device, const Array<std::uint8_t>& codes,
                                                const SliceShape& shape, int none);

/// First nonzero, in CSR, of each 32 rows, which is also the place of the first value of a jagged slice.
[[nodiscard]] Array<offset_t> slice_begins(const Device& device, std::span<const offset_t> row_offsets,
                                           const SliceShape& shape);

/// Nonzeros of some rows.
[[nodiscard]] Array<index_t> lengths_of(const Device& device, std::span<const offset_t> row_offsets,
                                        const Array<index_t>& rows);

/// Whether slices padded to the width would hold more than so many places per nonzero.
[[nodiscard]] inline bool is_padded_beyond(double places_per_nonzero, index_t rows, offset_t nnz, int width) noexcept {
  return static_cast<double>(width) * rows > places_per_nonzero * static_cast<double>(nnz);
}

/// Rows per lane follow from the chunk of the kernel that will run, or are one where rows are long and few; padding
/// decides how values lie.
/// \param reads_values whether rows have values of their own
[[nodiscard]] SliceShape choose_pattern_slices(index_t rows, offset_t nnz, int width, bool reads_values) noexcept;

/// Places of the values, those included that jagged slices load in vain.
[[nodiscard]] std::int64_t value_places(index_t rows, offset_t nnz, int width, const SliceShape& shape) noexcept;

/// Layout of values with values of their own.
struct PatternValueLayout {
  int dictionary = 0;       ///< values in it; 0: none
  int half_diagonals = 0;   ///< of a symmetric half; 0: none
  bool are_floats = false;  ///< single precision holds all values exactly
};
/// ", values as a symmetric half of 3 diagonals", for the reason of a plan; empty for values in full.
[[nodiscard]] std::string describe_layout(const PatternValueLayout& layout);

/// Values in the order of slices, rounded where To is narrower; 0 in positions that rows of padded slices lack. O(nnz);
/// neither waits nor allocates. \param from in the order of CSR
template <class From, class To>
void fill_pattern_values(const Device& device, const SlicedRows& rows, std::span<const From> from, std::span<To> to);

/// Whether all rows on a list still have its values, bit by bit. Waits. \param values nnz, on the device
template <class T>
[[nodiscard]] bool templates_hold(const Device& device, const SlicedRows& rows, std::span<const T> values,
                                  const T* list_values);

}  // namespace tessera::cuda
