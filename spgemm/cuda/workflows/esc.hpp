/// \file
/// Parts of the workflow `esc`: the order of rows by work, and its last level, rows with more products than a block
/// sorts, done by all blocks together in slices that fit into memory (Dalton, Olson & Bell, TOMS 2015, algorithm 1).
#pragma once

#include "core/cuda/context.hpp"
#include "spgemm/cuda/accumulators/esc_levels.hpp"
#include "spgemm/cuda/accumulators/row_batch.hpp"
#include "tessera/array.hpp"

#include <array>
#include <cstdint>
#include <vector>

namespace tessera::cuda {

/// The entries of some rows of A as one list, and the products before each of them.
class DeviceRows {
 public:
  /// Products that a slice has where nothing else bounds it: 6 GB.
  static constexpr offset_t usual_slice = offset_t{1} << 28;

  /// Waits, and keeps a list of the entries of these rows of A. \param batch may have any number of products; its
  /// `most_products` is ignored
  DeviceRows(const Device& device, const Factors<NoValue>& factors, const RowBatch& batch);

  /// Bytes of the lists for `entries` entries of A.
  [[nodiscard]] static std::uint64_t bytes(std::int64_t rows, std::int64_t entries) noexcept;
  /// Bytes of a slice. \param value_bytes of a value; 0 for a pattern
  [[nodiscard]] static std::uint64_t slice_bytes(offset_t products, std::size_t value_bytes) noexcept;

  [[nodiscard]] offset_t products() const noexcept { return products_.back(); }
  /// Products of the largest row.
  [[nodiscard]] offset_t largest() const noexcept { return largest_; }
  /// Whether keys of 64 bits hold a column and an offset of the largest row.
  [[nodiscard]] bool keys_fit() const noexcept { return keys().fit(); }

  /// Phase numeric_allocating: expands, sorts and contracts one slice after the other. \param slice products of a
  /// slice; one row may have more of them \throws OutOfMemory
  template <class V>
  void sum(const Factors<V>& factors, const RowOutput<V>& out, offset_t slice) const;

 private:
  [[nodiscard]] DeviceKeys keys() const noexcept { return device_keys(batch_.widest, largest_); }
  /// Products before each row of the slice that begins with row `first` of the batch, and at last all of them.
  [[nodiscard]] std::vector<offset_t> slice_from(index_t first, offset_t products) const;

  Device device_;
  RowBatch batch_;
  Array<offset_t> row_starts_;      ///< entries of A before each row, and at last all
  Array<offset_t> entry_products_;  ///< products before each of these entries, and at last all
  std::vector<offset_t> products_;  ///< before each row, and at last all
  offset_t largest_ = 0;
};

/// Totals of the rows of a class.
struct EscTotals {
  unsigned rows = 0;
  unsigned most_products = 0;
  unsigned widest = 0;  ///< columns from the first to the last of a row
};

struct WorkOrder {
  std::array<EscTotals, esc_classes> totals{};
  Array<index_t> rows;  ///< those with the fewest products first, equal ones by number; none: the order of the matrix

  [[nodiscard]] const EscTotals& total(EscClass size) const noexcept { return totals[static_cast<std::size_t>(size)]; }
  /// The rows of a class. \param mean_b_row_nnz entries of a row of B
  [[nodiscard]] RowBatch batch(EscClass size, const RowFacts& facts, double mean_b_row_nnz) const noexcept;
  /// Held while rows are put in order; `rows` alone afterwards.
  [[nodiscard]] static std::uint64_t peak_bytes(std::int64_t rows) noexcept;
};

/// All rows in the order of the matrix, which one class does: no row has more products than a thread takes.
/// \param all totals over all rows
[[nodiscard]] WorkOrder natural_order(index_t rows, const EscTotals& all) noexcept;

/// \param block_products of a row that one block sorts. Waits. O(rows).
[[nodiscard]] WorkOrder order_by_work(const Device& device, const RowFacts& facts, index_t rows, bool short_positions,
                                      std::uint32_t block_products);

}  // namespace tessera::cuda
