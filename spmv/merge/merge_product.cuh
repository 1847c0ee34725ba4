/// \file
/// The product along the merge path on a GPU (Merrill & Garland, SC 2016; merbit-spmv.txt, §3.3): for the merge kernel,
/// and for whatever wants sums of rows in another type than that of the matrix.
#pragma once

#include "core/cuda/launch.cuh"
#include "core/host_device.hpp"
#include "preprocess/merge_search.hpp"
#include "spmv/cuda/carries.cuh"
#include "spmv/cuda/terms.cuh"
#include "spmv/merge/tile_path.hpp"

#include <limits>

namespace tessera::cuda {

/// Path steps that a thread and a block take. Odd steps a thread keep shared memory free of bank conflicts.
struct MergePolicy {
  int threads;
  int steps;
  [[nodiscard]] TESSERA_HOST_DEVICE constexpr int tile() const noexcept { return threads * steps; }
};

inline constexpr MergePolicy cuda_merge_policy{128, 7};

/// Where the row ends that is open at the end of a tile, as far as the tile knows.
inline constexpr int beyond_tile = std::numeric_limits<int>::max();

/// first_rows[t]: rows finished where tile t of so many steps begins; one entry beyond the last tile.
template <int TileSteps>
__global__ void __launch_bounds__(256) merge_tile_starts_kernel(index_t rows, offset_t nnz, const offset_t* row_offsets,
                                                                std::int64_t tiles, index_t* first_rows) {
  const std::int64_t tile = std::int64_t{blockIdx.x} * 256 + threadIdx.x;
  if (tile > tiles) return;
  const offset_t length = path_length(rows, nnz);
  const offset_t diagonal = tile < tiles ? tile * TileSteps : length;
  first_rows[tile] = merge_search(row_offsets, rows, nnz, diagonal).y;
}

/// A partial sum that either goes on with the row open before it, or not.
template <class S>
struct OpenSum {
  bool closed_row = false;  ///< a row was finished since the beginning: sums from before belong to that one
  S sum{0};

  /// Puts `earlier` before this.
  __device__ void follow(const OpenSum& earlier) {
    if (!closed_row) sum = earlier.sum + sum;
    closed_row = closed_row || earlier.closed_row;
  }
};

/// What the threads before this one leave open; `own` becomes what is open after this thread. Threads of the block in
/// order. Every thread must call.
template <class S>
__device__ S sum_open_before(OpenSum<S>& own) {
  constexpr int warps = cuda_merge_policy.threads / warp_size;
  __shared__ bool warp_closed[warps];
  __shared__ S warp_sum[warps];
  const unsigned lane = threadIdx.x % warp_size;
  const unsigned warp = threadIdx.x / warp_size;
  for (unsigned distance = 1; distance < warp_size; distance *= 2) {
    const OpenSum<S> earlier{__shfl_up_sync(full_warp, static_cast<int>(own.closed_row), distance) != 0,
                             __shfl_up_sync(full_warp, own.sum, distance)};
    if (lane >= distance) own.follow(earlier);
  }
  if (lane == warp_size - 1) {
    warp_closed[warp] = own.closed_row;
    warp_sum[warp] = own.sum;
  }
  OpenSum<S> before{__shfl_up_sync(full_warp, static_cast<int>(own.closed_row), 1) != 0,
                    __shfl_up_sync(full_warp, own.sum, 1)};
  if (lane == 0) before = {};
  __syncthreads();
  OpenSum<S> warps_before;
  for (unsigned w = 0; w < warp; ++w) {
    OpenSum<S> next{warp_closed[w], warp_sum[w]};
    next.follow(warps_before);
    warps_before = next;
  }
  before.follow(warps_before);
  own.follow(warps_before);
  return before.sum;
}

/// A block a tile: terms and row ends go to shared memory, every thread walks its steps there, and the rows that end in
/// the tile are stored; carries[tile] is what the row open at its end has so far.
template <class Terms, class S>
__global__ void __launch_bounds__(cuda_merge_policy.threads)
    merge_tiles_kernel(offset_t length, const offset_t* row_offsets, const index_t* first_rows, Terms terms,
                       Update<S> update, S* carries) {
  constexpr int threads = cuda_merge_policy.threads;
  constexpr int steps = cuda_merge_policy.steps;
  constexpr int tile_steps = cuda_merge_policy.tile();
  __shared__ S slots[tile_steps];
  __shared__ int row_ends[tile_steps + 1];
  const offset_t begin = std::int64_t{blockIdx.x} * tile_steps;
  const offset_t end = begin + tile_steps < length ? begin + tile_steps : length;
  const index_t first_row = first_rows[blockIdx.x];
  const int rows = first_rows[blockIdx.x + std::int64_t{1}] - first_row;
  const offset_t first = begin - first_row;
  const TilePath path{row_ends, rows, static_cast<int>(end - begin) - rows};
  const int thread = static_cast<int>(threadIdx.x);
#pragma unroll
  for (int i = 0; i < steps; ++i) {
    const int k = i * threads + thread;
    if (k < path.nonzeros) slots[k] = terms[first + k];
  }
  for (int row = thread; row < rows; row += threads) {
    row_ends[row] = static_cast<int>(row_offsets[first_row + std::int64_t{row} + 1] - first);
  }
  if (thread == 0) row_ends[rows] = beyond_tile;
  __syncthreads();
  const int last_step = path.length();
  const int walk_begin = thread * steps < last_step ? thread * steps : last_step;
  const int walk_end = walk_begin + steps < last_step ? walk_begin + steps : last_step;
  const ThreadWalk<S> walk = walk_tile(path, walk_begin, walk_end, slots);
  OpenSum<S> open{walk.closed > 0, walk.carry};
  const S before = sum_open_before(open);
  if (walk.closed > 0) slots[path.nonzeros + walk.first_row] += before;
  if (thread == threads - 1) carries[blockIdx.x] = open.sum;
  __syncthreads();
  for (int row = thread; row < rows; row += threads) update.store(first_row + row, slots[path.nonzeros + row]);
}

/// Space that products of one structure need, with sums in S.
template <class S>
class MergeScratch {
 public:
  MergeScratch(index_t rows, offset_t nnz, const Device& device)
      : tiles_((path_length(rows, nnz) + cuda_merge_policy.tile() - 1) / cuda_merge_policy.tile()),
        first_rows_(tiles_ + 1, Init::none, device),
        sums_(tiles_, Init::none, device),
        carries_(tiles_, device) {}

  [[nodiscard]] std::uint64_t bytes() const noexcept { return first_rows_.bytes() + sums_.bytes() + carries_.bytes(); }

  /// y = α A x + β y in the order of the path, whose parts depend on the matrix alone. Not concurrent with itself.
  /// \param a rows > 0; the structure that this was made for \param terms of that structure
  template <class T, class Terms>
  void multiply(const Context& context, const CsrView<T>& a, const Terms& terms, const Update<S>& update) {
    launch("searching the merge path", context, Grid{blocks_for(tiles_ + 1, 256), 256},
           merge_tile_starts_kernel<cuda_merge_policy.tile()>, a.rows, a.nnz(), a.row_offsets.data(), tiles_,
           first_rows_.data());
    launch("product along the merge path", context, Grid{static_cast<unsigned>(tiles_), cuda_merge_policy.threads},
           merge_tiles_kernel<Terms, S>, path_length(a.rows, a.nnz()), a.row_offsets.data(), first_rows_.data(), terms,
           update, sums_.data());
    carries_.join(context, RowArray{first_rows_.data() + 1}, sums_.data(), a.rows, update);
  }

 private:
  std::int64_t tiles_;
  Array<index_t> first_rows_;  ///< of each tile, and what lies beyond
  Array<S> sums_;              ///< what each tile leaves over
  CarryTree<S> carries_;
};

}  // namespace tessera::cuda
