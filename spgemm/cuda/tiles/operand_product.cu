// Numeric phase on operand tiles: as in numeric_tiles.cu a block does two tile rows of C, a warp per tile. Bytes
// decide: in half precision a warp loads 256 bytes per pair of tiles, a quarter of what the dense copies in double
// precision take, so that half of the 16 rows of an instruction may stay empty, and two pairs share its inner size
// of 16. Two tile rows of A in one instruction would save loads of B alone, and only where both rows have the same tile
// columns.
#include "core/cuda/launch.cuh"
#include "core/cuda/tensor.cuh"
#include "core/cuda/tensor_narrow.cuh"
#include "spgemm/cuda/accumulators/rows.cuh"
#include "spgemm/cuda/tiles/operand_tiles.hpp"
#include "spgemm/cuda/tiles/tile_store.cuh"

#include <cstddef>
#include <type_traits>

namespace tessera::cuda {

namespace {

using namespace tiles_by_warps;

/// Bitmaps and operand tiles of the factors.
template <class E>
struct OperandFactors {
  const std::uint64_t* a_bitmaps;
  const std::uint64_t* b_bitmaps;
  const E* a;  ///< by rows
  const E* b;  ///< by columns
};

/// Two neighbouring elements of a tile as they are loaded.
template <class E>
struct LanePair;
template <>
struct LanePair<Half> {
  HalfPair both = 0;
  __device__ __forceinline__ LanePair() {}
  __device__ __forceinline__ LanePair(const Half* tiles, std::int32_t tile) {
    both = __ldg(reinterpret_cast<const unsigned*>(tiles) + std::size_t{warp_size} * static_cast<std::size_t>(tile) +
                 lane_number());
  }
};
template <>
struct LanePair<float> {
  float even = 0.0F;
  float odd = 0.0F;
  __device__ __forceinline__ LanePair() {}
  __device__ __forceinline__ LanePair(const float* tiles, std::int32_t tile) {
    const auto* const pairs = reinterpret_cast<const uint2*>(tiles);
    const uint2 both = __ldg(pairs + std::size_t{warp_size} * static_cast<std::size_t>(tile) + lane_number());
    even = detail::float_of(both.x);
    odd = detail::float_of(both.y);
  }
};

/// This lane's operands of a pair of tiles.
template <class E>
struct Operands {
  LanePair<E> a;
  LanePair<E> b;
  __device__ __forceinline__ Operands() {}
  __device__ __forceinline__ Operands(const OperandFactors<E>& factors, const TilePair& pair)
      : a(factors.a, pair.a), b(factors.b, pair.b) {}
};

/// Sums in single precision over numbers in half.
struct HalfSums {
  using Element = Half;
  StackedSums c;

  __device__ __forceinline__ void add(const Operands<Half>& one, const Operands<Half>& other) {
    mma_half_pairs(c, one.a.both, one.b.both, other.a.both, other.b.both);
  }
  /// The sums of columns 2 t and 2 t + 1.
  [[nodiscard]] __device__ __forceinline__ float even() const { return c.top0; }
  [[nodiscard]] __device__ __forceinline__ float odd() const { return c.top1; }
};

/// Numbers in single precision as two TF32 numbers each. Big and small parts of A are stacked in the 16 rows of an
/// instruction: one with the big, one with the small parts of B give all four products. Products of big parts begin at
/// 0 for every pair, and pairs are added up with rounding to nearest (Ootomo & Yokota, 2022).
struct Tf32Sums {
  using Element = float;
  float c0 = 0.0F;
  float c1 = 0.0F;
  StackedSums with_big;    ///< at the bottom: small parts of A with big ones of B
  StackedSums with_small;  ///< big and small parts of A with small ones of B

  __device__ __forceinline__ void add(const Operands<float>& pair) {
    const detail::Tf32Pair a_even(pair.a.even);
    const detail::Tf32Pair a_odd(pair.a.odd);
    const detail::Tf32Pair b_even(pair.b.even);
    const detail::Tf32Pair b_odd(pair.b.odd);
    with_big.top0 = 0.0F;
    with_big.top1 = 0.0F;
    mma_stacked_tf32(with_big, a_even.big, a_odd.big, a_even.small, a_odd.small, b_even.big, b_odd.big);
    mma_stacked_tf32(with_small, a_even.big, a_odd.big, a_even.small, a_odd.small, b_even.small, b_odd.small);
    c0 += with_big.top0;
    c1 += with_big.top1;
  }
  __device__ __forceinline__ void add(const Operands<float>& one, const Operands<float>& other) {
    add(one);
    add(other);
  }
  [[nodiscard]] __device__ __forceinline__ float even() const {
    return c0 + (with_big.bottom0 + with_small.top0 + with_small.bottom0);
  }
  [[nodiscard]] __device__ __forceinline__ float odd() const {
    return c1 + (with_big.bottom1 + with_small.top1 + with_small.bottom1);
  }
};

/// Numbers in single precision multiplied and summed in double, rounded once.
struct DoubleSums {
  using Element = float;
  double c0 = 0.0;
  double c1 = 0.0;

  /// The first instruction takes the even inner indices, the second the odd ones.
  __device__ __forceinline__ void add(const Operands<float>& pair) {
    mma_m8n8k4(c0, c1, pair.a.even, pair.b.even);
    mma_m8n8k4(c0, c1, pair.a.odd, pair.b.odd);
  }
  __device__ __forceinline__ void add(const Operands<float>& one, const Operands<float>& other) {
    add(one);
    add(other);
  }
  [[nodiscard]] __device__ __forceinline__ float even() const { return static_cast<float>(c0); }
  [[nodiscard]] __device__ __forceinline__ float odd() const { return static_cast<float>(c1); }
};

/// Sums a tile of C. Four pairs at a time, then one or two; the pairs after them are loaded meanwhile, whether they are
/// this tile's or not (spare_pairs).
template <class Sums, class E>
__device__ __forceinline__ void sum_pairs(const OperandFactors<E>& factors, const TilePair* pairs, int count,
                                          Sums& sums) {
  TilePair next[4];
#pragma unroll
  for (int p = 0; p < 4; ++p) next[p] = load_pair(pairs + p);
  for (; count >= 4; count -= 4) {
    pairs += 4;
    Operands<E> operands[4];
#pragma unroll
    for (int p = 0; p < 4; ++p) operands[p] = Operands<E>(factors, next[p]);
#pragma unroll
    for (int p = 0; p < 4; ++p) next[p] = load_pair(pairs + p);
    sums.add(operands[0], operands[1]);
    sums.add(operands[2], operands[3]);
  }
  if (count >= 2) sums.add(Operands<E>(factors, next[0]), Operands<E>(factors, next[1]));
  if (count % 2 != 0) sums.add(Operands<E>(factors, count == 1 ? next[0] : next[2]), Operands<E>());
}

template <class Sums, class V>
__global__ void __launch_bounds__(threads, resident_blocks)
    operand_tensor_kernel(index_t tile_rows, OperandFactors<typename Sums::Element> factors, CTileArrays c,
                          CsrTarget<V> target) {
  const auto warp = static_cast<int>(threadIdx.x / warp_size);
  const std::int64_t tile_row = std::int64_t{blockIdx.x} * rows_of_block + warp % rows_of_block;
  if (tile_row >= tile_rows) return;
  const CTileRow row = c.rows[tile_row];
  const int lane = lane_number();
  const int source = lane / tile_size * 4 + lane % tile_size / 2;
  for (int t = row.first + warp / rows_of_block; t < row.first + row.tiles; t += tiles_at_once) {
    const CTile tile = load_tile(c.tiles + t);
    if (tile.pairs == 0) continue;
    Sums sums;
    sum_pairs(factors, c.pairs + tile.first_pair, tile.pairs, sums);
    const float c0 = sums.even();
    const float c1 = sums.odd();
    store_tile(c, t, tile_row, tile.column, target, [&](int half) {
      const float even = __shfl_sync(full_warp, c0, source + 16 * half);
      const float odd = __shfl_sync(full_warp, c1, source + 16 * half);
      return static_cast<V>(lane % 2 == 0 ? even : odd);
    });
  }
}

[[nodiscard]] __device__ __forceinline__ float load_element(const float* element) { return __ldg(element); }
[[nodiscard]] __device__ __forceinline__ float load_element(const Half* element) {
  return detail::float_of(Half{__ldg(reinterpret_cast<const std::uint16_t*>(element))});
}

/// Adds the products of a pair to entry (r, c), ascending inner index, those of stored entries alone.
template <class E>
__device__ float add_stored(const OperandFactors<E>& factors, const TilePair& pair, int r, int c, float sum) {
  const unsigned row = detail::row_bits(__ldg(factors.a_bitmaps + pair.a), r);
  const std::uint64_t b_bitmap = __ldg(factors.b_bitmaps + pair.b);
  const E* const a = factors.a + static_cast<std::size_t>(pair.a) * detail::tile_entries + tile_size * r;
  const E* const b = factors.b + static_cast<std::size_t>(pair.b) * detail::tile_entries + tile_size * c;
#pragma unroll
  for (int k = 0; k < tile_size; ++k) {
    if ((row >> k & 1U) == 0 || (detail::row_bits(b_bitmap, k) >> c & 1U) == 0) continue;
    sum = sum_of(sum, product_of(load_element(a + k), load_element(b + k)));
  }
  return sum;
}

template <class E, class V>
__global__ void __launch_bounds__(threads)
    operand_scalar_kernel(index_t tile_rows, OperandFactors<E> factors, CTileArrays c, CsrTarget<V> target) {
  const auto warp = static_cast<int>(threadIdx.x / warp_size);
  const std::int64_t tile_row = std::int64_t{blockIdx.x} * rows_of_block + warp % rows_of_block;
  if (tile_row >= tile_rows) return;
  const CTileRow row = c.rows[tile_row];
  const int r = lane_number() / tile_size;
  const int column = lane_number() % tile_size;
  for (int t = row.first + warp / rows_of_block; t < row.first + row.tiles; t += tiles_at_once) {
    const CTile tile = load_tile(c.tiles + t);
    float low = sum_begin<float>;
    float high = sum_begin<float>;
    for (int p = 0; p < tile.pairs; ++p) {
      const TilePair pair = load_pair(c.pairs + tile.first_pair + p);
      low = add_stored(factors, pair, r, column, low);
      high = add_stored(factors, pair, r + 4, column, high);
    }
    store_tile(c, t, tile_row, tile.column, target, [&](int half) { return static_cast<V>(half == 0 ? low : high); });
  }
}

template <class E, class V>
auto kernel_of(OperandArithmetic arithmetic) -> void (*)(index_t, OperandFactors<E>, CTileArrays, CsrTarget<V>) {
  if constexpr (std::is_same_v<E, Half>) {
    if (arithmetic == OperandArithmetic::half) return operand_tensor_kernel<HalfSums, V>;
  } else {
    if (arithmetic == OperandArithmetic::tf32x3) return operand_tensor_kernel<Tf32Sums, V>;
    if (arithmetic == OperandArithmetic::fp64) return operand_tensor_kernel<DoubleSums, V>;
  }
  return operand_scalar_kernel<E, V>;
}

}  // namespace

template <class E, class V>
void enqueue_operand_product(const Context& context, OperandArithmetic arithmetic, const TilePositions& a,
                             const E* a_values, const TilePositions& b, const E* b_values, const CTiles& c,
                             const offset_t* offsets, index_t* columns, V* values) {
  if (a.tile_rows() == 0) return;
  const OperandFactors<E> factors{a.arrays().bitmaps, b.arrays().bitmaps, a_values, b_values};
  launch("numeric phase on operand tiles", context, Grid{blocks_for(a.tile_rows(), rows_of_block), threads},
         kernel_of<E, V>(arithmetic), a.tile_rows(), factors, c.arrays(), CsrTarget<V>{offsets, columns, values});
}

template void enqueue_operand_product(const Context&, OperandArithmetic, const TilePositions&, const Half*,
                                      const TilePositions&, const Half*, const CTiles&, const offset_t*, index_t*,
                                      float*);
template void enqueue_operand_product(const Context&, OperandArithmetic, const TilePositions&, const Half*,
                                      const TilePositions&, const Half*, const CTiles&, const offset_t*, index_t*,
                                      double*);
template void enqueue_operand_product(const Context&, OperandArithmetic, const TilePositions&, const float*,
                                      const TilePositions&, const float*, const CTiles&, const offset_t*, index_t*,
                                      float*);

}  // namespace tessera::cuda
