/// \file
/// Rows of a level of AMG, as far as a rank works on them: its own, whose results it shares with the others, and as
/// many beside them as what follows asks for. One rank alone has all rows.
#pragma once

#include "core/communicator.hpp"
#include "core/host_device.hpp"
#include "core/sums.hpp"
#include "solvers/amg/offsets.hpp"
#include "solvers/amg/row_ops.hpp"
#include "solvers/fused/transform_reduce.hpp"
#include "tessera/csr.hpp"
#include "tessera/several_devices.hpp"
#include "tessera/types.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace tessera::detail {

struct RowRange {
  index_t first = 0;
  index_t last = 0;  ///< the one behind the last
  [[nodiscard]] constexpr index_t size() const noexcept { return last - first; }
  [[nodiscard]] constexpr bool contains(const RowRange& other) const noexcept {
    return first <= other.first && other.last <= last;
  }
  [[nodiscard]] TESSERA_HOST_DEVICE constexpr bool contains(std::int64_t row) const noexcept {
    return first <= row && row < last;
  }
  friend constexpr bool operator==(const RowRange&, const RowRange&) = default;
};

/// `range` with `more` rows on both sides, as far as there are rows.
[[nodiscard]] constexpr RowRange widened(const RowRange& range, std::int64_t more, index_t rows) noexcept {
  return {static_cast<index_t>(std::max<std::int64_t>(range.first - more, 0)),
          static_cast<index_t>(std::min<std::int64_t>(range.last + more, rows))};
}

/// One offset for several rows.
struct FillOffsets {
  using Sums = NoSum;
  offset_t* to;
  offset_t value;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, NoSum& /*sum*/) const { to[i] = value; }
};

/// Elements per row that ranks take over from each other.
class RowExchange {
 public:
  RowExchange() = default;
  RowExchange(const RowExchange&) = delete;
  RowExchange& operator=(const RowExchange&) = delete;
  virtual ~RowExchange() = default;

  [[nodiscard]] virtual int number() const noexcept = 0;
  [[nodiscard]] virtual Communicator& communicator() const = 0;
  /// The elements of others within `distance` rows of this rank's. Collective; waits. \param values one per row, of
  /// `element_bytes`, a multiple of 4; this rank has those of its part
  virtual void exchange(void* values, std::size_t element_bytes, const Partition& partition, index_t distance) = 0;

  /// The elements that the others have.
  template <class E>
  void complete(std::span<E> values, const Partition& partition) {
    exchange(values.data(), sizeof(E), partition, std::numeric_limits<index_t>::max());
  }
};

/// Rows beside its own that a rank holds, in bandwidths of A. Members of its aggregates lie up to two away, or three
/// where some join late, columns of R one further and those of A P two.
inline constexpr int held_bandwidths = 6;

/// Collective calls are made by all ranks of a level, in the same order; where one rank has all rows they do nothing.
///
/// An operation that makes an element per row from those of its columns is right on rows with right neighbours alone:
/// after an exchange within steps_of_exchange, then on one bandwidth less each time. So ranks repeat some work of each
/// other instead of exchanging after every operation (J. Demmel, M. Hoemmen, M. Mohiyuddin, K. Yelick, Avoiding
/// Communication in Sparse Matrix Computations, IPDPS 2008).
struct LevelRows {
  /// Operations in turn after an exchange whose results are right on own rows.
  static constexpr int steps_of_exchange = held_bandwidths - 1;

  index_t rows = 0;  ///< of the level
  offset_t nnz = 0;  ///< of the level
  RowRange own;
  index_t bandwidth = 0;         ///< largest distance of an entry of A from the diagonal
  RowExchange* ranks = nullptr;  ///< null: one rank has all rows
  const Partition* partition = nullptr;

  [[nodiscard]] bool is_shared() const noexcept { return ranks != nullptr; }
  /// Own rows and those within so many bandwidths of them.
  [[nodiscard]] RowRange beside(int bandwidths) const noexcept {
    return is_shared() ? widened(own, std::int64_t{bandwidth} * bandwidths, rows) : own;
  }
  /// Of A.
  [[nodiscard]] RowRange held() const noexcept { return beside(held_bandwidths); }
  /// Rows whose columns all are among those held: of A_f.
  [[nodiscard]] RowRange with_columns() const noexcept { return beside(steps_of_exchange); }
  /// \param entries of the matrix that the operation runs on, over all ranks
  [[nodiscard]] RowSet set(const RowRange& range, offset_t entries) const noexcept {
    return {range.size(), lanes_per_row(rows, entries), nullptr, range.first};
  }

  /// Elements of rows with_columns() that others own. \param values one per row
  template <class E>
  void exchange(std::span<E> values) const {
    if (!is_shared()) return;
    const std::int64_t most = std::numeric_limits<index_t>::max();
    const auto within = static_cast<index_t>(std::min(most, std::int64_t{bandwidth} * steps_of_exchange));
    ranks->exchange(values.data(), sizeof(E), *partition, within);
  }
  template <class E>
  void complete(std::span<E> values) const {
    if (is_shared()) ranks->complete(values, *partition);
  }
  /// Over all ranks, by +=.
  template <class Value>
  [[nodiscard]] Value sum(const Value& of_rank) const {
    return is_shared() ? ranks->communicator().sum(ranks->number(), of_rank) : of_rank;
  }

  struct RunningSum {
    offset_t before = 0;  ///< of the ranks before this one
    offset_t total = 0;
  };
  [[nodiscard]] RunningSum running_sum(offset_t of_rank) const {
    if (!is_shared()) return {0, of_rank};
    std::array<offset_t, most_ranks> all{};
    Communicator& communicator = ranks->communicator();
    communicator.gather(ranks->number(), of_rank, std::span(all.data(), static_cast<std::size_t>(communicator.size())));
    RunningSum result;
    for (int rank = 0; rank < communicator.size(); ++rank) {
      if (rank == ranks->number()) result.before = result.total;
      result.total += all[static_cast<std::size_t>(rank)];
    }
    return result;
  }
};

/// All rows of a matrix.
template <class T>
[[nodiscard]] LevelRows whole_level(const CsrView<T>& a) noexcept {
  return {.rows = a.rows, .nnz = a.nnz(), .own = {0, a.rows}};
}

/// Counts of rows of a range become offsets of a matrix that has these rows alone. \param offsets on the device, one
/// more than rows of the matrix \returns their sum; waits for it
[[nodiscard]] inline offset_t counts_to_offsets(const Device& device, std::span<offset_t> offsets,
                                                const RowRange& range) {
  const auto first = static_cast<std::size_t>(range.first);
  const auto size = static_cast<std::size_t>(range.size());
  const offset_t sum = sum_to_offsets(device, offsets.subspan(first, size + 1));
  fused::transform_reduce(device, range.first, FillOffsets{offsets.data(), 0});
  const auto behind = static_cast<std::int64_t>(offsets.size() - first - size - 1);
  fused::transform_reduce(device, behind, FillOffsets{offsets.data() + first + size + 1, sum});
  return sum;
}

/// Entries of rows of a matrix. Waits. \param offsets on the device
[[nodiscard]] inline offset_t entries_of(const Device& device, std::span<const offset_t> offsets,
                                         const RowRange& range) {
  std::array<offset_t, 2> ends{};
  copy_bytes(Device{}, &ends[0], device, &offsets[static_cast<std::size_t>(range.first)], sizeof(offset_t));
  copy_bytes(Device{}, &ends[1], device, &offsets[static_cast<std::size_t>(range.last)], sizeof(offset_t));
  return ends[1] - ends[0];
}

}  // namespace tessera::detail
