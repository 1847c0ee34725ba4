/// \file
/// Positions of nonzeros without values, made in parallel: the first step of the random generators.
#pragma once

#include "core/parallel.hpp"
#include "core/random.hpp"
#include "tessera/csr.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

namespace tessera::io {

using tessera::detail::Permutation;
using tessera::detail::Scramble;
using tessera::detail::SplitMix64;
using tessera::detail::unit_interval;

/// Purpose of a random number. The numbers are part of the definition of the matrices: they never change.
enum class Draw : std::uint64_t {
  value = 1,
  edge = 2,
  second_edge = 3,
  row = 4,
  heavy_row = 5,
  permutation = 6,
  coefficient = 7,
  rail_load = 8,
  voltage_source = 9
};

[[nodiscard]] constexpr std::uint64_t draw_seed(std::uint64_t seed, Draw draw) {
  return SplitMix64(seed, static_cast<std::uint64_t>(draw)).next();
}

struct Structure {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  Array<offset_t> offsets;  ///< rows + 1
  Array<index_t> columns;
};

/// Turns counts in offsets[1 ...] into row offsets.
void accumulate_counts(Array<offset_t>& offsets);

/// Sorts every row and removes duplicate columns. O(nnz log(longest row)) work; with duplicates, temporarily a second
/// copy of the columns.
[[nodiscard]] Structure sorted_without_duplicates(Structure draft);

/// Row by row: `count_of(row)` entries, whose columns `fill(row, out)` writes.
template <class CountOf, class Fill>
[[nodiscard]] Structure structure_by_rows(std::int64_t rows, std::int64_t cols, CountOf&& count_of, Fill&& fill) {
  Structure result{rows, cols, Array<offset_t>(rows + 1), {}};
  host::parallel_for(Device{}, rows, [&](host::Range range) {
    for (std::int64_t row = range.begin; row < range.end; ++row) result.offsets[row + 1] = count_of(row);
  });
  accumulate_counts(result.offsets);
  result.columns = Array<index_t>(result.offsets[rows], Init::none);
  host::parallel_for(Device{}, rows, [&](host::Range range) {
    for (std::int64_t row = range.begin; row < range.end; ++row) {
      fill(row, result.columns.data() + result.offsets[row]);
    }
  });
  return result;
}

/// A position, or none.
struct DrawnEntry {
  index_t row = -1;
  index_t column = -1;
  [[nodiscard]] bool exists() const noexcept { return row >= 0; }
  [[nodiscard]] DrawnEntry mirrored() const noexcept { return {column, row}; }
};

/// Gathers successive entries of one row, so that a hub costs one atomic operation per batch.
/// Flush is called as flush(row, columns, count).
template <class Flush>
class RowRun {
 public:
  explicit RowRun(Flush flush) : flush_(flush) {}
  void add(DrawnEntry entry) {
    if (entry.row != row_ || count_ == columns_.size()) end();
    row_ = entry.row;
    columns_[count_++] = entry.column;
  }
  void end() {
    if (count_ > 0) flush_(row_, columns_.data(), count_);
    count_ = 0;
  }

 private:
  Flush flush_;
  index_t row_ = -1;
  std::size_t count_ = 0;
  std::array<index_t, 256> columns_;
};

/// flush(row, columns, count) for the entries number 0 ... draws - 1, in parallel.
template <class EntryOf, class Flush>
void for_row_runs(std::int64_t draws, const EntryOf& entry_of, const Flush& flush) {
  host::parallel_for(Device{}, draws, [&](host::Range range) {
    RowRun<const Flush&> run(flush);
    for (std::int64_t k = range.begin; k < range.end; ++k) {
      const DrawnEntry entry = entry_of(k);
      if (entry.exists()) run.add(entry);
    }
    run.end();
  });
}

/// From entries in any order, duplicates removed. `entry_of(k)` is a pure function of k in [0, draws), evaluated twice,
/// so that no list of entries is stored.
template <class EntryOf>
[[nodiscard]] Structure structure_by_entries(std::int64_t rows, std::int64_t cols, std::int64_t draws,
                                             const EntryOf& entry_of) {
  Structure result{rows, cols, Array<offset_t>(rows + 1), {}};
  const auto allocate = [&](index_t row, std::size_t count) {
    return std::atomic_ref<offset_t>(result.offsets[std::int64_t{row} + 1])
        .fetch_add(static_cast<offset_t>(count), std::memory_order_relaxed);
  };
  for_row_runs(draws, entry_of, [&](index_t row, const index_t*, std::size_t count) { allocate(row, count); });
  // offsets[row + 1] becomes the start of the row and, once all entries are placed, its end.
  offset_t total = 0;
  for (std::int64_t row = 0; row < rows; ++row) total += std::exchange(result.offsets[row + 1], total);
  result.columns = Array<index_t>(total, Init::none);
  for_row_runs(draws, entry_of, [&](index_t row, const index_t* columns, std::size_t count) {
    std::copy_n(columns, count, result.columns.data() + allocate(row, count));
  });
  return sorted_without_duplicates(std::move(result));
}

/// Whether entries (i, j) and (j, i) have independent values or the same value.
enum class Values { independent, symmetric };

/// Values uniform in [0, 1), a function of seed and position only.
template <class T>
[[nodiscard]] Csr<T> matrix_with_random_values(Structure structure, std::uint64_t seed, Values values);

extern template Csr<float> matrix_with_random_values(Structure, std::uint64_t, Values);
extern template Csr<double> matrix_with_random_values(Structure, std::uint64_t, Values);

}  // namespace tessera::io
