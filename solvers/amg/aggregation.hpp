/// \file
/// Aggregation by a maximal independent set of distance 2 (N. Bell, S. Dalton, L. Olson, SIAM J. Sci. Comput. 34,
/// 2012): its members are roots, and every other row joins a root's aggregate. Keys are bijective hashes of the row's
/// number, drawn anew in every round, so the set is the same on every machine.
#pragma once

#include "core/csr_pointers.hpp"
#include "solvers/amg/level_rows.hpp"
#include "solvers/amg/row_ops.hpp"
#include "tessera/array.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>

namespace tessera::detail {

/// Most rows of a level: a key has 30 bits.
inline constexpr std::int64_t most_aggregated_rows = std::int64_t{1} << 30;

/// State of a row in two bits above its key: out of the set, undecided, or a member. A larger word wins.
enum class MisState : std::uint32_t { out = 0, undecided = 1, member = 2 };

[[nodiscard]] TESSERA_HOST_DEVICE constexpr MisState mis_state(std::uint32_t word) noexcept {
  return static_cast<MisState>(word >> 30);
}
[[nodiscard]] TESSERA_HOST_DEVICE constexpr std::uint32_t mis_word(MisState state, std::uint32_t key = 0) noexcept {
  return static_cast<std::uint32_t>(state) << 30 | key;
}

/// A permutation of the numbers below 2^30, another one in every round.
[[nodiscard]] TESSERA_HOST_DEVICE constexpr std::uint32_t mis_key(std::uint32_t row, std::uint32_t round) noexcept {
  constexpr std::uint32_t mask = (1U << 30) - 1;
  std::uint32_t key = (row + round * 0x1E3779B1U) & mask;
  key = (key ^ key >> 16) * 0x1C69B3F5U & mask;
  key = (key ^ key >> 13) * 0x27D4EB2FU & mask;
  return key ^ key >> 15;
}

/// Largest of some words.
struct LargestWord {
  std::uint32_t word = 0;
  TESSERA_HOST_DEVICE LargestWord& operator+=(const LargestWord& other) noexcept {
    if (other.word > word) word = other.word;
    return *this;
  }
};

struct RowCount {
  std::int64_t rows = 0;
  TESSERA_HOST_DEVICE RowCount& operator+=(const RowCount& other) noexcept {
    rows += other.rows;
    return *this;
  }
};

/// Rows without neighbours are out from the beginning: no coarser level helps them.
struct MisStart {
  using Sums = NoSum;
  const offset_t* offsets;
  std::uint32_t* words;
  std::uint32_t* near;
  index_t first;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, NoSum& /*sum*/) const {
    const std::int64_t row = first + i;
    const bool alone = offsets[row + 1] - offsets[row] < 2;
    words[row] =
        alone ? mis_word(MisState::out) : mis_word(MisState::undecided, mis_key(static_cast<std::uint32_t>(row), 0));
    near[row] = alone ? mis_word(MisState::out) : mis_word(MisState::undecided);
  }
};

/// Largest word among a row and its neighbours. Final where it is not undecided.
struct MisNear {
  using Sums = LargestWord;
  using Total = NoSum;
  const offset_t* row_offsets;
  const index_t* columns;
  const std::uint32_t* words;
  std::uint32_t* near;
  RowRange within;  ///< rows that change

  [[nodiscard]] TESSERA_HOST_DEVICE const offset_t* offsets() const { return row_offsets; }
  [[nodiscard]] TESSERA_HOST_DEVICE bool visits(index_t row) const {
    return within.contains(row) && mis_state(near[row]) == MisState::undecided;
  }
  TESSERA_HOST_DEVICE void visit(index_t /*row*/, offset_t k, LargestWord& sums) const {
    sums += LargestWord{words[columns[k]]};
  }
  TESSERA_HOST_DEVICE void finish(index_t row, const LargestWord& sums, NoSum& /*total*/) const {
    if (visits(row)) near[row] = sums.word;
  }
};

/// Decides rows by the largest word at distance 2: a member there puts the row out, its own word makes it a member.
struct MisDecide {
  using Sums = LargestWord;
  using Total = RowCount;  ///< still undecided
  const offset_t* row_offsets;
  const index_t* columns;
  const std::uint32_t* near;
  std::uint32_t* words;
  RowRange within;  ///< rows that change
  std::uint32_t round;

  [[nodiscard]] TESSERA_HOST_DEVICE const offset_t* offsets() const { return row_offsets; }
  [[nodiscard]] TESSERA_HOST_DEVICE bool visits(index_t row) const {
    return within.contains(row) && mis_state(words[row]) == MisState::undecided;
  }
  TESSERA_HOST_DEVICE void visit(index_t /*row*/, offset_t k, LargestWord& sums) const {
    sums += LargestWord{near[columns[k]]};
  }
  TESSERA_HOST_DEVICE void finish(index_t row, const LargestWord& sums, RowCount& total) const {
    if (!visits(row)) return;
    if (mis_state(sums.word) == MisState::member) {
      words[row] = mis_word(MisState::out);
    } else if (sums.word == words[row]) {
      words[row] = mis_word(MisState::member);
    } else {
      words[row] = mis_word(MisState::undecided, mis_key(static_cast<std::uint32_t>(row), round + 1));
      ++total.rows;
    }
  }
};

/// 1 for roots, else 0; to be summed.
struct MarkRoots {
  using Sums = NoSum;
  const std::uint32_t* words;  ///< from the first of the rows on, as `numbers`
  offset_t* numbers;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, NoSum& /*sum*/) const {
    numbers[i] = mis_state(words[i]) == MisState::member ? 1 : 0;
  }
};

/// Numbers of the roots of a rank become those of the whole.
struct ShiftNumbers {
  using Sums = NoSum;
  offset_t* numbers;
  offset_t before;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, NoSum& /*sum*/) const { numbers[i] += before; }
};

/// Largest index.
struct LargestIndex {
  index_t index = -1;
  TESSERA_HOST_DEVICE LargestIndex& operator+=(const LargestIndex& other) noexcept {
    if (other.index > index) index = other.index;
    return *this;
  }
};

/// Roots and their neighbours take the root's number; -1 for the others.
struct JoinRoots {
  using Sums = LargestIndex;
  using Total = NoSum;
  const offset_t* row_offsets;
  const index_t* columns;
  const std::uint32_t* words;
  const offset_t* numbers;
  index_t* aggregates;

  [[nodiscard]] TESSERA_HOST_DEVICE const offset_t* offsets() const { return row_offsets; }
  [[nodiscard]] TESSERA_HOST_DEVICE bool visits(index_t /*row*/) const { return true; }
  TESSERA_HOST_DEVICE void visit(index_t /*row*/, offset_t k, LargestIndex& sums) const {
    const index_t column = columns[k];
    if (mis_state(words[column]) == MisState::member) sums += LargestIndex{static_cast<index_t>(numbers[column])};
  }
  TESSERA_HOST_DEVICE void finish(index_t row, const LargestIndex& sums, NoSum& /*total*/) const {
    aggregates[row] = sums.index;
  }
};

/// The aggregate with the largest word.
struct BestAggregate {
  std::uint64_t word = 0;
  std::int64_t aggregate = -1;
  TESSERA_HOST_DEVICE BestAggregate& operator+=(const BestAggregate& other) noexcept {
    if (other.word > word) *this = other;
    return *this;
  }
};

/// Rows without an aggregate join that of their strongest neighbour; of equally strong ones, one by hash, so that no
/// aggregate grows by the order of numbers.
template <class T>
struct JoinStrongest {
  using Sums = BestAggregate;
  using Total = RowCount;  ///< rows with neighbours that are still without
  CsrPointers<T> a;
  const index_t* old;
  index_t* aggregates;
  RowRange counted;  ///< rows of the total

  [[nodiscard]] TESSERA_HOST_DEVICE const offset_t* offsets() const { return a.offsets; }
  [[nodiscard]] TESSERA_HOST_DEVICE bool visits(index_t row) const { return old[row] < 0; }
  TESSERA_HOST_DEVICE void visit(index_t row, offset_t k, BestAggregate& sums) const {
    const index_t column = a.columns[k];
    if (column == row || old[column] < 0) return;
    const float magnitude = std::abs(static_cast<float>(value_at(a, k)));
    std::uint32_t bits = 0;
    memcpy(&bits, &magnitude, sizeof(bits));
    const std::uint32_t hash = mis_key(static_cast<std::uint32_t>(old[column]), static_cast<std::uint32_t>(row));
    sums += BestAggregate{std::uint64_t{bits} << 32 | hash << 2 | 1, old[column]};
  }
  TESSERA_HOST_DEVICE void finish(index_t row, const BestAggregate& sums, RowCount& total) const {
    const index_t aggregate = old[row] >= 0 ? old[row] : static_cast<index_t>(sums.aggregate);
    aggregates[row] = aggregate;
    const bool has_neighbours = a.offsets[row + 1] - a.offsets[row] > 1;
    if (aggregate < 0 && has_neighbours && counted.contains(row)) ++total.rows;
  }
};

/// Aggregates of the rows of a matrix.
struct Aggregates {
  Array<index_t> of_row;  ///< -1: none
  index_t count = 0;
  std::int64_t without = 0;  ///< rows with neighbours that reach no root
  int rounds = 0;
};

/// Every rank gets the aggregates of all rows, the same as one rank alone finds. Collective, if shared.
/// O(nnz) work per round, about log n rounds \param a strong entries and the diagonal, on the device \param entries of
/// `a`, over all ranks
template <class T>
[[nodiscard]] Aggregates aggregate(const Device& device, const CsrView<T>& a, const LevelRows& rows, offset_t entries);

}  // namespace tessera::detail

namespace tessera::host {
/// The rows of `from` whose word is undecided, to `to`. \returns their number
[[nodiscard]] std::int64_t list_undecided(const Device& device, const std::uint32_t* words, const RowSet& from,
                                          index_t* to);
}  // namespace tessera::host

namespace tessera::cuda {
/// The same, in any order, without waiting. \param found on the device: their number
void list_undecided(const Device& device, const std::uint32_t* words, const RowSet& from, index_t* to,
                    std::int64_t* found);
}  // namespace tessera::cuda
