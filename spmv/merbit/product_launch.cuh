/// \file
/// From a layout's name to its kernels, for one pair of types.
#pragma once

#include "spmv/merbit/direct_kernel.cuh"
#include "spmv/merbit/exact_kernel.cuh"
#include "spmv/merbit/pipelined_kernel.cuh"

namespace tessera::cuda {

template <class T, class V, bool WithDots>
void launch_exact(const Context& context, const ResidentBlocks& /*resident*/, const ProductInput<T, V>& in,
                  const ProductOutput<T>& out) {
  const std::size_t shared = std::size_t{exact_threads} * static_cast<std::size_t>(in.exact.sigma) * sizeof(T);
  const Grid grid{blocks_for(in.exact.tiles, exact_threads / warp_size), exact_threads, shared};
  launch("MERBIT product (exact)", context, grid, exact_kernel<T, V, WithDots>, in.matrix, in.exact, in.x, out);
}

/// Blocks of a persistent kernel.
[[nodiscard]] inline unsigned persistent_blocks(const Context& context, int resident, std::int64_t tiles, int warps) {
  const auto all = static_cast<unsigned>(resident * context.multiprocessors());
  const unsigned needed = blocks_for(tiles, warps);
  return needed < all ? needed : all;
}

template <class T, class V, class Policy>
struct DirectLaunch {
  static constexpr int warps = Policy::threads / warp_size;

  template <bool WithDots>
  static int prepare_one() {
    int blocks = 0;
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, direct_kernel<T, V, Policy, WithDots>, Policy::threads,
                                                        0),
          "counting resident blocks");
    return blocks > 0 ? blocks : 1;
  }

  static ResidentBlocks prepare(const Context& /*context*/) { return {prepare_one<false>(), prepare_one<true>()}; }

  static unsigned blocks(const Context& context, int resident, std::int64_t tiles) {
    if constexpr (Policy::tiles_per_warp == 0) return persistent_blocks(context, resident, tiles, warps);
    return blocks_for(tiles, warps * Policy::tiles_per_warp);
  }

  template <bool WithDots>
  static void launch_one(const Context& context, const ResidentBlocks& resident, const ProductInput<T, V>& in,
                         const ProductOutput<T>& out) {
    const int each = WithDots ? resident.with_dots : resident.plain;
    launch("MERBIT product", context, Grid{blocks(context, each, in.snapped.tiles), Policy::threads},
           direct_kernel<T, V, Policy, WithDots>, in.matrix, in.snapped, in.x, out);
  }

  static std::int64_t dot_slots(const Context& context, const ResidentBlocks& resident, std::int64_t tiles) {
    return std::int64_t{blocks(context, resident.with_dots, tiles)} * warps;
  }
};

/// One slot a tile, whatever the grid.
inline std::int64_t slot_a_tile(const Context& /*context*/, const ResidentBlocks& /*resident*/, std::int64_t tiles) {
  return tiles;
}

inline ResidentBlocks nothing_to_prepare(const Context& /*context*/) { return {}; }

template <class T, class V, class Policy>
struct PipelinedLaunch {
  static constexpr int warps = Policy::threads / warp_size;
  static constexpr int shared_bytes = PipelineBuffers<T, V, Policy::steps>::block_bytes(warps);

  template <bool WithDots>
  static int prepare_one() {
    const auto kernel = pipelined_kernel<T, V, Policy, WithDots>;
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes),
          "asking for shared memory");
    int blocks = 0;
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, Policy::threads, std::size_t{shared_bytes}),
          "counting resident blocks");
    return blocks > 0 ? blocks : 1;
  }

  static ResidentBlocks prepare(const Context& /*context*/) { return {prepare_one<false>(), prepare_one<true>()}; }

  template <bool WithDots>
  static void launch_one(const Context& context, const ResidentBlocks& resident, const ProductInput<T, V>& in,
                         const ProductOutput<T>& out) {
    const int blocks = WithDots ? resident.with_dots : resident.plain;
    const Grid grid{persistent_blocks(context, blocks, in.snapped.tiles, warps), Policy::threads,
                    std::size_t{shared_bytes}};
    launch("MERBIT product (pipelined)", context, grid, pipelined_kernel<T, V, Policy, WithDots>, in.matrix, in.snapped,
           in.x, out);
  }

  static std::int64_t dot_slots(const Context& context, const ResidentBlocks& resident, std::int64_t tiles) {
    return std::int64_t{persistent_blocks(context, resident.with_dots, tiles, warps)} * warps;
  }
};

/// The layout that Launcher launches.
template <class T, class V, template <class, class, class> class Launcher, class Policy>
[[nodiscard]] MerbitProduct<T, V> product_by() {
  using Of = Launcher<T, V, Policy>;
  return {Policy::sigma, Of::prepare, Of::template launch_one<false>, Of::template launch_one<true>, Of::dot_slots};
}

template <class T, class V>
MerbitProduct<T, V> merbit_product(MerbitLayout layout) {
  switch (layout) {
    case MerbitLayout::scalar:
      return product_by<T, V, DirectLaunch, typename MerbitCudaPolicy<T, V>::Scalar>();
    case MerbitLayout::vector:
      return product_by<T, V, DirectLaunch, typename MerbitCudaPolicy<T, V>::Vector>();
    case MerbitLayout::pipelined:
      return product_by<T, V, PipelinedLaunch, typename MerbitCudaPolicy<T, V>::Pipelined>();
    case MerbitLayout::exact:
      break;
  }
  return {0, nothing_to_prepare, launch_exact<T, V, false>, launch_exact<T, V, true>, slot_a_tile};
}

}  // namespace tessera::cuda
