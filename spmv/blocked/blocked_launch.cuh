/// \file
/// Launches of the blocked product on a GPU, for any epilogue.
#pragma once

#include "spmv/blocked/blocked_kernel.cuh"
#include "spmv/merbit/merbit_arrays.hpp"

namespace tessera::cuda {

/// What the launches read, and the slots of the halo lists, which they overwrite.
template <class T, class V>
struct BlockedInput {
  MatrixArrays<V, std::uint16_t> matrix;
  SnappedTileArrays tiles;
  HaloArrays halos;
  std::int64_t items = 0;
  int capacity = 0;
  T* slots = nullptr;
};

/// \tparam Epilogue see merbit_epilogue.cuh
template <class T, class V, class Epilogue>
struct BlockedLaunch {
  [[nodiscard]] static std::size_t block_bytes(const BlockedInput<T, V>& in) {
    return static_cast<std::size_t>(in.halos.column_block) * sizeof(T);
  }
  [[nodiscard]] static std::size_t segment_bytes(const BlockedInput<T, V>& in) {
    return cuda::segment_bytes<T>(in.capacity);
  }

  /// Once, before the first launch.
  static void prepare(const BlockedInput<T, V>& in) {
    check(cudaFuncSetAttribute(fill_slots_kernel<T, Epilogue>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(block_bytes(in))),
          "asking for shared memory");
    check(cudaFuncSetAttribute(multiply_segments_kernel<T, V, Epilogue>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(segment_bytes(in))),
          "asking for shared memory");
  }

  static void start(const Context& context, const BlockedInput<T, V>& in, const T* x,
                    const typename Epilogue::Output& out) {
    if (in.items > 0) {
      launch("filling slots of halo lists", context,
             Grid{static_cast<unsigned>(in.items), halo_threads, block_bytes(in)}, fill_slots_kernel<T, Epilogue>,
             in.halos, x, in.slots, out);
    }
    launch("product of segments", context,
           Grid{static_cast<unsigned>(in.halos.segments), BlockedPolicy<T>::threads, segment_bytes(in)},
           multiply_segments_kernel<T, V, Epilogue>, in.matrix, in.tiles, in.halos, in.capacity,
           static_cast<const T*>(in.slots), out);
  }
};

}  // namespace tessera::cuda
