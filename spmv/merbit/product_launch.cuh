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

template <class T, class V, class Policy, bool WithDots>
void launch_direct(const Context& context, const ResidentBlocks& /*resident*/, const ProductInput<T, V>& in,
                   const ProductOutput<T>& out) {
  const Grid grid{blocks_for(in.snapped.tiles, Policy::threads / warp_size), Policy::threads};
  launch("MERBIT product", context, grid, direct_kernel<T, V, Policy, WithDots>, in.matrix, in.snapped, in.x, out);
}

/// One slot a tile, whatever the grid.
inline std::int64_t slot_a_tile(const Context& /*context*/, const ResidentBlocks& /*resident*/, std::int64_t tiles) {
  return tiles;
}

inline ResidentBlocks nothing_to_prepare(const Context& /*context*/) { return {}; }

/// Blocks of a persistent kernel.
[[nodiscard]] inline unsigned persistent_blocks(const Context& context, int resident, std::int64_t tiles, int warps) {
  const auto all = static_cast<unsigned>(resident * context.multiprocessors());
  const unsigned needed = blocks_for(tiles, warps);
  return needed < all ? needed : all;
}

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

template <class T, class V, class Policy>
[[nodiscard]] MerbitProduct<T, V> direct_product() {
  return {Policy::sigma, nothing_to_prepare, launch_direct<T, V, Policy, false>, launch_direct<T, V, Policy, true>,
          slot_a_tile};
}

template <class T, class V, class Policy>
[[nodiscard]] MerbitProduct<T, V> pipelined_product() {
  using Launcher = PipelinedLaunch<T, V, Policy>;
  return {Policy::sigma, Launcher::prepare, Launcher::template launch_one<false>, Launcher::template launch_one<true>,
          Launcher::dot_slots};
}

template <class T, class V>
MerbitProduct<T, V> merbit_product(MerbitLayout layout) {
  switch (layout) {
    case MerbitLayout::scalar:
      return direct_product<T, V, typename MerbitCudaPolicy<T, V>::Scalar>();
    case MerbitLayout::vector:
      return direct_product<T, V, typename MerbitCudaPolicy<T, V>::Vector>();
    case MerbitLayout::pipelined:
      return pipelined_product<T, V, typename MerbitCudaPolicy<T, V>::Pipelined>();
    case MerbitLayout::exact:
      break;
  }
  return {0, nothing_to_prepare, launch_exact<T, V, false>, launch_exact<T, V, true>, slot_a_tile};
}

}  // namespace tessera::cuda
