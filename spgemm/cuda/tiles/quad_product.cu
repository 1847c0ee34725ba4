// Numeric phase by quads, double precision: a warp sums four neighbouring tiles of C, transposed. Every tile of A is
// loaded once for them, and two tiles of B share an instruction of 16 rows (m16n8k8): per pair of tiles .625 of the
// operands that a warp per tile of C loads.
#include "core/cuda/launch.cuh"
#include "core/cuda/tensor.cuh"
#include "spgemm/cuda/tiles/tile_store.cuh"

#include <cstddef>

namespace tessera::cuda {

namespace {

constexpr int warps = 8;
constexpr int threads = warps * warp_size;
/// Blocks per multiprocessor that registers must allow.
constexpr int resident_blocks = 4;

/// Bitmaps and dense copies of the factors' tiles.
struct QuadFactors {
  const unsigned* not_finite;  ///< null, or nonzero where products are to be formed entry by entry alone
  const TileRow* a_rows;
  const std::uint64_t* a_bitmaps;
  const std::uint64_t* b_bitmaps;
  const double* a;
  const double* b;
};

[[nodiscard]] __device__ __forceinline__ QuadTerm load_term(const QuadTerm* term) {
  const int2 both = __ldg(reinterpret_cast<const int2*>(term));
  return {both.x, static_cast<unsigned>(both.y)};
}

[[nodiscard]] __device__ __forceinline__ CQuad load_quad(const CQuad* quad) {
  const int4 all = __ldg(reinterpret_cast<const int4*>(quad));
  const auto counts = static_cast<unsigned>(all.y);
  return {static_cast<unsigned>(all.x), static_cast<std::uint16_t>(counts & 0xFFFFU),
          static_cast<std::uint16_t>(counts >> 16), all.z, all.w};
}

/// This lane's operands of a term: of the tile of A, and of the tiles of B.
struct TermOperands {
  double a_low;
  double a_high;
  double b_low[quad_tiles];
  double b_high[quad_tiles];

  /// \param a, b where this lane's operands of tile 0 lie \param high from a lane's first operand of A to its second
  __device__ __forceinline__ TermOperands(const QuadTerm& term, const double* a, int high, const double* b) {
    const double* const of_a = a + std::size_t{term.a_tile()} * detail::tile_entries;
    a_low = __ldg(of_a);
    a_high = __ldg(of_a + high);
    const double* const of_b = b + static_cast<std::size_t>(term.first_b) * detail::tile_entries;
#pragma unroll
    for (int s = 0; s < quad_tiles; ++s) {
      const bool live = (term.live() >> s & 1U) != 0;
      const int earlier = __popc(term.present() & ((1U << s) - 1U));
      b_low[s] = live ? __ldg(of_b + earlier * detail::tile_entries) : 0.0;
      b_high[s] = live ? __ldg(of_b + earlier * detail::tile_entries + 4 * tile_size) : 0.0;
    }
  }
};

/// The sums of a quad, two per tile and lane: those of rows 2 (l % 4) and the next, column l / 4.
struct QuadSums {
  double c[2 * quad_tiles] = {0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0};

  __device__ __forceinline__ void add(const TermOperands& x, unsigned live) {
#pragma unroll
    for (int s = 0; s < quad_tiles; s += 2) {
      if ((live >> s & 3U) == 0) continue;
      mma_m16n8k8(c + 2 * s, x.b_low[s], x.b_low[s + 1], x.b_high[s], x.b_high[s + 1], x.a_low, x.a_high);
    }
  }
  /// Entry (r, c) of tile s where r = lane / 8 + 4 half, c = lane % 8. All lanes must call.
  [[nodiscard]] __device__ __forceinline__ double entry(int s, int half) const {
    const int lane = lane_number();
    const int source = lane % tile_size * 4 + lane / tile_size / 2 + 2 * half;
    const double even = __shfl_sync(full_warp, c[2 * s], source);
    const double odd = __shfl_sync(full_warp, c[2 * s + 1], source);
    return lane / tile_size % 2 == 0 ? even : odd;
  }
};

/// Calls body(s, tile) for the slots of a quad with entries.
template <class Target, class Body>
__device__ __forceinline__ void for_each_tile(const CQuad& quad, Body body) {
#pragma unroll
  for (int s = 0; s < quad_tiles; ++s) {
    if ((quad.slots >> s & 1U) == 0) continue;
    const unsigned before = (1U << s) - 1U;
    body(s, quad.first_tile + __popc(Target::keeps_empty_slots ? before : quad.slots & before));
  }
}

/// Tile rows of C are begun by all threads, quads taken by warps.
template <class Target>
[[nodiscard]] __device__ __forceinline__ CQuad take_quad(const CTileArrays& c, int quads, const Target& target) {
  const std::int64_t stride = std::int64_t{gridDim.x} * threads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * threads + threadIdx.x; i < c.taken.count; i += stride) {
    begin_tile_row(target, c.taken[i]);
  }
  const auto number = static_cast<int>(blockIdx.x * warps + threadIdx.x / warp_size);
  return number < quads ? load_quad(c.quads + number) : CQuad{0, 0, 0, 0, 0};
}

template <class Target>
__global__ void __launch_bounds__(threads, resident_blocks)
    quad_tensor_kernel(QuadFactors factors, CTileArrays c, int quads, Target target) {
  if (factors.not_finite != nullptr && *factors.not_finite != 0) return;
  const CQuad quad = take_quad(c, quads, target);
  if (quad.slots == 0) return;
  const int lane = lane_number();
  const int a_place = detail::dense_place(lane / 4, lane % 4);
  const double* const a =
      factors.a + static_cast<std::size_t>(factors.a_rows[quad.tile_row].first) * detail::tile_entries + a_place;
  const double* const b = factors.b + detail::dense_place(lane % 4, lane / 4);
  const int high = (a_place ^ 4) - a_place;
  const QuadTerm* terms = c.terms() + quad.first_term;
  QuadSums sums;
  QuadTerm next = load_term(terms);
  for (int left = quad.terms; left > 0; --left) {
    const QuadTerm term = next;
    next = load_term(++terms);  // of this quad or not: spare_pairs
    sums.add(TermOperands(term, a, high, b), term.live());
  }
  for_each_tile<Target>(quad, [&](int s, int tile) {
    store_tile(c, tile, quad.tile_row, c.tiles[tile].column, target, [&](int half) { return sums.entry(s, half); });
  });
}

/// Adds the products of stored entries alone, for values that are not finite.
template <class Target>
__global__ void __launch_bounds__(threads)
    quad_scalar_kernel(QuadFactors factors, CTileArrays c, int quads, Target target) {
  if (factors.not_finite != nullptr && *factors.not_finite == 0) return;
  const CQuad quad = take_quad(c, quads, target);
  if (quad.slots == 0) return;
  const int first_a = factors.a_rows[quad.tile_row].first;
  const DenseTiles<double> dense{factors.a_bitmaps, factors.b_bitmaps, factors.a, factors.b};
  const int r = lane_number() / tile_size;
  const int column = lane_number() % tile_size;
  for_each_tile<Target>(quad, [&](int s, int tile) {
    double low = sum_begin<double>;
    double high = sum_begin<double>;
    for (int p = 0; p < quad.terms; ++p) {
      const QuadTerm term = load_term(c.terms() + quad.first_term + p);
      if ((term.live() >> s & 1U) == 0) continue;
      const TilePair pair{first_a + static_cast<int>(term.a_tile()),
                          term.first_b + __popc(term.present() & ((1U << s) - 1U))};
      low = add_pair(dense, pair, r, column, low);
      high = add_pair(dense, pair, r + 4, column, high);
    }
    store_tile(c, tile, quad.tile_row, c.tiles[tile].column, target, [&](int half) { return half == 0 ? low : high; });
  });
}

template <class Target>
void enqueue_quads(const Context& context, TileArithmetic arithmetic, const TilePositions& a, const double* a_dense,
                   const TilePositions& b, const double* b_dense, const CTiles& c, int quads, const Target& target,
                   const unsigned* not_finite = nullptr) {
  if (c.arrays().taken.count == 0) return;
  const QuadFactors factors{not_finite, a.arrays().rows, a.arrays().bitmaps, b.arrays().bitmaps, a_dense, b_dense};
  const Grid grid{quads == 0 ? 1 : blocks_for(quads, warps), threads};
  launch("numeric phase by quads", context, grid,
         arithmetic == TileArithmetic::tensor ? quad_tensor_kernel<Target> : quad_scalar_kernel<Target>, factors,
         c.arrays(), quads, target);
}

}  // namespace

void enqueue_numeric_quads(const Context& context, TileArithmetic arithmetic, const TilePositions& a,
                           const double* a_dense, const TilePositions& b, const double* b_dense, const CTiles& c,
                           int quads, const offset_t* offsets, index_t* columns, double* values) {
  enqueue_quads(context, arithmetic, a, a_dense, b, b_dense, c, quads, CsrTarget<double>{offsets, columns, values});
}

void enqueue_numeric_quads(const Context& context, TileArithmetic arithmetic, const TilePositions& a,
                           const double* a_dense, const TilePositions& b, const double* b_dense, const CTiles& c,
                           int quads, const TileTarget<double>& target) {
  enqueue_quads(context, arithmetic, a, a_dense, b, b_dense, c, quads, target);
}

void enqueue_planned_quads(const Context& context, const TileTotals* totals, const TilePositions& a,
                           const double* a_dense, const TilePositions& b, const double* b_dense, const CTiles& c,
                           int quads, const offset_t* offsets, double* values) {
  const CsrTarget<double> target{offsets, nullptr, values};
  for (const TileArithmetic arithmetic : {TileArithmetic::tensor, TileArithmetic::scalar}) {
    enqueue_quads(context, arithmetic, a, a_dense, b, b_dense, c, quads, target, &totals->not_finite);
  }
}

}  // namespace tessera::cuda
