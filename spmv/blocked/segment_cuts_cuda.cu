/// \file
/// Segments of the blocked product on a GPU: hash tables in shared memory count distinct columns while a segment grows.
#include "spmv/blocked/segment_cuts.hpp"

#include "core/cuda/launch.cuh"
#include "core/cuda/shared_memory.cuh"
#include "spmv/blocked/blocked_tuning.hpp"
#include "tessera/array.hpp"

#include <algorithm>

namespace tessera::cuda {

namespace {

using detail::TileStart;

constexpr unsigned no_column = 0xffffffffu;

/// Segments end between tiles of different groups of tiles.
struct CutRules {
  const TileStart* starts = nullptr;
  std::int64_t tiles = 0;
  int tiles_per_cut = 1;
  std::int64_t cuts = 0;    ///< groups of tiles
  std::int64_t strips = 0;  ///< each is cut by itself
  index_t column_block = 1;
  int column_blocks = 1;
  unsigned capacity = 0;  ///< slots of a halo list
  unsigned group = 1;
  unsigned table_slots = 0;  ///< of the hash table, more than the capacity and the columns of a group of tiles

  [[nodiscard]] TESSERA_HOST_DEVICE std::int64_t first_tile(std::int64_t cut) const {
    const std::int64_t tile = cut * tiles_per_cut;
    return tile < tiles ? tile : tiles;
  }
  [[nodiscard]] __device__ offset_t first_nonzero(std::int64_t cut) const { return starts[first_tile(cut)].x; }
};

/// The distinct columns of a segment while it grows, in shared memory.
class SegmentColumns {
 public:
  __device__ SegmentColumns(const CutRules& rules, unsigned* memory, unsigned* slots)
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
      // Most places are taken, many by this column: a load is cheaper than an atomic operation.
      unsigned found = *static_cast<volatile unsigned*>(table_ + place);
      if (found == no_column) found = atomicCAS(table_ + place, no_column, column);
      if (found == column) return;
      if (found == no_column) break;
      place = place + 1 == rules_.table_slots ? 0 : place + 1;
    }
    // Lists are padded to whole groups, block of columns by block.
    const unsigned before = atomicAdd(counts_ + column / static_cast<unsigned>(rules_.column_block), 1u);
    if (before % rules_.group == 0) atomicAdd(slots_, rules_.group);
  }

  CutRules rules_;
  unsigned* counts_;  ///< per block of columns
  unsigned* table_;
  unsigned* slots_;
};

/// Greedy segments of a strip, by one block: a segment takes groups of tiles while its list has room.
/// \param slots_of_segment per group of tiles: 1 + slots of the list of the segment that begins with it, else 0
__global__ void __launch_bounds__(cut_threads, 1)
    cut_segments_kernel(CutRules rules, const index_t* columns, unsigned* slots_of_segment) {
  __shared__ unsigned shared_slots;
  SegmentColumns table(rules, reinterpret_cast<unsigned*>(dynamic_shared_memory()), &shared_slots);
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

class Cutter {
 public:
  Cutter(const Device& device, std::span<const index_t> columns, const detail::SnappedTiles& tiles,
         const SegmentRules& rules)
      : device_(device), context_(Context::of(device)), columns_(columns) {
    rules_.starts = tiles.starts.data();
    rules_.tiles = tiles.tiles();
    rules_.tiles_per_cut = rules.tiles_per_cut;
    rules_.cuts = (rules_.tiles + rules_.tiles_per_cut - 1) / rules_.tiles_per_cut;
    const auto wanted = static_cast<std::int64_t>(columns.size()) / segments_per_strip / rules.capacity;
    rules_.strips = std::clamp<std::int64_t>(whole_waves(wanted), 1, std::max<std::int64_t>(rules_.cuts, 1));
    rules_.column_block = rules.column_block;
    rules_.column_blocks = rules.column_blocks;
    rules_.capacity = static_cast<unsigned>(rules.capacity);
    rules_.group = static_cast<unsigned>(rules.group);
    const std::int64_t shared = context_.limits().largest_shared_per_block - static_shared_bytes;
    const std::int64_t fitting = shared / static_cast<std::int64_t>(sizeof(unsigned)) - rules.column_blocks;
    rules_.table_slots = static_cast<unsigned>(std::min<std::int64_t>(fitting, 2 * rules_.capacity + 4096));
  }

  [[nodiscard]] std::vector<std::int64_t> segments() const {
    Array<unsigned> found(rules_.cuts, Init::zero, device_);
    const auto bytes = static_cast<std::size_t>(rules_.table_slots + rules_.column_blocks) * sizeof(unsigned);
    check(
        cudaFuncSetAttribute(cut_segments_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
        "asking for shared memory");
    if (rules_.cuts > 0) {
      launch("cutting segments", context_, Grid{static_cast<unsigned>(rules_.strips), cut_threads, bytes},
             cut_segments_kernel, rules_, columns_.data(), found.data());
    }
    const Array<unsigned> on_host = found.to(Device{});
    std::vector<std::int64_t> tiles;
    for (std::int64_t i = 0; i < on_host.size(); ++i) {
      if (on_host[i] != 0) tiles.push_back(rules_.first_tile(i));
    }
    tiles.push_back(rules_.tiles);
    return tiles;
  }

  /// A strip takes a multiprocessor for itself.
  [[nodiscard]] std::int64_t whole_waves(std::int64_t strips) const {
    const std::int64_t wave = context_.multiprocessors();
    return strips > wave ? strips / wave * wave : strips;
  }

  Device device_;
  const Context& context_;
  std::span<const index_t> columns_;
  CutRules rules_;
};

}  // namespace

std::vector<std::int64_t> cut_segments(const Device& device, std::span<const index_t> columns,
                                       const detail::SnappedTiles& tiles, const SegmentRules& rules) {
  const DeviceGuard current(device);
  return Cutter(device, columns, tiles, rules).segments();
}

}  // namespace tessera::cuda
