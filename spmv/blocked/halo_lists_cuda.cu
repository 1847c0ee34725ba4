/// \file
/// Halo lists on a GPU: segments are cut greedily, by hash tables of their columns; then one radix sort by segment and
/// column brings equal columns together.
#include "spmv/blocked/halo_lists.hpp"

#include "core/cuda/launch.cuh"
#include "core/cuda/radix_sort.hpp"
#include "core/cuda/reduce.cuh"
#include "core/cuda/shared_memory.cuh"
#include "core/cuda/warp.cuh"
#include "tessera/error.hpp"

#include <algorithm>
#include <bit>
#include <vector>

namespace tessera::cuda {

namespace {

using detail::SnappedTiles;
using detail::TileStart;

constexpr unsigned no_column = 0xffffffffu;
constexpr int number_threads = 1024;

/// Segments end between tiles of different groups of tiles.
struct CutRules {
  const TileStart* starts = nullptr;
  std::int64_t tiles = 0;
  int tiles_per_cut = 1;
  std::int64_t cuts = 0;    ///< groups of tiles
  std::int64_t strips = 0;  ///< each is cut by itself
  index_t column_block = 1;
  int column_blocks = 1;
  unsigned capacity = 0;     ///< slots of a halo list
  unsigned table_slots = 0;  ///< of the hash table, more than the capacity and the columns of a group of tiles

  [[nodiscard]] TESSERA_HOST_DEVICE std::int64_t first_tile(std::int64_t cut) const {
    const std::int64_t tile = cut * tiles_per_cut;
    return tile < tiles ? tile : tiles;
  }
  [[nodiscard]] __device__ offset_t first_nonzero(std::int64_t cut) const { return starts[first_tile(cut)].x; }
};

/// The distinct columns of a segment while it grows, in shared memory.
template <int Group>
class ColumnTable {
 public:
  __device__ ColumnTable(const CutRules& rules, unsigned* memory, unsigned* slots)
      : rules_(rules), counts_(memory), table_(memory + rules.column_blocks), slots_(slots) {}

  __device__ void clear() {
    for (unsigned i = threadIdx.x; i < rules_.table_slots; i += cut_threads) table_[i] = no_column;
    for (int c = static_cast<int>(threadIdx.x); c < rules_.column_blocks; c += cut_threads) counts_[c] = 0;
    if (threadIdx.x == 0) *slots_ = 0;
    __syncthreads();
  }

  /// \returns slots of the list, after the columns of a group of tiles have been added to it
  __device__ unsigned add(const index_t* columns, std::int64_t cut) {
    const offset_t end = rules_.first_nonzero(cut + 1);
    for (offset_t k = rules_.first_nonzero(cut) + threadIdx.x; k < end; k += cut_threads) {
      add(static_cast<unsigned>(__ldg(columns + k)));
    }
    __syncthreads();
    const unsigned slots = *slots_;
    __syncthreads();
    return slots;
  }

 private:
  __device__ void add(unsigned column) {
    const unsigned hash = column * 2654435769u;
    auto place = static_cast<unsigned>(std::uint64_t{hash} * rules_.table_slots >> 32);
    while (true) {
      const unsigned found = atomicCAS(table_ + place, no_column, column);
      if (found == column) return;
      if (found == no_column) break;
      place = place + 1 == rules_.table_slots ? 0 : place + 1;
    }
    // Lists are padded to whole groups, block of columns by block.
    const unsigned before = atomicAdd(counts_ + column / static_cast<unsigned>(rules_.column_block), 1u);
    if (before % Group == 0) atomicAdd(slots_, static_cast<unsigned>(Group));
  }

  CutRules rules_;
  unsigned* counts_;  ///< per block of columns
  unsigned* table_;
  unsigned* slots_;
};

/// Greedy segments of a strip, by one block: a segment takes groups of tiles while its list has room.
/// \param slots_of_segment per group of tiles: 1 + slots of the list of the segment that begins with it, else 0
template <int Group>
__global__ void __launch_bounds__(cut_threads, 1)
    cut_segments_kernel(CutRules rules, const index_t* columns, unsigned* slots_of_segment) {
  __shared__ unsigned shared_slots;
  ColumnTable<Group> table(rules, reinterpret_cast<unsigned*>(dynamic_shared_memory()), &shared_slots);
  const std::int64_t strip = blockIdx.x;
  std::int64_t begin = rules.cuts * strip / rules.strips;
  const std::int64_t end = rules.cuts * (strip + 1) / rules.strips;
  unsigned slots = 0;
  table.clear();
  for (std::int64_t cut = begin; cut < end; ++cut) {
    unsigned with = table.add(columns, cut);
    const offset_t nonzeros = rules.first_nonzero(cut + 1) - rules.first_nonzero(begin);
    const bool is_full = with > rules.capacity || nonzeros > offset_t{1} << segment_offset_bits;
    if (is_full && cut > begin) {
      if (threadIdx.x == 0) slots_of_segment[begin] = slots + 1;
      begin = cut;
      table.clear();
      with = table.add(columns, cut);
    }
    slots = with;
  }
  if (begin < end && threadIdx.x == 0) slots_of_segment[begin] = slots + 1;
}

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
  const HaloSegment* segments = nullptr;
  const TileStart* starts = nullptr;
  KeyBits bits;

  [[nodiscard]] __device__ offset_t first_nonzero(index_t s) const { return starts[segments[s].tile].x; }
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

/// Positions of the nonzeros of a segment, columns of its list and starts of its cells, by one block per segment.
template <int Group>
class SegmentNumbering {
 public:
  __device__ SegmentNumbering(const NumberedSegments& segments, const std::uint64_t* keys, const HaloArrays& halos)
      : bits_(segments.bits),
        halos_(halos),
        s_(static_cast<index_t>(blockIdx.x)),
        first_(segments.first_nonzero(s_)),
        count_(static_cast<int>(segments.first_nonzero(s_ + 1) - first_)),
        keys_(keys + first_),
        blocks_(static_cast<int>(blocks_of_columns(halos.cols, halos.column_block))),
        counts_(reinterpret_cast<unsigned*>(dynamic_shared_memory())),
        padded_(counts_ + blocks_) {}

  /// Distinct columns per block.
  __device__ void count_cells() {
    for (int c = static_cast<int>(threadIdx.x); c < blocks_; c += number_threads) counts_[c] = 0;
    __syncthreads();
    for (int i = static_cast<int>(threadIdx.x); i < count_; i += number_threads) {
      if (is_first(i)) atomicAdd(counts_ + block_of(bits_.column_of(keys_[i])), 1u);
    }
    __syncthreads();
  }

  /// Turns the counts into starts. \param cells see HaloArrays
  __device__ void place_cells(std::uint16_t* cells) {
    __shared__ unsigned of_warps[2][number_threads / warp_size];
    unsigned padded_before = 0;
    unsigned distinct_before = 0;
    for (int base = 0; base < blocks_; base += number_threads) {
      const int c = base + static_cast<int>(threadIdx.x);
      const unsigned count = c < blocks_ ? counts_[c] : 0;
      const unsigned groups = (count + Group - 1) / Group;
      const auto padded = running_sum_in_block<number_threads, true>(groups * Group, of_warps[0]);
      const auto distinct = running_sum_in_block<number_threads, true>(count, of_warps[1]);
      if (c < blocks_) {
        padded_[c] = padded_before + padded.before;
        counts_[c] = distinct_before + distinct.before;
        cells[std::int64_t{c} * halos_.segment_count + s_] = static_cast<std::uint16_t>(padded_[c]);
      }
      padded_before += padded.total;
      distinct_before += distinct.total;
    }
    if (threadIdx.x == 0) {
      cells[std::int64_t{blocks_} * halos_.segment_count + s_] = static_cast<std::uint16_t>(padded_before);
    }
    __syncthreads();
  }

  __device__ void number(std::int64_t first_slot, std::uint16_t* positions, std::uint16_t* columns) {
    __shared__ unsigned of_warps[number_threads / warp_size];
    unsigned before = 0;
    for (int base = 0; base < count_; base += number_threads) {
      const int i = base + static_cast<int>(threadIdx.x);
      const bool first = i < count_ && is_first(i);
      const auto sum = running_sum_in_block<number_threads, true>(first ? 1u : 0u, of_warps);
      if (i < count_) {
        const index_t column = bits_.column_of(keys_[i]);
        const int c = block_of(column);
        const unsigned rank = before + sum.before + (first ? 1u : 0u) - 1u;
        const unsigned slot = padded_[c] + (rank - counts_[c]);
        positions[first_ + KeyBits::number_of(keys_[i])] = static_cast<std::uint16_t>(slot);
        if (first) columns[first_slot + slot] = static_cast<std::uint16_t>(column - c * halos_.column_block);
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
  int blocks_;
  unsigned* counts_;  ///< distinct columns per block; then distinct columns before it
  unsigned* padded_;  ///< slots before it
};

template <int Group>
__global__ void __launch_bounds__(number_threads)
    number_columns_kernel(NumberedSegments segments, const std::uint64_t* keys, HaloArrays halos, std::uint16_t* cells,
                          std::uint16_t* positions, std::uint16_t* columns) {
  SegmentNumbering<Group> segment(segments, keys, halos);
  segment.count_cells();
  segment.place_cells(cells);
  segment.number(segments.segments[blockIdx.x].slot, positions, columns);
}

/// Slots of all cells of one block of columns.
__global__ void __launch_bounds__(sum_threads) sum_cells_kernel(HaloArrays halos, std::int64_t* slots_of_block) {
  const std::int64_t first = std::int64_t{blockIdx.x} * halos.segment_count;
  const std::uint16_t* const begin = halos.cells + first;
  const std::uint16_t* const end = begin + halos.segment_count;
  PlainSums<1> sum;
  for (index_t s = static_cast<index_t>(threadIdx.x); s < halos.segment_count; s += sum_threads) {
    sum.of[0] += static_cast<double>(end[s] - begin[s]);
  }
  sum = add_up_block<sum_threads>(sum);
  if (threadIdx.x == 0) slots_of_block[blockIdx.x] = static_cast<std::int64_t>(sum.of[0]);
}

[[nodiscard]] int bits_of(std::int64_t largest) {
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(largest)));
}

template <class Kernel>
void allow_shared(Kernel* kernel, std::int64_t bytes) {
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
        "asking for shared memory");
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
    blocks_ = blocks_of_columns(cols, shape.column_block);
    check_column_blocks(blocks_, cols, shape);
  }

  HaloLists build() && {
    const DeviceGuard current(device_);
    const std::vector<HaloSegment> segments = cut();
    const auto count = static_cast<std::int64_t>(segments.size()) - 1;
    check_cells(count, blocks_, static_cast<std::int64_t>(columns_.size()));
    halos_.slots = segments.back().slot;
    halos_.segments = Array<HaloSegment>::copy_of(std::span<const HaloSegment>(segments), device_);
    halos_.positions = Array<std::uint16_t>(static_cast<std::int64_t>(columns_.size()), Init::none, device_);
    halos_.columns = Array<std::uint16_t>(halos_.slots, Init::zero, device_);
    halos_.cells = Array<std::uint16_t>(count * (blocks_ + 1), Init::none, device_);
    number(count);
    share_out(count);
    return std::move(halos_);
  }

 private:
  [[nodiscard]] CutRules rules() const {
    CutRules rules;
    rules.starts = tiles_.starts.data();
    rules.tiles = tiles_.tiles();
    rules.tiles_per_cut = halos_.shape.tiles_per_cut;
    rules.cuts = (rules.tiles + rules.tiles_per_cut - 1) / rules.tiles_per_cut;
    const auto wanted = static_cast<std::int64_t>(columns_.size()) / segments_per_strip / halos_.shape.capacity;
    rules.strips = std::clamp<std::int64_t>(wanted, 1, std::max<std::int64_t>(rules.cuts, 1));
    rules.column_block = halos_.shape.column_block;
    rules.column_blocks = static_cast<int>(blocks_);
    rules.capacity = static_cast<unsigned>(halos_.shape.capacity);
    const std::int64_t shared = context_.limits().largest_shared_per_block - static_shared_bytes;
    const std::int64_t fitting = shared / static_cast<std::int64_t>(sizeof(unsigned)) - blocks_;
    rules.table_slots = static_cast<unsigned>(std::min<std::int64_t>(fitting, 2 * rules.capacity + 4096));
    return rules;
  }

  /// Greedy segments, found strip by strip side by side. \returns them, and the end of the last
  [[nodiscard]] std::vector<HaloSegment> cut() const {
    const CutRules rules = this->rules();
    Array<unsigned> found(rules.cuts, Init::zero, device_);
    const std::int64_t bytes = (rules.table_slots + blocks_) * static_cast<std::int64_t>(sizeof(unsigned));
    allow_shared(cut_segments_kernel<group>, bytes);
    if (rules.cuts > 0) {
      launch("cutting segments", context_,
             Grid{static_cast<unsigned>(rules.strips), cut_threads, static_cast<std::size_t>(bytes)},
             cut_segments_kernel<group>, rules, columns_.data(), found.data());
    }
    const Array<unsigned> on_host = found.to(Device{});
    std::vector<HaloSegment> segments;
    std::int64_t slot = 0;
    for (std::int64_t i = 0; i < on_host.size(); ++i) {
      if (on_host[i] == 0) continue;
      segments.push_back({rules.first_tile(i), slot});
      slot += on_host[i] - 1;
    }
    segments.push_back({rules.tiles, slot});
    return segments;
  }

  void number(std::int64_t count) {
    if (count == 0) return;
    const auto nnz = static_cast<std::int64_t>(columns_.size());
    NumberedSegments segments{halos_.segments.data(), tiles_.starts.data(), {}};
    segments.bits.column = bits_of(std::max<index_t>(halos_.cols - 1, 1));
    segments.bits.segment = bits_of(count - 1);
    if (segments.bits.end() > 64) throw NotSupported("kernel blocked: the matrix is too large for its sort keys");
    const Grid by_segment{static_cast<unsigned>(count), number_threads,
                          static_cast<std::size_t>(2 * blocks_) * sizeof(unsigned)};
    Array<std::uint64_t> keys(nnz, Init::none, device_);
    {
      Array<std::uint64_t> other(nnz, Init::none, device_);
      launch("keys of nonzeros", context_, Grid{by_segment.blocks, number_threads}, make_keys_kernel, segments,
             columns_.data(), keys.data());
      if (nnz > 0) {
        enqueue_sort(device_, keys, other, one_segment(nnz), segment_offset_bits, segments.bits.end());
      }
    }
    launch("numbering of columns", context_, by_segment, number_columns_kernel<group>, segments,
           static_cast<const std::uint64_t*>(keys.data()), halos_.arrays(), halos_.cells.data(),
           halos_.positions.data(), halos_.columns.data());
  }

  void share_out(std::int64_t count) {
    if (count == 0 || blocks_ == 0) return;
    Array<std::int64_t> slots(blocks_, Init::none, device_);
    launch("slots per block of columns", context_, Grid{static_cast<unsigned>(blocks_), sum_threads}, sum_cells_kernel,
           halos_.arrays(), slots.data());
    const Array<std::int64_t> on_host = slots.to(Device{});
    const std::int64_t wanted = std::int64_t{items_per_multiprocessor} * context_.multiprocessors();
    const auto items = make_halo_items(on_host.span(), static_cast<index_t>(count), wanted);
    halos_.items = Array<HaloItem>::copy_of(std::span<const HaloItem>(items), device_);
  }

  Device device_;
  const Context& context_;
  std::span<const index_t> columns_;
  const SnappedTiles& tiles_;
  std::int64_t blocks_ = 0;
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
