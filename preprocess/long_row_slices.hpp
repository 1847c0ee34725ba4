/// \file
/// Cache blocking of long rows: they are cut where their columns cross from one window of x into the next. A product
/// that goes through all long rows window by window reads each window of x into the cache once; row by row it would
/// read all of x for every row. Pays where several rows are so long that together they pass over x more than once.
#pragma once

#include "preprocess/merbit_tiles.hpp"

#include <algorithm>
#include <cstdint>

namespace tessera::detail {

/// Runs of consecutive long-row tiles of one row, and their slices. Plain data; empty where slices gain nothing.
struct LongRowSlices {
  std::int64_t windows = 0;
  Array<std::int64_t> first_tile;  ///< runs entries, ascending: the first tile of each run
  Array<std::int64_t> end_tile;    ///< runs entries: the tile after the last of each run
  Array<offset_t> begin;           ///< (windows + 1) * runs: nonzero at which run r enters window w, at w * runs + r

  [[nodiscard]] std::int64_t runs() const noexcept { return first_tile.size(); }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return first_tile.bytes() + end_tile.bytes() + begin.bytes(); }
  /// The first run that ends after `tile`, or runs(). O(log runs)
  [[nodiscard]] std::int64_t first_run_after(std::int64_t tile) const noexcept {
    return std::upper_bound(end_tile.begin(), end_tile.end(), tile) - end_tile.begin();
  }
};

/// Bounds windows * runs, since products keep a partial sum for each on their stack.
inline constexpr std::int64_t max_long_row_slices = 8192;

/// Number of long rows, and of their nonzeros.
struct LongRowTotals {
  std::int64_t rows = 0;
  offset_t nonzeros = 0;
  LongRowTotals& operator+=(const LongRowTotals& other) {
    rows += other.rows;
    nonzeros += other.nonzeros;
    return *this;
  }
};

/// Least nonzeros of a run that slices cut.
inline constexpr offset_t shortest_sliced_run = 4096;

/// The rows that slices would cut, by their lengths; none where slices gain nothing, or might exceed their bound.
/// O(rows), parallel
/// \param element_bytes size of an entry of x
[[nodiscard]] LongRowTotals rows_worth_slicing(std::span<const offset_t> row_offsets, index_t cols,
                                               std::size_t element_bytes, const Device& device = Device{});

/// Chooses the runs and cuts them. The choice depends on the matrix and the element size alone. O(tiles), and O(slices
/// log nnz) for the chosen runs, parallel over runs.
/// \param columns       of the matrix that `tiles` describes, ascending in every row
/// \param cols          its number of columns
/// \param element_bytes size of an entry of x
/// \throws OutOfMemory
[[nodiscard]] LongRowSlices build_long_row_slices(const MerbitTiles& tiles, std::span<const index_t> columns,
                                                  index_t cols, std::size_t element_bytes,
                                                  const Device& device = Device{});

}  // namespace tessera::detail
