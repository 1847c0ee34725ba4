/// Cutting the rows of a level schedule into tasks, and their entries in the order in which warps read them.
#include "core/csr_pointers.hpp"
#include "core/cuda/reduce.cuh"
#include "core/cuda/scan.hpp"
#include "core/value_passes.hpp"
#include "solvers/factors/packed_triangle.hpp"

#include <algorithm>

namespace tessera::cuda {

using namespace detail;

namespace {

constexpr int pack_threads = 256;
constexpr int tasks_of_block = pack_threads / warp_size;

/// Tasks of all levels, on the host.
void cut_into_tasks(const DeviceLevels& schedule, std::vector<TriangularTask>& tasks,
                    std::vector<index_t>& level_tasks) {
  index_t row = 0;
  for (index_t level = 0; level < schedule.levels; ++level) {
    level_tasks.push_back(static_cast<index_t>(tasks.size()));
    for (int lanes = 0; lanes < lane_classes; ++lanes) {
      const index_t room = warp_size >> lanes;
      const auto group = static_cast<std::size_t>(level) * lane_classes + static_cast<std::size_t>(lanes);
      for (index_t left = schedule.counts[group]; left > 0; left -= room) {
        const index_t rows = std::min(left, room);
        tasks.push_back({row, static_cast<std::uint16_t>(rows), static_cast<std::uint16_t>(lanes)});
        row += rows;
      }
    }
  }
  level_tasks.push_back(static_cast<index_t>(tasks.size()));
}

/// What a lane of a task has of a row.
struct LaneOfTask {
  unsigned active;  ///< lanes of the task
  bool takes_part;
  index_t position;  ///< of its row
  offset_t first;    ///< its first entry in the row

  __device__ explicit LaneOfTask(const TriangularTask& task)
      : active(static_cast<unsigned>(task.rows) << task.lanes_log2),
        takes_part(threadIdx.x % warp_size < active),
        position(task.first_row + static_cast<index_t>((threadIdx.x % warp_size) >> task.lanes_log2)),
        first(static_cast<offset_t>(threadIdx.x % (1u << task.lanes_log2))) {}
};

/// Places of the entries of every task. A warp per task.
__global__ void __launch_bounds__(pack_threads)
    task_sizes_kernel(std::int64_t count, const TriangularTask* tasks, const index_t* order, const offset_t* offsets,
                      offset_t* sizes) {
  const std::int64_t t = std::int64_t{blockIdx.x} * tasks_of_block + threadIdx.x / warp_size;
  if (t >= count) return;
  const TriangularTask task = tasks[t];
  const LaneOfTask lane(task);
  unsigned entries = 0;
  if (lane.takes_part) {
    const index_t row = order[lane.position];
    const offset_t lanes = offset_t{1} << task.lanes_log2;
    entries = static_cast<unsigned>((offsets[row + 1] - offsets[row] + lanes - 1) / lanes);
  }
  entries = __reduce_max_sync(full_warp, entries);
  if (threadIdx.x % warp_size == 0) sizes[t] = offset_t{entries} * lane.active;
}

template <class T>
__global__ void __launch_bounds__(pack_threads)
    pack_kernel(std::int64_t count, const TriangularTask* tasks, const offset_t* begins, const index_t* order,
                const index_t* positions, CsrPointers<T> from, index_t* columns, T* values) {
  const std::int64_t t = std::int64_t{blockIdx.x} * tasks_of_block + threadIdx.x / warp_size;
  if (t >= count) return;
  const TriangularTask task = tasks[t];
  const LaneOfTask lane(task);
  if (!lane.takes_part) return;
  const index_t row = order[lane.position];
  const offset_t end = from.offsets[row + 1];
  offset_t k = from.offsets[row] + lane.first;
  for (offset_t to = begins[t] + threadIdx.x % warp_size; to < begins[t + 1]; to += lane.active) {
    columns[to] = k < end ? positions[from.columns[k]] : -1;
    values[to] = k < end ? value_at(from, k) : T{0};
    k += offset_t{1} << task.lanes_log2;
  }
}

}  // namespace

template <class T>
PackedTriangle<T> pack_triangle(const TriangularFactor<T>& factor, const DeviceLevels& schedule,
                                const Array<index_t>& positions, const Device& device) {
  PackedTriangle<T> rows;
  rows.rows = factor.strict.rows();
  rows.levels = schedule.levels;
  std::vector<TriangularTask> tasks;
  cut_into_tasks(schedule, tasks, rows.level_tasks);
  const auto count = static_cast<std::int64_t>(tasks.size());
  rows.tasks = Array<TriangularTask>::copy_of(tasks, device);
  rows.level_tasks_on_gpu = Array<index_t>::copy_of(rows.level_tasks, device);
  rows.begins = Array<offset_t>(count + 1, Init::zero, device);
  if (count == 0) return rows;
  const Context& context = Context::of(device);
  const DeviceGuard current(device);
  const Grid grid{blocks_for(count, tasks_of_block), pack_threads};
  const CsrPointers<T> from = pointers_of(factor.strict.view());
  launch("sizes of triangular tasks", context, grid, task_sizes_kernel, count, rows.tasks.data(), schedule.order.data(),
         from.offsets, rows.begins.data());
  const offset_t entries = exclusive_sum(device, rows.begins.span());
  rows.columns = Array<index_t>(entries, Init::none, device);
  rows.values = Array<T>(entries, Init::none, device);
  launch("entries of triangular tasks", context, grid, pack_kernel<T>, count, rows.tasks.data(), rows.begins.data(),
         schedule.order.data(), positions.data(), from, rows.columns.data(), rows.values.data());
  if (!factor.inverse_diagonal.empty()) {
    rows.inverse_diagonal = Array<T>(rows.rows, Init::none, device);
    gather_values<T>(device, schedule.order.span(), factor.inverse_diagonal.span(), rows.inverse_diagonal.span());
  }
  return rows;
}

Array<index_t> inverse_order(const Array<index_t>& order) {
  Array<index_t> positions(order.size(), Init::none, order.device());
  for_each(order.device(), order.size(), [from = order.data(), to = positions.data()] __device__(std::int64_t i) {
    to[from[i]] = static_cast<index_t>(i);
  });
  return positions;
}

template PackedTriangle<float> pack_triangle(const TriangularFactor<float>&, const DeviceLevels&, const Array<index_t>&,
                                             const Device&);
template PackedTriangle<double> pack_triangle(const TriangularFactor<double>&, const DeviceLevels&,
                                              const Array<index_t>&, const Device&);

}  // namespace tessera::cuda
