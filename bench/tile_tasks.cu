/// \file
/// Task list: pairs are counted, expanded by a warp per tile of A, culled, sorted by key and reduced, by CUB.
#include "bench/tile_tasks.hpp"

#include "bench/tile_tasks_cub.hpp"
#include "core/cuda/reduce.cuh"
#include "core/cuda/scan.hpp"
#include "preprocess/bitmap_tiles.hpp"
#include "spmv/vendor/indices.hpp"
#include "tessera/error.hpp"

#include <bit>
#include <limits>
#include <string>
#include <utility>

namespace tessera::bench {

namespace {

constexpr int threads = 256;

/// What the expansion reads.
struct Factors {
  offset_t a_tiles;
  const index_t* a_rows;     ///< tile row of each tile
  const index_t* a_columns;  ///< tile column
  const std::uint64_t* a_bitmaps;
  const offset_t* b_offsets;  ///< of tile rows
  const index_t* b_columns;
  const std::uint64_t* b_bitmaps;
};

/// Inner indices of which a tile of A has entries: its columns; and a tile of B: its rows.
__device__ unsigned used_columns(std::uint64_t bitmap) {
  bitmap |= bitmap >> 32;
  bitmap |= bitmap >> 16;
  bitmap |= bitmap >> 8;
  return static_cast<unsigned>(bitmap) & 0xffU;
}
__device__ unsigned used_rows(std::uint64_t bitmap) {
  unsigned rows = 0;
  for (int r = 0; r < tile_size; ++r) rows |= (bitmap >> (tile_size * r) & 0xffU) != 0 ? 1U << r : 0U;
  return rows;
}

/// \param first first pair of each tile of A \param column_bits of a tile column in a key \param meets whether two
/// entries meet; null where nobody asks
__global__ void __launch_bounds__(threads)
    expand_kernel(Factors factors, const offset_t* first, int column_bits, std::uint64_t* keys, std::uint64_t* pairs,
                  std::uint8_t* meets) {
  const std::int64_t t = (std::int64_t{blockIdx.x} * threads + threadIdx.x) / cuda::warp_size;
  if (t >= factors.a_tiles) return;
  const index_t inner = factors.a_columns[t];
  const offset_t begin = factors.b_offsets[inner];
  const auto count = static_cast<int>(factors.b_offsets[inner + 1] - begin);
  const auto row = static_cast<std::uint64_t>(factors.a_rows[t]) << column_bits;
  for (int i = static_cast<int>(threadIdx.x % cuda::warp_size); i < count; i += cuda::warp_size) {
    const offset_t place = first[t] + i;
    keys[place] = row | static_cast<std::uint64_t>(factors.b_columns[begin + i]);
    pairs[place] = static_cast<std::uint64_t>(t) << 32 | static_cast<std::uint64_t>(begin + i);
    if (meets == nullptr) continue;
    const unsigned both = used_columns(factors.a_bitmaps[t]) & used_rows(factors.b_bitmaps[begin + i]);
    meets[place] = both != 0 ? 1 : 0;
  }
}

int bits_of(index_t count) { return static_cast<int>(std::bit_width(static_cast<std::uint32_t>(count))); }

}  // namespace

TileTasks make_tile_tasks(const Device& device, const TileView<double>& a, const TileView<double>& b, bool culls) {
  Array<offset_t> first(a.tiles() + 1, Init::none, device);
  offset_t* const counts = first.data();
  const index_t* const a_columns = a.tile_columns.data();
  const offset_t* const b_offsets = b.tile_row_offsets.data();
  const offset_t a_tiles = a.tiles();
  cuda::for_each(device, a_tiles + 1, [=] __device__(std::int64_t t) {
    counts[t] = t < a_tiles ? b_offsets[a_columns[t] + 1] - b_offsets[a_columns[t]] : 0;
  });
  const offset_t tasks = cuda::exclusive_sum(device, first.span());
  if (tasks > std::numeric_limits<std::int32_t>::max()) {
    throw NotSupported("a list of " + std::to_string(tasks) + " pairs of tiles");
  }
  Array<index_t> a_rows(a_tiles, Init::none, device);
  cuda::expand_rows(device, a.tile_row_offsets, a_rows.span());
  TaskList list(tasks, culls, device);
  const int column_bits = bits_of(b.tile_cols());
  const Factors factors{a_tiles,   a_rows.data(),         a_columns,       a.bitmaps.data(),
                        b_offsets, b.tile_columns.data(), b.bitmaps.data()};
  {
    const cuda::DeviceGuard current(device);
    cuda::launch("expanding pairs of tiles", cuda::Context::of(device),
                 cuda::Grid{cuda::blocks_for(a_tiles, threads / cuda::warp_size), threads}, expand_kernel, factors,
                 static_cast<const offset_t*>(counts), column_bits, list.keys.data(), list.pairs.data(),
                 culls ? list.meets.data() : static_cast<std::uint8_t*>(nullptr));
  }
  if (culls) cull(device, list);
  sort_by_key(device, list, bits_of(a.tile_rows()) + column_bits);
  TileTasks result;
  reduce_by_key(device, list, result.keys, result.first);
  result.pairs = std::move(list.pairs);
  result.count = list.count;
  std::uint64_t* const keys = result.keys.data();
  cuda::for_each(device, result.keys.size(), [=] __device__(std::int64_t c) {
    const std::uint64_t key = keys[c];
    keys[c] = key >> column_bits << 32 | (key & ((std::uint64_t{1} << column_bits) - 1));
  });
  static_cast<void>(cuda::exclusive_sum(device, result.first.span()));
  return result;
}

offset_t place_values(const Device& device, Array<offset_t>& counts) {
  return cuda::exclusive_sum(device, counts.span());
}

template <class V>
Csr<double> csr_of_product(const Device& device, const TiledProduct<V>& product, index_t rows, index_t cols) {
  const std::int64_t tiles = product.keys.size();
  const index_t tile_rows = (rows + tile_size - 1) / tile_size;
  Array<offset_t> offsets(std::int64_t{tile_rows} + 1, Init::zero, device);
  Array<index_t> columns(tiles, Init::none, device);
  Array<double> values(product.values.size(), Init::none, device);
  const std::uint64_t* const keys = product.keys.data();
  offset_t* const ends = offsets.data();
  index_t* const targets = columns.data();
  cuda::for_each(device, tiles, [=] __device__(std::int64_t c) {
    targets[c] = static_cast<index_t>(keys[c] & 0xffffffffU);
    const auto row = static_cast<std::int64_t>(keys[c] >> 32);
    const std::int64_t next = c + 1 < tiles ? static_cast<std::int64_t>(keys[c + 1] >> 32) : tile_rows;
    for (std::int64_t r = row; r < next; ++r) ends[r + 1] = c + 1;
  });
  const V* const from = product.values.data();
  double* const to = values.data();
  cuda::for_each(device, product.values.size(),
                 [=] __device__(std::int64_t k) { to[k] = static_cast<double>(from[k]); });
  const TileView<double> view{rows,
                              cols,
                              static_cast<offset_t>(product.values.size()),
                              ValueStorage::weighted,
                              offsets.span(),
                              columns.span(),
                              product.bitmaps.span(),
                              product.value_offsets.span(),
                              values.span()};
  return detail::csr_of(view, device);
}

template Csr<double> csr_of_product(const Device&, const TiledProduct<float>&, index_t, index_t);
template Csr<double> csr_of_product(const Device&, const TiledProduct<double>&, index_t, index_t);

}  // namespace tessera::bench
