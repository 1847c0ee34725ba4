/// \file
/// Values of a symmetric half as the kernel of row patterns reads them: an entry left of the diagonal stands where the
/// row above has its mirror image. The second read of a value comes from the second-level cache.
#pragma once

#include "spmv/patterns/patterns_kernel.cuh"

namespace tessera::cuda {

/// Values by diagonals, stored as V.
template <class V>
struct HalfValues {
  static constexpr bool weighted = true;
  static constexpr bool in_slices = true;
  static constexpr bool in_table = false;
  static constexpr bool shares = true;
  static constexpr int min_blocks = pattern_min_blocks;
  /// Converted where it is multiplied: a conversion at the load would wait for it.
  using Kept = V;
  const V* values;
  const index_t* places;  ///< SymmetricHalf::places, as large as the table of columns

  [[nodiscard]] static std::size_t shared_bytes(const PatternRows& p) {
    return sizeof(index_t) * static_cast<std::size_t>(p.places());
  }
  /// Every thread must call.
  __device__ void share(const PatternRows& p, unsigned char* behind) {
    auto* const shared = reinterpret_cast<index_t*>(behind);
    for (int i = static_cast<int>(threadIdx.x); i < p.places(); i += pattern_threads) shared[i] = __ldg(places + i);
    places = shared;
  }

  template <int R>
  struct OfSlice {
    const V* values;
    const index_t* places;
    template <class S, int Chunk, bool Whole>
    __device__ void load(int k0, int width, const RowsOfLane<R>& own, S (&value)[Chunk][R]) {
#pragma unroll
      for (int k = 0; k < Chunk; ++k) {
        if (!Whole && k0 + k >= width) break;
#pragma unroll
        for (int r = 0; r < R; ++r) {
          value[k][r] = static_cast<S>(__ldg(values + (own.origin[r] + places[own.start[r] + 1 + k0 + k])));
        }
      }
    }
    [[nodiscard]] __device__ V value_of(V value) const { return value; }
  };
  template <int R>
  [[nodiscard]] __device__ OfSlice<R> slice(unsigned /*number*/, int /*width*/) const {
    return {values, places};
  }
};

}  // namespace tessera::cuda
