// Dense copies of the tiles of a factor: a block per tile row, a warp per tile, two neighbouring values per lane.
#include "core/cuda/launch.cuh"
#include "spgemm/cuda/accumulators/rows.cuh"
#include "spgemm/cuda/tiles/row_counts.cuh"
#include "spgemm/cuda/tiles/tiled_factor.hpp"

namespace tessera::cuda {

namespace {

constexpr int warps = 8;

template <class V>
struct alignas(2 * sizeof(V)) Two {
  V first;
  V second;
};

template <class V>
__global__ void __launch_bounds__(warps* warp_size)
    dense_copy_kernel(detail::CsrStructurePointers matrix, const V* values, PositionArrays tiles, V* dense,
                      unsigned* not_finite) {
  const index_t number = tiles.taken[blockIdx.x];
  const TileRow tile_row = tiles.rows[number];
  const auto lane = static_cast<int>(threadIdx.x % warp_size);
  const int r = lane / 4;
  const int c = lane % 4 * 2;
  const std::int64_t row = std::int64_t{number} * tile_size + r;
  const offset_t begin = row < matrix.rows ? matrix.offsets[row] : 0;
  bool finite = true;
  for (int t = static_cast<int>(threadIdx.x / warp_size); t < tile_row.tiles; t += warps) {
    const std::int64_t tile = tile_row.first + t;
    const unsigned bits = detail::row_bits(tiles.bitmaps[tile], r);
    const offset_t at = begin + load_row_count(tiles.row_ranks + tile, r) + detail::bits_before(bits, c);
    const unsigned here = bits >> c;
    Two<V> two{V{0}, V{0}};
    if ((here & 1U) != 0) two.first = value_at(values, at);
    if ((here & 2U) != 0) two.second = value_at(values, at + (here & 1U));
    // Infinity and NaN minus themselves are NaN.
    finite = finite && two.first - two.first == V{0} && two.second - two.second == V{0};
    reinterpret_cast<Two<V>*>(dense + tile * detail::tile_entries)[detail::dense_place(r, c) / 2] = two;
  }
  if (!finite) *not_finite = 1;
}

}  // namespace

template <class V>
void enqueue_dense_copy(const Context& context, const detail::CsrStructurePointers& matrix, const V* values,
                        const TilePositions& tiles, V* dense, TileTotals* totals) {
  const index_t taken = tiles.arrays().taken.count;
  if (taken == 0) return;
  launch("dense copies of tiles", context, Grid{static_cast<unsigned>(taken), warps * warp_size}, dense_copy_kernel<V>,
         matrix, values, tiles.arrays(), dense, &totals->not_finite);
}

template void enqueue_dense_copy(const Context&, const detail::CsrStructurePointers&, const float*,
                                 const TilePositions&, float*, TileTotals*);
template void enqueue_dense_copy(const Context&, const detail::CsrStructurePointers&, const double*,
                                 const TilePositions&, double*, TileTotals*);

}  // namespace tessera::cuda
