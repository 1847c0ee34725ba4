/// \file
/// Bins with little work join others: a launch beside others costs more than they gain from an accumulator of their
/// own.
#pragma once

#include "spgemm/analysis/row_bins.hpp"

#include <cstdint>

namespace tessera::cuda {

/// Where the rows of each bin are done.
struct BinMap {
  std::uint8_t of[row_bins] = {};
};

/// Joins bins of `totals`, in place. Rows go to a larger size of the same accumulator or, where no accumulator is
/// preferred, to one that serves every row of theirs. O(1) \param policy by which the rows have got their bins
[[nodiscard]] BinMap fold_bins(BinTable& totals, const RowPolicy& policy);

/// Counts the rows of `bin` along with those of `sum`.
void join(BinTotals& sum, const BinTotals& bin) noexcept;

}  // namespace tessera::cuda
