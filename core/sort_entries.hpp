/// \file
/// Sort of entries in any order into compressed rows: first by blocks of neighbouring rows, then a counting sort by row
/// and a sort of every row, which both stay in the cache of a core.
#pragma once

#include "core/parallel.hpp"
#include "tessera/csr.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

namespace tessera {

/// An entry of a matrix with values.
template <class T>
struct WeightedEntry {
  index_t row;
  index_t column;
  T value;
  void add(const WeightedEntry& other) { value += other.value; }
};

/// An entry of a pattern.
struct PatternEntry {
  index_t row;
  index_t column;
  void add(const PatternEntry& /*other*/) {}
};

/// Columns and values during the sort. Positions count from the first entry of the matrix.
template <class T>
struct EntryTable {
  Array<index_t> columns;
  Array<T> values;  ///< empty for a pattern

  EntryTable(offset_t entries, ValueStorage storage)
      : columns(entries, Init::none), values(storage == ValueStorage::pattern ? 0 : entries, Init::none) {}

  template <class Entry>
  [[nodiscard]] Entry load(offset_t k) const {
    if constexpr (std::is_same_v<Entry, PatternEntry>) {
      return {0, columns[k]};
    } else {
      return {0, columns[k], values[k]};
    }
  }
  template <class Entry>
  void store(offset_t k, const Entry& entry) {
    columns[k] = entry.column;
    if constexpr (!std::is_same_v<Entry, PatternEntry>) values[k] = entry.value;
  }
};

/// Blocks of 2^shift rows.
struct RowBlocks {
  std::int64_t rows;
  int shift = 0;

  [[nodiscard]] std::int64_t count() const { return ((rows - 1) >> shift) + 1; }
  [[nodiscard]] std::int64_t block_of(index_t row) const { return row >> shift; }
  [[nodiscard]] host::Range rows_of(std::int64_t block) const {
    return {block << shift, std::min((block + 1) << shift, rows)};
  }
};

/// Bounds the number of positions that a thread writes in turn.
inline constexpr std::int64_t max_row_blocks = 1024;

/// Entries of a block: they fit into the second-level cache of a core.
inline constexpr std::uint64_t row_block_bytes = std::uint64_t{1} << 18;

/// \param rows at least 1
[[nodiscard]] inline RowBlocks choose_row_blocks(std::int64_t rows, offset_t entries, std::size_t entry_bytes) {
  const auto wanted =
      static_cast<std::int64_t>(static_cast<std::uint64_t>(entries) * entry_bytes / row_block_bytes) + 1;
  RowBlocks blocks{rows};
  while (blocks.count() > std::min(wanted, max_row_blocks)) ++blocks.shift;
  return blocks;
}

/// Entries by row block; inside a block in the order of the input.
template <class Entry>
struct BlockedEntries {
  Array<Entry> entries;
  std::array<offset_t, max_row_blocks + 1> begin{};
  [[nodiscard]] std::span<Entry> of(std::size_t block) {
    return entries.span().subspan(static_cast<std::size_t>(begin[block]),
                                  static_cast<std::size_t>(begin[block + 1] - begin[block]));
  }
};

/// entry_at(k) is entry k of `count`. Every thread counts its part of the input, then moves it.
template <class Entry, class EntryAt>
[[nodiscard]] BlockedEntries<Entry> share_out(const RowBlocks& blocks, offset_t count, EntryAt&& entry_at) {
  const Device device;
  const std::int64_t parts = count < host::serial_threshold() ? 1 : std::max(1, device.threads());
  const std::int64_t width = blocks.count();
  Array<offset_t> cursor(parts * width);
  host::parallel_tasks(device, parts, [&](std::int64_t part) {
    offset_t* counts = cursor.data() + part * width;
    const host::Range range = host::part_of(count, parts, part);
    for (std::int64_t k = range.begin; k < range.end; ++k) ++counts[blocks.block_of(entry_at(k).row)];
  });
  BlockedEntries<Entry> result{Array<Entry>(count, Init::none)};
  offset_t total = 0;
  for (std::int64_t block = 0; block < width; ++block) {
    result.begin[static_cast<std::size_t>(block)] = total;
    for (std::int64_t part = 0; part < parts; ++part) total += std::exchange(cursor[part * width + block], total);
  }
  result.begin[static_cast<std::size_t>(width)] = total;
  host::parallel_tasks(device, parts, [&](std::int64_t part) {
    offset_t* next = cursor.data() + part * width;
    const host::Range range = host::part_of(count, parts, part);
    for (std::int64_t k = range.begin; k < range.end; ++k) {
      const Entry entry = entry_at(k);
      result.entries[next[blocks.block_of(entry.row)]++] = entry;
    }
  });
  return result;
}

/// Result of a block.
struct ArrangedBlock {
  offset_t kept = 0;                                          ///< entries left, the others were added to them
  std::optional<std::pair<index_t, index_t>> first_repeated;  ///< position, in the order of the rows
};

/// Rows of at most so many entries are sorted in place.
inline constexpr offset_t short_row = 24;

/// Stable sort by column of the entries [begin, end) of one row. \param space for as many entries
template <class Entry, class T>
void sort_row(EntryTable<T>& table, offset_t begin, offset_t end, Entry* space) {
  if (end - begin <= short_row) {
    for (offset_t k = begin + 1; k < end; ++k) {
      const auto entry = table.template load<Entry>(k);
      offset_t to = k;
      for (; to > begin && table.columns[to - 1] > entry.column; --to)
        table.store(to, table.template load<Entry>(to - 1));
      table.store(to, entry);
    }
    return;
  }
  if (std::is_sorted(table.columns.begin() + begin, table.columns.begin() + end)) return;
  for (offset_t k = begin; k < end; ++k) space[k - begin] = table.template load<Entry>(k);
  std::stable_sort(space, space + (end - begin), [](const Entry& a, const Entry& b) { return a.column < b.column; });
  for (offset_t k = begin; k < end; ++k) table.store(k, space[k - begin]);
}

/// Moves the sorted entries [begin, end) of a row to `out` <= begin and adds repeated ones in their order. \returns the
/// end of what is left
template <class Entry, class T>
offset_t merge_row(EntryTable<T>& table, index_t row, offset_t begin, offset_t end, offset_t out,
                   ArrangedBlock& arranged) {
  for (offset_t k = begin; k < end;) {
    auto entry = table.template load<Entry>(k++);
    for (; k < end && table.columns[k] == entry.column; ++k) {
      if (!arranged.first_repeated) arranged.first_repeated = {row, entry.column};
      entry.add(table.template load<Entry>(k));
    }
    table.store(out++, entry);
  }
  return out;
}

/// Sorts the entries of a block into `table` from `begin` on; offsets[i + 1] becomes the end of row i.
/// \param entries of the block; their contents are lost
template <class Entry, class T>
ArrangedBlock arrange_block(host::Range rows, std::span<Entry> entries, offset_t begin, offset_t* offsets,
                            EntryTable<T>& table) {
  offset_t* ends = offsets + 1;
  std::fill(ends + rows.begin, ends + rows.end, offset_t{0});
  for (const Entry& entry : entries) ++ends[entry.row];
  offset_t total = begin;
  for (std::int64_t row = rows.begin; row < rows.end; ++row) total += std::exchange(ends[row], total);
  for (const Entry& entry : entries) table.store(ends[entry.row]++, entry);
  ArrangedBlock arranged;
  offset_t out = begin;
  offset_t next = begin;
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    const offset_t first = std::exchange(next, ends[row]);
    sort_row(table, first, next, entries.data());
    out = merge_row<Entry>(table, static_cast<index_t>(row), first, next, out, arranged);
    ends[row] = out;
  }
  arranged.kept = out - begin;
  return arranged;
}

}  // namespace tessera
