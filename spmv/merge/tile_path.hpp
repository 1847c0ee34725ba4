/// \file
/// The merge path inside one tile of a GPU's merge kernel, in coordinates of the tile: x counts the nonzeros consumed
/// since the tile began, y the rows finished since then.
#pragma once

#include "core/host_device.hpp"
#include "tessera/types.hpp"

namespace tessera {

/// A path of `rows` rows that end in the tile and the nonzeros that it consumes.
struct TilePath {
  const int*
      row_ends;  ///< rows + 1 entries: where each row ends; the last is beyond every nonzero: that row stays open
  int rows = 0;
  int nonzeros = 0;

  [[nodiscard]] TESSERA_HOST_DEVICE constexpr int length() const noexcept { return rows + nonzeros; }

  /// Rows finished where the path crosses the diagonal x + y = `diagonal`, in [0, length()]: as merge_search().
  [[nodiscard]] TESSERA_HOST_DEVICE constexpr int finished_rows(int diagonal) const noexcept {
    int low = diagonal > nonzeros ? diagonal - nonzeros : 0;
    int high = diagonal < rows ? diagonal : rows;
    while (low < high) {
      const int middle = low + (high - low) / 2;
      if (row_ends[middle] > diagonal - middle - 1) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }
};

/// What one thread leaves behind.
template <class S>
struct ThreadWalk {
  int first_row = 0;  ///< open where the walk begins
  int closed = 0;     ///< rows that it finishes, from first_row on
  S carry{0};         ///< of the row that is open where it ends
};

/// Goes along the path from one diagonal to another and leaves the sums of the rows that it finishes in
/// slots[nonzeros + row]; the first lacks what earlier threads have of it.
/// \param slots length() entries, of which the first `nonzeros` hold the terms
template <class S>
[[nodiscard]] TESSERA_HOST_DEVICE constexpr ThreadWalk<S> walk_tile(const TilePath& path, int begin, int end,
                                                                    S* slots) noexcept {
  const int first_row = path.finished_rows(begin);
  int row = first_row;
  int x = begin - first_row;
  S sum{0};
  for (int step = begin; step < end; ++step) {
    if (x < path.row_ends[row]) {
      sum += slots[x++];
    } else {
      slots[path.nonzeros + row++] = sum;
      sum = S{0};
    }
  }
  return {first_row, row - first_row, sum};
}

}  // namespace tessera
