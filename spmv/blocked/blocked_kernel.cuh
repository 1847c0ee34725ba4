/// \file
/// The two kernels of the blocked product on a GPU: entries of x to halo lists, and segments times their lists.
#pragma once

#include "core/cuda/shared_memory.cuh"
#include "spmv/blocked/halo_lists.hpp"
#include "spmv/merbit/merbit_direct_kernel.cuh"

namespace tessera::cuda {

/// Copies `count` elements to shared memory, by all threads of a block.
template <int Threads, int Unroll, class Element>
__device__ void copy_to_shared(const Element* from, int count, Element* to) {
  for (int base = static_cast<int>(threadIdx.x); base < count; base += Unroll * Threads) {
    Element loaded[Unroll];
#pragma unroll
    for (int u = 0; u < Unroll; ++u) {
      if (base + u * Threads < count) loaded[u] = from[base + u * Threads];
    }
#pragma unroll
    for (int u = 0; u < Unroll; ++u) {
      if (base + u * Threads < count) to[base + u * Threads] = loaded[u];
    }
  }
}

/// Neighbouring slots that a lane fills together, by one store of 16 bytes.
template <class T>
struct SlotsOfLane {
  static constexpr int count = 16 / static_cast<int>(sizeof(T));
  using Columns = std::conditional_t<count == 4, uint2, unsigned>;
  using Slots = std::conditional_t<count == 4, float4, double2>;

  [[nodiscard]] __device__ static float4 gather(const float* block, uint2 columns) {
    return {block[columns.x & 0xffff], block[columns.x >> 16], block[columns.y & 0xffff], block[columns.y >> 16]};
  }
  [[nodiscard]] __device__ static double2 gather(const double* block, unsigned columns) {
    return {block[columns & 0xffff], block[columns >> 16]};
  }
};

/// Cells that a warp fills as one list of slots.
inline constexpr int cells_per_warp = 16;
static_assert(cells_per_warp <= warp_size);

/// The cells of cells_per_warp segments in one block of columns, by one warp.
template <class T>
class CellFiller {
  using Lane = SlotsOfLane<T>;
  static constexpr int batch = 4;

 public:
  /// \param block entries of x, in shared memory
  __device__ CellFiller(const HaloArrays& halos, const HaloItem& item, const T* block, T* lists)
      : halos_(halos), item_(item), block_(block), lists_(lists) {}

  /// All lanes must call. \param first segment
  __device__ void fill(index_t first) const {
    const auto lane = static_cast<int>(threadIdx.x % warp_size);
    const index_t s = first + lane;
    std::int64_t slot = 0;
    int quads = 0;
    if (lane < cells_per_warp && s < item_.end_segment) {
      const std::int64_t cell = std::int64_t{item_.block} * halos_.segment_count + s;
      const int begin = halos_.cells[cell];
      quads = (halos_.cells[cell + halos_.segment_count] - begin) / Lane::count;
      slot = halos_.segments[s].slot + begin;
    }
    const int ends = sum_up_to_lane(quads);
    const int total = __shfl_sync(full_warp, ends, warp_size - 1);
    // Slot 0 of the list of this lane's cell, as if all cells lay one after the other.
    const std::int64_t origin = slot - std::int64_t{ends - quads} * Lane::count;
    for (int base = 0; base < total; base += batch * warp_size) fill_batch(base + lane, total, ends, origin);
  }

 private:
  __device__ void fill_batch(int first, int total, int ends, std::int64_t origin) const {
    std::int64_t slot[batch];
    typename Lane::Columns columns[batch];
#pragma unroll
    for (int i = 0; i < batch; ++i) {
      const int quad = first + i * warp_size;
      slot[i] = __shfl_sync(full_warp, origin, cell_of(quad, ends)) + std::int64_t{quad} * Lane::count;
    }
#pragma unroll
    for (int i = 0; i < batch; ++i) {
      if (first + i * warp_size < total) {
        columns[i] = __ldcs(reinterpret_cast<const typename Lane::Columns*>(halos_.columns + slot[i]));
      }
    }
#pragma unroll
    for (int i = 0; i < batch; ++i) {
      if (first + i * warp_size < total) {
        *reinterpret_cast<typename Lane::Slots*>(lists_ + slot[i]) = Lane::gather(block_, columns[i]);
      }
    }
  }

  /// The lane whose cell holds `quad`: cells that end before it are skipped. \param ends of the cell of each lane
  [[nodiscard]] __device__ static int cell_of(int quad, int ends) {
    int cell = 0;
#pragma unroll
    for (int step = cells_per_warp / 2; step > 0; step /= 2) {
      if (__shfl_sync(full_warp, ends, cell + step - 1) <= quad) cell += step;
    }
    return cell;
  }

  const HaloArrays& halos_;
  const HaloItem& item_;
  const T* block_;
  T* lists_;
};

/// First phase: copies the entries of x of one block of columns to the halo lists that want them. Dynamic shared
/// memory: a block of columns. \tparam Epilogue of the second phase, which says which vector is read
template <class T, class Epilogue>
__global__ void __launch_bounds__(halo_threads, 1)
    fill_halo_lists_kernel(HaloArrays halos, const T* __restrict__ x, T* lists, typename Epilogue::Output out) {
  constexpr int warps = halo_threads / warp_size;
  const Epilogue epilogue(out);
  if (epilogue.is_idle()) return;
  const HaloItem item = halos.items[blockIdx.x];
  const index_t first = item.block * halos.column_block;
  const index_t rest = halos.cols - first;
  T* const block = reinterpret_cast<T*>(dynamic_shared_memory());
  copy_to_shared<halo_threads, 8>(epilogue.source(x) + first, rest < halos.column_block ? rest : halos.column_block,
                                  block);
  __syncthreads();
  const CellFiller<T> filler(halos, item, block, lists);
  const auto warp = static_cast<index_t>(threadIdx.x / warp_size);
  for (index_t s = item.first_segment + warp * cells_per_warp; s < item.end_segment; s += warps * cells_per_warp) {
    filler.fill(s);
  }
}

/// Second phase: a segment, tile by tile, with x from its halo list. Dynamic shared memory: a halo list, and what the
/// policy stages. \param capacity slots of a list
template <class T, class V, class Epilogue>
__global__ void __launch_bounds__(BlockedPolicy<T>::threads, 1)
    multiply_segments_kernel(MatrixArrays<V, std::uint16_t> a, SnappedTileArrays tiles, const HaloSegment* segments,
                             int capacity, const T* __restrict__ lists, typename Epilogue::Output out) {
  using Policy = BlockedPolicy<T>;
  constexpr int warps = Policy::threads / warp_size;
  const auto lane = static_cast<int>(threadIdx.x % warp_size);
  const auto warp = static_cast<int>(threadIdx.x / warp_size);
  Epilogue epilogue(out);
  if (epilogue.is_idle()) return;
  T* const list = reinterpret_cast<T*>(dynamic_shared_memory());
  T* const staged = list + capacity + warp * Policy::staged;
  const HaloSegment segment = segments[blockIdx.x];
  const HaloSegment next = segments[blockIdx.x + 1];
  constexpr int per_load = SlotsOfLane<T>::count;
  copy_to_shared<Policy::threads, 4>(reinterpret_cast<const typename SlotsOfLane<T>::Slots*>(lists + segment.slot),
                                     static_cast<int>(next.slot - segment.slot) / per_load,
                                     reinterpret_cast<typename SlotsOfLane<T>::Slots*>(list));
  __syncthreads();
  const auto gather = [list](std::uint16_t slot) { return list[slot]; };
#pragma unroll 1
  for (std::int64_t number = segment.tile + warp; number < next.tile; number += warps) {
    const TileStart start = tiles.starts[number];
    const TileSpan tile = span_between(number, start, tiles.starts[number + 1]);
    const std::uint32_t word = __ldcs(tiles.lane_words + number * lanes_per_tile + lane);
    epilogue.expect(tile, lane);
    multiply_tile<T, Policy>(a, tile, start, word, gather, staged, lane, epilogue);
    __syncwarp();
  }
  epilogue.template write_sums_of_block<warps>(blockIdx.x, lane);
}

}  // namespace tessera::cuda
