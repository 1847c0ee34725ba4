/// \file
/// Ranks that set up one hierarchy of AMG together, each on its own device. Every rank has all aggregates; of A, P and
/// R of the levels that they share it has the rows that its rows of the next A and of the cycle ask for. The bits are
/// those of a set-up by one.
#pragma once

#include "core/host_device.hpp"
#include "core/sums.hpp"
#include "solvers/amg/aggregation.hpp"
#include "solvers/amg/level_rows.hpp"
#include "solvers/fused/transform_reduce.hpp"
#include "tessera/csr.hpp"
#include "tessera/several_devices.hpp"
#include "tessera/types.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>

namespace tessera::detail {

/// Collective calls are made by all ranks, in the same order.
template <class T>
class SetupRanks : public RowExchange {
 public:
  /// The finest A, of which each rank has its rows: entries of all, largest distance of one from the diagonal, and rows
  /// as gather(). Collective; waits.
  [[nodiscard]] virtual offset_t finest_nnz() = 0;
  [[nodiscard]] virtual index_t finest_bandwidth() = 0;
  [[nodiscard]] virtual Csr<T> gather_finest(const RowRange& range) = 0;

  /// Levels with fewer rows are formed by every rank as a whole.
  [[nodiscard]] virtual index_t least_rows() const noexcept = 0;
  /// Of the levels so far: the finest, and those that coarsen() has shared out.
  [[nodiscard]] virtual const Partition& partition(std::size_t level) const = 0;
  /// Shares the next level out, so that aggregates lie where their rows lie.
  virtual void coarsen(const Aggregates& aggregates, index_t block, index_t coarse_rows) = 0;

  /// A matrix of the rows of all ranks, one below the other, on the device of this one. Collective; waits. \param range
  /// of rows that it gets; others are empty
  [[nodiscard]] virtual Csr<T> gather(const Csr<T>& own, const RowRange& range) = 0;
  /// The aggregates of the first rank. Collective; waits.
  virtual void take_from_first(Aggregates& aggregates) = 0;

  /// The rows of a level that this rank has.
  [[nodiscard]] RowRange rows(std::size_t level) const {
    return {partition(level).first_row(this->number()), partition(level).first_row(this->number() + 1)};
  }
  /// Largest distance of entries from the diagonal, over all ranks. Collective; waits. \param own rows from `first` on
  [[nodiscard]] index_t bandwidth(const Csr<T>& own, index_t first) const;
  /// Whether a level may be shared out, before its aggregates are known.
  [[nodiscard]] bool may_share(index_t rows) const { return shares(rows, partition(0).parts()); }
  /// Whether a level is shared out: large enough, and every rank gets a row of the next.
  [[nodiscard]] bool shares(index_t rows, index_t coarse_rows) const {
    const index_t parts = partition(0).parts();
    return rows >= least_rows() && rows >= parts && coarse_rows >= parts;
  }
};

struct IndexRange {
  index_t least = std::numeric_limits<index_t>::max();
  index_t most = -1;
  TESSERA_HOST_DEVICE IndexRange& operator+=(const IndexRange& other) noexcept {
    if (other.least < least) least = other.least;
    if (other.most > most) most = other.most;
    return *this;
  }
};

/// Elements of another rank, which a GPU reads over the link; so both directions are under way at once.
template <class E>
struct CopyElements {
  using Sums = NoSum;
  const E* from;
  E* to;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, NoSum& /*sum*/) const { to[i] = from[i]; }
};

/// Offsets of the rows of a rank become those of the whole.
struct CopyOffsets {
  using Sums = NoSum;
  const offset_t* from;
  offset_t* to;
  offset_t shift;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, NoSum& /*sum*/) const { to[i] = from[i] + shift; }
};

/// Nodes of aggregates [first, last).
struct MembersOf {
  using Sums = IndexRange;
  const index_t* aggregates;  ///< of nodes
  index_t first;
  index_t last;
  TESSERA_HOST_DEVICE void operator()(std::int64_t node, IndexRange& range) const {
    if (aggregates[node] < first || aggregates[node] >= last) return;
    range += IndexRange{static_cast<index_t>(node), static_cast<index_t>(node)};
  }
};

/// Largest distance of an entry from the diagonal, from the ends of rows whose columns ascend.
struct Bandwidth {
  using Sums = IndexRange;
  const offset_t* offsets;
  const index_t* columns;
  index_t first = 0;  ///< number of the first row
  TESSERA_HOST_DEVICE void operator()(std::int64_t row, IndexRange& range) const {
    if (offsets[row] == offsets[row + 1]) return;
    const auto i = static_cast<index_t>(first + row);
    const index_t before = i - columns[offsets[row]];
    const index_t behind = columns[offsets[row + 1] - 1] - i;
    range.most = before > range.most ? before : range.most;
    range.most = behind > range.most ? behind : range.most;
  }
};

/// Offsets of a matrix that has rows [first, last) alone. Runs on rows + 1 elements.
struct PlaceOffsets {
  using Sums = NoSum;
  const offset_t* from;  ///< of the first of these rows on, and the one behind the last
  offset_t* to;
  RowRange rows;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, NoSum& /*sum*/) const {
    const std::int64_t within = i < rows.first ? 0 : i > rows.last ? rows.last - rows.first : i - rows.first;
    to[i] = from[within] - from[0];
  }
};

/// Rows of P that a rank needs, within those that it has: for its own rows of the fine level, and for the rows of
/// R (A P) that it forms. O(nodes) \param rows of the fine level \param bandwidth of its A \param fine, coarse the rows
/// that the rank has of both levels \param vectors coarse rows per aggregate
[[nodiscard]] RowRange rows_of_prolongator(const Device& device, const Aggregates& aggregates, index_t rows,
                                           index_t bandwidth, RowRange fine, RowRange coarse, index_t vectors);

template <class T>
index_t SetupRanks<T>::bandwidth(const Csr<T>& own, index_t first) const {
  const IndexRange of_rank = fused::transform_reduce(
      own.device(), own.rows(),
      Bandwidth{.offsets = own.row_offsets().data(), .columns = own.columns().data(), .first = first});
  return std::max<index_t>(this->communicator().sum(this->number(), of_rank).most, 0);
}

/// A matrix with rows of `part` from `first` on as its rows `range`, and empty ones beside them: its slices and
/// products are those of the whole, where no other row is asked for. Columns and values are those of `part`, in place.
/// O(rows); waits. \param part on `device`
template <class T>
[[nodiscard]] Csr<T> place_rows(const Device& device, const std::shared_ptr<const Csr<T>>& part, index_t first,
                                RowRange range, index_t rows);

}  // namespace tessera::detail
