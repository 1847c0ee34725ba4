/// \file
/// Slices of sliced ELL on a GPU: where rows lie, and columns and values in that order.
#pragma once

#include "core/detail_namespace.hpp"
#include "spmv/common/value_dictionary.hpp"
#include "spmv/sell/sell_layout.hpp"
#include "tessera/array.hpp"
#include "tessera/device.hpp"

#include <cstdint>
#include <span>

namespace tessera::cuda {

/// Length that stands for a long row in slices of neighbours; among sorted rows it has none.
inline constexpr std::uint16_t length_of_long_row = 0xffff;

/// What one pass over the rows finds out.
struct SellCensus {
  detail::UnslicedRows long_rows;
  offset_t nonzeros = 0;  ///< of the other rows, as what follows
  index_t longest = 0;
  bool relative = false;          ///< no column is farther than farthest_relative_column from its row's own
  std::int64_t places_of_64 = 0;  ///< of slices of 64 rows, each padded to its longest row
  std::int64_t places_of_128 = 0;

  /// Places of padded slices of neighbours.
  [[nodiscard]] std::int64_t neighbour_places(int rows_per_lane) const noexcept {
    return rows_per_lane == 4 ? places_of_128 : places_of_64;
  }
};

[[nodiscard]] SellCensus take_sell_census(const Device& device, std::span<const offset_t> row_offsets,
                                          std::span<const index_t> columns);

/// How the rows of a matrix lie in slices.
struct SellShape {
  int rows_per_lane = 2;    ///< a slice is 32 of these
  int window_rows = 0;      ///< sorted by length, descending; 0: slices hold neighbours
  index_t width = 0;        ///< of all slices; 0: they differ
  std::int64_t places = 0;  ///< of all entries

  [[nodiscard]] bool sorted() const noexcept { return window_rows > 0; }
  /// Of whole windows, where rows are sorted.
  [[nodiscard]] std::int64_t slices(index_t rows) const noexcept {
    const std::int64_t slice_rows = std::int64_t{32} * rows_per_lane;
    const std::int64_t unit = sorted() ? window_rows : slice_rows;
    return (std::int64_t{rows} + unit - 1) / unit * (unit / slice_rows);
  }
};
/// The places of sorted rows follow from sorting: make_sell_slices().
[[nodiscard]] SellShape choose_sell_shape(index_t rows, const SellCensus& census, int multiprocessors) noexcept;

/// The rows by slices. Arrays on the device, none of them of the matrix, which may be another one of the same structure
/// when its values change.
struct SellSlices {
  index_t rows = 0;
  SellShape shape;
  Array<std::uint16_t> lengths;    ///< those of the rows of a lane follow each other; 0 beyond the end
  Array<std::uint16_t> order;      ///< likewise: the row, from the first of its window on; of sorted rows
  Array<std::uint32_t> csr_first;  ///< likewise: its first nonzero, from that of the window on; of sorted rows
  Array<offset_t> csr_begin;       ///< first nonzero, in CSR, of each 32 rows, or of each window
  Array<offset_t> begin;           ///< first place of each slice, and the end; none of one width
  Array<index_t> long_rows;        ///< ascending
  Array<index_t> long_lengths;     ///< of these
  Array<std::uint32_t> long_bits;  ///< a bit per row, whether it is long; empty without long rows

  [[nodiscard]] std::uint64_t bytes() const noexcept {
    return lengths.bytes() + order.bytes() + csr_first.bytes() + csr_begin.bytes() + begin.bytes() + long_rows.bytes() +
           long_lengths.bytes() + long_bits.bytes();
  }
};

/// Sorts rows where the shape says so, and then waits for the number of places. \throws OutOfMemory, CudaError
[[nodiscard]] SellSlices make_sell_slices(const Device& device, std::span<const offset_t> row_offsets,
                                          const SellCensus& census, const SellShape& shape);

/// Stably sorts the rows of each window by length, descending: fills the lengths, order, csr_first and csr_begin of
/// `slices`. Neither waits nor allocates.
void sort_sell_rows(const Device& device, std::span<const offset_t> row_offsets, const SellCensus& census,
                    SellSlices& slices);

/// Columns by slices; -1 where a row has none. Neither waits nor allocates, as all below.
void fill_sell_columns(const Device& device, const SellSlices& slices, std::span<const index_t> columns,
                       std::span<index_t> to);
/// The same relative to the row, and 32768 more; 0 where there is none.
void fill_sell_columns(const Device& device, const SellSlices& slices, std::span<const index_t> columns,
                       std::span<std::uint16_t> to);
/// Values by slices, rounded where To is narrower.
template <class From, class To>
void fill_sell_values(const Device& device, const SellSlices& slices, std::span<const From> values, std::span<To> to);
/// Codes of values by slices; one more than the last where a row has none.
/// \param dictionary on the device; holds all values
template <class T>
void fill_sell_codes(const Device& device, const SellSlices& slices, std::span<const T> values,
                     const detail::ValueDictionary<T>& dictionary, std::span<std::uint8_t> to);

}  // namespace tessera::cuda
