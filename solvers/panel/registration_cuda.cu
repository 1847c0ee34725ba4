/// Kernels of the operations on panels. A thread keeps one column: the threads of a block take whole rows, and lanes
/// read consecutive elements. Sums have an order that depends on the numbers of rows and columns alone: equal bits on
/// every GPU.
#include "core/cuda/reduce.cuh"
#include "solvers/fused/block_kernels.cuh"
#include "solvers/fused/kernels.cuh"
#include "solvers/panel/panel.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace tessera::cuda {

namespace {

/// Elements of whole rows that a block of threads takes at a time.
[[nodiscard]] TESSERA_HOST_DEVICE inline int elements_at_once_of_panel(int columns) {
  return sum_threads / columns * columns;
}

/// At least two elements per thread.
[[nodiscard]] unsigned blocks_of_panel(std::int64_t n, int columns) {
  const unsigned needed = blocks_for(n, 2 * elements_at_once_of_panel(columns));
  return needed < sum_blocks ? needed : sum_blocks;
}

/// Adds the values of the threads of each column; thread j < columns returns the total of column j. Every thread calls.
/// \param shared room for a value per thread
template <class Value>
__device__ Value add_up_columns(const Value& value, int columns, Value* shared) {
  const int thread = static_cast<int>(threadIdx.x);
  const int row = thread / columns;
  int rows = sum_threads / columns;
  shared[thread] = value;
  __syncthreads();
  while (rows > 1) {
    const int half = (rows + 1) / 2;
    if (row < rows - half) shared[thread] += shared[thread + half * columns];
    __syncthreads();
    rows = half;
  }
  const Value total = shared[thread < columns ? thread : 0];
  __syncthreads();
  return total;
}

/// Ends an iteration of the panel: the norms of its columns, and whether the loop goes on. The first warp.
template <class State>
__device__ void close_panel_iteration(State* states, int columns, fused::PanelState<State>& panel,
                                      LoopControlBlock& block, double* norms) {
  const int j = static_cast<int>(threadIdx.x);
  const std::int64_t row = panel.iteration - block.first;
  if (j < columns) {
    const State& state = states[j];
    const bool completed = state.iteration != panel.noted[j];
    if (row < loop_entries) norms[row * most_panel_columns + j] = completed ? state.norm : fused::no_iteration;
    panel.noted[j] = state.iteration;
  }
  __syncwarp();
  if (j != 0) return;
  const std::int64_t before = panel.iteration++;
  for (int k = 0; k < columns; ++k) {
    if (states[k].halted() && states[k].halt != fused::Halt::done) panel.halt = states[k].halt;
  }
  close_operation(panel, before, block);
}

/// One fused operation on the columns that have not halted. Every block computes the scalars for itself. The last block
/// to finish adds the sums and stores the states.
template <class Op>
__global__ void __launch_bounds__(sum_threads, blocks_per_multiprocessor)
    panel_op_kernel(std::int64_t n, int columns, Op op, fused::PanelState<typename Op::State>* panel,
                    LoopControlBlock* block, typename Op::Sums* partial, double* norms) {
  using State = typename Op::State;
  using Sums = typename Op::Sums;
  static_assert(std::is_trivially_copyable_v<State> && sizeof(State) % sizeof(int) == 0);
  static_assert(most_panel_columns <= warp_size);
  constexpr int words = sizeof(State) / sizeof(int);
  // Constructors do not run.
  alignas(State) __shared__ int copies[most_panel_columns * words];
  alignas(Sums) __shared__ unsigned char room[has_sums<Op> ? sum_threads * sizeof(Sums) : sizeof(Sums)];
  __shared__ bool is_last;
  State* const states = reinterpret_cast<State*>(copies);
  [[maybe_unused]] Sums* const shared = reinterpret_cast<Sums*>(room);
  const int thread = static_cast<int>(threadIdx.x);
  const int width = elements_at_once_of_panel(columns);
  const int column = thread % columns;
  const std::int64_t stride = std::int64_t{gridDim.x} * width;
  // Threads beyond the last whole row have no elements.
  const std::int64_t first = thread < width ? std::int64_t{blockIdx.x} * width + thread : n;
  // The loads of the first two elements are in flight while the scalars are computed.
  [[maybe_unused]] const EarlyLoads<Op> early(op, n, first, stride);
  copy_words(copies, reinterpret_cast<const int*>(panel->of), columns * words);
  if (panel->halted()) return;
  __syncthreads();
  if (thread < columns && !states[thread].halted()) op.scalars_before(states[thread]);
  __syncthreads();
  Sums sums{};
  if constexpr (has_elements<Op>) {
    if (!states[column].halted()) sums = apply_to_elements(op, states[column], early, n, first, stride);
  }
  if constexpr (has_sums<Op>) {
    sums = add_up_columns(sums, columns, shared);
    if (thread < columns) partial[blockIdx.x * columns + thread] = sums;
  }
  __threadfence();
  __syncthreads();
  if (thread == 0) is_last = atomicAdd(&block->finished, 1u) + 1 == gridDim.x;
  __syncthreads();
  if (!is_last) return;
  __threadfence();
  if constexpr (has_sums<Op>) {
    Sums total{};
    if (thread < width) {
      const int rows = width / columns;
      for (int other = thread / columns; other < static_cast<int>(gridDim.x); other += rows) {
        total += value_of_other_block(partial + other * columns + column);
      }
    }
    total = add_up_columns(total, columns, shared);
    if (thread < columns && !states[thread].halted()) op.scalars_after(states[thread], total);
  }
  __syncthreads();
  if (thread == 0) block->finished = 0;
  if constexpr (fused::ends_iteration<Op>) {
    if (thread < warp_size) close_panel_iteration(states, columns, *panel, *block, norms);
  }
  copy_words(reinterpret_cast<int*>(panel->of), copies, columns * words);
}

/// What the columns of a panel give to a block operation; a parameter of its kernel.
template <class Op>
struct OpsOfColumns {
  Op of[most_panel_columns];
  double* partial_projections[most_panel_columns];
};

/// One block operation on each column that has not halted, by `blocks` blocks of threads per column.
template <class Op>
__global__ void __launch_bounds__(sum_threads, 2)
    panel_block_kernel(std::int64_t n, unsigned blocks, OpsOfColumns<Op> columns,
                       fused::PanelState<typename Op::State>* panel, unsigned* finished, typename Op::Sums* partial) {
  static_assert(sizeof(OpsOfColumns<Op>) <= 4000, "the parameters of a kernel have 4 KiB");
  __shared__ typename BlockOfThreads<Op>::Shared shared;
  if (panel->halted()) return;
  const unsigned column = blockIdx.x / blocks;
  const Op op = columns.of[column];
  run_block_operation(n, op, BlockRank{blockIdx.x % blocks, blocks}, panel->of + column, finished + column,
                      partial + column * block_op_blocks, columns.partial_projections[column],
                      static_cast<const ProductDots*>(nullptr), 0, shared,
                      [](const fused::LoopControl& /*control*/, std::int64_t /*before*/) {});
}

}  // namespace

std::int64_t panel_partial_doubles(int columns) {
  return std::int64_t{sum_blocks} * columns * static_cast<std::int64_t>(sizeof(fused::TwoSums) / sizeof(double));
}

std::int64_t panel_history_rows() { return loop_entries; }

template <class Op>
void PanelOp<Op>::record(const Device& device, const LoopFrame& frame, std::int64_t n, int columns, const Op& op,
                         const PanelSpace& space) {
  using State = typename Op::State;
  static_assert(sizeof(typename Op::Sums) <= sizeof(fused::TwoSums));
  const Context& context = Context::of(device);
  const DeviceGuard current(device);
  const unsigned blocks = has_elements<Op> ? blocks_of_panel(n, columns) : 1;
  launch("fused operation on a panel", context, Grid{blocks, sum_threads}, panel_op_kernel<Op>, n, columns, op,
         static_cast<fused::PanelState<State>*>(frame.state), static_cast<LoopControlBlock*>(frame.control_block),
         reinterpret_cast<typename Op::Sums*>(space.partial), space.norms);
}

template <class Op>
void PanelBlock<Op>::record(const Device& device, const LoopFrame& frame, std::int64_t n,
                            std::span<const fused::BlockOfColumn<Op>> columns, const PanelSpace& space) {
  using State = typename Op::State;
  using Sums = typename Op::Sums;
  static_assert(block_op_blocks <= sum_blocks && sizeof(Sums) <= sizeof(fused::TwoSums));
  const Context& context = Context::of(device);
  const DeviceGuard current(device);
  OpsOfColumns<Op> ops{};
  for (std::size_t j = 0; j < columns.size(); ++j) {
    ops.of[j] = columns[j].op;
    ops.partial_projections[j] = columns[j].space->partial();
  }
  const unsigned blocks = blocks_of_block_op<Op>(n);
  launch("block operation on a panel", context, Grid{blocks * static_cast<unsigned>(columns.size()), sum_threads},
         panel_block_kernel<Op>, n, blocks, ops, static_cast<fused::PanelState<State>*>(frame.state), space.finished,
         reinterpret_cast<Sums*>(space.partial));
}

}  // namespace tessera::cuda

#include "solvers/panel/registration.hpp"
