/// \file
/// A kernel that does nothing but all-reductions over its blocks.
#pragma once

#include "tessera/device.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace tessera::testing {

struct GridReductions {
  int blocks = 1;
  int threads = 256;  ///< per block: 256 or 384
  int sums = 1;       ///< per reduction: 1 to 4
  int rounds = 1;
  std::uint64_t number = 0;  ///< of the reduction before the first
};

struct ReducedSums {
  std::vector<double> sums;          ///< [round][block][sum]
  std::vector<std::int32_t> shares;  ///< [block][thread]: calls of `meanwhile` in all rounds with that thread's share
};

/// \param own [round][sum][block][thread] \throws CudaError, also where the blocks do not fit the GPU all at once
[[nodiscard]] ReducedSums run_reductions(const Device& gpu, const GridReductions& shape, std::span<const double> own);

}  // namespace tessera::testing
