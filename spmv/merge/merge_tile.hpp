/// \file
/// The merge path inside one tile of the kernel merge on a GPU, in coordinates of the tile: x counts the nonzeros
/// consumed since the tile began, y the rows finished since then.
#pragma once

#include "core/host_device.hpp"
#include "core/partition_point.hpp"
#include "tessera/types.hpp"

namespace tessera::detail {

/// A path of `rows` rows that end in the tile and the nonzeros that it consumes.
struct TilePath {
  const int* row_ends;  ///< rows + 1 entries: the item that finishes each row, which is the row's number plus that of
                        ///< the nonzeros up to its end; the last lies beyond the tile: that row stays open
  int rows = 0;
  int nonzeros = 0;

  [[nodiscard]] TESSERA_HOST_DEVICE constexpr int length() const noexcept { return rows + nonzeros; }

  /// Rows finished where the path crosses the diagonal x + y = `diagonal`, in [0, length()]: as merge_search().
  [[nodiscard]] TESSERA_HOST_DEVICE constexpr int finished_rows(int diagonal) const noexcept {
    const int low = diagonal > nonzeros ? diagonal - nonzeros : 0;
    const int high = diagonal < rows ? diagonal : rows;
    return partition_point(low, high, [&](int row) { return row_ends[row] < diagonal; });
  }
};

/// Result of the walk of one thread.
template <class S>
struct ThreadWalk {
  int first_row = 0;  ///< open where the walk begins
  int closed = 0;     ///< rows that it finishes, from first_row on
  S carry{0};         ///< of the row that is open where it ends
};

/// Walks the path from a diagonal on and leaves the sums of the rows that it finishes in slots[nonzeros + row]; the
/// first sum lacks the parts of earlier threads.
template <class S>
class TileWalker {
 public:
  /// \param slots length() entries, of which the first `nonzeros` hold the terms
  TESSERA_HOST_DEVICE constexpr TileWalker(const TilePath& path, int begin, S* slots) noexcept
      : first_row_(path.finished_rows(begin)),
        row_(first_row_),
        row_end_(path.row_ends + first_row_),
        end_(*row_end_),
        term_(slots + (begin - first_row_)),
        sum_of_row_(slots + (path.nonzeros + first_row_)) {}

  /// Takes path item `number`: all from `begin` on, in order.
  TESSERA_HOST_DEVICE constexpr void take(int number) noexcept {
    if (number < end_) {
      sum_ += *term_++;
    } else {
      *sum_of_row_++ = sum_;
      sum_ = S{0};
      end_ = *++row_end_;
      ++row_;
    }
  }

  [[nodiscard]] TESSERA_HOST_DEVICE constexpr ThreadWalk<S> result() const noexcept {
    return {first_row_, row_ - first_row_, sum_};
  }

 private:
  int first_row_;
  int row_;
  const int* row_end_;
  int end_;
  const S* term_;
  S* sum_of_row_;
  S sum_{0};
};

}  // namespace tessera::detail
