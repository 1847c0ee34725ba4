/// \file
/// MERBIT's dispatch on a GPU: from a layout to its kernels, for one pair of types.
#pragma once

#include "spmv/merbit/merbit_columns_kernel.cuh"
#include "spmv/merbit/merbit_direct_kernel.cuh"
#include "spmv/merbit/merbit_rows_kernel.cuh"
#include "tessera/error.hpp"

#include <type_traits>

namespace tessera::cuda {

/// \tparam Epilogue see merbit_epilogue.cuh, here and below
template <class T, class V, class Epilogue>
void start_exact(const Context& context, const ProductInput<T, V>& in, const typename Epilogue::Output& out) {
  const std::size_t shared = std::size_t{exact_threads} * static_cast<std::size_t>(in.exact.sigma) * sizeof(T);
  const Grid grid{blocks_for(in.exact.tiles, exact_threads / warp_size), exact_threads, shared};
  launch("MERBIT product (exact)", context, grid, merbit_exact_kernel<T, V, Epilogue>, in.matrix, in.exact, in.x, out);
}

template <class T, class V, bool WithDots>
void launch_exact(const Context& context, const ResidentBlocks& /*resident*/, const ProductInput<T, V>& in,
                  const ProductOutput<T>& out) {
  start_exact<T, V, ProductEpilogue<T, WithDots>>(context, in, out);
}

/// One part per tile, whatever the grid.
inline std::int64_t part_per_tile(const Context& /*context*/, const ResidentBlocks& /*resident*/, std::int64_t tiles) {
  return tiles;
}

inline ResidentBlocks nothing_to_prepare(const Context& /*context*/) { return {}; }

/// Blocks of a persistent kernel.
[[nodiscard]] inline unsigned persistent_blocks(const Context& context, int resident, std::int64_t tiles, int warps) {
  const auto all = static_cast<unsigned>(resident * context.multiprocessors());
  const unsigned needed = blocks_for(tiles, warps);
  return needed < all ? needed : all;
}

/// Resident blocks of a kernel per multiprocessor.
template <class Kernel>
[[nodiscard]] int resident_blocks(Kernel* kernel, int threads, int shared_bytes) {
  int blocks = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, static_cast<std::size_t>(shared_bytes)),
        "counting resident blocks");
  return blocks > 0 ? blocks : 1;
}

/// The gather of a product.
template <class T, class V>
[[nodiscard]] ColumnGather<T> gather_of(const ProductInput<T, V>& in, std::type_identity<ColumnGather<T>> /*kind*/) {
  return {in.x};
}
template <class T, class V>
[[nodiscard]] HubGather<T> gather_of(const ProductInput<T, V>& in, std::type_identity<HubGather<T>> /*kind*/) {
  return {in.x, in.packed + in.hubs.count};
}

template <class T, class V>
[[nodiscard]] StagedHubGather<T> gather_of(const ProductInput<T, V>& in,
                                           std::type_identity<StagedHubGather<T>> /*kind*/) {
  return {in.x, in.packed + in.hubs.count, in.hubs.staged};
}

/// The sizes of a layout by what is gathered; tiles do not depend on it.
template <class Gather, class Plain, class OfHubs>
struct PolicyOfGather {
  static_assert(Plain::sigma == OfHubs::sigma);
  using type = std::conditional_t<Gather::reads_hubs, OfHubs, Plain>;
};
template <class Policy, class Gather>
using ScalarPolicyOf = typename PolicyOfGather<Gather, typename Policy::Scalar, typename Policy::ScalarOfHubs>::type;
template <class Policy, class Gather>
using ColumnsPolicyOf =
    typename PolicyOfGather<Gather, typename Policy::Columns,
                            std::conditional_t<stages_hubs<Gather>, typename Policy::ColumnsOfStagedHubs,
                                               typename Policy::ColumnsOfHubs>>::type;

/// Before a product: packs x for slots and hubs, where there are any.
template <class Gather, class Epilogue, class T, class V>
void pack_for(const Context& context, const ProductInput<T, V>& in, const typename Epilogue::Output& out) {
  if constexpr (Gather::reads_hubs) enqueue_packing<T, Epilogue>(context, in.hubs, in.x, out, in.packed);
}

/// The layouts of merbit_direct_kernel.cuh.
template <class T, class V, class Policy, class Gather>
struct DirectLaunch {
  static constexpr int warps = Policy::threads / warp_size;
  static constexpr int parts_per_block = warps;

  /// \returns resident blocks per multiprocessor, where that matters
  template <class Epilogue>
  static int prepare_one(const Context& /*context*/) {
    return Policy::persistent
               ? resident_blocks(merbit_direct_kernel<T, V, Policy, Gather, Epilogue>, Policy::threads, 0)
               : 0;
  }

  static unsigned blocks(const Context& context, int resident, std::int64_t tiles) {
    return Policy::persistent ? persistent_blocks(context, resident, tiles, warps) : blocks_for(tiles, warps);
  }

  /// \param resident what prepare_one() said
  template <class Epilogue>
  static void start(const Context& context, int resident, const ProductInput<T, V>& in,
                    const typename Epilogue::Output& out) {
    pack_for<Gather, Epilogue>(context, in, out);
    launch("MERBIT product", context, Grid{blocks(context, resident, in.snapped.tiles), Policy::threads},
           merbit_direct_kernel<T, V, Policy, Gather, Epilogue>, in.matrix, in.snapped,
           gather_of(in, std::type_identity<Gather>{}), out);
  }
};

/// The layouts of merbit_columns_kernel.cuh.
template <class T, class Policy, class Gather>
struct ColumnsLaunch {
  static constexpr int warps = Policy::threads / warp_size;
  static constexpr int parts_per_block = 1;

  template <class Epilogue>
  static int prepare_one(const Context& context) {
    const auto kernel = merbit_columns_kernel<Policy, Gather, Epilogue>;
    int shared_bytes = Policy::dynamic_shared_bytes;
    if constexpr (stages_hubs<Gather>) shared_bytes += staged_hub_room(context.limits(), shared_bytes);
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes),
          "asking for shared memory");
    return Policy::persistent ? resident_blocks(kernel, Policy::threads, shared_bytes) : 0;
  }

  static unsigned blocks(const Context& context, int resident, std::int64_t tiles) {
    return Policy::persistent ? persistent_blocks(context, resident, tiles, warps) : blocks_for(tiles, warps);
  }

  template <class Epilogue>
  static void start(const Context& context, int resident, const ProductInput<T, Ones>& in,
                    const typename Epilogue::Output& out) {
    pack_for<Gather, Epilogue>(context, in, out);
    std::size_t shared_bytes = Policy::dynamic_shared_bytes;
    if constexpr (stages_hubs<Gather>) shared_bytes += staged_bytes<T>(in.hubs.staged);
    launch("MERBIT product (columns)", context,
           Grid{blocks(context, resident, in.snapped.tiles), Policy::threads, shared_bytes},
           merbit_columns_kernel<Policy, Gather, Epilogue>, in.matrix, in.snapped,
           gather_of(in, std::type_identity<Gather>{}), out);
  }
};

/// The layout of merbit_rows_kernel.cuh.
template <class T, class Policy>
struct RowsLaunch {
  static constexpr int warps = Policy::threads / warp_size;
  static constexpr int parts_per_block = warps;
  static constexpr int shared_bytes = Policy::dynamic_shared_bytes;

  template <class Epilogue>
  static int prepare_one(const Context& /*context*/) {
    const auto kernel = merbit_rows_kernel<T, Policy, Epilogue>;
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes),
          "asking for shared memory");
    return resident_blocks(kernel, Policy::threads, shared_bytes);
  }

  static unsigned blocks(const Context& context, int resident, std::int64_t tiles) {
    return persistent_blocks(context, resident, tiles, warps);
  }

  template <class Epilogue>
  static void start(const Context& context, int resident, const ProductInput<T, Ones>& in,
                    const typename Epilogue::Output& out) {
    launch("MERBIT product (rows)", context,
           Grid{blocks(context, resident, in.snapped.tiles), Policy::threads, std::size_t{shared_bytes}},
           merbit_rows_kernel<T, Policy, Epilogue>, in.matrix, in.snapped, in.x, out);
  }
};

template <class Launcher, class T>
ResidentBlocks prepare_both(const Context& context) {
  return {Launcher::template prepare_one<ProductEpilogue<T, false>>(context),
          Launcher::template prepare_one<ProductEpilogue<T, true>>(context)};
}

template <class Launcher, class T, class V, bool WithDots>
void launch_one(const Context& context, const ResidentBlocks& resident, const ProductInput<T, V>& in,
                const ProductOutput<T>& out) {
  const int each = WithDots ? resident.with_dots : resident.plain;
  Launcher::template start<ProductEpilogue<T, WithDots>>(context, each, in, out);
}

/// One part per warp or per block.
template <class Launcher>
std::int64_t parts_of_blocks(const Context& context, const ResidentBlocks& resident, std::int64_t tiles) {
  return std::int64_t{Launcher::blocks(context, resident.with_dots, tiles)} * Launcher::parts_per_block;
}

template <class T, class V, class Policy, class Gather = ColumnGather<T>>
[[nodiscard]] MerbitProduct<T, V> direct_product() {
  using Launcher = DirectLaunch<T, V, Policy, Gather>;
  const int batch = Policy::width > 1 ? Policy::width * Policy::batch * warp_size : 0;
  return {Policy::sigma,
          batch,
          0,
          prepare_both<Launcher, T>,
          launch_one<Launcher, T, V, false>,
          launch_one<Launcher, T, V, true>,
          parts_of_blocks<Launcher>};
}

template <class T, class V, class Policy, class Gather = ColumnGather<T>>
[[nodiscard]] MerbitProduct<T, V> columns_product() {
  using Launcher = ColumnsLaunch<T, Policy, Gather>;
  return {Policy::sigma,
          0,
          0,
          prepare_both<Launcher, T>,
          launch_one<Launcher, T, V, false>,
          launch_one<Launcher, T, V, true>,
          parts_of_blocks<Launcher>};
}

template <class T, class V>
[[nodiscard]] MerbitProduct<T, V> rows_product() {
  using Policy = typename MerbitCudaPolicy<T, V>::Rows;
  using Launcher = RowsLaunch<T, Policy>;
  return {0,
          0,
          Policy::max_items,
          prepare_both<Launcher, T>,
          launch_one<Launcher, T, V, false>,
          launch_one<Launcher, T, V, true>,
          parts_of_blocks<Launcher>};
}

/// The layouts for scattered reads of x.
template <class T, class V, class Gather>
[[nodiscard]] MerbitProduct<T, V> gathering_product(MerbitLayout layout) {
  using Policy = MerbitCudaPolicy<T, V>;
  if constexpr (is_ones<V>) {
    if (layout == MerbitLayout::columns) return columns_product<T, V, ColumnsPolicyOf<Policy, Gather>, Gather>();
    if (layout == MerbitLayout::local_columns) return columns_product<T, V, typename Policy::LocalColumns, Gather>();
  }
  if (layout == MerbitLayout::scalar) return direct_product<T, V, ScalarPolicyOf<Policy, Gather>, Gather>();
  throw NotSupported("this layout of MERBIT is for pattern matrices, and this one has values");
}

template <class T, class V>
MerbitProduct<T, V> merbit_product(MerbitLayout layout, HubStorage hubs) {
  if constexpr (is_ones<V>) {
    if (layout == MerbitLayout::columns && hubs == HubStorage::staged) {
      using Gather = StagedHubGather<T>;
      return columns_product<T, V, ColumnsPolicyOf<MerbitCudaPolicy<T, V>, Gather>, Gather>();
    }
  }
  if (takes_hubs(layout)) {
    return hubs != HubStorage::none ? gathering_product<T, V, HubGather<T>>(layout)
                                    : gathering_product<T, V, ColumnGather<T>>(layout);
  }
  if (layout == MerbitLayout::vector) return direct_product<T, V, typename MerbitCudaPolicy<T, V>::Vector>();
  if (layout == MerbitLayout::rows) {
    if constexpr (is_ones<V>) return rows_product<T, V>();
    throw NotSupported("this layout of MERBIT is for pattern matrices, and this one has values");
  }
  return {0, 0, 0, nothing_to_prepare, launch_exact<T, V, false>, launch_exact<T, V, true>, part_per_tile};
}

}  // namespace tessera::cuda
