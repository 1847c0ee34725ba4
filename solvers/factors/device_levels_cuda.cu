/// Levels of triangular systems: level(i) = 1 + max level(j) over the entries a_ij of the triangle, by a thread per row
/// in one kernel; then a radix sort by level and lanes.
#include "core/cuda/radix_sort.hpp"
#include "core/cuda/reduce.cuh"
#include "core/cuda/relaxed.cuh"
#include "solvers/factors/device_levels.hpp"

#include <bit>
#include <cstdint>

namespace tessera::cuda {

namespace {

constexpr int level_threads = 256;
constexpr std::uint32_t no_level = ~std::uint32_t{0};
/// A key holds level and class of a row above its number.
constexpr int row_bits = 32;
constexpr int class_bits = 3;

/// Rows in the order in which they are solved, and their entries, the one that is known last at the end.
struct SidePattern {
  index_t rows;
  const offset_t* offsets;
  const index_t* columns;
  TriangleSide side;

  [[nodiscard]] __device__ index_t row(unsigned number) const {
    return side == TriangleSide::lower ? static_cast<index_t>(number) : rows - 1 - static_cast<index_t>(number);
  }
  /// Entry number k of a row.
  [[nodiscard]] __device__ index_t column(index_t row, offset_t k) const {
    return side == TriangleSide::lower ? columns[offsets[row] + k] : columns[offsets[row + 1] - 1 - k];
  }
  [[nodiscard]] __device__ offset_t length(index_t row) const { return offsets[row + 1] - offsets[row]; }
  [[nodiscard]] __device__ bool contains(index_t row, index_t column) const {
    return side == TriangleSide::lower ? column < row : column > row;
  }
};

/// A row on its way to its level.
struct LevelOfRow {
  index_t row = 0;
  offset_t k = 0;
  offset_t end = 0;
  std::uint32_t level = 0;

  /// Goes on while levels are known. \returns whether the row is done
  __device__ bool advance(const SidePattern& pattern, const std::uint32_t* levels) {
    for (; k < end; ++k) {
      const index_t column = pattern.column(row, k);
      if (!pattern.contains(row, column)) return true;
      const std::uint32_t other = load_relaxed(levels + column);
      if (other == no_level) return false;
      if (level <= other) level = other + 1;
    }
    return true;
  }
};

struct LevelCounters {
  unsigned ticket;
  int deepest;
};

/// Blocks number themselves as they start, so that a row waits for rows of blocks that run or have ended. Rows of one
/// warp may need each other: its lanes wait in one loop that all of them are in.
__global__ void __launch_bounds__(level_threads)
    levels_kernel(SidePattern pattern, std::uint32_t* levels, std::uint64_t* keys, LevelCounters* counters) {
  __shared__ unsigned block;
  if (threadIdx.x == 0) block = atomicAdd(&counters->ticket, 1u);
  __syncthreads();
  const unsigned number = block * level_threads + threadIdx.x;
  LevelOfRow state;
  bool pending = number < static_cast<unsigned>(pattern.rows);
  if (pending) {
    state.row = pattern.row(number);
    state.end = pattern.length(state.row);
  }
  while (__any_sync(full_warp, pending)) {
    if (!pending) continue;
    if (!state.advance(pattern, levels)) {
      let_others_run();
      continue;
    }
    store_relaxed(levels + state.row, state.level);
    const auto lanes = static_cast<std::uint64_t>(lanes_log2_of(state.k));
    keys[state.row] = (std::uint64_t{state.level} << class_bits | lanes) << row_bits | static_cast<unsigned>(state.row);
    pending = false;
  }
  const int deepest = __reduce_max_sync(full_warp, static_cast<int>(state.level));
  if (threadIdx.x % warp_size == 0) atomicMax(&counters->deepest, deepest);
}

}  // namespace

template <class T>
DeviceLevels levels_of(const CsrView<T>& matrix, TriangleSide side, const Device& device) {
  DeviceLevels schedule;
  const std::int64_t n = matrix.rows;
  if (n == 0) return schedule;
  const Context& context = Context::of(device);
  const DeviceGuard current(device);
  Array<std::uint64_t> keys(n, Init::none, device);
  Array<std::uint64_t> other(n, Init::none, device);
  {
    Array<std::uint32_t> levels(n, Init::none, device);
    Array<LevelCounters> counters(1, Init::zero, device);
    check(cudaMemsetAsync(levels.data(), 0xff, levels.bytes(), context.stream()), "forgetting levels");
    launch("levels of a triangular matrix", context, Grid{blocks_for(n, level_threads), level_threads}, levels_kernel,
           SidePattern{matrix.rows, matrix.row_offsets.data(), matrix.columns.data(), side}, levels.data(), keys.data(),
           counters.data());
    schedule.levels = counters.to(Device{})[0].deepest + 1;
  }
  Array<index_t> counts(std::int64_t{schedule.levels} * lane_classes, Init::zero, device);
  for_each(device, n, [keys = keys.data(), counts = counts.data()] __device__(std::int64_t i) {
    const std::uint64_t group = keys[i] >> row_bits;
    const std::uint64_t lanes = group & ((std::uint64_t{1} << class_bits) - 1);
    atomicAdd(&counts[(group >> class_bits) * lane_classes + lanes], 1);
  });
  enqueue_sort(device, keys, other, one_segment(n), row_bits,
               row_bits + class_bits + static_cast<int>(std::bit_width(static_cast<unsigned>(schedule.levels))));
  schedule.order = Array<index_t>(n, Init::none, device);
  for_each(device, n, [keys = keys.data(), order = schedule.order.data()] __device__(std::int64_t i) {
    order[i] = static_cast<index_t>(keys[i] & ((std::uint64_t{1} << row_bits) - 1));
  });
  const Array<index_t> on_host = counts.to(Device{});
  schedule.counts.assign(on_host.begin(), on_host.end());
  return schedule;
}

template DeviceLevels levels_of(const CsrView<float>&, TriangleSide, const Device&);
template DeviceLevels levels_of(const CsrView<double>&, TriangleSide, const Device&);

}  // namespace tessera::cuda
