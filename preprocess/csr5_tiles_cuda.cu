#include "core/cuda/reduce.cuh"
#include "core/cuda/scan.hpp"
#include "preprocess/csr5_tiles_cuda.hpp"

namespace tessera::cuda {

namespace {

constexpr int threads = 256;
constexpr int tiles_per_block = threads / warp_size;

__device__ void set_flags(std::uint32_t* word, std::uint32_t flags) { atomicOr(word, flags); }
__device__ void set_flags(std::uint64_t* word, std::uint64_t flags) {
  static_assert(sizeof(unsigned long long) == sizeof(std::uint64_t));
  atomicOr(reinterpret_cast<unsigned long long*>(word), static_cast<unsigned long long>(flags));
}

__device__ int count_flags(std::uint32_t flags) { return __popc(flags); }
__device__ int count_flags(std::uint64_t flags) { return __popcll(static_cast<unsigned long long>(flags)); }

/// What the kernels need to know of the tiles.
template <class Word>
struct Shape {
  index_t rows;
  const offset_t* row_offsets;
  int sigma;
  std::int64_t tiles;
  Word* words;
  std::uint32_t* tile_ptr;

  [[nodiscard]] TESSERA_HOST_DEVICE offset_t tile_nonzeros() const noexcept { return offset_t{lanes_per_tile} * sigma; }
};

/// words[l] gets the bits of the nonzeros of lane l that begin a row.
template <class Word>
void mark_row_starts(const Device& device, const Shape<Word>& shape) {
  for_each(device, shape.rows, [=] __device__(std::int64_t row) {
    const offset_t begin = shape.row_offsets[row];
    if (begin >= shape.tiles * shape.tile_nonzeros() || begin == shape.row_offsets[row + 1]) return;
    set_flags(shape.words + begin / shape.sigma, Word{1} << (begin % shape.sigma));
  });
}

/// A warp a tile: flags become descriptors. \param segments entries that each tile needs in empty_offset
template <class Word>
__global__ void __launch_bounds__(threads) describe_tiles_kernel(Shape<Word> shape, offset_t* segments) {
  const std::int64_t tile = std::int64_t{blockIdx.x} * tiles_per_block + threadIdx.x / warp_size;
  if (tile >= shape.tiles) return;
  const int lane = static_cast<int>(threadIdx.x % warp_size);
  // Lane 0 looks for the row of the first nonzero, the others for that of the last.
  const offset_t begin = tile * shape.tile_nonzeros();
  const index_t row =
      row_of_nonzero(shape.row_offsets, shape.rows, lane == 0 ? begin : begin + shape.tile_nonzeros() - 1);
  const index_t first_row = __shfl_sync(full_warp, row, 0);
  const index_t last_row = __shfl_sync(full_warp, row, 1);
  Word* const word = shape.words + tile * lanes_per_tile + lane;
  const Word flags = lane == 0 ? *word | Word{1} : *word;
  const unsigned starting = __ballot_sync(full_warp, flags != 0);
  const int own = count_flags(flags);
  int sum = own;
  for (unsigned distance = 1; distance < warp_size; distance *= 2) {
    const int other = __shfl_up_sync(full_warp, sum, distance);
    if (lane >= static_cast<int>(distance)) sum += other;
  }
  *word = pack_csr5_lane<Word>({flags, static_cast<std::uint32_t>(sum - own), csr5_seg_offset(starting, lane)},
                               shape.sigma);
  if (lane != warp_size - 1) return;
  const bool consecutive = last_row - first_row == sum - 1;
  shape.tile_ptr[tile] = static_cast<std::uint32_t>(first_row) | (consecutive ? 0 : empty_row_mark);
  segments[tile] = consecutive ? 0 : sum;
}

/// Row of the first nonzero beyond the tiles, or the number of rows when there is none.
template <class Word>
void write_last_pointer(const Device& device, const Shape<Word>& shape, offset_t nnz) {
  for_each(device, 1, [=] __device__(std::int64_t) {
    const offset_t tiled = shape.tiles * shape.tile_nonzeros();
    shape.tile_ptr[shape.tiles] =
        static_cast<std::uint32_t>(tiled < nnz ? row_of_nonzero(shape.row_offsets, shape.rows, tiled) : shape.rows);
  });
}

/// The rows of the segments of marked tiles, but for the first segments, whose entries are zero.
template <class Word>
void fill_empty_offset(const Device& device, const Shape<Word>& shape, const offset_t* empty_ptr,
                       std::uint32_t* empty_offset) {
  for_each(device, shape.rows, [=] __device__(std::int64_t row) {
    const offset_t begin = shape.row_offsets[row];
    if (begin >= shape.tiles * shape.tile_nonzeros() || begin == shape.row_offsets[row + 1]) return;
    const std::int64_t tile = begin / shape.tile_nonzeros();
    const std::uint32_t pointer = shape.tile_ptr[tile];
    if ((pointer & empty_row_mark) == 0) return;
    const Csr5Lane<Word> lane = unpack_csr5_lane<Word>(shape.words[begin / shape.sigma], shape.sigma);
    const Word earlier = static_cast<Word>((Word{1} << (begin % shape.sigma)) - 1);
    const offset_t segment = offset_t{lane.y_offset} + count_flags(static_cast<Word>(lane.row_starts & earlier));
    empty_offset[empty_ptr[tile] + segment] = static_cast<std::uint32_t>(row) - (pointer & ~empty_row_mark);
  });
}

/// Entry j of lane l goes from l * sigma + j to j * 32 + l. A warp a tile.
template <class From, class To>
__global__ void __launch_bounds__(threads)
    permute_kernel(std::int64_t tiles, offset_t nnz, int sigma, const From* from, To* to) {
  const std::int64_t tile = std::int64_t{blockIdx.x} * tiles_per_block + threadIdx.x / warp_size;
  const int lane = static_cast<int>(threadIdx.x % warp_size);
  const offset_t first = tile * lanes_per_tile * sigma;
  if (tile < tiles) {
    for (int j = 0; j < sigma; ++j)
      to[first + j * lanes_per_tile + lane] = static_cast<To>(from[first + lane * sigma + j]);
  } else if (tile == tiles) {  // beyond the tiles nothing moves
    for (offset_t k = first + lane; k < nnz; k += warp_size) to[k] = static_cast<To>(from[k]);
  }
}

template <class From, class To>
void permute(const Device& device, const Csr5Tiles& tiles, const From* from, To* to) {
  if (tiles.nnz == 0) return;
  const CurrentDevice current(device);
  launch("permuting into tiles", Context::of(device), Grid{blocks_for(tiles.tiles() + 1, tiles_per_block), threads},
         permute_kernel<From, To>, tiles.tiles(), tiles.nnz, tiles.sigma, from, to);
}

template <class Word>
void describe_tiles(const Device& device, std::span<const offset_t> row_offsets, Csr5Tiles& tiles, Array<Word>& words) {
  const CurrentDevice current(device);
  const std::int64_t count = tiles.tiles();
  words = Array<Word>(count * lanes_per_tile, Init::zero, device);
  const Shape<Word> shape{tiles.rows, row_offsets.data(), tiles.sigma, count, words.data(), tiles.tile_ptr.data()};
  write_last_pointer(device, shape, tiles.nnz);
  if (count == 0) return;
  mark_row_starts(device, shape);
  Array<offset_t> empty_ptr(count + 1, Init::zero, device);
  launch("making tile descriptors", Context::of(device), Grid{blocks_for(count, tiles_per_block), threads},
         describe_tiles_kernel<Word>, shape, empty_ptr.data());
  const offset_t total = exclusive_sum(device, empty_ptr.span());
  if (total == 0) return;
  tiles.empty_ptr = std::move(empty_ptr);
  tiles.empty_offset = Array<std::uint32_t>(total, Init::zero, device);
  fill_empty_offset(device, shape, tiles.empty_ptr.data(), tiles.empty_offset.data());
}

}  // namespace

Csr5Tiles build_csr5_tiles(const Device& device, index_t rows, std::span<const offset_t> row_offsets,
                           std::span<const index_t> columns, int sigma, int descriptor_bits) {
  Csr5Tiles tiles;
  tiles.rows = rows;
  tiles.nnz = static_cast<offset_t>(columns.size());
  tiles.sigma = sigma;
  tiles.descriptor_bits = descriptor_bits;
  tiles.tile_ptr = Array<std::uint32_t>(tiles.nnz / tiles.nonzeros_per_tile() + 1, Init::none, device);
  if (descriptor_bits == 32) {
    describe_tiles(device, row_offsets, tiles, tiles.lane_words_32);
  } else {
    describe_tiles(device, row_offsets, tiles, tiles.lane_words_64);
  }
  tiles.columns = Array<index_t>(tiles.nnz, Init::none, device);
  permute(device, tiles, columns.data(), tiles.columns.data());
  return tiles;
}

template <class From, class To>
void permute_csr5_values(const Device& device, const Csr5Tiles& tiles, std::span<const From> values,
                         std::span<To> permuted) {
  permute(device, tiles, values.data(), permuted.data());
}

template void permute_csr5_values(const Device&, const Csr5Tiles&, std::span<const float>, std::span<float>);
template void permute_csr5_values(const Device&, const Csr5Tiles&, std::span<const double>, std::span<double>);
template void permute_csr5_values(const Device&, const Csr5Tiles&, std::span<const double>, std::span<float>);

}  // namespace tessera::cuda
