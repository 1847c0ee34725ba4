/// \file
/// Halo lists on a GPU: one radix sort by segment and column brings equal columns together.
#include "spmv/blocked/halo_lists.hpp"

#include "core/cuda/launch.cuh"
#include "core/cuda/radix_sort.hpp"
#include "core/cuda/reduce.cuh"
#include "core/cuda/scan.hpp"
#include "core/cuda/shared_memory.cuh"
#include "core/cuda/warp.cuh"
#include "spmv/blocked/segment_cuts.hpp"
#include "tessera/error.hpp"

#include <algorithm>
#include <bit>
#include <vector>

namespace tessera::cuda {

namespace {

using detail::SnappedTiles;
using detail::TileStart;

constexpr int number_threads = 1024;

/// Bits of a key, from the lowest: number of the nonzero in its segment, column, segment.
struct KeyBits {
  int column = 0;
  int segment = 0;

  [[nodiscard]] TESSERA_HOST_DEVICE int end() const { return segment_offset_bits + column + segment; }
  [[nodiscard]] __device__ std::uint64_t key(index_t s, index_t c, offset_t number) const {
    const std::uint64_t high = static_cast<std::uint64_t>(s) << column | static_cast<std::uint64_t>(c);
    return high << segment_offset_bits | static_cast<std::uint64_t>(number);
  }
  [[nodiscard]] __device__ index_t column_of(std::uint64_t key) const {
    return static_cast<index_t>(key >> segment_offset_bits & ((std::uint64_t{1} << column) - 1));
  }
  [[nodiscard]] __device__ static offset_t number_of(std::uint64_t key) {
    return static_cast<offset_t>(key & ((std::uint64_t{1} << segment_offset_bits) - 1));
  }
};

/// What a block that works for a segment needs to know.
struct NumberedSegments {
  const std::int64_t* tiles = nullptr;
  const TileStart* starts = nullptr;
  KeyBits bits;

  [[nodiscard]] __device__ offset_t first_nonzero(index_t s) const { return starts[tiles[s]].x; }
};

__global__ void __launch_bounds__(number_threads)
    make_keys_kernel(NumberedSegments segments, const index_t* columns, std::uint64_t* keys) {
  const auto s = static_cast<index_t>(blockIdx.x);
  const offset_t begin = segments.first_nonzero(s);
  const offset_t end = segments.first_nonzero(s + 1);
  for (offset_t k = begin + threadIdx.x; k < end; k += number_threads) {
    keys[k] = segments.bits.key(s, __ldcs(columns + k), k - begin);
  }
}

/// What numbering writes; see HaloArrays.
struct NumberedColumns {
  std::uint16_t* cell_begins = nullptr;
  std::uint16_t* positions = nullptr;
  std::uint16_t* columns = nullptr;
};

/// Cells of a segment, then positions of its nonzeros and columns of its slots, by one block per segment.
template <class T>
class SegmentNumbering {
  static constexpr unsigned group = halo_group<T>;

 public:
  __device__ SegmentNumbering(const NumberedSegments& segments, const std::uint64_t* keys, const HaloArrays& halos)
      : bits_(segments.bits),
        halos_(halos),
        s_(static_cast<index_t>(blockIdx.x)),
        first_(segments.first_nonzero(s_)),
        count_(static_cast<int>(segments.first_nonzero(s_ + 1) - first_)),
        keys_(keys + first_),
        counts_(reinterpret_cast<unsigned*>(dynamic_shared_memory())),
        begins_(counts_ + halos.blocks) {}

  /// Distinct columns per block, in counts_.
  __device__ void count_cells() {
    for (int b = static_cast<int>(threadIdx.x); b < halos_.blocks; b += number_threads) counts_[b] = 0;
    __syncthreads();
    for (int i = static_cast<int>(threadIdx.x); i < count_; i += number_threads) {
      if (is_first(i)) atomicAdd(counts_ + block_of(bits_.column_of(keys_[i])), 1u);
    }
    __syncthreads();
  }

  /// Turns the counts into the number of distinct columns before each block. \returns the length of the list
  __device__ unsigned place_cells() {
    __shared__ unsigned of_warps[2][number_threads / warp_size];
    unsigned slots = 0;
    unsigned ranks = 0;
    for (int base = 0; base < halos_.blocks; base += number_threads) {
      const int b = base + static_cast<int>(threadIdx.x);
      const unsigned count = b < halos_.blocks ? counts_[b] : 0;
      const auto padded = running_sum_in_block<number_threads, true>((count + group - 1) / group * group, of_warps[0]);
      const auto distinct = running_sum_in_block<number_threads, true>(count, of_warps[1]);
      if (b < halos_.blocks) {
        begins_[b] = slots + padded.before;
        counts_[b] = ranks + distinct.before;
      }
      slots += padded.total;
      ranks += distinct.total;
    }
    __syncthreads();
    return slots;
  }

  __device__ void write_cells(unsigned length, std::uint16_t* cell_begins) const {
    std::uint16_t* const mine = cell_begins + std::int64_t{s_} * (halos_.blocks + 1);
    for (int b = static_cast<int>(threadIdx.x); b < halos_.blocks; b += number_threads) {
      mine[b] = static_cast<std::uint16_t>(begins_[b]);
    }
    if (threadIdx.x == 0) mine[halos_.blocks] = static_cast<std::uint16_t>(length);
  }

  __device__ void number(const NumberedColumns& out) const {
    __shared__ unsigned of_warps[number_threads / warp_size];
    const std::uint32_t* const origins = halos_.cell_origins + std::int64_t{s_} * halos_.blocks;
    unsigned before = 0;
    for (int base = 0; base < count_; base += number_threads) {
      const int i = base + static_cast<int>(threadIdx.x);
      const bool first = i < count_ && is_first(i);
      const auto sum = running_sum_in_block<number_threads, true>(first ? 1u : 0u, of_warps);
      if (i < count_) {
        const index_t column = bits_.column_of(keys_[i]);
        const int b = block_of(column);
        const unsigned in_cell = before + sum.before + (first ? 1u : 0u) - 1u - counts_[b];
        out.positions[first_ + KeyBits::number_of(keys_[i])] = static_cast<std::uint16_t>(begins_[b] + in_cell);
        if (first) {
          out.columns[std::int64_t{origins[b]} * halo_quad<T> + in_cell] =
              static_cast<std::uint16_t>(column - b * halos_.column_block);
        }
      }
      before += sum.total;
    }
  }

 private:
  [[nodiscard]] __device__ bool is_first(int i) const {
    return i == 0 || bits_.column_of(keys_[i]) != bits_.column_of(keys_[i - 1]);
  }
  [[nodiscard]] __device__ int block_of(index_t column) const { return column / halos_.column_block; }

  KeyBits bits_;
  HaloArrays halos_;
  index_t s_;
  offset_t first_;
  int count_;
  const std::uint64_t* keys_;
  unsigned* counts_;  ///< per block of columns
  unsigned* begins_;  ///< of its cell, in the list
};

/// \tparam Place whether the cells are written, or, once it is known where they lie in memory, what they hold
template <class T, bool Place>
__global__ void __launch_bounds__(number_threads)
    number_columns_kernel(NumberedSegments segments, const std::uint64_t* keys, HaloArrays halos, NumberedColumns out) {
  SegmentNumbering<T> segment(segments, keys, halos);
  segment.count_cells();
  const unsigned length = segment.place_cells();
  if constexpr (Place) {
    segment.write_cells(length, out.cell_begins);
  } else {
    segment.number(out);
  }
}

[[nodiscard]] int bits_of(std::int64_t largest) {
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(largest)));
}

/// Quads of each cell, block of columns by block, for a scan.
template <class T>
struct CellLengths {
  HaloArrays halos;
  offset_t* lengths;

  __device__ void operator()(std::int64_t i) const {
    const std::int64_t b = i / halos.segments;
    const std::uint16_t* const begin = halos.cell_begins + i % halos.segments * (halos.blocks + 1) + b;
    lengths[i] = b < halos.blocks ? (begin[1] - begin[0]) / halo_quad<T> : 0;
  }
};

/// The scan by segments, and where each block of columns begins.
struct CellOrigins {
  HaloArrays halos;
  const offset_t* scanned;
  std::uint32_t* origins;
  offset_t* begins;

  __device__ void operator()(std::int64_t i) const {
    const std::int64_t b = i / halos.segments;
    const std::int64_t s = i % halos.segments;
    if (s == 0) begins[b] = scanned[i];
    if (b < halos.blocks) origins[s * halos.blocks + b] = static_cast<std::uint32_t>(scanned[i]);
  }
};

[[nodiscard]] SegmentRules cut_rules(const HaloLists& halos, int group) {
  return {halos.shape.tiles_per_cut, halos.shape.column_block, halos.blocks, halos.shape.capacity, group};
}

/// Members of what HaloLists is built from, in the order in which they are known.
template <class T>
class HaloBuilder {
  static constexpr int group = halo_group<T>;

 public:
  HaloBuilder(const Device& device, index_t cols, std::span<const index_t> columns, const SnappedTiles& tiles,
              const BlockedShape& shape)
      : device_(device), context_(Context::of(device)), columns_(columns), tiles_(tiles) {
    halos_.cols = cols;
    halos_.shape = shape;
    const std::int64_t blocks = blocks_of_columns(cols, shape.column_block);
    check_column_blocks(blocks, cols, shape);
    halos_.blocks = static_cast<int>(blocks);
  }

  HaloLists build() && {
    const DeviceGuard current(device_);
    const std::vector<std::int64_t> cut = cut_segments(device_, columns_, tiles_, cut_rules(halos_, group));
    halos_.tiles = Array<std::int64_t>::copy_of(std::span<const std::int64_t>(cut), device_);
    const std::int64_t segments = halos_.segments();
    const auto nnz = static_cast<std::int64_t>(columns_.size());
    check_cells(segments, halos_.blocks, nnz);
    halos_.positions = Array<std::uint16_t>(nnz, Init::none, device_);
    halos_.cell_begins = Array<std::uint16_t>(segments * (halos_.blocks + 1), Init::none, device_);
    halos_.cell_origins = Array<std::uint32_t>(segments * halos_.blocks, Init::none, device_);
    if (segments == 0) return std::move(halos_);
    const Array<std::uint64_t> keys = sorted_keys();
    number<true>(keys);
    place_cells();
    number<false>(keys);
    return std::move(halos_);
  }

 private:
  /// The nonzeros by segment and column.
  [[nodiscard]] Array<std::uint64_t> sorted_keys() {
    const auto nnz = static_cast<std::int64_t>(columns_.size());
    bits_.column = bits_of(std::max<index_t>(halos_.cols - 1, 1));
    bits_.segment = bits_of(halos_.segments() - 1);
    if (bits_.end() > 64) throw NotSupported("kernel blocked: the matrix is too large for its sort keys");
    Array<std::uint64_t> keys(nnz, Init::none, device_);
    Array<std::uint64_t> other(nnz, Init::none, device_);
    launch("keys of nonzeros", context_, Grid{static_cast<unsigned>(halos_.segments()), number_threads},
           make_keys_kernel, numbered(), columns_.data(), keys.data());
    if (nnz > 0) enqueue_sort(device_, keys, other, one_segment(nnz), segment_offset_bits, bits_.end());
    return keys;
  }

  [[nodiscard]] NumberedSegments numbered() const { return {halos_.tiles.data(), tiles_.starts.data(), bits_}; }

  template <bool Place>
  void number(const Array<std::uint64_t>& keys) {
    const Grid grid{static_cast<unsigned>(halos_.segments()), number_threads,
                    2 * static_cast<std::size_t>(halos_.blocks) * sizeof(unsigned)};
    launch("numbering of columns", context_, grid, number_columns_kernel<T, Place>, numbered(), keys.data(),
           halos_.arrays(), NumberedColumns{halos_.cell_begins.data(), halos_.positions.data(), halos_.columns.data()});
  }

  /// Cells one after the other, those of a block of columns together; items of work.
  void place_cells() {
    const std::int64_t segments = halos_.segments();
    const std::int64_t blocks = halos_.blocks;
    Array<offset_t> origins(segments * blocks + 1, Init::none, device_);
    for_each(device_, origins.size(), CellLengths<T>{halos_.arrays(), origins.data()});
    exclusive_sum_on_device(device_, origins.span());
    Array<offset_t> begins(blocks + 1, Init::none, device_);
    for_each(device_, segments * blocks + 1,
             CellOrigins{halos_.arrays(), origins.data(), halos_.cell_origins.data(), begins.data()});
    const Array<offset_t> on_host = begins.to(Device{});
    const std::int64_t wanted = std::int64_t{items_per_multiprocessor} * context_.multiprocessors();
    const std::vector<HaloItem> items = make_halo_items(on_host.span(), wanted);
    halos_.items = Array<HaloItem>::copy_of(std::span<const HaloItem>(items), device_);
    halos_.columns = Array<std::uint16_t>(on_host[blocks] * halo_quad<T>, Init::zero, device_);
  }

  Device device_;
  const Context& context_;
  std::span<const index_t> columns_;
  const SnappedTiles& tiles_;
  KeyBits bits_;
  HaloLists halos_;
};

}  // namespace

template <class T>
HaloLists build_halo_lists(const Device& device, index_t cols, std::span<const index_t> columns,
                           const SnappedTiles& tiles, const BlockedShape& shape) {
  return HaloBuilder<T>(device, cols, columns, tiles, shape).build();
}

template HaloLists build_halo_lists<float>(const Device&, index_t, std::span<const index_t>, const SnappedTiles&,
                                           const BlockedShape&);
template HaloLists build_halo_lists<double>(const Device&, index_t, std::span<const index_t>, const SnappedTiles&,
                                            const BlockedShape&);

}  // namespace tessera::cuda
