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
  sum.besides += bin.besides;
  sum.most_lists = std::max(sum.most_lists, bin.most_lists);
  sum.most_products = std::max(sum.most_products, bin.most_products);
  sum.widest = std::max(sum.widest, bin.widest);
  sum.most_entries = std::max(sum.most_entries, bin.most_entries);
  sum.slice = std::max(sum.slice, bin.slice);
  sum.lists += bin.lists;
  sum.products += bin.products;
  sum.entries += bin.entries;
}

class Folding {
 public:
  Folding(BinTable& totals, const RowPolicy& policy) : totals_(totals), policy_(policy) {
    for (int bin = 0; bin < row_bins; ++bin) map_.of[bin] = static_cast<std::uint8_t>(bin);
  }

  /// Each bin of [first, last] with little work goes to the next larger one that is in use.
  template <class Little>
  void upwards(RowBin first, RowBin last, Little&& little) {
    for (int bin = number(first); bin < number(last); ++bin) {
      int larger = bin + 1;
      while (larger <= number(last) && totals_[place(larger)].rows == 0) ++larger;
      if (larger > number(last)) return;
      if (used(bin) && little(totals_[place(bin)], static_cast<RowBin>(larger))) fold(bin, larger);
    }
  }

  /// A few rows of other accumulators, which `wide` serves as it serves all.
  void into_wide() {
    const RowBin target = total(RowBin::wide).rows > 0 ? RowBin::wide : RowBin::wide_heavy;
    for (int bin = number(RowBin::dense); bin <= number(RowBin::hash_4096); ++bin) {
      const BinTotals& few = totals_[place(bin)];
      const bool little = few.rows <= policy_.tuning.resident_rows && few.products <= policy_.tuning.launch_products &&
                          few.besides == 0 && few.most_products <= policy_.tuning.heavy_products;
      // A wider row would take shared memory from all others.
      if (used(bin) && little && few.widest <= total(target).widest) fold(bin, number(target));
    }
  }

  void dense_into_window() {
    const BinTotals& dense = total(RowBin::dense);
    if (dense.rows == 0 || dense.products > policy_.tuning.dense_launch_products) return;
    const std::int64_t slice = window_slice(
        {0, 0, static_cast<index_t>(dense.widest), static_cast<index_t>(dense.most_entries), false}, policy_);
    for (int bin = number(RowBin::window_4k); bin <= number(RowBin::window_large); ++bin) {
      if (totals_[place(bin)].slice >= slice) return fold(number(RowBin::dense), bin);
    }
  }

  [[nodiscard]] const BinMap& map() const noexcept { return map_; }

 private:
  [[nodiscard]] static int number(RowBin bin) noexcept { return static_cast<int>(bin); }
  [[nodiscard]] static std::size_t place(int bin) noexcept { return static_cast<std::size_t>(bin); }
  [[nodiscard]] const BinTotals& total(RowBin bin) const noexcept { return totals_[static_cast<std::size_t>(bin)]; }
  [[nodiscard]] bool used(int bin) const noexcept { return totals_[place(bin)].rows > 0; }

  void fold(int from, int to) {
    join(totals_[place(to)], totals_[place(from)]);
    totals_[place(from)] = BinTotals{};
    std::replace(std::begin(map_.of), std::end(map_.of), static_cast<std::uint8_t>(from),
                 static_cast<std::uint8_t>(to));
  }

  BinTable& totals_;
  const RowPolicy& policy_;
  BinMap map_;
};

/// Places that the rows of a bin of ESC are sorted in.
[[nodiscard]] inline unsigned long long places_of(RowBin bin) noexcept {
  const int doubled = static_cast<int>(bin) - static_cast<int>(RowBin::esc_thread_16);
  return 16ULL << doubled;
}

/// Joins bins of `totals`, in place. Rows go to a larger size of the same accumulator or, where no accumulator is
/// preferred, to one that serves every row of theirs. O(1) \param policy by which the rows have got their bins
[[nodiscard]] inline BinMap fold_bins(BinTable& totals, const RowPolicy& policy) {
  Folding folding(totals, policy);
  folding.upwards(RowBin::esc_thread_16, RowBin::esc_512, [&](const BinTotals& bin, RowBin larger) {
    return bin.rows * places_of(larger) <= 2 * policy.tuning.launch_products;
  });
  const auto little = [&](const BinTotals& bin, RowBin) {
    return bin.products <= policy.tuning.launch_products && bin.rows <= policy.tuning.few_rows;
  };
  folding.upwards(RowBin::window_4k, RowBin::window_large, little);
  // Rows of hash_384 keep the order of their terms, which those of larger tables may lose.
  folding.upwards(RowBin::hash_1536, RowBin::hash_4096, little);
  // Where entries are only foreseen, a window may be too small for what `dense` holds, and `wide` counts first.
  if (policy.preferred == SpgemmAccumulator::automatic && (policy.counting || policy.counted)) {
    folding.dense_into_window();
    folding.into_wide();
  }
  return folding.map();
}

}  // namespace tessera::cuda
