/// \file
/// Rows of C in the order of their products (optimized-esc-spgemm.txt, algorithm 2).
#pragma once

#include "core/cuda/context.hpp"
#include "spgemm/cuda/row_batch.hpp"
#include "spgemm/esc/levels.hpp"
#include "tessera/array.hpp"

#include <array>
#include <cstdint>

namespace tessera::cuda {

/// Of the rows of a class.
struct EscTotals {
  unsigned rows = 0;
  unsigned most_products = 0;
  unsigned widest = 0;  ///< columns from the first to the last of a row
};

struct WorkOrder {
  std::array<EscTotals, esc_classes> totals{};
  Array<index_t> rows;  ///< those with the fewest products first, equal ones by number; none: the order of the matrix

  [[nodiscard]] const EscTotals& total(EscClass size) const noexcept { return totals[static_cast<std::size_t>(size)]; }
  /// The rows of a class. \param mean_list entries of a row of B
  [[nodiscard]] RowBatch batch(EscClass size, const RowFacts& facts, double mean_list) const noexcept;
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
