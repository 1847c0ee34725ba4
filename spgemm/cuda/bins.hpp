/// \file
/// The rows of C by bins, and the launch of the accumulator of a bin.
#pragma once

#include "core/cuda/context.hpp"
#include "spgemm/cuda/accumulators/row_batch.hpp"
#include "spgemm/cuda/analysis.hpp"

#include <vector>

namespace tessera::cuda {

/// A list of the rows of each bin on the device; no list where all rows with products are of one bin.
class BinnedRows {
 public:
  BinnedRows() = default;
  /// \param analysis with the bins that `totals` are of; must outlive the batches \param policy that has chosen them
  /// \param some whether rows of the bin `none` may have products
  BinnedRows(const Context& context, const RowAnalysis& analysis, const BinTable& totals, const RowPolicy& policy,
             index_t rows, bool some = false);
  /// All rows in one bin. \param total over them
  BinnedRows(const RowAnalysis& analysis, RowBin bin, const BinTotals& total, index_t rows);

  [[nodiscard]] const BinTable& totals() const noexcept { return totals_; }
  [[nodiscard]] const BinTotals& total(RowBin bin) const noexcept { return totals_[static_cast<std::size_t>(bin)]; }
  /// Bins with rows other than `none`, those with the most work per row first, so that none lags behind.
  [[nodiscard]] const std::vector<RowBin>& used() const noexcept { return used_; }
  /// Whether some row may be in none of the batches.
  [[nodiscard]] bool leaves_rows_out() const noexcept { return !list_.empty() && total(RowBin::none).rows > 0; }
  /// Whether the numeric phase of some rows, unless ordered, adds their terms in any order.
  [[nodiscard]] bool add_in_any_order() const noexcept;
  [[nodiscard]] RowBatch batch(RowBin bin) const noexcept;
  [[nodiscard]] std::uint64_t bytes() const noexcept { return list_.bytes(); }

 private:
  RowFacts facts_;
  BinTable totals_{};
  index_t rows_ = 0;
  std::vector<RowBin> used_;
  Array<index_t> list_;
};

/// Calls work(bin) for every bin with rows; its launches run concurrently. No memory may be allocated or freed
/// meanwhile.
template <class Work>
void for_each_bin(const Device& device, const BinnedRows& rows, Work&& work) {
  if (rows.used().empty()) return;
  if (rows.used().size() == 1) return work(rows.used().front());
  SideStreams::Fork fork(device);
  int number = 0;
  for (const RowBin bin : rows.used()) {
    fork.run(number++, [&] { work(bin); });
  }
}

/// Rows, products and entries over all bins.
[[nodiscard]] BinTotals sum_of_bins(const BinTable& totals) noexcept;

/// Enqueues the launches of a batch into the device's stream. \param ordered see enqueue_bitmap_tiled
template <class V>
void enqueue_bin(const Context& context, RowBin bin, Phase phase, const Factors<V>& factors, const RowBatch& batch,
                 const RowOutput<V>& out, bool ordered);

}  // namespace tessera::cuda
