/// \file
/// The rows of one rank as they were before they were split: entries in own columns and in the halo, one after the
/// other as the columns ascend.
#pragma once

#include "core/host_device.hpp"
#include "core/partition_point.hpp"
#include "core/sums.hpp"
#include "solvers/amg/setup_ranks.hpp"
#include "solvers/distributed/product.hpp"
#include "tessera/array.hpp"
#include "tessera/types.hpp"

#include <cstdint>

namespace tessera::detail {

/// Elements of an ascending array that are less than `value`. O(log n)
template <class E>
[[nodiscard]] TESSERA_HOST_DEVICE index_t count_less(const E* elements, index_t n, E value) noexcept {
  return partition_point(index_t{0}, n, [&](index_t k) { return elements[k] < value; });
}

/// Where the entries of both blocks lie; also those of another rank, in its memory.
struct SplitRows {
  index_t rows = 0;
  index_t boundary_rows = 0;
  offset_t nnz = 0;                        ///< of both blocks
  const offset_t* own_offsets = nullptr;   ///< of the diagonal block
  const index_t* boundary = nullptr;       ///< rows with entries in the halo, ascending
  const offset_t* halo_offsets = nullptr;  ///< per boundary row

  /// Entries before a row.
  [[nodiscard]] TESSERA_HOST_DEVICE offset_t begin_of(index_t row) const {
    if (boundary_rows == 0) return own_offsets[row];
    return own_offsets[row] + halo_offsets[count_less(boundary, boundary_rows, row)];
  }
};

/// Entries before rows from `first` on.
struct RowBegins {
  using Sums = NoSum;
  SplitRows split;
  index_t first;
  offset_t shift;
  offset_t* to;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, NoSum& /*sum*/) const {
    to[i] = split.begin_of(first + static_cast<index_t>(i)) + shift;
  }
};

/// Entries of the diagonal block between two ends are all moved by as much. Runs on boundary rows, at least one.
struct FindMoves {
  using Sums = NoSum;
  SplitRows split;
  const index_t* halo_columns;  ///< of the block, ascending in each row
  index_t lower;                ///< columns of the halo before the own ones
  offset_t* ends;               ///< 2 per boundary row
  offset_t* moves;              ///< one more than ends
  TESSERA_HOST_DEVICE void operator()(std::int64_t j, NoSum& /*sum*/) const {
    const index_t row = split.boundary[j];
    const offset_t begin = split.halo_offsets[j];
    const offset_t end = split.halo_offsets[j + 1];
    ends[2 * j] = split.own_offsets[row];
    ends[2 * j + 1] = split.own_offsets[row + 1];
    if (j == 0) moves[0] = 0;
    moves[2 * j + 1] = begin + count_less(halo_columns + begin, static_cast<index_t>(end - begin), lower);
    moves[2 * j + 2] = end;
  }
};

/// Entries of the diagonal block from `begin` on to where they were.
template <class T>
struct JoinOwn {
  using Sums = NoSum;
  const index_t* columns;
  const T* values;  ///< null: a pattern
  index_t first;    ///< own column
  offset_t begin;
  const offset_t* ends;
  const offset_t* moves;
  index_t count;  ///< of ends
  index_t* to_columns;
  T* to_values;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, NoSum& /*sum*/) const {
    const offset_t k = begin + i;
    const index_t column = columns[k];
    const T value = values != nullptr ? values[k] : T{};
    const offset_t at = k + moves[count_less(ends, count, k + 1)];
    to_columns[at] = first + column;
    if (values != nullptr) to_values[at] = value;
  }
};

/// Entries in the halo, on both sides of those of the diagonal block. Runs on boundary rows.
template <class T>
struct JoinHalo {
  using Sums = NoSum;
  SplitRows split;
  const index_t* columns;
  const T* values;
  const index_t* halo;  ///< columns of the matrix
  index_t lower;
  index_t* to_columns;
  T* to_values;
  TESSERA_HOST_DEVICE void operator()(std::int64_t j, NoSum& /*sum*/) const {
    const index_t row = split.boundary[j];
    const offset_t own = split.own_offsets[row + 1] - split.own_offsets[row];
    const offset_t begin = split.own_offsets[row];
    for (offset_t k = split.halo_offsets[j]; k < split.halo_offsets[j + 1]; ++k) {
      const offset_t at = begin + k + (columns[k] < lower ? 0 : own);
      to_columns[at] = halo[columns[k]];
      if (values != nullptr) to_values[at] = values[k];
    }
  }
};

/// Largest distance of an entry in the halo from the diagonal. Runs on boundary rows, whose columns ascend.
struct HaloBandwidth {
  using Sums = IndexRange;
  const offset_t* offsets;
  const index_t* columns;
  const index_t* halo;
  const index_t* boundary;
  index_t first;  ///< own row of the matrix
  TESSERA_HOST_DEVICE void operator()(std::int64_t j, IndexRange& range) const {
    if (offsets[j] == offsets[j + 1]) return;
    const index_t row = first + boundary[j];
    const index_t before = row - halo[columns[offsets[j]]];
    const index_t behind = halo[columns[offsets[j + 1] - 1]] - row;
    range.most = before > range.most ? before : range.most;
    range.most = behind > range.most ? behind : range.most;
  }
};

/// \param local on its device, whose memory the result names
template <class T>
[[nodiscard]] SplitRows split_rows(const LocalMatrix<T>& local);

/// Largest distance of an entry from the diagonal. O(rows); waits. \param first_row of the rank
template <class T>
[[nodiscard]] index_t bandwidth_of_split(const LocalMatrix<T>& local, index_t first_row);

/// Columns and values of own rows, on the device of the rank. O(nnz), and log(boundary rows) per entry between the
/// first and the last boundary row. Waits. \param columns, values split_rows().nnz elements; no values for a pattern
template <class T>
void join_rows(const LocalMatrix<T>& local, index_t first_row, index_t* columns, T* values);

}  // namespace tessera::detail
