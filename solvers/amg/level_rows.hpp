/// \file
/// Rows of a level of AMG, as far as a rank works on them: its own, whose results it shares with the others, and as
/// many beside them as what follows asks for. One rank alone has all rows.
#pragma once

#include "core/communicator.hpp"
#include "solvers/amg/row_ops.hpp"
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
  friend constexpr bool operator==(const RowRange&, const RowRange&) = default;
};

/// `range` with `reach` rows more on both sides, as far as there are rows. A negative reach takes rows away, except at
/// the ends of the matrix.
[[nodiscard]] constexpr RowRange widened(const RowRange& range, std::int64_t reach, index_t rows) noexcept {
  const auto first = range.first == 0 ? 0 : std::clamp<std::int64_t>(range.first - reach, 0, rows);
  const auto last = range.last == rows ? rows : std::clamp<std::int64_t>(range.last + reach, first, rows);
  return {static_cast<index_t>(first), static_cast<index_t>(last)};
}

/// Elements per row that ranks take over from each other.
class RowExchange {
 public:
  RowExchange() = default;
  RowExchange(const RowExchange&) = delete;
  RowExchange& operator=(const RowExchange&) = delete;
  virtual ~RowExchange() = default;

  [[nodiscard]] virtual int number() const noexcept = 0;
  [[nodiscard]] virtual Communicator& communicator() const = 0;
  /// The elements of others within `reach` rows of this rank's. Collective; waits. \param values one per row, of
  /// `element_bytes`, a multiple of 4; this rank has those of its part
  virtual void exchange(void* values, std::size_t element_bytes, const Partition& partition, index_t reach) = 0;

  /// The elements that the others have.
  template <class E>
  void complete(std::span<E> values, const Partition& partition) {
    exchange(values.data(), sizeof(E), partition, std::numeric_limits<index_t>::max());
  }
};

/// Collective calls are made by all ranks of a level, in the same order; where one rank has all rows they do nothing.
struct LevelRows {
  index_t rows = 0;  ///< of the level
  offset_t nnz = 0;  ///< of the level
  RowRange own;
  RowRange held;         ///< of A; its own and those beside them
  index_t reach = 0;     ///< largest distance of an entry of A from the diagonal
  RowExchange* ranks = nullptr;  ///< null: one rank has all rows
  const Partition* partition = nullptr;

  [[nodiscard]] bool is_shared() const noexcept { return ranks != nullptr; }
  /// Rows whose columns all are among those held.
  [[nodiscard]] RowRange with_columns() const noexcept {
    return is_shared() ? widened(held, -std::int64_t{reach}, rows) : held;
  }
  /// \param entries of the matrix that the operation runs on, over all ranks
  [[nodiscard]] RowSet set(const RowRange& range, offset_t entries) const noexcept {
    return {range.size(), lanes_per_row(rows, entries), nullptr, range.first};
  }

  /// Elements of others that columns of own rows ask for. \param values at least one per row
  template <class E>
  void exchange(std::span<E> values) const {
    if (is_shared()) ranks->exchange(values.data(), sizeof(E), *partition, reach);
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
  return {.rows = a.rows, .nnz = a.nnz(), .own = {0, a.rows}, .held = {0, a.rows}};
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
