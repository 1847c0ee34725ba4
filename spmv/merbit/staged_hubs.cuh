/// \file
/// Staged hubs in a product: every block keeps x at the most used hubs in shared memory, which it reads once. On
/// rmat they have two fifths of the nonzeros, each of which would else be a request to the second-level cache.
#pragma once

#include "core/cuda/shared_memory.cuh"
#include "spmv/merbit/hub_columns.cuh"

#include <cstddef>

namespace tessera::cuda {

/// Bytes of shared memory that hubs take.
template <class T>
[[nodiscard]] TESSERA_HOST_DEVICE constexpr std::size_t staged_bytes(index_t hubs) noexcept {
  return (static_cast<std::size_t>(hubs) * sizeof(T) + 15) / 16 * 16;
}

/// Elements of x by code; those of the last hubs from shared memory.
template <class T>
struct StagedHubGather {
  static constexpr bool reads_hubs = true;
  const T* x;
  const T* packed_end;
  index_t hubs;                   ///< that are staged: the last ones
  const T* staged_end = nullptr;  ///< of them, in shared memory

  __device__ T operator()(index_t code) const {
    if (code < 0 && code >= -hubs) return staged_end[code];
    return __ldg((is_packed_code(code) ? packed_end : x) + code);
  }

  /// Every thread of a block must call. \param to room for the hubs
  template <int Threads>
  __device__ void stage(T* to) {
    const T* const from = packed_end - hubs;
#pragma unroll 4
    for (auto h = static_cast<index_t>(threadIdx.x); h < hubs; h += Threads) to[h] = __ldg(from + h);
    staged_end = to + hubs;
    __syncthreads();
  }
};

/// Whether a gather has to be staged, and takes shared memory.
template <class Gather>
inline constexpr bool stages_hubs = requires(const Gather& gather) {
  gather.staged_end;
};

}  // namespace tessera::cuda
