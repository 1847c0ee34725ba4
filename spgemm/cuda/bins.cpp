#include "spgemm/cuda/bins.hpp"

#include "spgemm/cuda/accumulators/accumulators.hpp"
#include "tessera/error.hpp"

#include <algorithm>

namespace tessera::cuda {

BinnedRows::BinnedRows(const Context& context, const RowAnalysis& analysis, const BinTable& totals,
                       const RowPolicy& policy, index_t rows, bool some)
    : facts_(analysis.facts()), totals_(totals), rows_(rows) {
  const BinMap map = merge_bins(totals_, policy);
  for (int bin = row_bins - 1; bin > 0; --bin) {
    if (totals_[static_cast<std::size_t>(bin)].rows > 0) used_.push_back(static_cast<RowBin>(bin));
  }
  // Accumulators skip rows without products by themselves, which is cheap as long as these do not outnumber the others.
  const bool alone = !some && used_.size() == 1 && total(RowBin::none).rows <= total(used_.front()).rows &&
                     total(used_.front()).followers == 0;
  if (used_.empty() || alone) return;
  list_ = Array<index_t>(rows, Init::none, analysis.bins.device());
  enqueue_partition(context, analysis, totals_, map, rows, list_.data());
}

BinnedRows::BinnedRows(const RowAnalysis& analysis, RowBin bin, const BinTotals& total, index_t rows)
    : facts_(analysis.facts()), rows_(rows), used_{bin} {
  totals_[static_cast<std::size_t>(bin)] = total;
}

bool BinnedRows::add_in_any_order() const noexcept {
  return std::any_of(used_.begin(), used_.end(), [&](RowBin bin) {
    const SpgemmAccumulator accumulator = accumulator_of(bin);
    const auto most_entries = static_cast<index_t>(total(bin).most_entries);
    return (accumulator == SpgemmAccumulator::bitmap_tiled && bin < RowBin::tiled_shared_48k) ||
           (accumulator == SpgemmAccumulator::hash && most_entries > hash_warp_entries);
  });
}

RowBatch BinnedRows::batch(RowBin bin) const noexcept {
  const BinTotals& bin_total = total(bin);
  RowBatch result;
  result.facts = facts_;
  result.count = list_.empty() ? rows_ : static_cast<index_t>(bin_total.rows);
  if (!list_.empty()) {
    index_t start = 0;
    for (int before = 1; before < static_cast<int>(bin); ++before) {
      start += static_cast<index_t>(totals_[static_cast<std::size_t>(before)].rows);
    }
    result.rows = list_.data() + start;
  }
  result.max_a_row_nnz = static_cast<index_t>(bin_total.max_a_row_nnz);
  result.most_products = bin_total.most_products;
  result.widest = static_cast<index_t>(bin_total.widest);
  result.most_entries = static_cast<index_t>(bin_total.most_entries);
  result.shared_bytes = bin_total.shared_bytes;
  const auto ratio = [](unsigned long long above, unsigned long long below) {
    return below == 0 ? 0.0 : static_cast<double>(above) / static_cast<double>(below);
  };
  result.mean_b_row_nnz = ratio(bin_total.products, bin_total.a_nnz);
  result.mean_entries = ratio(bin_total.entries, bin_total.rows + bin_total.followers);
  return result;
}

BinTotals sum_of_bins(const BinTable& totals) noexcept {
  BinTotals sum;
  for (const BinTotals& bin : totals) join(sum, bin);
  return sum;
}

template <class V>
void enqueue_bin(const Context& context, RowBin bin, Phase phase, const Factors<V>& factors, const RowBatch& batch,
                 const RowOutput<V>& out, bool ordered) {
  switch (accumulator_of(bin)) {
    case SpgemmAccumulator::merge:
      return enqueue_merge(context, phase, factors, batch, out);
    case SpgemmAccumulator::esc:
      if (bin <= RowBin::esc_thread_32) return enqueue_esc_threads(context, phase, factors, batch, out);
      return enqueue_esc(context, phase, factors, batch, out);
    case SpgemmAccumulator::small_hash:
      return enqueue_small_hash(context, phase, factors, batch, out);
    case SpgemmAccumulator::dense:
      return enqueue_dense(context, phase, factors, batch, out);
    case SpgemmAccumulator::bitmap:
      if (bin == RowBin::bitmap_row_group) return enqueue_bitmap_row_group(context, factors, batch, out);
      return enqueue_bitmap(context, phase, factors, batch, out);
    case SpgemmAccumulator::hash:
      return enqueue_hash(context, phase, factors, batch, out, ordered);
    default:
      if constexpr (has_values<V>) {
        if (bin >= RowBin::tiled_shared_48k) return enqueue_bitmap_tiled_in_shared(context, factors, batch, out);
      }
      return enqueue_bitmap_tiled(context, phase, factors, batch, out, ordered);
  }
}

template void enqueue_bin(const Context&, RowBin, Phase, const Factors<NoValue>&, const RowBatch&,
                          const RowOutput<NoValue>&, bool);
template void enqueue_bin(const Context&, RowBin, Phase, const Factors<float>&, const RowBatch&,
                          const RowOutput<float>&, bool);
template void enqueue_bin(const Context&, RowBin, Phase, const Factors<double>&, const RowBatch&,
                          const RowOutput<double>&, bool);

}  // namespace tessera::cuda
