/// \file
/// MERBIT's layouts `columns` and `local_columns`, for pattern matrices: a warp stages the columns of its tile in
/// shared memory, and each lane gathers x for path items or rows of its own. The lanes of one gather then stand for
/// nonzeros some rows apart. Where neighbouring rows have similar columns these lie in fewer lines of x than 32
/// neighbouring nonzeros do, and the first-level cache serves one line per cycle. Columns need half the shared memory
/// of products, and bypass that cache, which is left to x.
#pragma once

#include "core/cuda/shared_memory.cuh"
#include "spmv/merbit/merbit_direct_kernel.cuh"
#include "spmv/merbit/staged_hubs.cuh"

namespace tessera::cuda {

/// Columns per load.
inline constexpr int columns_per_load = 4;

/// Stages the columns of a window. \tparam Rounds of loads per tile
template <int Rounds>
__device__ inline void stage_columns(const LoadWindow<Ones>& window, index_t* staged, int lane) {
  Four<index_t> four[Rounds];
#pragma unroll
  for (int i = 0; i < Rounds; ++i) {
    const int k = (i * warp_size + lane) * columns_per_load;
    if (k + columns_per_load <= window.available) {
      four[i] = load_four_once(window.columns + k);
    } else {
#pragma unroll
      for (int j = 0; j < columns_per_load; ++j)
        four[i].entry[j] = k + j < window.end ? __ldcs(window.columns + k + j) : 0;
    }
  }
#pragma unroll
  for (int i = 0; i < Rounds; ++i) {
    const int k = (i * warp_size + lane) * columns_per_load;
    if (k < window.end) store_four(staged + k, four[i]);
  }
}

/// Path items of a lane of a walk.
template <int Sigma>
struct LaneWalk {
  std::uint32_t down_flags;
  std::uint32_t right_flags;
  int first_closed;  ///< row of the tile that the lane closes first, if any

  __device__ LaneWalk(const TileSpan& tile, std::uint32_t word, int lane) {
    const LaneItems<std::uint32_t> items = unpack_lane(word, Sigma);
    const int left = tile.nonzeros + tile.rows - lane * Sigma;
    constexpr std::uint32_t all = (std::uint32_t{1} << Sigma) - 1;
    const std::uint32_t valid = left >= Sigma ? all : left <= 0 ? 0 : (std::uint32_t{1} << left) - 1;
    down_flags = items.down_flags;
    right_flags = ~down_flags & valid;
    first_closed = static_cast<int>(items.y_offset);
  }

  /// The entries of x for the nonzeros of the lane, 0 for its row ends. All loads are in flight together.
  template <class T, class Gather>
  __device__ void gather_terms(const index_t* columns, int lane, const Gather& gather, T (&term)[Sigma]) const {
    const index_t* column = columns + (lane * Sigma - first_closed);
#pragma unroll
    for (int item = 0; item < Sigma; ++item) {
      term[item] = T{0};
      if ((right_flags >> item & 1) != 0) term[item] = gather(*column++);
    }
  }

  /// Sum of the terms after the last row that the lane closes.
  template <class T>
  [[nodiscard]] __device__ T open_sum(const T (&term)[Sigma]) const {
    T open{0};
#pragma unroll
    for (int item = 0; item < Sigma; ++item) {
      open += term[item];
      if ((down_flags >> item & 1) != 0) open = T{0};
    }
    return open;
  }

  /// The sums of the lane's rows among [base, base + room) of the tile to `row_sums`. \param sum parts of
  /// the first row in earlier lanes
  template <class T>
  __device__ void close_rows(const T (&term)[Sigma], T sum, int base, int room, T* row_sums) const {
    int row = first_closed - base;
#pragma unroll
    for (int item = 0; item < Sigma; ++item) {
      sum += term[item];
      if ((down_flags >> item & 1) != 0) {
        if (static_cast<unsigned>(row) < static_cast<unsigned>(room)) row_sums[row] = sum;
        ++row;
        sum = T{0};
      }
    }
  }
};

/// Writes the sums of rows [base, base + room) of a tile to `row_sums`, which may overlap the columns. \returns in the
/// last lane the part of the row that continues after the tile
template <int Sigma, class T, class Gather>
__device__ inline T sum_walked_rows(const LaneWalk<Sigma>& walk, const index_t* columns, const Gather& gather, int base,
                                    int room, T* row_sums, int lane) {
  T term[Sigma];
  walk.gather_terms(columns, lane, gather, term);
  const T open = open_sums(walk.open_sum(term), walk.down_flags != 0, lane);
  const T before = __shfl_up_sync(full_warp, open, 1);
  __syncwarp();
  walk.close_rows(term, lane > 0 ? before : T{0}, base, room, row_sums);
  __syncwarp();
  return open;
}

/// A tile of complete rows, one lane per row; every lane gathers for two rows at a time.
/// \param lengths of rows lane, lane + 32, ...: one byte each
template <int Unroll, class Terms, class Epilogue>
__device__ inline void sum_two_rows_a_lane(const TileSpan& tile, std::uint32_t lengths, const Terms& terms, int lane,
                                           Epilogue& epilogue) {
  using T = typename Epilogue::Sum;
  int before = 0;
  for (int first = lane; first - lane < tile.rows; first += 2 * warp_size, lengths >>= 16) {
    const auto near = static_cast<int>(lengths & 0xff);
    const auto far = static_cast<int>(lengths >> 8 & 0xff);
    const std::uint32_t ends = inclusive_sums(static_cast<std::uint32_t>(near | far << 16), lane);
    const std::uint32_t totals = __shfl_sync(full_warp, ends, warp_size - 1);
    const int near_begin = before + static_cast<int>(ends & 0xffff) - near;
    before += static_cast<int>(totals & 0xffff);
    const int far_begin = before + static_cast<int>(ends >> 16) - far;
    before += static_cast<int>(totals >> 16);
    T near_sum{0};
    T far_sum{0};
    for (int k = 0; k < near || k < far; k += Unroll) {
      T near_term[Unroll];
      T far_term[Unroll];
#pragma unroll
      for (int u = 0; u < Unroll; ++u) near_term[u] = k + u < near ? terms(near_begin + k + u) : T{0};
#pragma unroll
      for (int u = 0; u < Unroll; ++u) far_term[u] = k + u < far ? terms(far_begin + k + u) : T{0};
#pragma unroll
      for (int u = 0; u < Unroll; ++u) near_sum += near_term[u];
#pragma unroll
      for (int u = 0; u < Unroll; ++u) far_sum += far_term[u];
    }
    if (first < tile.rows) epilogue.store(tile.row + first, near_sum);
    if (first + warp_size < tile.rows) epilogue.store(tile.row + first + warp_size, far_sum);
  }
}

/// A tile whose columns are staged, by one warp. \param staged Policy::room columns, from the start of the window
template <class Policy, class Gather, class Epilogue>
__device__ inline void sum_staged_tile(const LoadWindow<Ones>& window, const TileSpan& tile, const TileStart& start,
                                       std::uint32_t word, const Gather& gather, index_t* staged, int lane,
                                       Epilogue& epilogue) {
  using T = typename Epilogue::Sum;
  const index_t* const columns = staged + window.begin;
  const auto terms = [columns, gather](int k) { return gather(columns[k]); };
  if (Policy::two_rows && start.kind() == TileKind::rows && start.lanes_per_row_log2() == 0) {
    return sum_two_rows_a_lane<Policy::unroll>(tile, word, terms, lane, epilogue);
  }
  if (sum_without_walk<Policy::unroll>(tile, start, word, terms, lane, epilogue)) return;
  // Sums overwrite the columns where all of them fit; else they go behind the columns, some at a time.
  constexpr int columns_per_sum = static_cast<int>(sizeof(T) / sizeof(index_t));
  constexpr int all_sums = Policy::room / columns_per_sum;
  constexpr int some_sums = all_sums / 4;
  const bool fits = columns_per_sum == 1 || tile.rows <= all_sums;
  const int room = fits ? all_sums : some_sums;
  T* const row_sums = reinterpret_cast<T*>(staged) + (fits ? 0 : all_sums - some_sums);
  const LaneWalk<Policy::sigma> walk(tile, word, lane);
#pragma unroll 1
  for (int base = 0; base < tile.rows; base += room) {
    const T open = sum_walked_rows(walk, columns, gather, base, room, row_sums, lane);
    if (base == 0 && tile.to_inside && lane == warp_size - 1) epilogue.leave_open(tile, open);
    const int count = tile.rows - base < room ? tile.rows - base : room;
    for (int i = lane; i < count; i += warp_size) epilogue.store_ended(tile, base + i, row_sums[i]);
    __syncwarp();
  }
}

/// Tiles of a warp: first, first + stride, ... below end.
struct WarpTileRange {
  std::int64_t first;
  std::int64_t end;
  std::int64_t stride;
};

/// Without persistent warps only one. \param warp in its block
template <class Policy>
[[nodiscard]] __device__ WarpTileRange warp_tile_range(std::int64_t tiles, int warp) {
  constexpr int warps = Policy::threads / warp_size;
  if constexpr (Policy::raking) {
    const std::int64_t run = (tiles + gridDim.x - 1) / gridDim.x;
    const std::int64_t begin = blockIdx.x * run;
    return {begin + warp, begin + run < tiles ? begin + run : tiles, warps};
  } else {
    const std::int64_t first = std::int64_t{blockIdx.x} * warps + warp;
    if constexpr (Policy::persistent) return {first, tiles, std::int64_t{gridDim.x} * warps};
    return {first, first + 1 < tiles ? first + 1 : tiles, 1};
  }
}

/// The product, by warp_tile_range(). Dynamic shared memory: the columns of all warps, then the hubs that are staged.
template <class Policy, class Gather, class Epilogue>
__global__ void __launch_bounds__(Policy::threads, Policy::min_blocks)
    merbit_columns_kernel(MatrixArrays<Ones> a, SnappedTileArrays tiles, Gather gather, typename Epilogue::Output out) {
  constexpr int warps = Policy::threads / warp_size;
  const int lane = static_cast<int>(threadIdx.x % warp_size);
  const int warp = static_cast<int>(threadIdx.x / warp_size);
  Epilogue epilogue(out);
  if (epilogue.is_idle()) return;
  gather.x = epilogue.source(gather.x);
  index_t* const staged = reinterpret_cast<index_t*>(dynamic_shared_memory()) + warp * Policy::room;
  if constexpr (stages_hubs<Gather>) {
    using T = typename Epilogue::Sum;
    gather.template stage<Policy::threads>(
        reinterpret_cast<T*>(dynamic_shared_memory() + Policy::dynamic_shared_bytes));
  }
  const WarpTileRange own = warp_tile_range<Policy>(tiles.tiles, warp);
#pragma unroll 1
  for (std::int64_t number = own.first; number < own.end; number += own.stride) {
    const TileStart start = tiles.starts[number];
    const TileSpan tile = span_between(number, start, tiles.starts[number + 1]);
    const std::uint32_t word = __ldcs(tiles.lane_words + number * lanes_per_tile + lane);
    const LoadWindow<Ones> window = load_window<columns_per_load>(a, tile);
    stage_columns<Policy::rounds>(window, staged, lane);
    epilogue.expect(tile, lane);
    __syncwarp();
    sum_staged_tile<Policy>(window, tile, start, word, gather, staged, lane, epilogue);
    __syncwarp();
  }
  epilogue.template write_sums_of_block<warps>(blockIdx.x, lane);
}

}  // namespace tessera::cuda
