/// \file
/// The two kernels of the blocked product on a GPU: entries of x to the slots of halo lists, and segments times
/// their lists.
#pragma once

#include "core/cuda/async_copy.cuh"
#include "core/cuda/prefetch.cuh"
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

/// Neighbouring slots that a lane moves together, by one access of 16 bytes.
template <class T>
struct SlotQuad {
  static constexpr bool is_float = sizeof(T) == sizeof(float);
  using Columns = std::conditional_t<is_float, uint2, unsigned>;
  using Slots = std::conditional_t<is_float, float4, double2>;

  [[nodiscard]] __device__ static float4 gather(const float* block, uint2 columns) {
    return {block[columns.x & 0xffff], block[columns.x >> 16], block[columns.y & 0xffff], block[columns.y >> 16]};
  }
  [[nodiscard]] __device__ static double2 gather(const double* block, unsigned columns) {
    return {block[columns & 0xffff], block[columns >> 16]};
  }
};

/// First phase: copies the entries of x of one block of columns to the slots that want them. Dynamic shared memory: a
/// block of columns. \tparam Epilogue of the second phase, which says which vector is read
template <class T, class Epilogue>
__global__ void __launch_bounds__(halo_threads, 1)
    fill_slots_kernel(HaloArrays halos, const T* __restrict__ x, T* slots, typename Epilogue::Output out) {
  using Quad = SlotQuad<T>;
  constexpr int batch = 4;
  const Epilogue epilogue(out);
  if (epilogue.is_idle()) return;
  const HaloItem item = halos.items[blockIdx.x];
  const index_t first = item.block * halos.column_block;
  const index_t rest = halos.cols - first;
  T* const block = reinterpret_cast<T*>(dynamic_shared_memory());
  copy_to_shared<halo_threads, 8>(epilogue.source(x) + first, rest < halos.column_block ? rest : halos.column_block,
                                  block);
  __syncthreads();
  const auto* const columns = reinterpret_cast<const typename Quad::Columns*>(halos.columns);
  auto* const quads = reinterpret_cast<typename Quad::Slots*>(slots);
  for (std::int64_t q = item.begin + threadIdx.x; q < item.end; q += batch * halo_threads) {
    typename Quad::Columns loaded[batch];
#pragma unroll
    for (int i = 0; i < batch; ++i) {
      if (q + i * halo_threads < item.end) loaded[i] = __ldcs(columns + q + i * halo_threads);
    }
#pragma unroll
    for (int i = 0; i < batch; ++i) {
      if (q + i * halo_threads < item.end) quads[q + i * halo_threads] = Quad::gather(block, loaded[i]);
    }
  }
}

/// Cells that the whole block of threads copies.
struct LongCells {
  static constexpr int most = 65536 / (2 * long_cell) + 1;
  unsigned count;
  std::uint32_t from[most];
  int to[most];
  int quads[most];
};

/// Brings the cells of a segment together as its list, in shared memory.
template <class T, int Threads>
class ListGatherer {
  using Slots = typename SlotQuad<T>::Slots;
  static constexpr int warps = Threads / warp_size;

 public:
  __device__ ListGatherer(const HaloArrays& halos, const T* slots, T* list, LongCells& long_cells)
      : halos_(halos),
        begins_(halos.cell_begins + std::int64_t{blockIdx.x} * (halos.blocks + 1)),
        origins_(halos.cell_origins + std::int64_t{blockIdx.x} * halos.blocks),
        slots_(reinterpret_cast<const Slots*>(slots)),
        list_(reinterpret_cast<Slots*>(list)),
        long_cells_(long_cells) {}

  /// All threads must call.
  __device__ void gather() {
    if (threadIdx.x == 0) long_cells_.count = 0;
    __syncthreads();
    const int most = (halos_.blocks + warps - 1) / warps;
    const int cells = most < warp_size ? most : warp_size;
    const auto warp = static_cast<int>(threadIdx.x / warp_size);
    Cell cell = load_cell(warp * cells, cells);
    for (int b = warp * cells; b < halos_.blocks; b += warps * cells) {
      const Cell next = load_cell(b + warps * cells, cells);
      gather_cells(cell);
      cell = next;
    }
    __syncthreads();
    for (unsigned i = 0; i < long_cells_.count; ++i) {
      const Slots* const source = slots_ + long_cells_.from[i];
      Slots* const place = list_ + long_cells_.to[i];
      for (auto q = static_cast<int>(threadIdx.x); q < long_cells_.quads[i]; q += Threads) {
        begin_async_copy(source + q, place + q);
      }
    }
    wait_for_async_copies();
    __syncthreads();
  }

 private:
  /// The cell of a lane: in quads, from where its slots are copied, where it begins in the list, and their number.
  struct Cell {
    std::uint32_t origin = 0;
    int begin = 0;
    int quads = 0;
  };

  /// \param first block of columns of lane 0 \param cells of the warp
  [[nodiscard]] __device__ Cell load_cell(int first, int cells) const {
    const auto lane = static_cast<int>(threadIdx.x % warp_size);
    const int b = first + lane;
    if (lane >= cells || b >= halos_.blocks) return {};
    const int begin = begins_[b] / halo_quad<T>;
    return {origins_[b], begin, begins_[b + 1] / halo_quad<T> - begin};
  }

  /// The cells of a warp, as if they lay one after the other.
  __device__ void gather_cells(const Cell& cell) {
    const auto lane = static_cast<int>(threadIdx.x % warp_size);
    const auto [origin, begin, all_quads] = cell;
    int quads = all_quads;
    if (quads > long_cell) {
      const unsigned place = atomicAdd(&long_cells_.count, 1u);
      long_cells_.from[place] = origin;
      long_cells_.to[place] = begin;
      long_cells_.quads[place] = quads;
      quads = 0;
    }
    const int ends = sum_up_to_lane(quads);
    const int total = __shfl_sync(full_warp, ends, warp_size - 1);
    // Relative to the number of the quad among those of all cells.
    const std::uint32_t from = origin - static_cast<std::uint32_t>(ends - quads);
    const int to = begin - (ends - quads);
#pragma unroll 4
    for (int first = 0; first < total; first += warp_size) {
      const int quad = first + lane;
      const int owner = cell_of(quad, ends);
      const std::uint32_t source = __shfl_sync(full_warp, from, owner) + static_cast<std::uint32_t>(quad);
      const int place = __shfl_sync(full_warp, to, owner) + quad;
      if (quad < total) begin_async_copy(slots_ + source, list_ + place);
    }
  }

  /// The lane whose cell holds `quad`. \param ends of the cell of each lane
  [[nodiscard]] __device__ static int cell_of(int quad, int ends) {
    int cell = 0;
#pragma unroll
    for (int step = warp_size / 2; step > 0; step /= 2) {
      if (__shfl_sync(full_warp, ends, cell + step - 1) <= quad) cell += step;
    }
    return cell;
  }

  const HaloArrays& halos_;
  const std::uint16_t* begins_;
  const std::uint32_t* origins_;
  const Slots* slots_;
  Slots* list_;
  LongCells& long_cells_;
};

/// Brings the first nonzeros of a segment to the second-level cache. By one thread.
template <class V>
__device__ void prefetch_nonzeros(const MatrixArrays<V, std::uint16_t>& a, offset_t begin, offset_t end) {
  constexpr int value_bytes = is_ones<V> ? 0 : static_cast<int>(sizeof(V));
  constexpr int most = most_prefetched_bytes / (2 + value_bytes) / 8 * 8;
  begin = (begin + 7) / 8 * 8;
  const offset_t wanted = (end - begin) / 8 * 8;
  if (wanted <= 0) return;
  const auto count = static_cast<unsigned>(wanted < most ? wanted : most);
  prefetch_in_bulk(a.columns + begin, 2 * count);
  if constexpr (!is_ones<V>) prefetch_in_bulk(a.values + begin, value_bytes * count);
}

/// The starts of the tiles of a segment, and where the last one ends: of the first ones in shared memory, so that no
/// tile waits for its own.
class SegmentTiles {
 public:
  /// Thread k loads start k. \param starts of the segment's tiles \param shared room for tiles_in_shared + 1
  __device__ SegmentTiles(const TileStart* starts, int count, TileStart* shared)
      : starts_(starts), shared_(shared), count_(count) {
    if (has_one()) own_ = starts[threadIdx.x];
  }

  /// Once, by all threads.
  __device__ void share() {
    if (has_one()) shared_[threadIdx.x] = own_;
    __syncthreads();
  }
  [[nodiscard]] __device__ TileStart start(int k) const { return k <= tiles_in_shared ? shared_[k] : starts_[k]; }

 private:
  [[nodiscard]] __device__ bool has_one() const {
    const auto k = static_cast<int>(threadIdx.x);
    return k <= tiles_in_shared && k <= count_;
  }

  const TileStart* starts_;
  TileStart* shared_;
  int count_;
  TileStart own_{};
};

/// Second phase: a segment, tile by tile, with x from its halo list. Dynamic shared memory: starts of tiles, a halo
/// list, and what the policy stages. \param capacity slots of a list
template <class T, class V, class Epilogue>
__global__ void __launch_bounds__(BlockedPolicy<T>::threads, 1)
    multiply_segments_kernel(MatrixArrays<V, std::uint16_t> a, SnappedTileArrays tiles, HaloArrays halos, int capacity,
                             const T* __restrict__ slots, typename Epilogue::Output out) {
  using Policy = BlockedPolicy<T>;
  constexpr int warps = Policy::threads / warp_size;
  __shared__ LongCells long_cells;
  const auto lane = static_cast<int>(threadIdx.x % warp_size);
  const auto warp = static_cast<int>(threadIdx.x / warp_size);
  Epilogue epilogue(out);
  if (epilogue.is_idle()) return;
  auto* const starts = reinterpret_cast<TileStart*>(dynamic_shared_memory());
  T* const list = reinterpret_cast<T*>(dynamic_shared_memory() + tile_starts_bytes);
  T* const staged = list + capacity + warp * Policy::staged;
  const std::int64_t first = halos.tiles[blockIdx.x];
  const std::int64_t end = halos.tiles[blockIdx.x + 1];
  if (threadIdx.x == 0) prefetch_nonzeros(a, tiles.starts[first].x, tiles.starts[end].x);
  const auto count = static_cast<int>(end - first);
  SegmentTiles segment(tiles.starts + first, count, starts);
  ListGatherer<T, Policy::threads>(halos, slots, list, long_cells).gather();
  segment.share();
  const auto gather = [list](std::uint16_t position) { return list[position]; };
  const std::uint32_t* const words = tiles.lane_words + first * lanes_per_tile + lane;
#pragma unroll 1
  for (int k = warp; k < count; k += warps) {
    const TileStart start = segment.start(k);
    const TileSpan tile = span_between(first + k, start, segment.start(k + 1));
    const std::uint32_t word = __ldcs(words + k * lanes_per_tile);
    epilogue.expect(tile, lane);
    multiply_tile<T, Policy>(a, tile, start, word, gather, staged, lane, epilogue);
    __syncwarp();
  }
  epilogue.template write_sums_of_block<warps>(blockIdx.x, lane);
}

}  // namespace tessera::cuda
