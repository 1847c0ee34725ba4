/// \file
/// CSR5's tiles on a GPU: row starts as a bitmap, then descriptors and permutation in one kernel.
#include "preprocess/csr5_tiles.hpp"

#include "core/cuda/reduce.cuh"
#include "core/cuda/scan.hpp"
#include "core/cuda/warp.cuh"
#include "preprocess/csr5_permute_kernel.cuh"
#include "preprocess/csr5_tiles_kernel.cuh"

namespace tessera::cuda {

namespace {

/// Results of the pass over the rows for one tile, as a lane loads them.
template <class Word>
struct TileMarks {
  static constexpr int parts = sizeof(Word) / 4 + 1;
  std::uint32_t part[parts];  ///< of row_starts, from the word on that has the lane's first bit
  std::uint32_t first_row;
  std::uint32_t last_row;

  /// The bits of the lane's nonzeros. \param first index of the lane's first bit in the tile
  [[nodiscard]] __device__ Word starts(int first, int sigma) const {
    const auto shift = static_cast<unsigned>(first % 32);
    Word bits = __funnelshift_r(part[0], part[1], shift);
    if constexpr (sizeof(Word) == 8) bits |= Word{__funnelshift_r(part[1], part[2], shift)} << 32;
    return bits & static_cast<Word>((Word{1} << sigma) - 1);
  }
};

/// Makes the descriptors of tiles from the results of the pass over the rows.
template <class Word>
struct DescribeTiles {
  int sigma;
  const std::uint32_t* row_starts;  ///< up to two words beyond the last are read
  const std::uint32_t* last_row;
  std::uint32_t* tile_ptr;  ///< gets its marks
  Word* words;
  offset_t* segments;  ///< gets the entries that each tile needs in empty_offset
  std::uint8_t* begins_row;

  /// All lanes of a warp, for several tiles. The marks of the next tile are in flight while one is described.
  __device__ void operator()(std::int64_t first_tile, int tiles, int lane) const {
    TileMarks<Word> marks = load(first_tile, lane);
    for (int i = 0; i < tiles; ++i) {
      const TileMarks<Word> current = marks;
      if (i + 1 < tiles) marks = load(first_tile + i + 1, lane);
      describe(first_tile + i, lane, current);
    }
  }

 private:
  __device__ TileMarks<Word> load(std::int64_t tile, int lane) const {
    TileMarks<Word> marks;
    const std::uint32_t* const from = row_starts + tile * sigma + lane * sigma / 32;
#pragma unroll
    for (int i = 0; i < TileMarks<Word>::parts; ++i) marks.part[i] = from[i];
    marks.first_row = tile_ptr[tile];
    marks.last_row = last_row[tile];
    return marks;
  }

  __device__ void describe(std::int64_t tile, int lane, const TileMarks<Word>& marks) const {
    const Word starts = marks.starts(lane * sigma, sigma);
    const Word flags = lane == 0 ? starts | Word{1} : starts;
    const unsigned starting = __ballot_sync(full_warp, flags != 0);
    const int own = count_flags(flags);
    const int sum = sum_up_to_lane(own);
    words[tile * lanes_per_tile + lane] =
        pack_csr5_lane<Word>({flags, static_cast<std::uint32_t>(sum - own), csr5_seg_offset(starting, lane)}, sigma);
    if (lane == 0) begins_row[tile] = static_cast<std::uint8_t>(starts & 1);
    if (lane != warp_size - 1) return;
    const bool consecutive = marks.last_row - marks.first_row == static_cast<std::uint32_t>(sum - 1);
    if (!consecutive) tile_ptr[tile] = marks.first_row | empty_row_mark;
    segments[tile] = consecutive ? 0 : sum;
  }
};

/// No descriptors to make.
struct PermuteOnly {
  __device__ void operator()(std::int64_t /*first_tile*/, int /*tiles*/, int /*lane*/) const {}
};

void scan_rows(const Device& device, index_t rows, std::span<const offset_t> row_offsets, const TileGrid& grid,
               const RowFindings& to) {
  const DeviceGuard current(device);
  launch("marking where rows begin", Context::of(device),
         Grid{blocks_for(rows, row_pass_threads * rows_per_lane), row_pass_threads}, scan_rows_kernel,
         row_offsets.data(), rows, grid, to);
}

/// Makes the descriptors and permutes the columns.
template <class Word>
void describe_and_permute(const Device& device, const RowFindings& rows, std::span<const index_t> columns,
                          Csr5GpuTiles& built, Array<Word>& words) {
  Csr5Tiles& tiles = built.tiles;
  words = Array<Word>(tiles.tiles() * lanes_per_tile, Init::none, device);
  const DescribeTiles<Word> describe{tiles.sigma,  rows.row_starts,        rows.last_row,          rows.first_row,
                                     words.data(), tiles.empty_ptr.data(), built.begins_row.data()};
  permute(device, tiles, columns.data(), tiles.columns.data(), describe);
  exclusive_sum_on_device(device, tiles.empty_ptr.span());
}

/// Adds what only the descriptors tell to what the host reads.
void complete_ends(const Device& device, const Csr5Tiles& tiles, Array<RowPassEnds>& ends) {
  for_each(device, 1,
           [to = ends.data(), empty_ptr = tiles.empty_ptr.data(), tile_ptr = tiles.tile_ptr.data(),
            count = tiles.tiles()] __device__(std::int64_t) {
             to->empty_offsets = empty_ptr[count];
             to->rest_begin = static_cast<index_t>(tile_ptr[count]);
           });
}

template <class Word>
void fill_empty_offset(const Device& device, const TileGrid& grid, std::span<const offset_t> row_offsets,
                       Csr5Tiles& tiles, const Array<Word>& words) {
  const DeviceGuard current(device);
  const EmptyOffsets<Word> offsets{tiles.sigma, tiles.tile_ptr.data(), words.data(), tiles.empty_ptr.data(),
                                   tiles.empty_offset.data()};
  launch("rows of segments", Context::of(device),
         Grid{blocks_for(tiles.rows, row_pass_threads * rows_per_lane), row_pass_threads},
         fill_empty_offset_kernel<Word>, row_offsets.data(), tiles.rows, grid, offsets);
}

/// function(words) with the array of descriptors that the tiles use.
template <class Function>
void with_words(Csr5Tiles& tiles, const Function& function) {
  if (tiles.descriptor_bits == 32) {
    function(tiles.lane_words_32);
  } else {
    function(tiles.lane_words_64);
  }
}

/// Allocates all but the words and empty_offset.
Csr5GpuTiles allocate_tiles(const Device& device, index_t rows, offset_t nnz, int sigma, int descriptor_bits) {
  Csr5GpuTiles built;
  Csr5Tiles& tiles = built.tiles;
  tiles.rows = rows;
  tiles.nnz = nnz;
  tiles.sigma = sigma;
  tiles.descriptor_bits = descriptor_bits;
  const std::int64_t count = nnz / tiles.nonzeros_per_tile();
  tiles.tile_ptr = Array<std::uint32_t>(count + 1, Init::none, device);
  tiles.empty_ptr = Array<offset_t>(count + 1, Init::none, device);
  detail::zero_bytes(device, tiles.empty_ptr.data() + count, sizeof(offset_t));
  tiles.columns = Array<index_t>(nnz, Init::none, device);
  built.begins_row = Array<std::uint8_t>(count, Init::none, device);
  built.empty_rows = Array<std::uint32_t>((std::int64_t{rows} + 31) / 32, Init::none, device);
  return built;
}

}  // namespace

Csr5GpuTiles build_csr5_tiles(const Device& device, index_t rows, std::span<const offset_t> row_offsets,
                              std::span<const index_t> columns, int sigma, int descriptor_bits,
                              const std::function<void(const Csr5Tiles&)>& meanwhile) {
  const auto nnz = static_cast<offset_t>(columns.size());
  Csr5GpuTiles built = allocate_tiles(device, rows, nnz, sigma, descriptor_bits);
  Csr5Tiles& tiles = built.tiles;
  const TileGrid grid(nnz, tiles.tiles(), tiles.nonzeros_per_tile());
  Array<std::uint32_t> row_starts(nnz / 32 + 3, Init::zero, device);  // two words may be read beyond the last
  Array<std::uint32_t> last_row(tiles.tiles(), Init::none, device);
  Array<RowPassEnds> ends(1, Init::zero, device);
  const RowFindings found{row_starts.data(), built.empty_rows.data(), tiles.tile_ptr.data(), last_row.data(),
                          ends.data()};
  scan_rows(device, rows, row_offsets, grid, found);
  with_words(tiles, [&](auto& words) { describe_and_permute(device, found, columns, built, words); });
  complete_ends(device, tiles, ends);
  if (meanwhile) meanwhile(tiles);
  const RowPassEnds known = ends.to(Device{})[0];
  built.rest_begin = known.rest_begin;
  built.rest_end = tiles.tiled_nnz() < nnz ? known.rest_end : known.rest_begin;
  if (known.has_empty_rows == 0) built.empty_rows = {};
  if (known.empty_offsets == 0) {
    tiles.empty_ptr = {};
    return built;
  }
  tiles.empty_offset = Array<std::uint32_t>(known.empty_offsets, Init::zero, device);
  with_words(tiles, [&](auto& words) { fill_empty_offset(device, grid, row_offsets, tiles, words); });
  return built;
}

template <class From, class To>
void permute_csr5_values(const Device& device, const Csr5Tiles& tiles, std::span<const From> values,
                         std::span<To> permuted) {
  permute(device, tiles, values.data(), permuted.data(), PermuteOnly{});
}

template void permute_csr5_values(const Device&, const Csr5Tiles&, std::span<const float>, std::span<float>);
template void permute_csr5_values(const Device&, const Csr5Tiles&, std::span<const double>, std::span<double>);
template void permute_csr5_values(const Device&, const Csr5Tiles&, std::span<const double>, std::span<float>);

}  // namespace tessera::cuda
