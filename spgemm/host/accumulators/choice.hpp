/// \file
/// Which accumulator sums a row: a function of the row alone, so that every pass over it decides alike.
#pragma once

#include "spgemm/common/factors.hpp"
#include "tessera/spgemm.hpp"

#include <cstdint>

namespace tessera::host {

/// What decides. The numbers come from first trials on a host of two cores, not from a recorded benchmark.
struct AccumulatorPolicy {
  SpgemmAccumulator preferred = SpgemmAccumulator::automatic;
  /// Rows of A with more entries are never merged: the work grows with their square.
  offset_t merge_max_b_rows = 256;
  /// By itself, merge takes rows of at most so many rows of B and products.
  offset_t merge_b_rows = 8;
  offset_t merge_products = 96;
  /// Scanning the flags of a dense array costs about as much as a product for so many columns.
  std::int64_t columns_per_product = 1024;
  /// Columns of the widest dense array.
  std::int64_t dense_width = std::int64_t{1} << 23;
  /// Products of a row that are sorted at once; their places have 32 bits.
  offset_t esc_products = (offset_t{1} << 32) - 1;
  /// Take what needs less memory, not less time.
  bool low_memory = false;
};

/// Never `automatic`. \param value_bytes of a value
[[nodiscard]] inline SpgemmAccumulator choose_accumulator(const RowTask& row,
                                                          const AccumulatorPolicy& policy) noexcept {
  using enum SpgemmAccumulator;
  const bool mergeable = row.a_row_nnz() <= policy.merge_max_b_rows;
  if (policy.preferred == merge && mergeable) return merge;
  if (policy.preferred == esc && row.products <= policy.esc_products) return esc;
  if (policy.preferred == dense || policy.preferred == hash) return policy.preferred;
  if (row.a_row_nnz() <= policy.merge_b_rows && row.products <= policy.merge_products) return merge;
  const offset_t bound = row.products < row.width ? row.products : row.width;
  if (policy.low_memory) return row.width / 4 < bound ? dense : hash;
  if (row.width <= policy.dense_width && row.width / policy.columns_per_product <= row.products) return dense;
  return row.width / 4 < bound ? dense : hash;
}

}  // namespace tessera::host
