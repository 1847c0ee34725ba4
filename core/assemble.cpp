#include "tessera/assemble.hpp"

#include "core/parallel.hpp"
#include "core/row_blocks.hpp"

#include <fmt/format.h>

#include <algorithm>
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

/// Column and position in the input. Ordering by both makes every sort of a row stable.
struct PackedKey {
  static constexpr std::int64_t max_entries = std::int64_t{1} << 32;

  PackedKey(index_t column, offset_t position)
      : bits((static_cast<std::uint64_t>(column) << 32) | static_cast<std::uint64_t>(position)) {}
  [[nodiscard]] index_t column() const { return static_cast<index_t>(bits >> 32); }
  [[nodiscard]] offset_t position() const { return static_cast<offset_t>(bits & 0xffffffffU); }
  friend bool operator<(PackedKey a, PackedKey b) { return a.bits < b.bits; }

  std::uint64_t bits;
};

/// The same for more than 2^32 entries.
struct WideKey {
  WideKey(index_t column, offset_t position) : column_(column), position_(position) {}
  [[nodiscard]] index_t column() const { return column_; }
  [[nodiscard]] offset_t position() const { return position_; }
  friend bool operator<(const WideKey& a, const WideKey& b) {
    return a.column_ != b.column_ ? a.column_ < b.column_ : a.position_ < b.position_;
  }

  index_t column_;
  offset_t position_;
};

template <class Key>
struct RowBuckets {
  Array<offset_t> offsets;
  Array<Key> keys;
};

/// Counting sort by row, stable. The input is cut into parts with a histogram each, so that parts scatter
/// independently; there are never more histogram counters than entries or rows, whichever is larger.
template <class Key, class T>
RowBuckets<Key> bucket_by_row(const Coordinates<T>& in) {
  const Device device;
  const offset_t nnz = in.count();
  const std::int64_t parts = std::clamp<std::int64_t>(nnz / std::max<std::int64_t>(in.rows, 1), 1, device.threads());
  Array<offset_t> cursor(parts * in.rows);
  host::parallel_tasks(device, parts, [&](std::int64_t part) {
    offset_t* counts = cursor.data() + part * in.rows;
    const host::Range range = host::part_of(nnz, parts, part);
    for (std::int64_t k = range.begin; k < range.end; ++k) ++counts[in.row_indices[static_cast<std::size_t>(k)]];
  });
  RowBuckets<Key> result{Array<offset_t>(in.rows + 1, Init::none), Array<Key>(nnz, Init::none)};
  offset_t total = 0;
  for (std::int64_t row = 0; row < in.rows; ++row) {
    result.offsets[row] = total;
    for (std::int64_t part = 0; part < parts; ++part) {
      total += std::exchange(cursor[part * in.rows + row], total);
    }
  }
  result.offsets[in.rows] = total;
  host::parallel_tasks(device, parts, [&](std::int64_t part) {
    offset_t* next = cursor.data() + part * in.rows;
    const host::Range range = host::part_of(nnz, parts, part);
    for (std::int64_t k = range.begin; k < range.end; ++k) {
      const auto entry = static_cast<std::size_t>(k);
      result.keys[next[in.row_indices[entry]]++] = Key(in.column_indices[entry], k);
    }
  });
  return result;
}

/// Sorts every row and returns how many entries repeat the position of the one before them.
template <class Key>
offset_t sort_rows(RowBuckets<Key>& buckets) {
  std::atomic<offset_t> duplicates{0};
  host::for_row_blocks(buckets.offsets, [&](host::Range rows) {
    offset_t repeated = 0;
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      Key* first = buckets.keys.data() + buckets.offsets[row];
      Key* last = buckets.keys.data() + buckets.offsets[row + 1];
      if (!std::is_sorted(first, last)) std::sort(first, last);
      for (Key* key = first; key + 1 < last; ++key) repeated += key[0].column() == key[1].column() ? 1 : 0;
    }
    duplicates += repeated;
  });
  return duplicates;
}

template <class Key>
[[noreturn]] void report_duplicate(const RowBuckets<Key>& buckets) {
  for (std::int64_t row = 0; row + 1 < buckets.offsets.size(); ++row) {
    for (offset_t k = buckets.offsets[row] + 1; k < buckets.offsets[row + 1]; ++k) {
      const Key before = buckets.keys[k - 1];
      const Key key = buckets.keys[k];
      if (before.column() != key.column()) continue;
      throw InvalidMatrix(fmt::format("position ({}, {}) occurs more than once: entries {} and {}", row, key.column(),
                                      before.position(), key.position()));
    }
  }
  throw InvalidMatrix("a position occurs more than once");
}

template <class Key>
Array<offset_t> offsets_without_duplicates(const RowBuckets<Key>& buckets) {
  Array<offset_t> merged(buckets.offsets.size());
  host::for_row_blocks(buckets.offsets, [&](host::Range rows) {
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      offset_t distinct = 0;
      index_t previous = -1;
      for (offset_t k = buckets.offsets[row]; k < buckets.offsets[row + 1]; ++k) {
        distinct += buckets.keys[k].column() == previous ? 0 : 1;
        previous = buckets.keys[k].column();
      }
      merged[row + 1] = distinct;
    }
  });
  for (std::int64_t row = 0; row + 1 < merged.size(); ++row) merged[row + 1] += merged[row];
  return merged;
}

/// Writes the sorted rows, adding entries of equal position in input order.
template <class Key, class T>
Csr<T> gather(const Coordinates<T>& in, const RowBuckets<Key>& buckets, Array<offset_t> offsets) {
  const offset_t nnz = offsets[in.rows];
  Array<index_t> columns(nnz, Init::none);
  Array<T> values(in.weighted() ? nnz : 0, Init::none);
  host::for_row_blocks(buckets.offsets, [&](host::Range rows) {
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      offset_t out = offsets[row] - 1;
      index_t previous = -1;
      for (offset_t k = buckets.offsets[row]; k < buckets.offsets[row + 1]; ++k) {
        const Key key = buckets.keys[k];
        const bool repeated = key.column() == previous;
        if (!repeated) columns[++out] = previous = key.column();
        if (!in.weighted()) continue;
        const T value = in.values[static_cast<std::size_t>(key.position())];
        values[out] = repeated ? values[out] + value : value;
      }
    }
  });
  return make_matrix(in, std::move(offsets), std::move(columns), std::move(values));
}

template <class Key, class T>
Assembly<T> assemble_unordered(const Coordinates<T>& in, Duplicates policy) {
  RowBuckets<Key> buckets = bucket_by_row<Key>(in);
  const offset_t duplicates = sort_rows(buckets);
  if (duplicates > 0 && policy == Duplicates::error) report_duplicate(buckets);
  Array<offset_t> offsets =
      duplicates > 0 ? offsets_without_duplicates(buckets) : Array<offset_t>::copy_of(buckets.offsets.span());
  return {gather(in, buckets, std::move(offsets)), duplicates};
}

}  // namespace

template <class T>
Assembly<T> assemble(std::int64_t rows, std::int64_t cols, std::span<const index_t> row_indices,
                     std::span<const index_t> column_indices, std::span<const T> values, ValueStorage storage,
                     Duplicates duplicates) {
  const Coordinates<T> in{rows, cols, row_indices, column_indices, values, storage};
  check_coordinates(in);
  if (strictly_ascending(in)) return {copy_sorted(in), 0};
  if (in.count() <= PackedKey::max_entries) return assemble_unordered<PackedKey>(in, duplicates);
  return assemble_unordered<WideKey>(in, duplicates);
}

template Assembly<float> assemble(std::int64_t, std::int64_t, std::span<const index_t>, std::span<const index_t>,
                                  std::span<const float>, ValueStorage, Duplicates);
template Assembly<double> assemble(std::int64_t, std::int64_t, std::span<const index_t>, std::span<const index_t>,
                                   std::span<const double>, ValueStorage, Duplicates);

}  // namespace tessera
