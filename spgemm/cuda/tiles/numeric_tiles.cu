// Numeric phase in tiles: a block does two tile rows of C, eight tiles of each at a time, a warp per tile, whose 64
// sums lie in registers, two per lane. In double precision a pair of tiles is two tensor instructions (m8n8k4).
#include "core/cuda/launch.cuh"
#include "core/cuda/tensor.cuh"
#include "spgemm/cuda/accumulators/rows.cuh"
#include "spgemm/cuda/tiles/tile_store.cuh"

#include <cstddef>
#include <type_traits>

namespace tessera::cuda {

namespace {

using namespace tiles_by_warps;

/// Bitmaps and dense copies of the factors' tiles.
template <class V>
struct DenseTiles {
  const std::uint64_t* a_bitmaps;
  const std::uint64_t* b_bitmaps;
  const V* a;
  const V* b;
  const unsigned* not_finite;  ///< null, or nonzero where pairs are multiplied entry by entry alone
};

/// Operands of the two tensor instructions of a pair, for this lane.
struct PairOperands {
  double a_low;
  double a_high;
  double b_low;
  double b_high;

  __device__ __forceinline__ PairOperands(const DenseTiles<double>& dense, const TilePair& pair, int a_place,
                                          int b_place) {
    const double* const a = dense.a + static_cast<std::size_t>(pair.a) * detail::tile_entries;
    const double* const b = dense.b + static_cast<std::size_t>(pair.b) * detail::tile_entries + b_place;
    a_low = __ldg(a + a_place);
    a_high = __ldg(a + (a_place ^ 4));
    b_low = __ldg(b);
    b_high = __ldg(b + 4 * tile_size);
  }
  __device__ __forceinline__ PairOperands() {}
};

__device__ __forceinline__ void multiply_pair(double& c0, double& c1, const PairOperands& operands) {
  mma_m8n8k4(c0, c1, operands.a_low, operands.b_low);
  mma_m8n8k4(c0, c1, operands.a_high, operands.b_high);
}

/// The sums of a tile of C. Two pairs at a time; the pairs after them are loaded meanwhile, whether they are this
/// tile's or not (spare_pairs).
__device__ __forceinline__ void sum_tensor(const DenseTiles<double>& dense, const TilePair* pairs, int count,
                                           double& c0, double& c1) {
  const int lane = lane_number();
  const int a_place = detail::dense_place(lane / 4, lane % 4);
  const int b_place = detail::dense_place(lane % 4, lane / 4);
  TilePair first = load_pair(pairs);
  TilePair second = load_pair(pairs + 1);
  for (; count >= 2; count -= 2) {
    pairs += 2;
    const PairOperands of_first(dense, first, a_place, b_place);
    const PairOperands of_second(dense, second, a_place, b_place);
    first = load_pair(pairs);
    second = load_pair(pairs + 1);
    multiply_pair(c0, c1, of_first);
    multiply_pair(c0, c1, of_second);
  }
  if (count == 1) multiply_pair(c0, c1, PairOperands(dense, first, a_place, b_place));
}

template <class Target>
__global__ void __launch_bounds__(threads, resident_blocks)
    tensor_kernel(DenseTiles<double> dense, CTileArrays c, Target target) {
  if (dense.not_finite != nullptr && *dense.not_finite != 0) return;
  const auto warp = static_cast<int>(threadIdx.x / warp_size);
  const std::int64_t number = std::int64_t{blockIdx.x} * rows_of_block + warp % rows_of_block;
  if (number >= c.taken.count) return;
  const std::int64_t tile_row = c.taken[number];
  const CTileRow row = c.rows[tile_row];
  if (threadIdx.x % warp_size == 0 && warp < rows_of_block) begin_tile_row(target, tile_row);
  for (int t = row.first + warp / rows_of_block; t < row.first + row.tiles; t += tiles_at_once) {
    const CTile tile = load_tile(c.tiles + t);
    if (tile.pairs == 0) continue;
    double c0 = 0.0;
    double c1 = 0.0;
    sum_tensor(dense, c.pairs + tile.first_pair, tile.pairs, c0, c1);
    const int lane = lane_number();
    store_tile(c, t, tile_row, tile.column, target, [&](int half) {
      const int source = lane / tile_size * 4 + lane % tile_size / 2 + 16 * half;
      const double even = __shfl_sync(full_warp, c0, source);
      const double odd = __shfl_sync(full_warp, c1, source);
      return lane % 2 == 0 ? even : odd;
    });
  }
}

/// Adds the products of a pair to entry (r, c), ascending inner index, those of stored entries alone.
template <class V>
__device__ V add_pair(const DenseTiles<V>& dense, const TilePair& pair, int r, int c, V sum) {
  const unsigned row = detail::row_bits(__ldg(dense.a_bitmaps + pair.a), r);
  const std::uint64_t b_bitmap = __ldg(dense.b_bitmaps + pair.b);
  const V* const a = dense.a + static_cast<std::size_t>(pair.a) * detail::tile_entries;
  const V* const b = dense.b + static_cast<std::size_t>(pair.b) * detail::tile_entries;
#pragma unroll
  for (int k = 0; k < tile_size; ++k) {
    if ((row >> k & 1U) == 0 || (detail::row_bits(b_bitmap, k) >> c & 1U) == 0) continue;
    sum = sum_of(sum, product_of(__ldg(a + detail::dense_place(r, k)), __ldg(b + detail::dense_place(k, c))));
  }
  return sum;
}

template <class V, class Target>
__global__ void __launch_bounds__(threads) scalar_kernel(DenseTiles<V> dense, CTileArrays c, Target target) {
  if (dense.not_finite != nullptr && *dense.not_finite == 0) return;
  const auto warp = static_cast<int>(threadIdx.x / warp_size);
  const std::int64_t number = std::int64_t{blockIdx.x} * rows_of_block + warp % rows_of_block;
  if (number >= c.taken.count) return;
  const std::int64_t tile_row = c.taken[number];
  const CTileRow row = c.rows[tile_row];
  if (threadIdx.x % warp_size == 0 && warp < rows_of_block) begin_tile_row(target, tile_row);
  const int r = lane_number() / tile_size;
  const int column = lane_number() % tile_size;
  for (int t = row.first + warp / rows_of_block; t < row.first + row.tiles; t += tiles_at_once) {
    const CTile tile = load_tile(c.tiles + t);
    if constexpr (detail::has_values<V>) {
      V low = sum_begin<V>;
      V high = sum_begin<V>;
      for (int p = 0; p < tile.pairs; ++p) {
        const TilePair pair = load_pair(c.pairs + tile.first_pair + p);
        low = add_pair(dense, pair, r, column, low);
        high = add_pair(dense, pair, r + 4, column, high);
      }
      store_tile(c, t, tile_row, tile.column, target, [&](int half) { return half == 0 ? low : high; });
    } else {
      store_tile(c, t, tile_row, tile.column, target, [](int) { return 0; });
    }
  }
}

template <class V, class Target>
void (*kernel_of([[maybe_unused]] TileArithmetic arithmetic))(DenseTiles<V>, CTileArrays, Target) {
  if constexpr (std::is_same_v<V, double>) {
    if (arithmetic == TileArithmetic::tensor) return tensor_kernel<Target>;
  }
  return scalar_kernel<V, Target>;
}

template <class V, class Target>
void enqueue_numeric(const Context& context, TileArithmetic arithmetic, const TilePositions& a, const V* a_dense,
                     const TilePositions& b, const V* b_dense, const CTiles& c, const Target& target,
                     const unsigned* not_finite = nullptr) {
  const index_t taken = c.arrays().taken.count;
  if (taken == 0) return;
  const DenseTiles<V> dense{a.arrays().bitmaps, b.arrays().bitmaps, a_dense, b_dense, not_finite};
  launch("numeric phase in tiles", context, Grid{blocks_for(taken, rows_of_block), threads},
         kernel_of<V, Target>(arithmetic), dense, c.arrays(), target);
}

}  // namespace

template <class V>
void enqueue_numeric_tiles(const Context& context, TileArithmetic arithmetic, const TilePositions& a, const V* a_dense,
                           const TilePositions& b, const V* b_dense, const CTiles& c, const offset_t* offsets,
                           index_t* columns, V* values) {
  enqueue_numeric(context, arithmetic, a, a_dense, b, b_dense, c, CsrTarget<V>{offsets, columns, values});
}

template <class V>
void enqueue_numeric_tiles(const Context& context, TileArithmetic arithmetic, const TilePositions& a, const V* a_dense,
                           const TilePositions& b, const V* b_dense, const CTiles& c, const TileTarget<V>& target) {
  enqueue_numeric(context, arithmetic, a, a_dense, b, b_dense, c, target);
}

void enqueue_planned_tiles(const Context& context, const TileTotals* totals, const TilePositions& a,
                           const double* a_dense, const TilePositions& b, const double* b_dense, const CTiles& c,
                           const offset_t* offsets, double* values) {
  const CsrTarget<double> target{offsets, nullptr, values};
  for (const TileArithmetic arithmetic : {TileArithmetic::tensor, TileArithmetic::scalar}) {
    enqueue_numeric(context, arithmetic, a, a_dense, b, b_dense, c, target, &totals->not_finite);
  }
}

template void enqueue_numeric_tiles(const Context&, TileArithmetic, const TilePositions&, const float*,
                                    const TilePositions&, const float*, const CTiles&, const TileTarget<float>&);
template void enqueue_numeric_tiles(const Context&, TileArithmetic, const TilePositions&, const double*,
                                    const TilePositions&, const double*, const CTiles&, const TileTarget<double>&);

template void enqueue_numeric_tiles(const Context&, TileArithmetic, const TilePositions&, const float*,
                                    const TilePositions&, const float*, const CTiles&, const offset_t*, index_t*,
                                    float*);
template void enqueue_numeric_tiles(const Context&, TileArithmetic, const TilePositions&, const double*,
                                    const TilePositions&, const double*, const CTiles&, const offset_t*, index_t*,
                                    double*);
template void enqueue_numeric_tiles(const Context&, TileArithmetic, const TilePositions&, const detail::NoValue*,
                                    const TilePositions&, const detail::NoValue*, const CTiles&, const offset_t*,
                                    index_t*, detail::NoValue*);

}  // namespace tessera::cuda
