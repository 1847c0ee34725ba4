/// \file
/// The compression of C = A B on a GPU, from a few rows of every bin that are counted.
#pragma once

#include "spgemm/cuda/bins.hpp"
#include "tessera/spgemm.hpp"

namespace tessera::cuda {

/// Rows of a bin that are looked at: 3 %, at least 64 and at most 10 000, never more than there are.
[[nodiscard]] constexpr index_t bin_sample_size(index_t rows) noexcept {
  const auto share = static_cast<index_t>(std::int64_t{rows} * 3 / 100);
  const index_t wanted = share < 64 ? 64 : share > 10000 ? 10000 : share;
  return rows < wanted ? rows : wanted;
}

/// Counts rows of every bin, at random places of equal parts of its list, the same in every run. Waits.
/// \param rows of C
[[nodiscard]] SpgemmSample sample_compression(const Context& context, const Device& device,
                                              const Factors<NoValue>& factors, const BinnedRows& bins, index_t rows);

}  // namespace tessera::cuda
