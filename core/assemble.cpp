#include "tessera/assemble.hpp"

#include "core/parallel.hpp"
#include "core/sort_entries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <utility>

namespace tessera {

namespace {

constexpr std::int64_t max_index = std::numeric_limits<index_t>::max();

/// Smallest k in [0, n) with predicate(k), or n; the same for every number of threads.
template <class Predicate>
std::int64_t first_where(std::int64_t n, Predicate&& predicate) {
  std::atomic<std::int64_t> first{n};
  host::parallel_for(Device{}, n, [&](host::Range range) {
    for (std::int64_t k = range.begin; k < range.end; ++k) {
      if (!predicate(static_cast<std::size_t>(k))) continue;
      std::int64_t seen = first.load();
      while (k < seen && !first.compare_exchange_weak(seen, k)) {
      }
      return;
    }
  });
  return first;
}

template <class T>
struct Coordinates {
  std::int64_t rows;
  std::int64_t cols;
  std::span<const index_t> row_indices;
  std::span<const index_t> column_indices;
  std::span<const T> values;
  ValueStorage storage;

  [[nodiscard]] offset_t count() const { return static_cast<offset_t>(row_indices.size()); }
  [[nodiscard]] bool weighted() const { return storage == ValueStorage::weighted; }
};

void check_size(std::int64_t size, const char* name) {
  if (size < 0 || size > max_index) {
    throw InvalidMatrix(fmt::format("number of {} must be in [0, {}], got {}", name, max_index, size));
  }
}

template <class T>
void check_coordinates(const Coordinates<T>& in) {
  check_size(in.rows, "rows");
  check_size(in.cols, "columns");
  const std::size_t n = in.row_indices.size();
  const std::size_t expected_values = in.weighted() ? n : 0;
  if (in.column_indices.size() != n || in.values.size() != expected_values) {
    throw DimensionError(fmt::format("{} row indices need {} column indices and {} values, got {} and {}", n, n,
                                     expected_values, in.column_indices.size(), in.values.size()));
  }
  const std::int64_t bad = first_where(in.count(), [&](std::size_t k) {
    return in.row_indices[k] < 0 || in.row_indices[k] >= in.rows || in.column_indices[k] < 0 ||
           in.column_indices[k] >= in.cols;
  });
  if (bad < in.count()) {
    const auto k = static_cast<std::size_t>(bad);
    throw InvalidMatrix(fmt::format("entry {}: position ({}, {}) is outside the {} x {} matrix", k, in.row_indices[k],
                                    in.column_indices[k], in.rows, in.cols));
  }
}

/// Whether the entries are in row-major order without repetition.
template <class T>
bool strictly_ascending(const Coordinates<T>& in) {
  const std::int64_t pairs = std::max<std::int64_t>(in.count() - 1, 0);
  return first_where(pairs, [&](std::size_t k) {
           const index_t row = in.row_indices[k];
           const index_t next = in.row_indices[k + 1];
           return row > next || (row == next && in.column_indices[k] >= in.column_indices[k + 1]);
         }) == pairs;
}

template <class T>
Csr<T> make_matrix(const Coordinates<T>& in, Array<offset_t> offsets, Array<index_t> columns, Array<T> values) {
  if (!in.weighted()) {
    return Csr<T>::pattern(in.rows, in.cols, std::move(offsets), std::move(columns), Check::trusted);
  }
  return Csr<T>(in.rows, in.cols, std::move(offsets), std::move(columns), std::move(values), Check::trusted);
}

template <class T>
Csr<T> copy_sorted(const Coordinates<T>& in) {
  Array<offset_t> offsets(in.rows + 1, Init::none);
  const offset_t nnz = in.count();
  // Entry k ends all rows between its predecessor's and its own, so each offset is written by exactly one entry.
  host::parallel_for(Device{}, nnz, [&](host::Range range) {
    for (std::int64_t k = range.begin; k < range.end; ++k) {
      const auto entry = static_cast<std::size_t>(k);
      const std::int64_t first = k == 0 ? 0 : in.row_indices[entry - 1] + std::int64_t{1};
      for (std::int64_t row = first; row <= in.row_indices[entry]; ++row) offsets[row] = k;
    }
  });
  const std::int64_t behind_last = nnz == 0 ? 0 : in.row_indices.back() + std::int64_t{1};
  std::fill(offsets.begin() + behind_last, offsets.end(), nnz);
  return make_matrix(in, std::move(offsets), Array<index_t>::copy_of(in.column_indices), Array<T>::copy_of(in.values));
}

template <class T>
[[noreturn]] void report_duplicate(const Coordinates<T>& in, std::pair<index_t, index_t> position) {
  const auto next_from = [&](std::size_t k) {
    while (in.row_indices[k] != position.first || in.column_indices[k] != position.second) ++k;
    return k;
  };
  const std::size_t first = next_from(0);
  throw InvalidMatrix(fmt::format("position ({}, {}) occurs more than once: entries {} and {}", position.first,
                                  position.second, first, next_from(first + 1)));
}

/// Closes the gaps that merged entries left between the blocks.
template <class T>
EntryTable<T> close_gaps(const RowBlocks& blocks, std::span<const offset_t> begin,
                         std::span<const ArrangedBlock> arranged, const EntryTable<T>& table, ValueStorage storage,
                         Array<offset_t>& offsets) {
  std::array<offset_t, max_row_blocks + 1> target{};
  for (std::size_t b = 0; b < arranged.size(); ++b) target[b + 1] = target[b] + arranged[b].kept;
  EntryTable<T> closed(target[arranged.size()], storage);
  host::parallel_tasks(Device{}, blocks.count(), [&](std::int64_t block) {
    const auto b = static_cast<std::size_t>(block);
    std::copy_n(table.columns.begin() + begin[b], arranged[b].kept, closed.columns.begin() + target[b]);
    if (!table.values.empty()) {
      std::copy_n(table.values.begin() + begin[b], arranged[b].kept, closed.values.begin() + target[b]);
    }
    const host::Range rows = blocks.rows_of(block);
    for (std::int64_t row = rows.begin; row < rows.end; ++row) offsets[row + 1] -= begin[b] - target[b];
  });
  return closed;
}

template <class Entry, class T, class EntryAt>
Assembly<T> assemble_unordered(const Coordinates<T>& in, Duplicates policy, EntryAt&& entry_at) {
  const RowBlocks blocks = choose_row_blocks(in.rows, in.count(), sizeof(Entry));
  const auto count = static_cast<std::size_t>(blocks.count());
  BlockedEntries<Entry> blocked = share_out<Entry>(blocks, in.count(), entry_at);
  EntryTable<T> table(in.count(), in.storage);
  Array<offset_t> offsets(in.rows + 1, Init::none);
  offsets[0] = 0;
  std::array<ArrangedBlock, max_row_blocks> arranged;
  host::parallel_tasks(Device{}, blocks.count(), [&](std::int64_t block) {
    const auto b = static_cast<std::size_t>(block);
    arranged[b] = arrange_block<Entry>(blocks.rows_of(block), blocked.of(b), blocked.begin[b], offsets.data(), table);
  });
  blocked.entries = {};
  offset_t kept = 0;
  for (std::size_t b = 0; b < count; ++b) {
    kept += arranged[b].kept;
    if (arranged[b].first_repeated && policy == Duplicates::error) report_duplicate(in, *arranged[b].first_repeated);
  }
  if (kept < in.count()) {
    table = close_gaps(blocks, std::span<const offset_t>(blocked.begin), std::span(arranged).first(count), table,
                       in.storage, offsets);
  }
  return {make_matrix(in, std::move(offsets), std::move(table.columns), std::move(table.values)), in.count() - kept};
}

template <class T>
Assembly<T> assemble_unordered(const Coordinates<T>& in, Duplicates policy) {
  const index_t* rows = in.row_indices.data();
  const index_t* columns = in.column_indices.data();
  if (!in.weighted()) {
    return assemble_unordered<PatternEntry>(in, policy, [=](std::int64_t k) {
      return PatternEntry{rows[k], columns[k]};
    });
  }
  const T* values = in.values.data();
  return assemble_unordered<WeightedEntry<T>>(in, policy, [=](std::int64_t k) {
    return WeightedEntry<T>{rows[k], columns[k], values[k]};
  });
}

}  // namespace

template <class T>
Assembly<T> assemble(std::int64_t rows, std::int64_t cols, std::span<const index_t> row_indices,
                     std::span<const index_t> column_indices, std::span<const T> values, ValueStorage storage,
                     Duplicates duplicates) {
  const Coordinates<T> in{rows, cols, row_indices, column_indices, values, storage};
  check_coordinates(in);
  if (strictly_ascending(in)) return {copy_sorted(in), 0};
  return assemble_unordered(in, duplicates);
}

template Assembly<float> assemble(std::int64_t, std::int64_t, std::span<const index_t>, std::span<const index_t>,
                                  std::span<const float>, ValueStorage, Duplicates);
template Assembly<double> assemble(std::int64_t, std::int64_t, std::span<const index_t>, std::span<const index_t>,
                                   std::span<const double>, ValueStorage, Duplicates);

}  // namespace tessera
