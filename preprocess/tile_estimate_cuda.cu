/// \file
/// A sample of tile rows counted on a GPU: a block per tile row, a warp per row. A bitmap marks the tile columns of one
/// window after the other; windows begin where entries do.
#include "core/cuda/context.hpp"
#include "core/cuda/launch.cuh"
#include "core/cuda/warp.cuh"
#include "preprocess/tile_estimate.hpp"
#include "tessera/array.hpp"

#include <mutex>

namespace tessera::cuda {

using namespace detail;

namespace {

constexpr int threads = tile_size * warp_size;
/// Tile columns of a window: a bit each, a word per lane.
constexpr index_t window_columns = warp_size * 32;

/// What a block shares about its tile row.
struct SampleWindow {
  unsigned words[warp_size];
  index_t next_of_row[tile_size];  ///< tile columns
  offset_t entries_of_row[tile_size];
};

/// The entries of a row that were not counted yet. The same in all lanes of a warp.
struct RowRest {
  const index_t* columns;
  offset_t at;
  offset_t end;

  [[nodiscard]] __device__ index_t next() const { return at < end ? tile_of(columns[at]) : TileMerge::no_tile; }
  /// End of the entries of tile columns up to `last`; calls visit(tile column) for each of them.
  template <class Visit>
  __device__ offset_t end_of(index_t last, int lane, const Visit& visit) const {
    for (offset_t k = at; k < end; k += warp_size) {
      const bool exists = k + lane < end;
      const index_t tile_column = exists ? tile_of(columns[k + lane]) : 0;
      const bool inside = exists && tile_column <= last;
      if (inside) visit(tile_column);
      const int count = __popc(__ballot_sync(full_warp, inside));
      if (count < warp_size) return k + count;
    }
    return end;
  }
};

/// First tile column of the next window; no_tile at the end. Every thread must call; holds a barrier.
[[nodiscard]] __device__ index_t next_window(const RowRest& row, int r, int lane, SampleWindow& window) {
  if (lane == 0) window.next_of_row[r] = row.next();
  __syncthreads();
  index_t first = TileMerge::no_tile;
  for (int i = 0; i < tile_size; ++i) first = min(first, window.next_of_row[i]);
  if (threadIdx.x < warp_size) window.words[threadIdx.x] = 0;
  __syncthreads();
  return first;
}

/// Place of set bit number `rank`, from 0.
[[nodiscard]] __device__ int place_of_bit(unsigned bits, int rank) {
  for (; rank > 0; --rank) bits &= bits - 1;
  return __ffs(static_cast<int>(bits)) - 1;
}

/// Tile column of tile number `rank`, from 0, of a window. \param word, up_to of this lane: its bits, and those up to
/// it
[[nodiscard]] __device__ index_t column_of_tile(index_t first, unsigned word, int up_to, int rank, int lane) {
  const int before = up_to - __popc(word);
  const bool is_here = before <= rank && rank < up_to;
  const index_t column = is_here ? first + 32 * lane + place_of_bit(word, rank - before) : 0;
  const unsigned found = __ballot_sync(full_warp, is_here);
  return __shfl_sync(full_warp, column, __ffs(static_cast<int>(found)) - 1);
}

__global__ void __launch_bounds__(threads)
    sample_kernel(CsrStructurePointers a, SampledTileRows sample, offset_t most, CountedTiles* counted) {
  __shared__ SampleWindow window;
  const int lane = static_cast<int>(threadIdx.x % warp_size);
  const int r = static_cast<int>(threadIdx.x / warp_size);
  const index_t tile_row = sample.at(blockIdx.x, a);
  RowRest row{a.columns, a.begin_of(tile_row, r), a.begin_of(tile_row, r + 1)};
  offset_t tiles = 0;
  offset_t entries = 0;
  while (tiles < most) {
    const index_t first = next_window(row, r, lane, window);
    if (first == TileMerge::no_tile) break;
    const offset_t end = row.end_of(first + window_columns - 1, lane, [&](index_t tile_column) {
      const unsigned place = static_cast<unsigned>(tile_column - first);
      const unsigned bit = 1U << place % 32;
      unsigned* const word = &window.words[place / 32];
      if ((*static_cast<volatile unsigned*>(word) & bit) == 0) atomicOr(word, bit);
    });
    __syncthreads();
    const unsigned word = window.words[lane];
    const int up_to = sum_up_to_lane(__popc(word));
    const int found = __shfl_sync(full_warp, up_to, warp_size - 1);
    offset_t counted_end = end;
    if (tiles + found > most) {
      const index_t last = column_of_tile(first, word, up_to, static_cast<int>(most - tiles) - 1, lane);
      counted_end = row.end_of(last, lane, [](index_t) {});
    }
    entries += counted_end - row.at;
    row.at = end;
    tiles = tiles + found > most ? most : tiles + found;
  }
  if (lane == 0) window.entries_of_row[r] = entries;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int i = 1; i < tile_size; ++i) entries += window.entries_of_row[i];
  counted[blockIdx.x] = {tiles, entries};
}

}  // namespace

void enqueue_sample(const Context& context, const CsrStructurePointers& a, const SampledTileRows& sample, offset_t most,
                    CountedTiles* counted) {
  if (sample.count == 0) return;
  launch("sample of tile rows", context, Grid{static_cast<unsigned>(sample.count), threads}, sample_kernel, a, sample,
         most, counted);
}

TwoSums count_sample(const CsrStructurePointers& a, const SampledTileRows& sample, offset_t most,
                     const Device& device) {
  const Context& context = Context::of(device);
  const DeviceGuard current(device);
  if (sample.count <= most_direct_samples) {
    SumSpace& space = context.sum_space();
    const std::scoped_lock alone(space.mutex);
    auto* const counted = static_cast<CountedTiles*>(space.on_host);
    enqueue_sample(context, a, sample, most, counted);
    context.synchronize();
    return sum_of({counted, static_cast<std::size_t>(sample.count)});
  }
  Array<CountedTiles> counted(sample.count, Init::none, device);
  enqueue_sample(context, a, sample, most, counted.data());
  const Array<CountedTiles> here = counted.to(Device{});
  return sum_of(here.span());
}

}  // namespace tessera::cuda
