// Operand tiles of a factor: a block per tile row, a warp per tile, two neighbouring values per lane.
#include "spgemm/cuda/tiles/operand_tiles.hpp"

#include "core/cuda/launch.cuh"
#include "spgemm/cuda/accumulators/rows.cuh"
#include "spgemm/cuda/tiles/row_counts.cuh"

#include <type_traits>

namespace tessera::cuda {

namespace {

constexpr int warps = 8;

/// What a lane saw.
struct LaneLoss {
  unsigned to_zero = 0;
  unsigned to_subnormal = 0;
  float largest_rounding = 0.0F;
  bool not_finite = false;
  bool beyond_half = false;
  bool beyond_tf32 = false;
};

template <class V>
[[nodiscard]] __device__ bool is_finite_value(V value) {
  // Infinity and NaN minus themselves are NaN.
  return value - value == V{0};
}

/// A value in half precision; notes what that lost.
template <class V>
__device__ Half to_half(V value, LaneLoss& loss) {
  const Half rounded = detail::half_of(value);
  if (!is_finite_value(value)) {
    loss.not_finite = true;
    return rounded;
  }
  if (!detail::is_finite(rounded)) {
    loss.beyond_half = true;
    return rounded;
  }
  if (value == V{0}) return rounded;
  if (detail::is_zero(rounded)) {
    ++loss.to_zero;
    loss.largest_rounding = 1.0F;
    return rounded;
  }
  loss.to_subnormal += detail::is_subnormal(rounded) ? 1U : 0U;
  // The difference is exact, and neither number leaves the range of single precision.
  const auto error = static_cast<float>(static_cast<V>(detail::float_of(rounded)) - value);
  loss.largest_rounding = fmaxf(loss.largest_rounding, fabsf(error / static_cast<float>(value)));
  return rounded;
}

/// Single precision stays as it is; whether two TF32 numbers stand for it is noted.
__device__ float to_single(float value, LaneLoss& loss) {
  loss.not_finite = loss.not_finite || !is_finite_value(value);
  const float magnitude = fabsf(value);
  const bool fits = magnitude >= detail::Tf32Pair::smallest && magnitude <= detail::Tf32Pair::largest;
  loss.beyond_tf32 = loss.beyond_tf32 || !(fits || value == 0.0F);
  if (fits) {
    const detail::Tf32Pair pair(value);
    loss.largest_rounding = fmaxf(loss.largest_rounding, fabsf((value - pair.big - pair.small) / value));
  }
  return value;
}

template <class E, class V>
__device__ E to_operand(V value, LaneLoss& loss) {
  if constexpr (std::is_same_v<E, Half>) {
    return to_half(value, loss);
  } else {
    return to_single(value, loss);
  }
}

/// Adds what a warp saw. All lanes must call.
__device__ void add_loss(const LaneLoss& loss, OperandTotals& totals) {
  unsigned to_zero = loss.to_zero;
  unsigned to_subnormal = loss.to_subnormal;
  // Numbers that are not negative are ordered as their bits.
  unsigned rounding = detail::bits_of(loss.largest_rounding);
#pragma unroll
  for (int lanes = warp_size / 2; lanes > 0; lanes /= 2) {
    to_zero += __shfl_xor_sync(full_warp, to_zero, lanes);
    to_subnormal += __shfl_xor_sync(full_warp, to_subnormal, lanes);
    rounding = max(rounding, __shfl_xor_sync(full_warp, rounding, lanes));
  }
  if (loss.not_finite) totals.not_finite = 1;
  if (loss.beyond_half) totals.beyond_half = 1;
  if (loss.beyond_tf32) totals.beyond_tf32 = 1;
  if (threadIdx.x % warp_size != 0) return;
  if (to_zero > 0) atomicAdd(&totals.to_zero, static_cast<unsigned long long>(to_zero));
  if (to_subnormal > 0) atomicAdd(&totals.to_subnormal, static_cast<unsigned long long>(to_subnormal));
  // Most warps have nothing to add to what others saw.
  if (rounding > __ldcg(&totals.largest_rounding)) atomicMax(&totals.largest_rounding, rounding);
}

template <class E>
struct alignas(2 * sizeof(E)) Two {
  E first;
  E second;
};

template <class E, class V>
__global__ void __launch_bounds__(warps* warp_size)
    operand_kernel(detail::CsrStructurePointers matrix, const V* values, PositionArrays tiles, OperandCopies<E> copies,
                   OperandTotals* totals) {
  const TileRow tile_row = tiles.rows[blockIdx.x];
  const auto lane = static_cast<int>(threadIdx.x % warp_size);
  const int r = lane / 4;
  const int c = lane % 4 * 2;
  const std::int64_t row = std::int64_t{blockIdx.x} * tile_size + r;
  const offset_t begin = row < matrix.rows ? matrix.offsets[row] : 0;
  LaneLoss loss;
  for (int t = static_cast<int>(threadIdx.x / warp_size); t < tile_row.tiles; t += warps) {
    const std::int64_t tile = tile_row.first + t;
    const unsigned bits = detail::row_bits(tiles.bitmaps[tile], r);
    const offset_t at = begin + load_row_count(tiles.row_ranks + tile, r) + detail::bits_before(bits, c);
    const unsigned here = bits >> c;
    Two<E> two{E{}, E{}};
    if ((here & 1U) != 0) two.first = to_operand<E>(value_at(values, at), loss);
    if ((here & 2U) != 0) two.second = to_operand<E>(value_at(values, at + (here & 1U)), loss);
    if (copies.by_rows != nullptr) {
      reinterpret_cast<Two<E>*>(copies.by_rows + tile * detail::tile_entries)[lane] = two;
    }
    if (copies.by_columns != nullptr) {
      E* const target = copies.by_columns + tile * detail::tile_entries + tile_size * c + r;
      target[0] = two.first;
      target[tile_size] = two.second;
    }
  }
  add_loss(loss, *totals);
}

}  // namespace

template <class E, class V>
void enqueue_operand_tiles(const Context& context, const detail::CsrStructurePointers& matrix, const V* values,
                           const TilePositions& tiles, const OperandCopies<E>& copies, OperandTotals* totals) {
  if (tiles.tile_rows() == 0) return;
  launch("operand tiles", context, Grid{static_cast<unsigned>(tiles.tile_rows()), warps * warp_size},
         operand_kernel<E, V>, matrix, values, tiles.arrays(), copies, totals);
}

template void enqueue_operand_tiles(const Context&, const detail::CsrStructurePointers&, const float*,
                                    const TilePositions&, const OperandCopies<Half>&, OperandTotals*);
template void enqueue_operand_tiles(const Context&, const detail::CsrStructurePointers&, const double*,
                                    const TilePositions&, const OperandCopies<Half>&, OperandTotals*);
template void enqueue_operand_tiles(const Context&, const detail::CsrStructurePointers&, const float*,
                                    const TilePositions&, const OperandCopies<float>&, OperandTotals*);

}  // namespace tessera::cuda
