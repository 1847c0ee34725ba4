/// \file
/// tSparse: a 16 x 16 x 16 product (two m16n8k16 on today's GPUs) holds the products of two pairs of 8 x 8 tiles, one
/// per quarter of its diagonal. A warp sums two tiles of C; the tile with fewer pairs is given zeros.
#include "bench/tsparse.hpp"

#include "core/cuda/reduce.cuh"
#include "tessera/error.hpp"

#include <cuda_fp16.h>

#include <utility>

namespace tessera::bench {

namespace {

constexpr int threads = 128;
constexpr int warps = threads / cuda::warp_size;

struct HalfTiles {
  const std::uint64_t* bitmaps;
  const offset_t* value_offsets;
  const __half* values;
};

/// Sums of a lane: entries (l / 4, 2 (l % 4)) and the next of a tile of C.
struct LaneSums {
  float even = 0.0F;
  float odd = 0.0F;
};

/// D += A B, m16n8k16 (PTX ISA). Of A only the quarters of the diagonal are not zero; of B only the rows of one of
/// them.
__device__ void multiply_half(float (&d)[4], unsigned a_first, unsigned a_second, unsigned b_first, unsigned b_second) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %5, %6}, {%7, %8}, "
      "{%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a_first), "r"(0U), "r"(a_second), "r"(b_first), "r"(b_second));
#endif
}

/// Places 2 l and 2 l + 1 of a tile in the order of its rows (A), or of its columns (B), as two halves.
struct LanePlaces {
  int even;
  int odd;

  static __device__ LanePlaces of_a(int lane) { return {2 * lane, 2 * lane + 1}; }
  static __device__ LanePlaces of_b(int lane) {
    const int row = 2 * (lane % 4);
    return {tile_size * row + lane / 4, tile_size * (row + 1) + lane / 4};
  }
};

/// 1 for an entry where Counts, else its value; 0 for padding.
template <bool Counts>
__device__ __half entry_of(const HalfTiles& tiles, std::uint64_t bitmap, offset_t values, int place) {
  if ((bitmap >> place & 1U) == 0) return __float2half_rn(0.0F);
  if constexpr (Counts) {
    return __float2half_rn(1.0F);
  } else {
    return tiles.values[values + __popcll(bitmap & ((std::uint64_t{1} << place) - 1))];
  }
}

template <bool Counts>
__device__ unsigned operand_of(const HalfTiles& tiles, std::uint64_t tile, const LanePlaces& places) {
  const std::uint64_t bitmap = tiles.bitmaps[tile];
  const offset_t values = Counts ? 0 : tiles.value_offsets[tile];
  const unsigned even = __half_as_ushort(entry_of<Counts>(tiles, bitmap, values, places.even));
  const unsigned odd = __half_as_ushort(entry_of<Counts>(tiles, bitmap, values, places.odd));
  return even | odd << 16;
}

/// The pairs of a tile of C, one after the other; zeros after the last.
template <bool Counts>
struct Operands {
  const std::uint64_t* pairs;
  offset_t next = 0;
  offset_t end = 0;
  unsigned a = 0;
  unsigned b = 0;

  __device__ Operands(const std::uint64_t* list, const offset_t* first, std::int64_t tile, std::int64_t tiles)
      : pairs(list), next(tile < tiles ? first[tile] : 0), end(tile < tiles ? first[tile + 1] : 0) {}
  __device__ void load(const HalfTiles& of_a, const HalfTiles& of_b, int lane) {
    a = b = 0;
    if (next >= end) return;
    const std::uint64_t pair = pairs[next++];
    a = operand_of<Counts>(of_a, pair >> 32, LanePlaces::of_a(lane));
    b = operand_of<Counts>(of_b, pair & 0xffffffffU, LanePlaces::of_b(lane));
  }
};

/// The bitmap of what is not zero. Every lane must call.
__device__ std::uint64_t bitmap_of(const LaneSums& sums) {
  const unsigned even = __ballot_sync(cuda::full_warp, sums.even != 0.0F);
  const unsigned odd = __ballot_sync(cuda::full_warp, sums.odd != 0.0F);
  std::uint64_t bitmap = 0;
  for (int l = 0; l < cuda::warp_size; ++l) {
    bitmap |= (std::uint64_t{even >> l & 1U} | std::uint64_t{odd >> l & 1U} << 1) << (2 * l);
  }
  return bitmap;
}

/// Tiles of C as they are made.
struct Target {
  std::uint64_t* bitmaps;
  offset_t* value_offsets;  ///< counts of entries first
  float* values;
};

template <bool Counts>
__device__ void store(const Target& c, std::int64_t tile, std::int64_t tiles, const LaneSums& sums, int lane) {
  if constexpr (Counts) {
    const std::uint64_t bitmap = bitmap_of(sums);
    if (lane != 0 || tile >= tiles) return;
    c.bitmaps[tile] = bitmap;
    c.value_offsets[tile] = __popcll(bitmap);
  } else {
    if (tile >= tiles) return;
    const std::uint64_t bitmap = c.bitmaps[tile];
    const std::uint64_t before = bitmap & ((std::uint64_t{1} << (2 * lane)) - 1);
    float* const target = c.values + c.value_offsets[tile] + __popcll(before);
    const bool has_even = (bitmap >> (2 * lane) & 1U) != 0;
    if (has_even) target[0] = sums.even;
    if ((bitmap >> (2 * lane + 1) & 1U) != 0) target[has_even ? 1 : 0] = sums.odd;
  }
}

/// A warp per two tiles of C. \tparam Counts ones in place of values: which sums are not zero
template <bool Counts>
__global__ void __launch_bounds__(threads) tensor_kernel(std::int64_t tiles, const std::uint64_t* pairs,
                                                         const offset_t* first, HalfTiles a, HalfTiles b, Target c) {
  const auto lane = static_cast<int>(threadIdx.x % cuda::warp_size);
  const std::int64_t tile = 2 * (std::int64_t{blockIdx.x} * warps + threadIdx.x / cuda::warp_size);
  if (tile >= tiles) return;
  Operands<Counts> upper(pairs, first, tile, tiles);
  Operands<Counts> lower(pairs, first, tile + 1, tiles);
  float left[4] = {};
  float right[4] = {};
  while (upper.next < upper.end || lower.next < lower.end) {
    upper.load(a, b, lane);
    lower.load(a, b, lane);
    multiply_half(left, upper.a, lower.a, upper.b, 0);
    multiply_half(right, upper.a, lower.a, 0, lower.b);
  }
  store<Counts>(c, tile, tiles, {left[0], left[1]}, lane);
  store<Counts>(c, tile + 1, tiles, {right[2], right[3]}, lane);
}

template <bool Counts>
void launch_tensor(const Device& device, const TileTasks& tasks, const HalfTiles& a, const HalfTiles& b,
                   const Target& c) {
  const cuda::DeviceGuard current(device);
  cuda::launch("multiplying tiles by tensor cores", cuda::Context::of(device),
               cuda::Grid{cuda::blocks_for((tasks.tiles() + 1) / 2, warps), threads}, tensor_kernel<Counts>,
               tasks.tiles(), tasks.pairs.data(), tasks.first.data(), a, b, c);
}

Array<__half> half_values(const Device& device, const TileView<double>& tiles) {
  Array<__half> result(static_cast<std::int64_t>(tiles.values.size()), Init::none, device);
  const double* const from = tiles.values.data();
  __half* const to = result.data();
  cuda::for_each(device, result.size(), [=] __device__(std::int64_t k) { to[k] = __double2half(from[k]); });
  return result;
}

}  // namespace

TiledProduct<float> multiply_tsparse(const Device& device, const TileView<double>& a, const TileView<double>& b) {
  if (cuda::Context::of(device).limits().compute_capability < 80) {
    throw NotSupported("tSparse needs tensor cores of compute capability 8.0");
  }
  TileTasks tasks = make_tile_tasks(device, a, b, true);
  const bool squared = a.values.data() == b.values.data();
  const Array<__half> a_values = half_values(device, a);
  const Array<__half> b_values = squared ? Array<__half>() : half_values(device, b);
  const HalfTiles of_a{a.bitmaps.data(), a.value_offsets.data(), a_values.data()};
  const HalfTiles of_b{b.bitmaps.data(), b.value_offsets.data(), squared ? a_values.data() : b_values.data()};
  TiledProduct<float> c;
  c.tasks = tasks.count;
  c.bitmaps = Array<std::uint64_t>(tasks.tiles(), Init::none, device);
  c.value_offsets = Array<offset_t>(tasks.tiles() + 1, Init::zero, device);
  if (tasks.tiles() > 0) {
    launch_tensor<true>(device, tasks, of_a, of_b, {c.bitmaps.data(), c.value_offsets.data(), nullptr});
    c.values = Array<float>(place_values(device, c.value_offsets), Init::none, device);
    launch_tensor<false>(device, tasks, of_a, of_b, {c.bitmaps.data(), c.value_offsets.data(), c.values.data()});
  }
  c.keys = std::move(tasks.keys);
  cuda::Context::of(device).synchronize();
  return c;
}

}  // namespace tessera::bench
