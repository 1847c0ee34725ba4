/// \file
/// Points of the merge path (Merrill & Garland, SC 2016).
///
/// The path runs from (0, 0) to (nnz, rows); x counts consumed nonzeros, y finished rows. Its items are nonzeros
/// (moves to the right) and row ends (moves down): from (x, y) it goes right while x < row_offsets[y + 1], else down.
#pragma once

#include "core/detail_namespace.hpp"
#include "core/host_device.hpp"
#include "core/partition_point.hpp"
#include "tessera/types.hpp"

namespace tessera::detail {

/// A point of the merge path.
struct PathPoint {
  offset_t x = 0;  ///< nonzeros consumed
  index_t y = 0;   ///< rows finished
  friend constexpr bool operator==(const PathPoint&, const PathPoint&) = default;
};

/// Number of items of the whole path: one per nonzero, one per row.
[[nodiscard]] TESSERA_HOST_DEVICE constexpr offset_t path_length(index_t rows, offset_t nnz) noexcept {
  return nnz + rows;
}

/// The point where the path crosses the diagonal x + y = `diagonal`: the smallest y in
/// [max(diagonal - nnz, 0), min(diagonal, rows)] with row_offsets[y + 1] > diagonal - y - 1, or the upper end.
/// \param row_offsets rows + 1 entries
/// \param diagonal    in [0, rows + nnz]
[[nodiscard]] TESSERA_HOST_DEVICE constexpr PathPoint merge_search(const offset_t* row_offsets, index_t rows,
                                                                   offset_t nnz, offset_t diagonal) noexcept {
  const offset_t low = diagonal > nnz ? diagonal - nnz : 0;
  const offset_t high = diagonal < rows ? diagonal : rows;
  // row_offsets[y + 1] + y ascends strictly, so the condition is monotone in y.
  const offset_t found = partition_point(low, high, [&](offset_t y) { return row_offsets[y + 1] <= diagonal - y - 1; });
  return {diagonal - found, static_cast<index_t>(found)};
}

}  // namespace tessera::detail
