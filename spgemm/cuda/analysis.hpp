/// \file
/// Analysis of C = A B on a GPU: products, column range and bin per row, from one pass over A; the rows of C by bins.
#pragma once

#include "core/cuda/context.hpp"
#include "spgemm/cuda/accumulators/row_batch.hpp"
#include "spgemm/cuda/accumulators/small_hash_tables.hpp"
#include "spgemm/cuda/merge_bins.hpp"
#include "spgemm/cuda/row_bins.hpp"
#include "tessera/array.hpp"

#include <cstdint>

namespace tessera::cuda {

/// Arrays on the device, an entry per row of C.
struct RowAnalysis {
  Array<std::uint32_t> products;
  Array<index_t> first_columns;
  Array<index_t> widths;
  Array<std::uint8_t> bins;  ///< RowBin of every row
  Array<BinTotals> totals;   ///< row_bins of them
  bool repeats = false;      ///< whether bins have repeat_bit where enqueue_repeats() found it
  /// On the device, null or a flag per tile row: rows of these are formed elsewhere, and count as rows without
  /// products.
  const std::uint8_t* left_out = nullptr;

  RowAnalysis(index_t rows, const Device& device);
  [[nodiscard]] RowFacts facts() const noexcept {
    return {products.data(), first_columns.data(), widths.data(), bins.data()};
  }
  [[nodiscard]] static std::uint64_t bytes(std::int64_t rows) noexcept {
    return static_cast<std::uint64_t>(rows) * (sizeof(std::uint32_t) + 2 * sizeof(index_t) + 1) + sizeof(BinTable);
  }
};

/// Entries of rows, known or estimated; at most one of the pointers is set, on the device.
struct RowEntries {
  const offset_t* counts = nullptr;  ///< of every row
  const float* estimates = nullptr;  ///< of every row
  double factor = 1.0;               ///< entries expected per estimated entry; without counts and estimates: per
                                     ///< product
  const offset_t* buffer_offsets = nullptr;  ///< only rows with no_offset are looked at; null: all
};

struct ProductShape {
  index_t rows = 0;   ///< of A and C
  index_t inner = 0;  ///< rows of B
  offset_t a_nnz = 0;
};

/// Finds rows of A with the positions of the row before, as several unknowns per node make them, where rows of A are
/// long enough for that to pay. Call before enqueue_analysis(). O(nnz(A)).
void enqueue_repeats(const Context& context, const Factors<NoValue>& factors, const ProductShape& shape,
                     RowAnalysis& analysis);

/// Copies the count of a row to the rows that repeat it, after enqueue_analysis() and the symbolic phase, and forms row
/// groups.
void enqueue_repeated_counts(const Context& context, RowAnalysis& analysis, index_t rows, offset_t* counts);

/// Facts, bins and totals of all rows, put into the device's stream. O(nnz(A) + rows + inner). Where A has many
/// entries, it holds 16 bytes per row of B meanwhile, outside the memory budget.
void enqueue_analysis(const Context& context, const Factors<NoValue>& factors, const ProductShape& shape,
                      const RowPolicy& policy, RowAnalysis& analysis);

/// Chooses bins and totals anew, by entries. Followers of a row group are in no bin, but count in its `followers`.
/// O(rows).
void enqueue_choice(const Context& context, const offset_t* a_offsets, index_t rows, const RowEntries& entries,
                    const RowPolicy& policy, RowAnalysis& analysis);

/// The rows of every bin one after the other, those of `none` left out. O(rows). \param totals, map after merge_bins()
/// \param rows as many as C has
void enqueue_partition(const Context& context, const RowAnalysis& analysis, const BinTable& totals, const BinMap& map,
                       index_t rows, index_t* list);

/// The totals and one number of the device, copied to the host. Waits.
/// \param number on the device, or null
struct FetchedTotals {
  BinTable totals{};
  offset_t number = 0;
};
[[nodiscard]] FetchedTotals fetch_totals(const Context& context, const RowAnalysis& analysis, const offset_t* number);

/// Totals of all rows by their bins, and a sample of them, in one wait.
struct FetchedSample {
  BinTable totals{};
  CompressionSample sample;
};
[[nodiscard]] FetchedSample fetch_sample(const Context& context, const RowAnalysis& analysis,
                                         const CompressionSample* sample);
/// The sample alone. Waits.
[[nodiscard]] CompressionSample fetch_sample(const Context& context, const CompressionSample* sample);

}  // namespace tessera::cuda
