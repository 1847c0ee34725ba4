/// \file
/// A row of C by merging the scaled rows of B one after the other.
#pragma once

#include "spgemm/common/factors.hpp"
#include "tessera/array.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace tessera::host {

/// Work grows with lists times entries: for few, short lists.
template <class V>
class MergeAccumulator {
 public:
  /// \param entries largest number of entries of a row
  explicit MergeAccumulator(std::int64_t entries) {
    for (Row& list : lists_) {
      list.columns = Array<index_t>(entries, Init::none);
      list.values = Array<V>(has_values<V> ? entries : 0, Init::none);
    }
  }

  [[nodiscard]] static std::uint64_t bytes(std::int64_t entries) noexcept {
    return 2 * static_cast<std::uint64_t>(entries) * (sizeof(index_t) + (has_values<V> ? sizeof(V) : 0));
  }

  /// Sums a row. \returns its entries, or row_overflow
  offset_t accumulate(const Factors<V>& factors, const RowTask& row) noexcept {
    count_ = 0;
    for (offset_t k = row.begin; k < row.end; ++k) add(factors, k);
    return count_ <= row.limit ? count_ : row_overflow;
  }

  /// Writes the row. \param columns may be null: values only
  void emit(index_t* columns, [[maybe_unused]] V* values) noexcept {
    const Row& row = lists_[current_];
    if (columns != nullptr) std::copy_n(row.columns.data(), count_, columns);
    if constexpr (has_values<V>) std::copy_n(row.values.data(), count_, values);
  }

 private:
  struct Row {
    Array<index_t> columns;
    Array<V> values;
  };

  /// Merges the products of entry k of A into the row: of two entries at one column the older is the left summand.
  void add(const Factors<V>& factors, offset_t k) noexcept {
    const Row& from = lists_[current_];
    Row& to = lists_[1 - current_];
    const index_t* from_columns = from.columns.data();
    index_t* to_columns = to.columns.data();
    [[maybe_unused]] const V* from_values = from.values.data();
    [[maybe_unused]] V* to_values = to.values.data();
    std::int64_t i = 0;
    std::int64_t out = 0;
    const std::int64_t count = count_;
    factors.for_each_product(k, [&](index_t column, [[maybe_unused]] V product) {
      while (i < count && from_columns[i] < column) {
        to_columns[out] = from_columns[i];
        if constexpr (has_values<V>) to_values[out] = from_values[i];
        ++i;
        ++out;
      }
      to_columns[out] = column;
      const bool both = i < count && from_columns[i] == column;
      if constexpr (has_values<V>) to_values[out] = both ? from_values[i] + product : product;
      i += both ? 1 : 0;
      ++out;
    });
    std::copy(from_columns + i, from_columns + count, to_columns + out);
    if constexpr (has_values<V>) std::copy(from_values + i, from_values + count, to_values + out);
    count_ = out + count - i;
    current_ = 1 - current_;
  }

  std::array<Row, 2> lists_;
  std::size_t current_ = 0;
  std::int64_t count_ = 0;
};

}  // namespace tessera::host
