#include "core/cuda/reduce.cuh"
#include "core/cuda/scan.hpp"
#include "preprocess/csr5_permute.cuh"
#include "preprocess/csr5_row_pass.cuh"
#include "preprocess/csr5_tiles_cuda.hpp"

#include <type_traits>

namespace tessera::cuda {

namespace {

__device__ int count_flags(std::uint32_t flags) { return __popc(flags); }
__device__ int count_flags(std::uint64_t flags) { return __popcll(static_cast<unsigned long long>(flags)); }

/// sigma bits from bit `first` on. Reads up to two words beyond the one that holds it.
template <class Word>
__device__ Word bits_from(const std::uint32_t* bitmap, int first, int sigma) {
  const std::uint32_t* const words = bitmap + first / 32;
  const auto shift = static_cast<unsigned>(first % 32);
  const unsigned low = __funnelshift_r(words[0], words[1], shift);
  const Word mask = static_cast<Word>((Word{1} << sigma) - 1);
  if constexpr (sizeof(Word) == 4) {
    return low & mask;
  } else {
    const unsigned high = __funnelshift_r(words[1], words[2], shift);
    return (Word{high} << 32 | low) & mask;
  }
}

/// Sum of the values of this lane and the earlier ones.
__device__ int running_sum(int value, int lane) {
  for (unsigned distance = 1; distance < warp_size; distance *= 2) {
    const int other = __shfl_up_sync(full_warp, value, distance);
    if (lane >= static_cast<int>(distance)) value += other;
  }
  return value;
}

/// Makes the descriptors of a tile from what the pass over the rows found.
template <class Word>
struct DescribeTile {
  int sigma;
  const std::uint32_t* row_starts;
  const std::uint32_t* last_row;
  std::uint32_t* tile_ptr;  ///< gets its marks
  Word* words;
  offset_t* segments;  ///< gets the entries that each tile needs in empty_offset
  std::uint8_t* begins_row;

  /// All lanes of a warp for one tile.
  __device__ void operator()(std::int64_t tile, int lane) const {
    const Word starts = bits_from<Word>(row_starts + tile * sigma, lane * sigma, sigma);
    const Word flags = lane == 0 ? starts | Word{1} : starts;
    const unsigned starting = __ballot_sync(full_warp, flags != 0);
    const int own = count_flags(flags);
    const int sum = running_sum(own, lane);
    words[tile * lanes_per_tile + lane] =
        pack_csr5_lane<Word>({flags, static_cast<std::uint32_t>(sum - own), csr5_seg_offset(starting, lane)}, sigma);
    if (lane == 0) begins_row[tile] = static_cast<std::uint8_t>(starts & 1);
    if (lane != warp_size - 1) return;
    const std::uint32_t first_row = tile_ptr[tile];
    const bool consecutive = last_row[tile] - first_row == static_cast<std::uint32_t>(sum - 1);
    if (!consecutive) tile_ptr[tile] = first_row | empty_row_mark;
    segments[tile] = consecutive ? 0 : sum;
  }
};

/// Nothing to do for a tile.
struct PermuteOnly {
  __device__ void operator()(std::int64_t /*tile*/, int /*lane*/) const {}
};

void scan_rows(const Device& device, index_t rows, std::span<const offset_t> row_offsets, const TileGrid& grid,
               const RowFindings& to) {
  const CurrentDevice current(device);
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
  const DescribeTile<Word> describe{tiles.sigma,  rows.row_starts,        rows.last_row,          rows.first_row,
                                    words.data(), tiles.empty_ptr.data(), built.begins_row.data()};
  permute(device, tiles, columns.data(), tiles.columns.data(), describe);
  exclusive_sum_on_device(device, tiles.empty_ptr.span());
}

/// Brings what the host has to know.
RowEnds ends_of(const Device& device, const Csr5Tiles& tiles, Array<RowEnds>& ends) {
  for_each(device, 1,
           [to = ends.data(), empty_ptr = tiles.empty_ptr.data(), tile_ptr = tiles.tile_ptr.data(),
            count = tiles.tiles()] __device__(std::int64_t) {
             to->empty_offsets = empty_ptr[count];
             to->rest_begin = static_cast<index_t>(tile_ptr[count]);
           });
  return ends.to(Device{})[0];
}

/// The rows of the segments of marked tiles, but for the first segments, whose entries are zero.
template <class Word>
void fill_empty_offset(const Device& device, const TileGrid& grid, std::span<const offset_t> row_offsets,
                       Csr5Tiles& tiles, const Array<Word>& words) {
  for_each(device, tiles.rows,
           [grid, sigma = tiles.sigma, offsets = row_offsets.data(), tile_ptr = tiles.tile_ptr.data(),
            lane_words = words.data(), empty_ptr = tiles.empty_ptr.data(),
            to = tiles.empty_offset.data()] __device__(std::int64_t row) {
             const offset_t begin = offsets[row];
             const TilePlace at = grid.place_of(begin);
             const std::int64_t tile = at.tile;
             if (tile >= grid.tiles || begin == offsets[row + 1]) return;
             const std::uint32_t pointer = tile_ptr[tile];
             if ((pointer & empty_row_mark) == 0) return;
             const unsigned lane = at.offset / static_cast<unsigned>(sigma);
             const unsigned bit = at.offset - lane * static_cast<unsigned>(sigma);
             const Csr5Lane<Word> content = unpack_csr5_lane<Word>(lane_words[tile * lanes_per_tile + lane], sigma);
             const Word earlier = static_cast<Word>((Word{1} << bit) - 1);
             const offset_t segment = offset_t{content.y_offset} + count_flags(content.row_starts & earlier);
             to[empty_ptr[tile] + segment] = static_cast<std::uint32_t>(row) - (pointer & ~empty_row_mark);
           });
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

/// Tiles with room for all but the words and empty_offset.
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
                              std::span<const index_t> columns, int sigma, int descriptor_bits) {
  const auto nnz = static_cast<offset_t>(columns.size());
  Csr5GpuTiles built = allocate_tiles(device, rows, nnz, sigma, descriptor_bits);
  Csr5Tiles& tiles = built.tiles;
  const TileGrid grid(nnz, tiles.tiles(), tiles.nonzeros_per_tile());
  Array<std::uint32_t> row_starts(nnz / 32 + 3, Init::zero, device);  // two words may be read beyond the last
  Array<std::uint32_t> last_row(tiles.tiles(), Init::none, device);
  Array<RowEnds> ends(1, Init::zero, device);
  const RowFindings found{row_starts.data(), built.empty_rows.data(), tiles.tile_ptr.data(), last_row.data(),
                          ends.data()};
  scan_rows(device, rows, row_offsets, grid, found);
  with_words(tiles, [&](auto& words) { describe_and_permute(device, found, columns, built, words); });
  const RowEnds known = ends_of(device, tiles, ends);
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
