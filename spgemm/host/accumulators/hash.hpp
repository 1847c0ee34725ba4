/// \file
/// A row of C in a table with open addressing, sorted at the end.
#pragma once

#include "spgemm/common/factors.hpp"
#include "spgemm/host/accumulators/sort_keys.hpp"
#include "tessera/array.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace tessera::host {

/// Entries lie in the order in which their columns appear; the table holds columns and places. Its size follows the
/// limit of the row, of which it is at most 3/4 full.
template <class V>
class HashAccumulator {
 public:
  /// \param entries largest limit of a row, below 2^31
  explicit HashAccumulator(std::int64_t entries)
      : slots_(entries == 0 ? 0 : table_size(entries), Init::none),
        columns_(entries, Init::none),
        used_(entries, Init::none),
        values_(has_values<V> ? entries : 0, Init::none),
        keys_(entries, Init::none),
        scratch_(entries, Init::none) {
    std::fill(slots_.begin(), slots_.end(), Slot{});
  }

  [[nodiscard]] static std::uint64_t bytes(std::int64_t entries) noexcept {
    if (entries == 0) return 0;
    const std::size_t entry =
        sizeof(index_t) + sizeof(std::uint32_t) + (has_values<V> ? sizeof(V) : 0) + 2 * sizeof(SortKey);
    return static_cast<std::uint64_t>(table_size(entries)) * sizeof(Slot) + static_cast<std::uint64_t>(entries) * entry;
  }

  /// A power of two of which `entries` are at most three quarters.
  [[nodiscard]] static std::int64_t table_size(std::int64_t entries) noexcept {
    return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(entries + entries / 3 + 2)));
  }

  /// Sums a row. \returns its entries, or row_overflow, which leaves nothing behind
  offset_t accumulate(const Factors<V>& factors, const RowTask& row) noexcept {
    const std::int64_t size = table_size(row.limit);
    const auto mask = static_cast<std::uint32_t>(size - 1);
    const int shift = 32 - std::countr_zero(static_cast<std::uint64_t>(size));
    first_ = row.first_column;
    width_ = row.width;
    count_ = 0;
    bool full = false;
    for (offset_t k = row.begin; k < row.end && !full; ++k) {
      factors.for_each_product(k, [&](index_t column, [[maybe_unused]] V product) {
        std::uint32_t s = home(column, shift);
        while (slots_[s].column != column && slots_[s].column != vacant) s = (s + 1) & mask;
        if (slots_[s].column == column) {
          if constexpr (has_values<V>) values_[slots_[s].place] += product;
        } else if (count_ < row.limit) {
          slots_[s] = {column, static_cast<index_t>(count_)};
          columns_[count_] = column;
          used_[count_] = s;
          if constexpr (has_values<V>) values_[count_] = product;
          ++count_;
        } else {
          full = true;
        }
      });
    }
    for (std::int64_t k = 0; k < count_; ++k) slots_[used_[k]] = Slot{};
    return full ? row_overflow : count_;
  }

  /// Writes the row in ascending order of columns. \param columns may be null: values only
  void emit(index_t* columns, [[maybe_unused]] V* values) noexcept {
    for (std::int64_t k = 0; k < count_; ++k) {
      keys_[k] = sort_key(static_cast<std::uint32_t>(columns_[k] - first_), static_cast<std::uint32_t>(k));
    }
    const SortKey* sorted = sort_keys(keys_.data(), scratch_.data(), count_, static_cast<std::uint32_t>(width_));
    for (std::int64_t k = 0; k < count_; ++k) {
      if (columns != nullptr) columns[k] = first_ + static_cast<index_t>(sorted[k] >> 32);
      if constexpr (has_values<V>) values[k] = values_[static_cast<std::int64_t>(sorted[k] & 0xffffffffU)];
    }
  }

 private:
  static constexpr index_t vacant = -1;

  struct Slot {
    index_t column = vacant;
    index_t place = 0;
  };

  /// The upper bits of a product with the golden ratio. \param shift 32 less the logarithm of the table's size; a table
  /// of 2^32 slots has shift 0
  [[nodiscard]] static std::uint32_t home(index_t column, int shift) noexcept {
    return (static_cast<std::uint32_t>(column) * 0x9e3779b1U) >> shift;
  }

  Array<Slot> slots_;  ///< vacant between rows
  Array<index_t> columns_;
  Array<std::uint32_t> used_;  ///< slot of every entry
  Array<V> values_;
  Array<SortKey> keys_;
  Array<SortKey> scratch_;
  std::int64_t count_ = 0;
  index_t first_ = 0;
  index_t width_ = 0;
};

}  // namespace tessera::host
