// Radix sort, least significant digit first (LSD): cub::DeviceRadixSort for one segment, own kernels for several. Own
// kernels, per digit of 8 bits: each tile of keys counts its digits; an exclusive sum over (segment, digit, tile) gives
// offsets; each tile sorts its keys by the digit in shared memory and writes them in runs.
#include "core/cuda/launch.cuh"
#include "core/cuda/radix_sort.hpp"
#include "core/cuda/scan.hpp"
#include "core/cuda/warp.cuh"

#include <limits>
#include <utility>
#include <vector>

namespace tessera::cuda {

namespace {

constexpr int digit_bits = 8;
constexpr int digits = 1 << digit_bits;
constexpr int threads = digits;
constexpr int warps = threads / warp_size;
constexpr int keys_of_thread = keys_of_tile / threads;
constexpr int keys_of_warp = warp_size * keys_of_thread;

/// The bits of a key that one pass sorts by.
struct Digit {
  int shift = 0;
  unsigned mask = 0;
  [[nodiscard]] __device__ unsigned of(std::uint64_t key) const { return static_cast<unsigned>(key >> shift) & mask; }
};

/// Index of the count of a digit in a tile.
__device__ std::int64_t count_of(const KeyTile& tile, unsigned digit) {
  return tile.before * digits + digit * tile.of_segment + tile.number;
}

__global__ void __launch_bounds__(threads)
    digit_counts_kernel(KeyTiles tiles, const std::uint64_t* keys, Digit digit, offset_t* counts) {
  __shared__ unsigned of_digit[digits];
  of_digit[threadIdx.x] = 0;
  __syncthreads();
  const KeyTile tile = tiles.tile(blockIdx.x);
#pragma unroll 4
  for (int i = 0; i < keys_of_thread; ++i) {
    const int k = i * threads + static_cast<int>(threadIdx.x);
    if (k < tile.keys) atomicAdd(&of_digit[digit.of(__ldcs(keys + tile.first + k))], 1u);
  }
  __syncthreads();
  counts[count_of(tile, threadIdx.x)] = of_digit[threadIdx.x];
}

/// Active lanes with the digit of this lane. All lanes must call; the result is undefined for inactive lanes.
__device__ unsigned lanes_with_digit(unsigned digit, bool active) {
  unsigned peers = __ballot_sync(full_warp, active);
#pragma unroll
  for (int bit = 0; bit < digit_bits; ++bit) {
    const unsigned votes = __ballot_sync(full_warp, (digit >> bit & 1) != 0);
    peers &= (digit >> bit & 1) != 0 ? votes : ~votes;
  }
  return peers;
}

/// Shared memory of a block: the keys of its tile and the digit counts of its warps.
struct TileShared {
  std::uint64_t keys[keys_of_tile];  ///< sorted by the digit
  unsigned counts[warps][digits];    ///< of a warp's keys; later the offset of their first in the tile
  offset_t targets[digits];          ///< output index of key k of the tile, minus k
};

/// The keys of a thread, 32 apart, and their ranks among the keys of the warp with the same digit.
struct OwnKeys {
  std::uint64_t key[keys_of_thread];
  unsigned rank[keys_of_thread];
};

/// Index in the tile of key i of this thread.
__device__ int index_in_tile(int i) {
  return static_cast<int>(threadIdx.x / warp_size) * keys_of_warp + i * warp_size +
         static_cast<int>(threadIdx.x % warp_size);
}

/// Ranks the keys of a warp. Every lane must call. \param keys of the tile \param counts of the warp, cleared
__device__ void rank_keys(const KeyTile& tile, const std::uint64_t* keys, Digit digit, unsigned* counts, OwnKeys& own) {
  const unsigned earlier = (1u << threadIdx.x % warp_size) - 1;
#pragma unroll
  for (int i = 0; i < keys_of_thread; ++i)
    own.key[i] = index_in_tile(i) < tile.keys ? __ldcs(keys + index_in_tile(i)) : 0;
#pragma unroll
  for (int i = 0; i < keys_of_thread; ++i) {
    const bool exists = index_in_tile(i) < tile.keys;
    const unsigned d = digit.of(own.key[i]);
    const unsigned peers = lanes_with_digit(d, exists);
    const unsigned before = counts[d];
    __syncwarp();
    own.rank[i] = before + static_cast<unsigned>(__popc(peers & earlier));
    if (exists && (peers & earlier) == 0) counts[d] = before + static_cast<unsigned>(__popc(peers));
    __syncwarp();
  }
}

/// Turns counts into offsets in the tile. Every thread must call; thread d does digit d. \param begin output index of
/// the first key of the tile with the digit of this thread
__device__ void find_offsets(TileShared& shared, offset_t begin) {
  __shared__ unsigned of_warps[warps];
  unsigned of_digit = 0;
  for (int w = 0; w < warps; ++w) of_digit += shared.counts[w][threadIdx.x];
  unsigned offset = running_sum_in_block<threads>(of_digit, of_warps).before;
  shared.targets[threadIdx.x] = begin - offset;
  for (int w = 0; w < warps; ++w) {
    const unsigned count = shared.counts[w][threadIdx.x];
    shared.counts[w][threadIdx.x] = offset;
    offset += count;
  }
}

/// \param begins exclusive sums of the counts of digit_counts_kernel
__global__ void __launch_bounds__(threads) scatter_kernel(KeyTiles tiles, const std::uint64_t* keys, Digit digit,
                                                          const offset_t* begins, std::uint64_t* sorted) {
  __shared__ TileShared shared;
  const unsigned warp = threadIdx.x / warp_size;
  for (int w = 0; w < warps; ++w) shared.counts[w][threadIdx.x] = 0;
  __syncthreads();
  const KeyTile tile = tiles.tile(blockIdx.x);
  OwnKeys own;
  rank_keys(tile, keys + tile.first, digit, shared.counts[warp], own);
  __syncthreads();
  find_offsets(shared, begins[count_of(tile, threadIdx.x)]);
  __syncthreads();
#pragma unroll
  for (int i = 0; i < keys_of_thread; ++i) {
    if (index_in_tile(i) >= tile.keys) continue;
    shared.keys[shared.counts[warp][digit.of(own.key[i])] + own.rank[i]] = own.key[i];
  }
  __syncthreads();
#pragma unroll 4
  for (int i = 0; i < keys_of_thread; ++i) {
    const int k = i * threads + static_cast<int>(threadIdx.x);
    if (k >= tile.keys) continue;
    const std::uint64_t key = shared.keys[k];
    sorted[shared.targets[digit.of(key)] + k] = key;
  }
}

}  // namespace

std::uint64_t sort_scratch_bytes(std::int64_t tiles) noexcept {
  // The exclusive sum over the counts takes a sum per chunk besides. CUB takes 4 bytes per digit of its tiles, which
  // are no smaller, and histograms of all passes.
  const auto counts = static_cast<std::uint64_t>(tiles) * digits * sizeof(offset_t);
  return counts + counts / 512 + (std::uint64_t{64} << 10);
}

void enqueue_sort(const Device& device, Array<std::uint64_t>& keys, Array<std::uint64_t>& other, const KeyTiles& tiles,
                  int begin, int end, PrimitiveBy by) {
  if (tiles.keys < 2 || end <= begin) return;
  const bool is_one_segment = tiles.begins == nullptr;
  if (by != PrimitiveBy::own && is_one_segment && tiles.keys <= std::numeric_limits<std::uint32_t>::max()) {
    return cub_sort_keys(device, keys, other, static_cast<std::uint32_t>(tiles.keys), begin, end);
  }
  const Context& context = Context::of(device);
  const DeviceGuard current(device);
  const Grid grid{static_cast<unsigned>(tiles.tiles), threads};
  Array<offset_t> counts(tiles.tiles * digits, Init::none, device);
  const int passes = (end - begin + digit_bits - 1) / digit_bits;
  for (int pass = 0; pass < passes; ++pass) {
    // Digits of nearly equal length.
    const int from = begin + (end - begin) * pass / passes;
    const int to = begin + (end - begin) * (pass + 1) / passes;
    const Digit digit{from, (1u << (to - from)) - 1};
    launch("counting digits", context, grid, digit_counts_kernel, tiles, keys.data(), digit, counts.data());
    exclusive_sum_on_device(device, counts.span());
    launch("scattering keys", context, grid, scatter_kernel, tiles, keys.data(), digit, counts.data(), other.data());
    std::swap(keys, other);
  }
}

TileTable::TileTable(const Device& device, std::span<const offset_t> begins)
    : keys_(begins.back()), begins_(Array<offset_t>::copy_of(begins, device)) {
  std::vector<std::int64_t> befores{0};
  std::vector<index_t> segments;
  for (std::size_t s = 0; s + 1 < begins.size(); ++s) {
    befores.push_back(befores.back() + tiles_of(begins[s + 1] - begins[s]));
    segments.resize(static_cast<std::size_t>(befores.back()), static_cast<index_t>(s));
  }
  befores_ = Array<std::int64_t>::copy_of(befores, device);
  segments_ = Array<index_t>::copy_of(segments, device);
}

}  // namespace tessera::cuda
