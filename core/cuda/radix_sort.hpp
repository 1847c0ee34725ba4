/// \file
/// Radix sort of 64-bit keys on a GPU, of one segment or of several that lie one after the other. Segments are cut into
/// tiles, none of which has keys of two segments.
#pragma once

#include "core/cuda/cub_primitives.hpp"
#include "core/host_device.hpp"
#include "tessera/array.hpp"
#include "tessera/device.hpp"
#include "tessera/types.hpp"

#include <cstdint>
#include <span>

namespace tessera::cuda {

/// Most keys of a tile, which one block sorts at once.
inline constexpr int keys_of_tile = 4096;

[[nodiscard]] TESSERA_HOST_DEVICE constexpr std::int64_t tiles_of(offset_t keys) noexcept {
  return (keys + keys_of_tile - 1) / keys_of_tile;
}

struct KeyTile {
  offset_t first = 0;  ///< key
  int keys = 0;
  index_t segment = 0;
  std::int64_t before = 0;      ///< tiles of earlier segments
  std::int64_t number = 0;      ///< in its segment
  std::int64_t of_segment = 0;  ///< tiles of its segment
};

/// Tiles as kernels see them.
struct KeyTiles {
  offset_t keys = 0;
  std::int64_t tiles = 0;
  const offset_t* begins = nullptr;       ///< first key per segment, then the number of keys; null: one segment
  const std::int64_t* befores = nullptr;  ///< tiles before each segment, then the number of tiles
  const index_t* segments = nullptr;      ///< segment of each tile

  [[nodiscard]] TESSERA_HOST_DEVICE KeyTile tile(std::int64_t t) const noexcept {
    KeyTile result;
    offset_t end = keys;
    result.of_segment = tiles;
    if (begins != nullptr) {
      result.segment = segments[t];
      result.before = befores[result.segment];
      result.of_segment = befores[result.segment + 1] - result.before;
      result.first = begins[result.segment];
      end = begins[result.segment + 1];
    }
    result.number = t - result.before;
    result.first += result.number * keys_of_tile;
    result.keys = end - result.first < keys_of_tile ? static_cast<int>(end - result.first) : keys_of_tile;
    return result;
  }
};

/// All keys as one segment.
[[nodiscard]] constexpr KeyTiles one_segment(offset_t keys) noexcept { return {keys, tiles_of(keys)}; }

/// The tiles of segments, on a device.
class TileTable {
 public:
  /// \param begins first key per segment, then the number of keys; begins[0] is 0
  TileTable(const Device& device, std::span<const offset_t> begins);

  [[nodiscard]] KeyTiles view() const noexcept {
    return {keys_, segments_.size(), begins_.data(), befores_.data(), segments_.data()};
  }
  [[nodiscard]] static std::uint64_t bytes(std::int64_t segments, std::int64_t tiles) noexcept {
    return static_cast<std::uint64_t>(segments + 1) * 2 * sizeof(offset_t) +
           static_cast<std::uint64_t>(tiles) * sizeof(index_t);
  }

 private:
  offset_t keys_;
  Array<offset_t> begins_;
  Array<std::int64_t> befores_;
  Array<index_t> segments_;
};

/// Bytes that enqueue_sort() takes besides its two arrays.
[[nodiscard]] std::uint64_t sort_scratch_bytes(std::int64_t tiles) noexcept;

/// Sorts the keys of every segment by their bits begin ... end - 1. Stable: the bits below may hold the origin of a
/// key. O(keys) per digit of 8 bits. Temporary memory comes from the pool of the device, in stream order. \param keys,
/// other at least as long as all segments; the sorted keys end in `keys`, the contents of `other` are lost \param by
/// for one segment; several are always sorted by own kernels \throws CudaError, OutOfMemory
void enqueue_sort(const Device& device, Array<std::uint64_t>& keys, Array<std::uint64_t>& other, const KeyTiles& tiles,
                  int begin, int end, PrimitiveBy by = PrimitiveBy::automatic);

}  // namespace tessera::cuda
