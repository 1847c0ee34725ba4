/// \file
/// Tuning of the kernel `blocked` on a GPU: sizes of tiles, of halo lists and of blocks of columns.
#pragma once

#include "core/cuda/device_limits.hpp"
#include "core/host_device.hpp"
#include "preprocess/lane_descriptor.hpp"
#include "preprocess/snapped_tiles.hpp"
#include "spmv/merbit/merbit_tuning.hpp"
#include "tessera/types.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace tessera::cuda {

/// Sizes of the tiles of a segment, as of MERBIT's layout `vector` (merbit_tuning.hpp). One block of threads per
/// multiprocessor has all its shared memory.
template <int Sigma, int Batch, int Threads>
struct BlockedPolicyOf {
  static constexpr int sigma = Sigma;
  static constexpr int width = 4;  ///< nonzeros per load
  static constexpr int batch = Batch;
  static constexpr int threads = Threads;
  /// Elements staged per warp: the products of a tile, and what aligned loads of `width` bring before and beyond it.
  static constexpr int staged = lanes_per_tile * Sigma + window_alignment<width> + width;
  static constexpr int staged_of_block = Threads / lanes_per_tile * staged;
};

template <class T>
using BlockedPolicy =
    std::conditional_t<sizeof(T) == sizeof(float), BlockedPolicyOf<11, 3, 1024>, BlockedPolicyOf<7, 2, 1024>>;

/// Entries of a halo list per sector of 32 bytes: no sector has entries of two blocks of columns, so that each is
/// written whole.
template <class T>
inline constexpr int halo_group = 32 / static_cast<int>(sizeof(T));

/// Entries of a halo list that a lane moves together: 16 bytes.
template <class T>
inline constexpr int halo_quad = 16 / static_cast<int>(sizeof(T));

inline constexpr int long_cell = 256;  ///< in units of 16 bytes; the whole block of threads copies longer ones
inline constexpr int most_prefetched_bytes = 128 << 10;  ///< of a segment's nonzeros, while its list is copied
inline constexpr int tiles_in_shared = 191;              ///< of a segment, whose starts lie in shared memory
inline constexpr int halo_threads = 1024;                ///< that copy a block of columns to halo lists
inline constexpr int items_per_multiprocessor = 4;       ///< blocks that copy columns to halo lists
inline constexpr int cut_threads = 1024;                 ///< that look for the end of a segment
inline constexpr int most_column_blocks = 4096;          ///< their counters lie in shared memory
inline constexpr int segment_offset_bits = 17;           ///< of the number of a nonzero in its segment
inline constexpr int most_tiles_per_cut = 8;             ///< segments end after a multiple of so many tiles
inline constexpr int static_shared_bytes = 3 << 10;      ///< for the sums of an epilogue, and counters
inline constexpr int segments_per_strip = 8;             ///< on average: segments are looked for in strips side by side

static_assert(tiles_in_shared < BlockedPolicy<float>::threads && tiles_in_shared < BlockedPolicy<double>::threads);
/// Bytes of the starts of tiles in shared memory: one more than tiles.
inline constexpr int tile_starts_bytes = (tiles_in_shared + 1) * static_cast<int>(sizeof(detail::TileStart));

/// Sizes by which a matrix is blocked.
struct BlockedShape {
  index_t column_block = 0;  ///< columns per block; at most 65536
  int capacity = 0;          ///< slots of a halo list, a multiple of halo_group; at most 65535
  int tiles_per_cut = 0;     ///< tiles of which a halo list always has room, whatever their columns

  friend constexpr bool operator==(const BlockedShape&, const BlockedShape&) = default;
};

/// Shared memory of a block that multiplies a segment: starts of tiles, a halo list, and what is staged.
template <class T>
[[nodiscard]] constexpr std::size_t segment_bytes(int capacity) noexcept {
  return tile_starts_bytes + static_cast<std::size_t>(capacity + BlockedPolicy<T>::staged_of_block) * sizeof(T);
}

/// Slots that so many tiles may need: every nonzero in a block of columns of its own.
template <class T>
[[nodiscard]] constexpr int most_slots_of(int tiles) noexcept {
  return tiles * lanes_per_tile * BlockedPolicy<T>::sigma * halo_group<T>;
}

/// \param capacity of a halo list \returns 0 where not even one tile is sure to fit
template <class T>
[[nodiscard]] constexpr int tiles_per_cut(int capacity) noexcept {
  int tiles = most_tiles_per_cut;
  while (tiles > 0 && most_slots_of<T>(tiles) > capacity) tiles /= 2;
  return tiles;
}

/// The largest blocks and lists that a multiprocessor holds.
template <class T>
[[nodiscard]] constexpr BlockedShape blocked_shape(const DeviceLimits& gpu) noexcept {
  constexpr int bytes = static_cast<int>(sizeof(T));
  const auto shared = static_cast<int>(gpu.largest_shared_per_block) - static_shared_bytes;
  const auto whole_groups = [](int count) { return count / halo_group<T> * halo_group<T>; };
  const int column_block = whole_groups(shared / bytes);
  const int capacity = whole_groups((shared - tile_starts_bytes) / bytes - BlockedPolicy<T>::staged_of_block);
  BlockedShape shape{column_block < 65536 ? column_block : 65536, capacity < 65528 ? capacity : 65528, 0};
  shape.tiles_per_cut = tiles_per_cut<T>(shape.capacity);
  return shape;
}

[[nodiscard]] TESSERA_HOST_DEVICE constexpr std::int64_t blocks_of_columns(index_t cols,
                                                                           index_t column_block) noexcept {
  return (std::int64_t{cols} + column_block - 1) / column_block;
}

/// What the choice of `blocked` depends on.
struct BlockedTraits {
  double line_share = 0.0;  ///< distinct lines of x per nonzero in a sample of windows, as GatherSample::line_share()
  index_t rows = 0;
  index_t cols = 0;
  offset_t nnz = 0;
  std::int64_t l2_bytes = 0;  ///< of the GPU
  bool doubles = false;       ///< x in double
  bool pattern = false;
  double line_uses = 1.0;  ///< places of the sample that touch a line, on average: GatherSample::line_uses()
};

/// Predicted times, in ms on an H200; only their ratios count. On another GPU all of them change alike, more or less.
struct BlockedForecast {
  double gather_ms = 0.0;   ///< of a product that gathers x
  double blocked_ms = 0.0;  ///< of the blocked product
  double setup_ms = 0.0;    ///< of its plan
  double x_bytes = 0.0;
  double line_share = 0.0;

  /// Whether it pays within some products.
  [[nodiscard]] bool pays(std::int64_t products) const noexcept {
    return static_cast<double>(products) * (gather_ms - blocked_ms) > setup_ms;
  }
};

/// Reads of x are scattered from this share of distinct lines on.
inline constexpr double scattered_line_share = 0.7;

/// A model fitted to parts of two measured matrices (bench/NOTES.md): time per nonzero and per row. \returns a forecast
/// that never pays where reads of x are not scattered, or x is small
[[nodiscard]] BlockedForecast forecast_blocked(const BlockedTraits& matrix) noexcept;

/// Some of the slots of a block of columns: the work of a block of threads. In units of 16 bytes.
struct HaloItem {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  index_t block = 0;
};

/// Items of about equal work. \param begins of the slots of each block of columns, then their number, in units of 16
/// bytes \param wanted items, about, if every block has work
[[nodiscard]] std::vector<HaloItem> make_halo_items(std::span<const offset_t> begins, std::int64_t wanted);

/// \param most of the GPU \param group slots per sector \param most_slots that shape.tiles_per_cut tiles may need
/// \throws InvalidArgument for a shape that does not fit
void check_blocked_shape(const BlockedShape& shape, const BlockedShape& most, int group, int most_slots,
                         std::string_view device_name);

/// \throws NotSupported for more than most_column_blocks
void check_column_blocks(std::int64_t blocks, index_t cols, const BlockedShape& shape);

/// \throws NotSupported where cells outnumber the nonzeros by far
void check_cells(std::int64_t segments, std::int64_t blocks, std::int64_t nonzeros);

/// Part of a reason.
[[nodiscard]] std::string describe_blocks(std::int64_t segments, std::int64_t blocks, std::int64_t column_block,
                                          std::int64_t slots, std::int64_t nonzeros);

}  // namespace tessera::cuda
