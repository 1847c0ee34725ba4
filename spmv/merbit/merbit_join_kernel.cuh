/// \file
/// The carry fix-up of MERBIT on a GPU, after the product in the same stream: rows that several tiles share get the
/// carries of their tiles, and the inner products are added up. The order of sums depends on the tiles, and for inner
/// products also on the size of the GPU.
#pragma once

#include "core/cuda/reduce.cuh"
#include "core/cuda/warp.cuh"
#include "core/partition_point.hpp"
#include "spmv/merbit/merbit_arrays.hpp"

namespace tessera::cuda {

inline constexpr int join_threads = 1024;
inline constexpr int max_join_blocks = 512;

/// Maximum carries of a row that one thread adds, and that one warp adds.
inline constexpr std::int64_t short_run = 32;
inline constexpr std::int64_t warp_run = 1024;

/// The carries of the row that tile t ends but does not begin. \param t in [1, tiles)
template <class Tiles>
[[nodiscard]] TESSERA_HOST_DEVICE inline CarryRun carry_run(const Tiles& tiles, std::int64_t t) {
  const index_t row = tiles.first_row(t);
  if (!tiles.begins_inside(t) || tiles.first_row(t + 1) == row) return {};
  if (t == 1 || tiles.first_row(t - 1) != row || !tiles.begins_inside(t - 1)) return {row, t - 1, 1};
  // The first tile after tile 0 that begins inside the row: those of one row are neighbours.
  const std::int64_t first = detail::partition_point(
      std::int64_t{1}, t - 1, [&](std::int64_t k) { return tiles.first_row(k) != row || !tiles.begins_inside(k); });
  return {row, first - 1, t - first + 1};
}

/// Sums of runs too long for one thread, by its warp; sets `sum` of the threads that own one.
template <class T>
__device__ void sum_warp_runs(const T* carries, const CarryRun& mine, T& sum) {
  const int lane = static_cast<int>(threadIdx.x % warp_size);
  unsigned left = __ballot_sync(full_warp, mine.count > short_run && mine.count <= warp_run);
  for (; left != 0; left &= left - 1) {
    const int owner = lowest_flag(left);
    const std::int64_t first = __shfl_sync(full_warp, mine.first, owner);
    const auto count = static_cast<int>(__shfl_sync(full_warp, mine.count, owner));
    double part = 0.0;
    for (int i = lane; i < count; i += warp_size) part += static_cast<double>(carries[first + i]);
    part = sum_over_lanes(part);
    if (lane == owner) sum = static_cast<T>(part);
  }
}

/// Sums of longer runs, by the whole block of Threads; sets `sum` of the threads that own one.
template <int Threads, class T>
__device__ void sum_block_runs(const T* carries, const CarryRun& mine, T& sum) {
  constexpr int warps = Threads / warp_size;
  __shared__ unsigned owners[warps];
  __shared__ CarryRun shared_run;
  __shared__ double of_warp[warps];
  if (__syncthreads_count(mine.count > warp_run) == 0) return;
  const int lane = static_cast<int>(threadIdx.x % warp_size);
  const int warp = static_cast<int>(threadIdx.x / warp_size);
  const unsigned long_runs = __ballot_sync(full_warp, mine.count > warp_run);
  if (lane == 0) owners[warp] = long_runs;
  __syncthreads();
  for (int w = 0; w < warps; ++w) {
    for (unsigned left = owners[w]; left != 0; left &= left - 1) {
      const int owner = w * warp_size + lowest_flag(left);
      if (static_cast<int>(threadIdx.x) == owner) shared_run = mine;
      __syncthreads();
      double part = 0.0;
      for (std::int64_t i = threadIdx.x; i < shared_run.count; i += Threads) {
        part += static_cast<double>(carries[shared_run.first + i]);
      }
      part = sum_over_lanes(part);
      if (lane == 0) of_warp[warp] = part;
      __syncthreads();
      if (static_cast<int>(threadIdx.x) == owner) {
        double total = 0.0;
        for (const double of_one : of_warp) total += of_one;
        sum = static_cast<T>(total);
      }
      __syncthreads();
    }
  }
  __syncthreads();  // the next call overwrites `owners`, which slower warps may still be reading
}

/// Sum of the carries of a run. Every thread of a block of Threads must call, those without a run with an empty one.
template <int Threads, class T>
[[nodiscard]] __device__ T sum_of_run(const T* carries, const CarryRun& run) {
  T sum{0};
  for (std::int64_t i = 0; i < run.count && run.count <= short_run; ++i) sum += carries[run.first + i];
  sum_warp_runs(carries, run, sum);
  sum_block_runs<Threads>(carries, run, sum);
  return sum;
}

/// Input and output of the sum of partial inner products.
struct DotSums {
  std::int64_t part_count = 0;      ///< partial sums of the product
  ProductDots* of_block = nullptr;  ///< one per block
  unsigned* finished = nullptr;     ///< blocks that are done; 0 between launches
  ProductDots* total = nullptr;
};

/// Adds the carries of shared rows to y, and clears these rows in `other` if there is one. \returns the
/// terms of these rows in the inner products, in the thread of each row
template <class T, bool WithDots, class Tiles>
__device__ ProductDots join_rows(const Tiles& tiles, const ProductOutput<T>& out) {
  ProductDots dots;
  for (std::int64_t first = 1 + std::int64_t{blockIdx.x} * join_threads; first < tiles.tiles;
       first += std::int64_t{gridDim.x} * join_threads) {
    const std::int64_t t = first + threadIdx.x;
    const CarryRun run = t < tiles.tiles ? carry_run(tiles, t) : CarryRun{};
    const T sum = sum_of_run<join_threads>(static_cast<const T*>(out.carries), run);
    if (run.count == 0) continue;
    const T value = out.y[run.row] + out.alpha * sum;
    out.y[run.row] = value;
    if (out.other != nullptr) out.other[run.row] = T{0};
    if constexpr (WithDots) {
      const auto wide = static_cast<double>(value);
      dots.wy += static_cast<double>(out.w[run.row]) * wide;
      dots.yy += wide * wide;
    }
  }
  return dots;
}

/// Adds up the parts of all threads and those that the product's warps wrote. The last block to finish adds the blocks.
inline __device__ void add_dots(const ProductDots& mine, const ProductDots* partial, const DotSums& sums) {
  __shared__ bool is_last;
  PlainSums<2> sum{{mine.wy, mine.yy}};
  for (std::int64_t i = std::int64_t{blockIdx.x} * join_threads + threadIdx.x; i < sums.part_count;
       i += std::int64_t{gridDim.x} * join_threads) {
    sum += {{partial[i].wy, partial[i].yy}};
  }
  const PlainSums<2> of_block = add_up_block<join_threads>(sum);
  if (threadIdx.x == 0) {
    sums.of_block[blockIdx.x] = {of_block.of[0], of_block.of[1]};
    __threadfence();
    is_last = atomicAdd(sums.finished, 1u) + 1 == gridDim.x;
  }
  __syncthreads();
  if (!is_last) return;
  __threadfence();
  PlainSums<2> rest;
  if (threadIdx.x < gridDim.x) {
    rest = {{__ldcg(&sums.of_block[threadIdx.x].wy), __ldcg(&sums.of_block[threadIdx.x].yy)}};
  }
  const PlainSums<2> total = add_up_block<join_threads>(rest);
  if (threadIdx.x != 0) return;
  *sums.total = {total.of[0], total.of[1]};
  *sums.finished = 0;
}

/// At most max_join_blocks blocks of join_threads.
template <class T, bool WithDots, class Tiles>
__global__ void __launch_bounds__(join_threads) merbit_join_kernel(Tiles tiles, ProductOutput<T> out, DotSums sums) {
  const ProductDots dots = join_rows<T, WithDots>(tiles, out);
  if constexpr (WithDots) add_dots(dots, out.partial_dots, sums);
}
static_assert(max_join_blocks <= join_threads);

/// Clears the rows that several tiles share.
template <class T, class Tiles>
__global__ void __launch_bounds__(join_threads) merbit_clear_shared_kernel(Tiles tiles, T* y) {
  const std::int64_t t = 1 + std::int64_t{blockIdx.x} * join_threads + threadIdx.x;
  if (t < tiles.tiles && tiles.begins_inside(t)) y[tiles.first_row(t)] = T{0};
}

/// Memory of the carries and of the inner products of a product, used by one product at a time.
template <class T>
struct JoinScratch {
  JoinScratch() = default;
  /// \param shared_tiles tiles that may leave a carry; 0 where no row is shared \param part_count parts of inner
  /// products
  JoinScratch(const Device& device, std::int64_t shared_tiles, std::int64_t part_count)
      : carries(shared_tiles, Init::none, device),
        partial(part_count, Init::none, device),
        of_block(max_join_blocks + 1, Init::none, device),
        finished(1, Init::zero, device) {}

  Array<T> carries;             ///< one per tile, if any row is shared
  Array<ProductDots> partial;   ///< one per warp or block
  Array<ProductDots> of_block;  ///< max_join_blocks, then the total
  Array<unsigned> finished;

  [[nodiscard]] std::uint64_t bytes() const {
    return carries.bytes() + partial.bytes() + of_block.bytes() + finished.bytes();
  }
  [[nodiscard]] ProductDots* total() { return of_block.data() + max_join_blocks; }
  /// \param to where the total goes, on the device
  [[nodiscard]] DotSums sums(ProductDots* to) { return {partial.size(), of_block.data(), finished.data(), to}; }
};

/// Puts the fix-up into the stream. \param share_rows whether tiles share rows: without that there are no carries
template <bool WithDots, class T, class Tiles>
void enqueue_join(const Context& context, Tiles tiles, bool share_rows, const ProductOutput<T>& out,
                  const DotSums& sums) {
  if (!share_rows) tiles.tiles = 0;
  const std::int64_t items = tiles.tiles > sums.part_count ? tiles.tiles : sums.part_count;
  const unsigned needed = blocks_for(items, join_threads);
  const unsigned blocks = needed < max_join_blocks ? needed : max_join_blocks;
  launch("joining shared rows", context, Grid{blocks, join_threads}, merbit_join_kernel<T, WithDots, Tiles>, tiles, out,
         sums);
}

}  // namespace tessera::cuda
