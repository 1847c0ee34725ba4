#include "core/cuda/launch.cuh"
#include "core/cuda/radix_sort.hpp"
#include "core/cuda/scan.hpp"
#include "core/cuda/warp.cuh"
#include "core/partition_point.hpp"
#include "spgemm/cuda/accumulators/rows.cuh"
#include "spgemm/cuda/workflows/esc.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace tessera::cuda {

namespace {

constexpr int threads = 256;
constexpr int warps = threads / warp_size;
/// Keys of a tile per thread.
constexpr int rounds = keys_of_tile / threads;
/// Products whose loads are in flight at once while they are added.
constexpr int products_at_once = 4;

/// The last number of `numbers` that is at most `bound`, among those from `low` to `high`; the one at `low` is.
__device__ std::int64_t last_not_above(const offset_t* numbers, std::int64_t low, std::int64_t high, offset_t bound) {
  return detail::partition_point(low + 1, high + 1, [&](std::int64_t k) { return numbers[k] <= bound; }) - 1;
}

__global__ void __launch_bounds__(threads)
    count_entries_of_a_kernel(RowBatch batch, const offset_t* a_offsets, offset_t* row_starts) {
  const std::int64_t i = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  if (i > batch.count) return;
  offset_t entries = 0;
  if (i < batch.count) {
    const index_t row = row_of(batch, static_cast<index_t>(i));
    entries = a_offsets[row + 1] - a_offsets[row];
  }
  row_starts[i] = entries;
}

/// The entries of A of the rows, as one list. \param row_starts of rows first ... last
struct EntriesOfRows {
  RowBatch batch;
  const offset_t* a_offsets;
  const offset_t* row_starts;

  /// Number in A of entry l of the list. \param i its row's number in the batch
  [[nodiscard]] __device__ offset_t entry(std::int64_t l, std::int64_t i) const {
    return a_offsets[row_of(batch, static_cast<index_t>(i))] + (l - row_starts[i]);
  }
};

__global__ void __launch_bounds__(threads) count_products_kernel(Factors<NoValue> factors, EntriesOfRows rows,
                                                                 std::int64_t entries, offset_t* entry_products) {
  const std::int64_t l = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  if (l > entries) return;
  offset_t products = 0;
  if (l < entries) {
    const offset_t k = rows.entry(l, last_not_above(rows.row_starts, 0, rows.batch.count - 1, l));
    const index_t list = factors.a_columns[k];
    products = factors.b_offsets[list + 1] - factors.b_offsets[list];
  }
  entry_products[l] = products;
}

__global__ void __launch_bounds__(threads)
    products_of_rows_kernel(index_t rows, const offset_t* row_starts, const offset_t* entry_products,
                            offset_t* row_products) {
  const std::int64_t i = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  if (i <= rows) row_products[i] = entry_products[row_starts[i]];
}

/// A slice for its kernels: a row is a segment of keys.
struct SliceView {
  EntriesOfRows rows;
  const offset_t* entry_products;
  index_t first = 0;   ///< row of the batch
  offset_t begin = 0;  ///< products of the batch before the slice
  DeviceKeys keys;
  KeyTiles tiles;

  /// The row of C that a tile is of.
  [[nodiscard]] __device__ index_t row(const KeyTile& tile) const { return row_of(rows.batch, first + tile.segment); }
};

/// One block per tile: neighbouring threads take neighbouring products, whatever rows of B these are of.
template <class V>
__global__ void __launch_bounds__(threads)
    expand_kernel(Factors<V> factors, SliceView slice, std::uint64_t* keys, [[maybe_unused]] V* values) {
  const KeyTile tile = slice.tiles.tile(blockIdx.x);
  const offset_t row_begin = slice.tiles.begins[tile.segment];
  const std::int64_t i = slice.first + tile.segment;
  const index_t first_column = slice.rows.batch.facts.first_columns[slice.row(tile)];
  // All threads find the same first and last entry of A, between which they then find their own.
  const offset_t before = slice.begin + tile.first;
  const offset_t* const row_starts = slice.rows.row_starts;
  const std::int64_t low = last_not_above(slice.entry_products, row_starts[i], row_starts[i + 1] - 1, before);
  const std::int64_t high = last_not_above(slice.entry_products, low, row_starts[i + 1] - 1, before + tile.keys - 1);
  for (int q = static_cast<int>(threadIdx.x); q < tile.keys; q += threads) {
    const std::int64_t l = last_not_above(slice.entry_products, low, high, before + q);
    const offset_t k = slice.rows.entry(l, i);
    const offset_t at = factors.b_offsets[factors.a_columns[k]] + (before + q - slice.entry_products[l]);
    const offset_t offset = tile.first + q - row_begin;
    keys[tile.first + q] = slice.keys.key(factors.b_columns[at] - first_column, offset);
    if constexpr (has_values<V>) {
      values[tile.first + q] = product_of(value_at(factors.a_values, k), value_at(factors.b_values, at));
    }
  }
}

/// Whether key k, of which there are some in the tile, begins an entry.
__device__ bool is_head(const SliceView& slice, const KeyTile& tile, const std::uint64_t* keys, int k) {
  if (k >= tile.keys) return false;
  if (k == 0 && tile.number == 0) return true;
  const offset_t at = tile.first + k;
  return slice.keys.column(keys[at]) != slice.keys.column(keys[at - 1]);
}

/// Which of the keys of a thread, `threads` apart, begin entries: a bit each.
__device__ unsigned heads_of_thread(const SliceView& slice, const KeyTile& tile, const std::uint64_t* keys) {
  unsigned heads = 0;
#pragma unroll 4
  for (int i = 0; i < rounds; ++i) {
    if (is_head(slice, tile, keys, i * threads + static_cast<int>(threadIdx.x))) heads |= 1u << i;
  }
  return heads;
}

/// Entries that begin in each tile.
__global__ void __launch_bounds__(threads)
    count_heads_kernel(SliceView slice, const std::uint64_t* keys, offset_t* entries) {
  __shared__ int of_warps[warps];
  const KeyTile tile = slice.tiles.tile(blockIdx.x);
  const int own = sum_over_lanes(__popc(heads_of_thread(slice, tile, keys)));
  if (threadIdx.x % warp_size == 0) of_warps[threadIdx.x / warp_size] = own;
  __syncthreads();
  if (threadIdx.x != 0) return;
  offset_t sum = 0;
  for (int w = 0; w < warps; ++w) sum += of_warps[w];
  entries[blockIdx.x] = sum;
}

/// \param entries that begin before each tile
template <class V>
__global__ void __launch_bounds__(threads)
    allocate_kernel(SliceView slice, index_t rows, const offset_t* entries, RowOutput<V> out) {
  const std::int64_t i = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  if (i >= rows) return;
  const offset_t count = entries[slice.tiles.befores[i + 1]] - entries[slice.tiles.befores[i]];
  static_cast<void>(allocate_row(out, row_of(slice.rows.batch, slice.first + static_cast<index_t>(i)), count));
}

/// Sum of the products from key k on that are of its entry, in the order of their offsets. \param keys, values of the
/// row \param count keys of the row
template <class V>
__device__ V sum_of_entry(const DeviceKeys& numbering, const std::uint64_t* keys, const V* values, offset_t k,
                          offset_t count) {
  const index_t column = numbering.column(keys[k]);
  V sum = values[numbering.offset(keys[k])];
  for (++k;; k += products_at_once) {
    bool own[products_at_once];
    V value[products_at_once];
#pragma unroll
    for (int u = 0; u < products_at_once; ++u) {
      const std::uint64_t key = k + u < count ? keys[k + u] : 0;
      own[u] = k + u < count && numbering.column(key) == column;
      value[u] = own[u] ? values[numbering.offset(key)] : V{0};
    }
#pragma unroll
    for (int u = 0; u < products_at_once; ++u) {
      if (!own[u]) return sum;
      sum = sum_of(sum, value[u]);
    }
  }
}

/// Writes which keys of a tile begin entries, in their order. Every thread of the block calls. \returns how many
__device__ unsigned list_heads(unsigned heads, std::uint16_t* list) {
  __shared__ unsigned counts[rounds * warps];
  const unsigned warp = threadIdx.x / warp_size;
  const unsigned earlier = (1u << threadIdx.x % warp_size) - 1;
  unsigned rank[rounds];  // among the heads of the warp's keys of the round
#pragma unroll
  for (int i = 0; i < rounds; ++i) {
    const unsigned votes = __ballot_sync(full_warp, (heads >> i & 1) != 0);
    rank[i] = static_cast<unsigned>(__popc(votes & earlier));
    if (threadIdx.x % warp_size == 0) counts[i * warps + warp] = static_cast<unsigned>(__popc(votes));
  }
  __syncthreads();
  unsigned sum = 0;
#pragma unroll
  for (int i = 0; i < rounds; ++i) {
#pragma unroll
    for (unsigned w = 0; w < warps; ++w) {
      if (w == warp && (heads >> i & 1) != 0) {
        list[sum + rank[i]] = static_cast<std::uint16_t>(i * threads + static_cast<int>(threadIdx.x));
      }
      sum += counts[i * warps + w];
    }
  }
  __syncthreads();
  return sum;
}

/// One block per tile, one thread per entry that begins there. \param entries that begin before each tile
template <class V>
__global__ void __launch_bounds__(threads) contract_kernel(SliceView slice, const std::uint64_t* keys, const V* values,
                                                           const offset_t* entries, RowOutput<V> out) {
  __shared__ std::uint16_t heads[keys_of_tile];
  const KeyTile tile = slice.tiles.tile(blockIdx.x);
  const unsigned count = list_heads(heads_of_thread(slice, tile, keys), heads);
  const index_t row = slice.row(tile);
  if (out.buffer_offsets[row] == no_offset) return;
  const index_t first_column = slice.rows.batch.facts.first_columns[row];
  const offset_t offset = out.buffer_offsets[row] + entries[blockIdx.x] - entries[tile.before];
  const offset_t begin = slice.tiles.begins[tile.segment];
  const offset_t end = slice.tiles.begins[tile.segment + 1];
  for (unsigned e = threadIdx.x; e < count; e += threads) {
    const offset_t k = tile.first + heads[e];
    out.columns[offset + e] = first_column + slice.keys.column(keys[k]);
    if constexpr (has_values<V>) {
      out.values[offset + e] = sum_of_entry(slice.keys, keys + begin, values + begin, k - begin, end - begin);
    }
  }
}

/// Enqueues expansion, sorting and contraction of a slice.
template <class V>
void run_slice(const Device& device, const Factors<V>& factors, index_t rows, const SliceView& slice,
               const RowOutput<V>& out) {
  const Context& context = Context::of(device);
  const KeyTiles& tiles = slice.tiles;
  Array<std::uint64_t> keys(tiles.keys, Init::none, device);
  Array<std::uint64_t> other(tiles.keys, Init::none, device);
  Array<V> values(has_values<V> ? tiles.keys : 0, Init::none, device);
  Array<offset_t> entries(tiles.tiles + 1, Init::zero, device);
  const Grid grid{static_cast<unsigned>(tiles.tiles), threads};
  if (tiles.tiles > 0) {
    launch("expanding products", context, grid, expand_kernel<V>, factors, slice, keys.data(), values.data());
    enqueue_sort(device, keys, other, tiles, slice.keys.offset_bits, slice.keys.offset_bits + slice.keys.column_bits);
    launch("counting entries", context, grid, count_heads_kernel, slice, keys.data(), entries.data());
    exclusive_sum_on_device(device, entries.span());
  }
  launch("offsets of rows", context, Grid{blocks_for(rows, threads), threads}, allocate_kernel<V>, slice, rows,
         entries.data(), out);
  if (tiles.tiles == 0) return;
  launch("contracting products", context, grid, contract_kernel<V>, slice, keys.data(), values.data(), entries.data(),
         out);
}

/// Tiles that a slice has at most: rows with more than half a tile of products each never have more.
std::int64_t most_tiles(offset_t products) noexcept { return 2 * tiles_of(products) + 256; }

}  // namespace

DeviceRows::DeviceRows(const Device& device, const Factors<NoValue>& factors, const RowBatch& batch)
    : device_(device), batch_(batch), row_starts_(std::int64_t{batch.count} + 1, Init::none, device) {
  const Context& context = Context::of(device);
  const DeviceGuard current(device);
  const Grid rows_grid{blocks_for(std::int64_t{batch.count} + 1, threads), threads};
  launch("counting entries of A", context, rows_grid, count_entries_of_a_kernel, batch, factors.a_offsets,
         row_starts_.data());
  const offset_t entries = exclusive_sum(device, row_starts_.span());
  entry_products_ = Array<offset_t>(entries + 1, Init::none, device);
  const EntriesOfRows rows{batch, factors.a_offsets, row_starts_.data()};
  launch("counting products", context, Grid{blocks_for(entries + 1, threads), threads}, count_products_kernel, factors,
         rows, entries, entry_products_.data());
  exclusive_sum_on_device(device, entry_products_.span());
  Array<offset_t> products(row_starts_.size(), Init::none, device);
  launch("products of rows", context, rows_grid, products_of_rows_kernel, batch.count, row_starts_.data(),
         entry_products_.data(), products.data());
  const Array<offset_t> on_host = products.to(Device{});
  products_.assign(on_host.begin(), on_host.end());
  for (std::size_t i = 0; i + 1 < products_.size(); ++i) {
    largest_ = std::max(largest_, products_[i + 1] - products_[i]);
  }
}

std::uint64_t DeviceRows::bytes(std::int64_t rows, std::int64_t entries) noexcept {
  const auto numbers = static_cast<std::uint64_t>(2 * (rows + 1) + entries + 1);
  // The running sums hold one more sum per chunk.
  return (numbers + numbers / 512) * sizeof(offset_t);
}

std::uint64_t DeviceRows::slice_bytes(offset_t products, std::size_t value_bytes) noexcept {
  const std::int64_t tiles = most_tiles(products);
  return static_cast<std::uint64_t>(products) * (2 * sizeof(std::uint64_t) + value_bytes) + sort_scratch_bytes(tiles) +
         TileTable::bytes(tiles, tiles) + 2 * static_cast<std::uint64_t>(tiles) * sizeof(offset_t);
}

std::vector<offset_t> DeviceRows::slice_from(index_t first, offset_t products) const {
  std::vector<offset_t> begins{0};
  std::int64_t tiles = 0;
  for (auto i = static_cast<std::size_t>(first); i + 1 < products_.size(); ++i) {
    const offset_t of_row = products_[i + 1] - products_[i];
    // A row without products counts as a tile, so that there are no more rows than tiles.
    tiles += std::max<std::int64_t>(1, tiles_of(of_row));
    const bool fits = begins.back() + of_row <= products && tiles <= most_tiles(products);
    if (begins.size() > 1 && !fits) break;
    begins.push_back(begins.back() + of_row);
  }
  return begins;
}

template <class V>
void DeviceRows::sum(const Factors<V>& factors, const RowOutput<V>& out, offset_t slice) const {
  const DeviceGuard current(device_);
  const EntriesOfRows entries{batch_, factors.a_offsets, row_starts_.data()};
  for (index_t first = 0; first < batch_.count;) {
    const std::vector<offset_t> begins = slice_from(first, slice);
    const auto rows = static_cast<index_t>(begins.size() - 1);
    const TileTable table(device_, begins);
    run_slice(device_, factors, rows,
              SliceView{entries, entry_products_.data(), first, products_[static_cast<std::size_t>(first)], keys(),
                        table.view()},
              out);
    first += rows;
  }
}

template void DeviceRows::sum(const Factors<double>&, const RowOutput<double>&, offset_t) const;
template void DeviceRows::sum(const Factors<float>&, const RowOutput<float>&, offset_t) const;
template void DeviceRows::sum(const Factors<NoValue>&, const RowOutput<NoValue>&, offset_t) const;

}  // namespace tessera::cuda
