/// \file
/// CSR5's tiles on the host.
#include "preprocess/csr5_tiles.hpp"

#include "core/parallel.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace tessera::detail {

namespace {

void check_parameters(int sigma, int descriptor_bits) {
  if (descriptor_bits != 32 && descriptor_bits != 64) {
    throw InvalidArgument(fmt::format("CSR5 descriptors have 32 or 64 bits, not {}", descriptor_bits));
  }
  if (sigma < 1 || sigma > csr5_max_sigma(descriptor_bits)) {
    throw InvalidArgument(fmt::format("CSR5 with {}-bit descriptors needs sigma in [1, {}], got {}", descriptor_bits,
                                      csr5_max_sigma(descriptor_bits), sigma));
  }
}

/// body(tile) for all tiles.
template <class Body>
void for_tiles(const Device& device, std::int64_t tiles, Body&& body) {
  const std::int64_t parts = std::min<std::int64_t>(tiles, host::max_sum_chunks);
  host::parallel_tasks(device, parts, [&](std::int64_t part) {
    const host::Range range = host::part_of(tiles, parts, part);
    for (std::int64_t tile = range.begin; tile < range.end; ++tile) body(tile);
  });
}

/// Fills the descriptors and tile_ptr of one tile. \returns the entries that it needs in empty_offset
template <DescriptorWord Word>
offset_t build_tile(Csr5Tiles& tiles, const offset_t* row_offsets, std::int64_t tile, Word* words) {
  const offset_t begin = tile * tiles.nonzeros_per_tile();
  const index_t first_row = row_of_nonzero(row_offsets, tiles.rows, begin);
  std::array<Word, lanes_per_tile> starts{};
  std::uint32_t starting = 0;
  // Rows begin strictly after the tile's first nonzero from here on; that one starts a segment whatever its row.
  index_t row = first_row + 1;
  for (int lane = 0; lane < lanes_per_tile; ++lane) {
    auto& flags = starts[static_cast<std::size_t>(lane)];
    flags = csr5_row_starts<Word>(row_offsets, tiles.rows, begin + lane * offset_t{tiles.sigma}, tiles.sigma, row);
    if (lane == 0) flags |= 1;
    if (flags != 0) starting |= std::uint32_t{1} << lane;
  }
  std::uint32_t segments = 0;
  for (int lane = 0; lane < lanes_per_tile; ++lane) {
    const Word flags = starts[static_cast<std::size_t>(lane)];
    words[tile * lanes_per_tile + lane] =
        pack_csr5_lane<Word>({flags, segments, csr5_seg_offset(starting, lane)}, tiles.sigma);
    segments += static_cast<std::uint32_t>(std::popcount(flags));
  }
  // The tile ends in row - 1: without empty rows in between that is the row of its last segment.
  const bool consecutive = row - 1 - first_row == static_cast<index_t>(segments) - 1;
  tiles.tile_ptr[tile] = static_cast<std::uint32_t>(first_row) | (consecutive ? 0 : empty_row_mark);
  return consecutive ? 0 : segments;
}

/// The rows of the segments of a marked tile.
void fill_empty_offset(Csr5Tiles& tiles, const offset_t* row_offsets, std::int64_t tile) {
  std::uint32_t* offset = tiles.empty_offset.data() + tiles.empty_ptr[tile];
  const std::uint32_t* end = tiles.empty_offset.data() + tiles.empty_ptr[tile + 1];
  const index_t first_row = tiles.first_row(tile);
  *offset++ = 0;
  for (index_t row = first_row + 1; offset < end; ++row) {
    if (row_offsets[row] < row_offsets[row + 1]) *offset++ = static_cast<std::uint32_t>(row - first_row);
  }
}

template <DescriptorWord Word>
void build_all(Csr5Tiles& tiles, const offset_t* row_offsets, Array<Word>& words, const Device& device) {
  const std::int64_t count = tiles.tiles();
  words = Array<Word>(count * lanes_per_tile, Init::none);
  Array<offset_t> empty_ptr(count + 1, Init::none);
  for_tiles(device, count,
            [&](std::int64_t tile) { empty_ptr[tile] = build_tile(tiles, row_offsets, tile, words.data()); });
  offset_t total = 0;
  for (std::int64_t tile = 0; tile < count; ++tile) total += std::exchange(empty_ptr[tile], total);
  empty_ptr[count] = total;
  if (total == 0) return;
  tiles.empty_ptr = std::move(empty_ptr);
  tiles.empty_offset = Array<std::uint32_t>(total, Init::none);
  for_tiles(device, count, [&](std::int64_t tile) {
    if (tiles.has_empty_rows(tile)) fill_empty_offset(tiles, row_offsets, tile);
  });
}

/// Entry j of lane l goes from l * sigma + j to j * 32 + l in every tile.
template <class T>
void permute(const Csr5Tiles& tiles, const T* from, T* to, const Device& device) {
  for_tiles(device, tiles.tiles(), [&](std::int64_t tile) {
    const T* source = from + tile * tiles.nonzeros_per_tile();
    T* target = to + tile * tiles.nonzeros_per_tile();
    for (int lane = 0; lane < lanes_per_tile; ++lane) {
      for (int j = 0; j < tiles.sigma; ++j) target[j * lanes_per_tile + lane] = *source++;
    }
  });
  std::copy(from + tiles.tiled_nnz(), from + tiles.nnz, to + tiles.tiled_nnz());
}

}  // namespace

Csr5Tiles build_csr5_tiles(index_t rows, std::span<const offset_t> row_offsets, std::span<const index_t> columns,
                           int sigma, int descriptor_bits, const Device& device) {
  check_parameters(sigma, descriptor_bits);
  if (!device.is_host())
    return cuda::build_csr5_tiles(device, rows, row_offsets, columns, sigma, descriptor_bits).tiles;
  Csr5Tiles tiles;
  tiles.rows = rows;
  tiles.nnz = row_offsets.back();
  tiles.sigma = sigma;
  tiles.descriptor_bits = descriptor_bits;
  const std::int64_t count = tiles.nnz / tiles.nonzeros_per_tile();
  tiles.tile_ptr = Array<std::uint32_t>(count + 1, Init::none);
  const offset_t tiled = tiles.tiled_nnz();
  const index_t end = tiled < tiles.nnz ? row_of_nonzero(row_offsets.data(), rows, tiled) : rows;
  tiles.tile_ptr[count] = static_cast<std::uint32_t>(end);
  if (descriptor_bits == 32) {
    build_all(tiles, row_offsets.data(), tiles.lane_words_32, device);
  } else {
    build_all(tiles, row_offsets.data(), tiles.lane_words_64, device);
  }
  tiles.columns = Array<index_t>(tiles.nnz, Init::none);
  permute(tiles, columns.data(), tiles.columns.data(), device);
  return tiles;
}

template <class T>
void permute_csr5_values(const Csr5Tiles& tiles, std::span<const T> values, std::span<T> permuted,
                         const Device& device) {
  if (!device.is_host()) return cuda::permute_csr5_values(device, tiles, values, permuted);
  permute(tiles, values.data(), permuted.data(), device);
}

template void permute_csr5_values(const Csr5Tiles&, std::span<const float>, std::span<float>, const Device&);
template void permute_csr5_values(const Csr5Tiles&, std::span<const double>, std::span<double>, const Device&);

}  // namespace tessera::detail
