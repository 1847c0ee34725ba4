/// \file
/// Hub columns in a product: x is packed for slots and hubs, and gathered by code.
#pragma once

#include "core/cuda/launch.cuh"
#include "spmv/merbit/hub_columns.hpp"

namespace tessera::cuda {

/// Elements of x by column.
template <class T>
struct ColumnGather {
  static constexpr bool reads_hubs = false;
  const T* x;

  __device__ T operator()(index_t column) const { return __ldg(x + column); }
};

/// Elements of x by code.
template <class T>
struct HubGather {
  static constexpr bool reads_hubs = true;
  const T* x;
  const T* packed_end;

  __device__ T operator()(index_t code) const { return __ldg((is_packed_code(code) ? packed_end : x) + code); }
};

inline constexpr int pack_threads = 256;
inline constexpr int pack_unroll = 8;  ///< entries of a thread, all in flight together

/// \tparam Epilogue of the product that follows: it tells which vector is read, and whether there is anything to do
template <class T, class Epilogue>
__global__ void __launch_bounds__(pack_threads)
    pack_x_kernel(HubArrays hubs, const T* x, typename Epilogue::Output out, T* packed) {
  const Epilogue epilogue(out);
  if (epilogue.is_idle()) return;
  const T* const source = epilogue.source(x);
  const std::int64_t first = std::int64_t{blockIdx.x} * (pack_unroll * pack_threads) + threadIdx.x;
  index_t column[pack_unroll];
#pragma unroll
  for (int u = 0; u < pack_unroll; ++u) {
    const std::int64_t h = first + u * pack_threads;
    column[u] = h < hubs.count ? __ldcs(hubs.columns + h) : 0;
  }
  T entry[pack_unroll];
#pragma unroll
  for (int u = 0; u < pack_unroll; ++u) entry[u] = __ldg(source + column[u]);
#pragma unroll
  for (int u = 0; u < pack_unroll; ++u) {
    const std::int64_t h = first + u * pack_threads;
    if (h < hubs.count) packed[h] = entry[u];
  }
}

/// The device must be current. \param packed hubs.count elements
template <class T, class Epilogue>
void enqueue_packing(const Context& context, const HubArrays& hubs, const T* x, const typename Epilogue::Output& out,
                     T* packed) {
  launch("packing x", context, Grid{blocks_for(hubs.count, pack_unroll * pack_threads), pack_threads},
         pack_x_kernel<T, Epilogue>, hubs, x, out, packed);
}

}  // namespace tessera::cuda
