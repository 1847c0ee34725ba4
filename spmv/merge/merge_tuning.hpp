/// \file
/// Tuning of the product along the merge path on a GPU.
#pragma once

#include "core/host_device.hpp"
#include "spmv/common/kernel_footprint.hpp"

namespace tessera::cuda {

/// Path items per thread and threads per block. Odd items per thread keep shared memory free of bank conflicts.
struct MergePolicy {
  int threads;
  int items;
  [[nodiscard]] TESSERA_HOST_DEVICE constexpr int tile() const noexcept { return threads * items; }
};

inline constexpr MergePolicy cuda_merge_policy{128, 9};

/// Of the product's kernel, with sums in S: so few blocks per multiprocessor that the registers take all loads of a
/// tile at once; in shared memory the terms and row ends of a tile, and the open sum of each warp.
template <class S>
[[nodiscard]] constexpr KernelFootprint merge_footprint() noexcept {
  constexpr int tile = cuda_merge_policy.tile();
  constexpr int warps = cuda_merge_policy.threads / 32;
  constexpr int value = static_cast<int>(sizeof(S));
  return {cuda_merge_policy.threads, value == 4 ? 12 : 10, tile * value + (tile + 1) * 4 + warps * (value + 4)};
}

}  // namespace tessera::cuda
