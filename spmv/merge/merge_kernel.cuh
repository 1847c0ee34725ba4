/// \file
/// MERGE on a GPU: the product along the merge path (Merrill & Garland, SC 2016), with row sums in any type: for the
/// kernel merge, and for residuals in double.
#pragma once

#include "core/cuda/launch.cuh"
#include "preprocess/merge_search.hpp"
#include "spmv/common/carries.cuh"
#include "spmv/common/terms.cuh"
#include "spmv/merge/merge_tile.hpp"
#include "spmv/merge/merge_tuning.hpp"

#include <limits>
#include <span>

namespace tessera::cuda {

/// End of the row that is open at the end of a tile.
inline constexpr int beyond_tile = std::numeric_limits<int>::max();

/// first_rows[t]: rows finished where tile t of so many items begins; one entry beyond the last tile.
template <int TileSteps>
__global__ void __launch_bounds__(256) merge_tile_starts_kernel(index_t rows, offset_t nnz, const offset_t* row_offsets,
                                                                std::int64_t tiles, index_t* first_rows) {
  const std::int64_t tile = std::int64_t{blockIdx.x} * 256 + threadIdx.x;
  if (tile > tiles) return;
  const offset_t length = path_length(rows, nnz);
  const offset_t diagonal = tile < tiles ? tile * TileSteps : length;
  first_rows[tile] = merge_search(row_offsets, rows, nnz, diagonal).y;
}

/// Sum of the open row before a thread, and after it.
template <class S>
struct OpenSums {
  S before;
  S after;
};

/// Joins the open sums of the threads of a block, in their order. Every thread must call.
/// \param closed whether the thread has finished a row: then `sum` does not continue the row open before it
template <class S>
__device__ OpenSums<S> join_open_sums(bool closed, S sum) {
  constexpr unsigned warps = cuda_merge_policy.threads / warp_size;
  __shared__ bool warp_closed[warps];
  __shared__ S warp_sum[warps];
  const unsigned lane = threadIdx.x % warp_size;
  const unsigned warp = threadIdx.x / warp_size;
  const unsigned closing = __ballot_sync(full_warp, closed);
  const unsigned closing_before = closing & ((1u << lane) - 1);
  const unsigned closing_so_far = closing_before | (closed ? 1u << lane : 0u);
  // The lane in which the row open after this lane began; 0 where it began in an earlier warp.
  const unsigned first =
      closing_so_far == 0 ? 0 : warp_size - 1 - static_cast<unsigned>(__clz(static_cast<int>(closing_so_far)));
  for (unsigned distance = 1; distance < warp_size; distance *= 2) {
    const S earlier = __shfl_up_sync(full_warp, sum, distance);
    if (lane >= first + distance) sum += earlier;
  }
  if (lane == warp_size - 1) {
    warp_closed[warp] = closing != 0;
    warp_sum[warp] = sum;
  }
  S before = __shfl_up_sync(full_warp, sum, 1);
  if (lane == 0) before = S{0};
  __syncthreads();
  S warps_before{0};
#pragma unroll
  for (unsigned w = 0; w + 1 < warps; ++w) {
    if (w < warp) warps_before = warp_closed[w] ? warp_sum[w] : warps_before + warp_sum[w];
  }
  if (closing_before == 0) before += warps_before;
  if (closing_so_far == 0) sum += warps_before;
  return {before, sum};
}

/// Ends of some rows of a tile, whose loads are in flight.
struct RowEnds {
  static constexpr int count = 3;
  static constexpr int rows = count * cuda_merge_policy.threads;  ///< that the block has in flight
  offset_t end[count];

  /// \param row_offsets from the tile's first row on \param begin this thread's first row
  __device__ RowEnds(const offset_t* row_offsets, int begin, int rows_of_tile) {
#pragma unroll
    for (int i = 0; i < count; ++i) {
      const int row = begin + i * cuda_merge_policy.threads;
      end[i] = row_offsets[row < rows_of_tile ? row + 1 : rows_of_tile];
    }
  }

  /// \param first number of the nonzero with which the tile begins
  __device__ void store(offset_t first, int begin, int rows_of_tile, int* row_ends) const {
#pragma unroll
    for (int i = 0; i < count; ++i) {
      const int row = begin + i * cuda_merge_policy.threads;
      if (row < rows_of_tile) row_ends[row] = static_cast<int>(end[i] - first) + row;
    }
  }
};

/// Stores the ends that are in flight, those of further rows, and the mark of the open row.
__device__ inline void store_row_ends(const RowEnds& in_flight, const offset_t* row_offsets, offset_t first, int rows,
                                      int* row_ends) {
  int begin = static_cast<int>(threadIdx.x);
  in_flight.store(first, begin, rows, row_ends);
#pragma unroll 1
  for (begin += RowEnds::rows; begin < rows; begin += RowEnds::rows) {
    RowEnds(row_offsets, begin, rows).store(first, begin, rows, row_ends);
  }
  if (threadIdx.x == 0) row_ends[rows] = beyond_tile;
}

/// Loads the terms and row ends of the block's tile into shared memory. All loads of the matrix are in flight before
/// the first load of x. Beyond the last term that one is loaded again, since unconditional loads wait for one another
/// least; the walk overwrites what this leaves behind the terms. \param terms, row_offsets from the tile's first
/// nonzero and row on \param first number of that nonzero
template <class Terms, class S>
__device__ void load_tile(const Terms& terms, const offset_t* row_offsets, offset_t first, const TilePath& path,
                          S* slots, int* row_ends) {
  constexpr int threads = cuda_merge_policy.threads;
  constexpr int items = cuda_merge_policy.items;
  const RowEnds ends(row_offsets, static_cast<int>(threadIdx.x), path.rows);
  if (path.nonzeros == 0) return store_row_ends(ends, row_offsets, first, path.rows, row_ends);
  const unsigned last = static_cast<unsigned>(path.nonzeros) - 1;
  typename Terms::Nonzero entry[items];
#pragma unroll
  for (int i = 0; i < items; ++i) {
    const unsigned k = i * threads + threadIdx.x;
    entry[i] = terms.template entry<NextUse::never>(k < last ? k : last);
  }
  S term[items];
#pragma unroll
  for (int i = 0; i < items; ++i) term[i] = terms.product(entry[i]);
  store_row_ends(ends, row_offsets, first, path.rows, row_ends);
#pragma unroll
  for (int i = 0; i < items; ++i) slots[i * threads + threadIdx.x] = term[i];
}

/// Walks this thread's items of the path. Only the last tile of a matrix is not full.
template <class S>
__device__ ThreadWalk<S> walk_own_items(const TilePath& path, S* slots) {
  constexpr int items = cuda_merge_policy.items;
  const int begin = static_cast<int>(threadIdx.x) * items;
  const int length = path.length();
  TileWalker<S> walker(path, begin < length ? begin : length, slots);
  if (length == cuda_merge_policy.tile()) {
#pragma unroll
    for (int i = 0; i < items; ++i) walker.take(begin + i);
  } else {
#pragma unroll 1
    for (int item = begin; item < begin + items && item < length; ++item) walker.take(item);
  }
  return walker.result();
}

/// One block per tile: terms and row ends go to shared memory, every thread walks its items there, and the rows that
/// end in the tile are stored; carries[tile] is the sum so far of the row open at its end.
template <class Terms, class S>
__global__ void __launch_bounds__(cuda_merge_policy.threads, merge_footprint<S>().min_blocks)
    merge_tiles_kernel(offset_t length, const offset_t* row_offsets, const index_t* first_rows, Terms terms,
                       UpdateEpilogue<S> epilogue, S* carries) {
  constexpr int threads = cuda_merge_policy.threads;
  constexpr int tile_items = cuda_merge_policy.tile();
  __shared__ S slots[tile_items];
  __shared__ int row_ends[tile_items + 1];
  const offset_t begin = std::int64_t{blockIdx.x} * tile_items;
  const int items = length - begin < tile_items ? static_cast<int>(length - begin) : tile_items;
  const index_t first_row = __ldg(first_rows + blockIdx.x);
  const int rows = __ldg(first_rows + blockIdx.x + 1) - first_row;
  const offset_t first = begin - first_row;
  const TilePath path{row_ends, rows, items - rows};
  load_tile(terms.from(first), row_offsets + first_row, first, path, slots, row_ends);
  __syncthreads();
  const ThreadWalk<S> walk = walk_own_items(path, slots);
  const OpenSums<S> open = join_open_sums(walk.closed > 0, walk.carry);
  if (walk.closed > 0) slots[path.nonzeros + walk.first_row] += open.before;
  if (threadIdx.x == threads - 1) carries[blockIdx.x] = open.after;
  __syncthreads();
#pragma unroll 1
  for (int row = static_cast<int>(threadIdx.x); row < rows; row += threads) {
    epilogue.store(first_row + row, slots[path.nonzeros + row]);
  }
}

/// Tiles of one structure and scratch memory of its products, with sums in S.
template <class S>
class MergeScratch {
 public:
  /// Searches where the tiles begin: O(tiles log rows). \param row_offsets on the device, rows + 1 entries
  MergeScratch(std::span<const offset_t> row_offsets, offset_t nnz, const Device& device)
      : rows_(static_cast<index_t>(row_offsets.size() - 1)),
        length_(path_length(rows_, nnz)),
        tiles_((length_ + cuda_merge_policy.tile() - 1) / cuda_merge_policy.tile()),
        first_rows_(tiles_ + 1, Init::none, device),
        sums_(tiles_, Init::none, device),
        carries_(tiles_, device) {
    const DeviceGuard current(device);
    launch("searching the merge path", Context::of(device), Grid{blocks_for(tiles_ + 1, 256), 256},
           merge_tile_starts_kernel<cuda_merge_policy.tile()>, rows_, nnz, row_offsets.data(), tiles_,
           first_rows_.data());
  }

  [[nodiscard]] std::uint64_t bytes() const noexcept { return first_rows_.bytes() + sums_.bytes() + carries_.bytes(); }

  /// y = α A x + β y in the order of the path, whose tiles depend on the matrix alone. Not concurrent with itself.
  /// \param row_offsets of the structure that this was made for \param terms of that structure
  template <class Terms>
  void multiply(const Context& context, const offset_t* row_offsets, const Terms& terms,
                const UpdateEpilogue<S>& epilogue) {
    if (tiles_ == 0) return;
    launch("product along the merge path", context, Grid{static_cast<unsigned>(tiles_), cuda_merge_policy.threads},
           merge_tiles_kernel<Terms, S>, length_, row_offsets, first_rows_.data(), terms, epilogue, sums_.data());
    carries_.join(context, RowArray{first_rows_.data() + 1}, sums_.data(), rows_, epilogue);
  }

 private:
  index_t rows_;
  offset_t length_;  ///< of the path
  std::int64_t tiles_;
  Array<index_t> first_rows_;  ///< of each tile, and beyond the last
  Array<S> sums_;              ///< carry of each tile
  CarryTree<S> carries_;
};

}  // namespace tessera::cuda
