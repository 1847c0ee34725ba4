/// \file
/// Bins with little work join others: a launch beside others costs more than they gain from an accumulator of their
/// own.
#pragma once

#include "spgemm/cuda/row_bins.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace tessera::cuda {

/// Where the rows of each bin are done.
struct BinMap {
  std::uint8_t of[row_bins] = {};
};

/// Counts the rows of `bin` along with those of `sum`.
inline void join(BinTotals& sum, const BinTotals& bin) noexcept {
  sum.rows += bin.rows;
  sum.followers += bin.followers;
  sum.max_a_row_nnz = std::max(sum.max_a_row_nnz, bin.max_a_row_nnz);
  sum.most_products = std::max(sum.most_products, bin.most_products);
  sum.widest = std::max(sum.widest, bin.widest);
  sum.most_entries = std::max(sum.most_entries, bin.most_entries);
  sum.shared_bytes = std::max(sum.shared_bytes, bin.shared_bytes);
  sum.a_nnz += bin.a_nnz;
  sum.products += bin.products;
  sum.entries += bin.entries;
}

class BinMerger {
 public:
  BinMerger(BinTable& totals, const RowPolicy& policy) : totals_(totals), policy_(policy) {
    for (int bin = 0; bin < row_bins; ++bin) map_.of[bin] = static_cast<std::uint8_t>(bin);
  }

  /// Each bin of [first, last] with little work goes to the next larger one that is in use.
  template <class Little>
  void upwards(RowBin first, RowBin last, Little&& little) {
    for (int bin = number(first); bin < number(last); ++bin) {
      int larger = bin + 1;
      while (larger <= number(last) && totals_[index(larger)].rows == 0) ++larger;
      if (larger > number(last)) return;
      if (used(bin) && little(totals_[index(bin)], static_cast<RowBin>(larger))) fold(bin, larger);
    }
  }

  /// A few rows of other accumulators go to bitmap_tiled, which serves any row.
  void into_bitmap_tiled() {
    const RowBin target = total(RowBin::bitmap_tiled).rows > 0 ? RowBin::bitmap_tiled : RowBin::tiled_heavy;
    for (int bin = number(RowBin::dense); bin <= number(RowBin::hash_4096); ++bin) {
      const BinTotals& few = totals_[index(bin)];
      const bool little = few.rows <= policy_.tuning.resident_rows && few.products <= policy_.tuning.launch_products &&
                          few.followers == 0 && few.most_products <= policy_.tuning.heavy_products;
      // A wider row would raise the shared memory of all others.
      if (used(bin) && little && few.widest <= total(target).widest) fold(bin, number(target));
    }
  }

  void dense_into_bitmap() {
    const BinTotals& dense = total(RowBin::dense);
    if (dense.rows == 0 || dense.products > policy_.tuning.dense_launch_products) return;
    const std::int64_t shared_bytes = bitmap_bytes_of(
        {0, 0, static_cast<index_t>(dense.widest), static_cast<index_t>(dense.most_entries), false}, policy_);
    for (int bin = number(RowBin::bitmap_4k); bin <= number(RowBin::bitmap_large); ++bin) {
      if (totals_[index(bin)].shared_bytes >= shared_bytes) return fold(number(RowBin::dense), bin);
    }
  }

  [[nodiscard]] const BinMap& map() const noexcept { return map_; }

 private:
  [[nodiscard]] static int number(RowBin bin) noexcept { return static_cast<int>(bin); }
  [[nodiscard]] static std::size_t index(int bin) noexcept { return static_cast<std::size_t>(bin); }
  [[nodiscard]] const BinTotals& total(RowBin bin) const noexcept { return totals_[static_cast<std::size_t>(bin)]; }
  [[nodiscard]] bool used(int bin) const noexcept { return totals_[index(bin)].rows > 0; }

  void fold(int from, int to) {
    join(totals_[index(to)], totals_[index(from)]);
    totals_[index(from)] = BinTotals{};
    std::replace(std::begin(map_.of), std::end(map_.of), static_cast<std::uint8_t>(from),
                 static_cast<std::uint8_t>(to));
  }

  BinTable& totals_;
  const RowPolicy& policy_;
  BinMap map_;
};

/// Keys that are sorted for a row of a bin of ESC.
[[nodiscard]] inline unsigned long long sort_size_of(RowBin bin) noexcept {
  const int doubled = static_cast<int>(bin) - static_cast<int>(RowBin::esc_thread_16);
  return 16ULL << doubled;
}

/// Joins bins of `totals`, in place. Rows go to a larger size of the same accumulator or, where no accumulator is
/// preferred, to one that serves every row of theirs. O(1) \param policy by which the rows have got their bins
[[nodiscard]] inline BinMap merge_bins(BinTable& totals, const RowPolicy& policy) {
  BinMerger merger(totals, policy);
  merger.upwards(RowBin::esc_thread_16, RowBin::esc_512, [&](const BinTotals& bin, RowBin larger) {
    return bin.rows * sort_size_of(larger) <= 2 * policy.tuning.launch_products;
  });
  const auto little = [&](const BinTotals& bin, RowBin) {
    return bin.products <= policy.tuning.launch_products && bin.rows <= policy.tuning.few_rows;
  };
  merger.upwards(RowBin::small_28, RowBin::small_224, little);
  merger.upwards(RowBin::bitmap_4k, RowBin::bitmap_large, little);
  // Rows of hash_384 keep the order of their terms, which those of larger tables may lose.
  merger.upwards(RowBin::hash_1536, RowBin::hash_4096, little);
  // Where entries are only estimated, a bitmap may be too small for the rows of `dense`, and bitmap_tiled counts first.
  if (policy.preferred == SpgemmAccumulator::automatic && (policy.counting || policy.counted)) {
    merger.dense_into_bitmap();
    merger.into_bitmap_tiled();
  }
  return merger.map();
}

}  // namespace tessera::cuda
