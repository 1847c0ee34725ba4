/// \file
/// bmSPARSE: count by Boolean products of bitmaps, then multiply in shared memory.
#include "bench/bmsparse.hpp"

#include "core/cuda/reduce.cuh"

#include <utility>

namespace tessera::bench {

namespace {

constexpr int threads = 64;

/// Bitmap of the product of two tiles.
__device__ std::uint64_t boolean_product(std::uint64_t a, std::uint64_t b) {
  std::uint64_t result = 0;
  for (int k = 0; k < tile_size; ++k) {
    result |= (a >> k & 0x0101010101010101ULL) * (b >> (tile_size * k) & 0xffU);
  }
  return result;
}

struct Tiles {
  const std::uint64_t* bitmaps;
  const offset_t* value_offsets;
  const double* values;
};

Tiles tiles_of(const TileView<double>& view) {
  return {view.bitmaps.data(), view.value_offsets.data(), view.values.data()};
}

/// Entry `place` of a tile, or 0.
__device__ double entry_of(const Tiles& tiles, std::uint64_t tile, int place) {
  const std::uint64_t bitmap = tiles.bitmaps[tile];
  if ((bitmap >> place & 1U) == 0) return 0.0;
  return tiles.values[tiles.value_offsets[tile] + __popcll(bitmap & ((std::uint64_t{1} << place) - 1))];
}

/// One block per tile of C, one thread per place.
__global__ void __launch_bounds__(threads)
    multiply_kernel(const std::uint64_t* pairs, const offset_t* first, Tiles a, Tiles b, Tiles c, double* values) {
  __shared__ double of_a[tile_size * tile_size];
  __shared__ double of_b[tile_size * tile_size];
  const std::int64_t tile = blockIdx.x;
  const auto place = static_cast<int>(threadIdx.x);
  const int row = place / tile_size;
  const int column = place % tile_size;
  double sum = 0.0;
  for (offset_t p = first[tile]; p < first[tile + 1]; ++p) {
    const std::uint64_t pair = pairs[p];
    of_a[place] = entry_of(a, pair >> 32, place);
    of_b[place] = entry_of(b, pair & 0xffffffffU, place);
    __syncthreads();
#pragma unroll
    for (int t = 0; t < tile_size; ++t) sum += of_a[row * tile_size + t] * of_b[t * tile_size + column];
    __syncthreads();
  }
  const std::uint64_t bitmap = c.bitmaps[tile];
  if ((bitmap >> place & 1U) == 0) return;
  values[c.value_offsets[tile] + __popcll(bitmap & ((std::uint64_t{1} << place) - 1))] = sum;
}

}  // namespace

TiledProduct<double> multiply_bmsparse(const Device& device, const TileView<double>& a, const TileView<double>& b) {
  TileTasks tasks = make_tile_tasks(device, a, b, false);
  TiledProduct<double> c;
  c.tasks = tasks.count;
  c.bitmaps = Array<std::uint64_t>(tasks.tiles(), Init::none, device);
  c.value_offsets = Array<offset_t>(tasks.tiles() + 1, Init::zero, device);
  const std::uint64_t* const pairs = tasks.pairs.data();
  const offset_t* const first = tasks.first.data();
  const std::uint64_t* const a_bitmaps = a.bitmaps.data();
  const std::uint64_t* const b_bitmaps = b.bitmaps.data();
  std::uint64_t* const bitmaps = c.bitmaps.data();
  offset_t* const counts = c.value_offsets.data();
  cuda::for_each(device, tasks.tiles(), [=] __device__(std::int64_t tile) {
    std::uint64_t bitmap = 0;
    for (offset_t p = first[tile]; p < first[tile + 1]; ++p) {
      bitmap |= boolean_product(a_bitmaps[pairs[p] >> 32], b_bitmaps[pairs[p] & 0xffffffffU]);
    }
    bitmaps[tile] = bitmap;
    counts[tile] = __popcll(bitmap);
  });
  c.values = Array<double>(place_values(device, c.value_offsets), Init::none, device);
  c.keys = std::move(tasks.keys);
  if (c.keys.empty()) return c;
  const cuda::DeviceGuard current(device);
  cuda::launch("multiplying tiles", cuda::Context::of(device),
               cuda::Grid{static_cast<unsigned>(c.keys.size()), threads}, multiply_kernel, pairs, first, tiles_of(a),
               tiles_of(b), Tiles{c.bitmaps.data(), c.value_offsets.data(), nullptr}, c.values.data());
  cuda::Context::of(device).synchronize();
  return c;
}

}  // namespace tessera::bench
