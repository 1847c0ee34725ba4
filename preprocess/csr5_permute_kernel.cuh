/// \file
/// CSR5's permutation on a GPU: entries of a matrix are brought into the order of the tiles through shared memory, so
/// that reads and writes coalesce.
#pragma once

#include "core/cuda/launch.cuh"
#include "core/cuda/shared_memory.cuh"
#include "preprocess/csr5_tiles.hpp"

#include <cstdint>

namespace tessera::cuda {

/// Index of entry k of a chunk in shared memory: a gap every 128 bytes, so that the lanes of a warp access different
/// banks in both directions.
template <class T>
[[nodiscard]] TESSERA_HOST_DEVICE constexpr unsigned place_in_chunk(unsigned k) noexcept {
  constexpr unsigned line = 128 / sizeof(T);
  return k + k / line;
}

/// Chunks of one long tile or several short ones, which a warp permutes at a time.
struct TileChunks {
  std::int64_t tiles;
  offset_t nnz;
  int sigma;
  int tiles_per_chunk;

  /// Loads of a lane that are in flight together.
  static constexpr int batch = 16;

  explicit TileChunks(const Csr5Tiles& of)
      : tiles(of.tiles()), nnz(of.nnz), sigma(of.sigma), tiles_per_chunk(sigma < batch ? batch / sigma : 1) {}

  [[nodiscard]] std::int64_t count() const { return (tiles + tiles_per_chunk - 1) / tiles_per_chunk; }
  /// Entries of shared memory that a chunk takes: whole batches.
  template <class T>
  [[nodiscard]] TESSERA_HOST_DEVICE unsigned room() const noexcept {
    const int batches = (tiles_per_chunk * sigma + batch - 1) / batch;
    return place_in_chunk<T>(static_cast<unsigned>(batches * batch * lanes_per_tile));
  }
  [[nodiscard]] __device__ int tile_nonzeros() const { return lanes_per_tile * sigma; }
};

inline constexpr int permute_threads = 128;
/// Minimum blocks per multiprocessor: 64 registers per thread.
inline constexpr int permute_blocks = 8;

/// Entries of a lane on their way from the matrix to shared memory.
template <class From, class To>
struct EntryBatch {
  From entry[TileChunks::batch];

  /// \param from,left the lane's first entry; how many entries it still has, the same for every lane
  __device__ void load(const From* from, int left) {
    if (left >= TileChunks::batch) {
#pragma unroll
      for (int i = 0; i < TileChunks::batch; ++i) entry[i] = __ldcs(from + i * warp_size);
    } else {
#pragma unroll
      for (int i = 0; i < TileChunks::batch - 1; ++i) {
        if (i < left) entry[i] = __ldcs(from + i * warp_size);
      }
    }
  }
  /// \param to has room for a whole batch
  __device__ void store(To* to) const {
    constexpr unsigned stride = place_in_chunk<To>(warp_size);
#pragma unroll
    for (int i = 0; i < TileChunks::batch; ++i) to[i * stride] = static_cast<To>(entry[i]);
  }
};

/// Copies a chunk from the matrix to shared memory. `meanwhile` runs while the first loads are in flight.
/// \param from,rows,shared at the first entry of the chunk; entries of a lane; of the warp
template <class From, class To, class Meanwhile>
__device__ void load_chunk(const From* from, int rows, int lane, To* shared, const Meanwhile& meanwhile) {
  constexpr int batch = TileChunks::batch;
  EntryBatch<From, To> entries{};
  To* to = shared + place_in_chunk<To>(static_cast<unsigned>(lane));
  entries.load(from + lane, rows);
  meanwhile();
  entries.store(to);
  for (int first = batch; first < rows; first += batch) {
    to += place_in_chunk<To>(batch * warp_size);
    entries.load(from + first * warp_size + lane, rows - first);
    entries.store(to);
  }
}

/// Entry j of lane l goes from l * sigma + j to j * 32 + l. One warp per chunk; the first warp copies the nonzeros
/// beyond the tiles instead. \param for_tiles called by all lanes with the number of the chunk's first tile, the number
/// of its tiles and the lane
template <class From, class To, class ForTiles>
__global__ void __launch_bounds__(permute_threads, permute_blocks)
    permute_kernel(TileChunks chunks, const From* from, To* to, ForTiles for_tiles) {
  const int warp_of_block = static_cast<int>(threadIdx.x / warp_size);
  const int lane = static_cast<int>(threadIdx.x % warp_size);
  const std::int64_t warp = std::int64_t{blockIdx.x} * (blockDim.x / warp_size) + warp_of_block;
  if (warp == 0) {
    for (offset_t k = chunks.tiles * chunks.tile_nonzeros() + lane; k < chunks.nnz; k += warp_size) {
      to[k] = static_cast<To>(from[k]);
    }
    return;
  }
  const std::int64_t first_tile = (warp - 1) * chunks.tiles_per_chunk;
  if (first_tile >= chunks.tiles) return;
  const std::int64_t left = chunks.tiles - first_tile;
  const int tiles = left < chunks.tiles_per_chunk ? static_cast<int>(left) : chunks.tiles_per_chunk;
  const offset_t first = first_tile * chunks.tile_nonzeros();
  To* const shared = reinterpret_cast<To*>(dynamic_shared_memory()) + warp_of_block * chunks.room<To>();
  load_chunk(from + first, tiles * chunks.sigma, lane, shared, [&] { for_tiles(first_tile, tiles, lane); });
  __syncwarp();
  To* target = to + first + lane;
  for (int tile = 0; tile < tiles; ++tile) {
    const auto own = static_cast<unsigned>((tile * lanes_per_tile + lane) * chunks.sigma);
    const auto end = own + static_cast<unsigned>(chunks.sigma);
#pragma unroll 4
    for (unsigned k = own; k < end; ++k, target += warp_size) *target = shared[place_in_chunk<To>(k)];
  }
}

/// Brings entries into the order of the tiles. \param for_tiles see permute_kernel()
template <class From, class To, class ForTiles>
void permute(const Device& device, const Csr5Tiles& tiles, const From* from, To* to, const ForTiles& for_tiles) {
  if (tiles.nnz == 0) return;
  const Context& context = Context::of(device);
  const auto available = static_cast<std::size_t>(context.limits().shared_per_block);
  const DeviceGuard current(device);
  const TileChunks chunks(tiles);
  const std::size_t bytes = sizeof(To) * chunks.room<To>();
  int warps = permute_threads / warp_size;
  while (static_cast<std::size_t>(warps) * bytes > available) warps /= 2;
  launch("permuting into tiles", context,
         Grid{blocks_for(chunks.count() + 1, warps), warps * warp_size, static_cast<std::size_t>(warps) * bytes},
         permute_kernel<From, To, ForTiles>, chunks, from, to, for_tiles);
}

}  // namespace tessera::cuda
