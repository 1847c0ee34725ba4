/// \file
/// A row of C by expansion of all its products, a sort and contraction (Dalton, Olson & Bell, TOMS 2015).
#pragma once

#include "spgemm/common/factors.hpp"
#include "spgemm/host/accumulators/sort_keys.hpp"
#include "tessera/array.hpp"

#include <cstdint>

namespace tessera::host {

/// Products lie in the order of A's row; sorted are their columns with their places, so that those of one column keep
/// that order.
template <class V>
class EscAccumulator {
 public:
  /// \param products of the largest row, below 2^32
  explicit EscAccumulator(std::int64_t products)
      : terms_(has_values<V> ? products : 0, Init::none), keys_(products, Init::none), scratch_(products, Init::none) {}

  [[nodiscard]] static std::uint64_t bytes(std::int64_t products) noexcept {
    return static_cast<std::uint64_t>(products) * ((has_values<V> ? sizeof(V) : 0) + 2 * sizeof(SortKey));
  }

  /// \returns the entries of the row, or row_overflow
  offset_t accumulate(const Factors<V>& factors, const RowTask& row) noexcept {
    first_ = row.first_column;
    expand(factors, row);
    sorted_ = sort_keys(keys_.data(), scratch_.data(), count_, static_cast<std::uint32_t>(row.width));
    offset_t entries = 0;
    for (std::int64_t k = 0; k < count_; ++k) entries += begins_entry(k) ? 1 : 0;
    return entries <= row.limit ? entries : row_overflow;
  }

  /// Contracts: writes the row in ascending order of columns. \param columns may be null: values only
  void emit(index_t* columns, [[maybe_unused]] V* values) noexcept {
    std::int64_t entry = -1;
    for (std::int64_t k = 0; k < count_; ++k) {
      const bool begins = begins_entry(k);
      if (begins) ++entry;
      if (begins && columns != nullptr) columns[entry] = first_ + static_cast<index_t>(sorted_[k] >> 32);
      if constexpr (has_values<V>) {
        const V term = terms_[static_cast<std::int64_t>(sorted_[k] & 0xffffffffU)];
        values[entry] = begins ? term : values[entry] + term;
      }
    }
  }

 private:
  void expand(const Factors<V>& factors, const RowTask& row) noexcept {
    count_ = 0;
    for (offset_t k = row.begin; k < row.end; ++k) {
      factors.for_each_product(k, [&](index_t column, [[maybe_unused]] V product) {
        keys_[count_] = sort_key(static_cast<std::uint32_t>(column - first_), static_cast<std::uint32_t>(count_));
        if constexpr (has_values<V>) terms_[count_] = product;
        ++count_;
      });
    }
  }

  /// Whether sorted key k is the first of its column.
  [[nodiscard]] bool begins_entry(std::int64_t k) const noexcept {
    return k == 0 || sorted_[k] >> 32 != sorted_[k - 1] >> 32;
  }

  Array<V> terms_;
  Array<SortKey> keys_;
  Array<SortKey> scratch_;
  const SortKey* sorted_ = nullptr;  ///< in keys_ or scratch_
  std::int64_t count_ = 0;
  index_t first_ = 0;
};

}  // namespace tessera::host
