/// \file
/// The kernels of block operations.
#pragma once

#include "core/cuda/prefetch.cuh"
#include "core/cuda/reduce.cuh"
#include "solvers/fused/block.hpp"
#include "solvers/fused/kernels.cuh"

#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstring>
#include <mutex>
#include <type_traits>

namespace tessera::cuda {

/// Most blocks of a block operation: two per multiprocessor of the largest GPUs, and a constant, as sum_blocks.
inline constexpr int block_op_blocks = 256;
static_assert(block_op_blocks <= fused::BlockSpace::parts);
/// Columns whose elements are in flight together, and whose inner products a warp adds up together.
inline constexpr int columns_at_once = 8;
/// Columns whose inner products fit into shared memory.
inline constexpr int columns_per_round = 128;

/// Whether columns are read twice: the inner products are those of results that depend on the combination.
template <class Op>
inline constexpr bool reads_columns_twice = Op::combines&& Op::projects && !fused::completes_last_column<Op>;

/// Elements per thread: one where columns are read twice, so that what lies between fits into the first-level cache.
template <class Op>
inline constexpr int elements_at_once = reads_columns_twice<Op> ? 1 : 2;

/// Blocks for n elements.
template <class Op>
[[nodiscard]] unsigned blocks_of_block_op(std::int64_t n) {
  const unsigned needed = blocks_for(n, elements_at_once<Op> * sum_threads);
  return needed < block_op_blocks ? needed : block_op_blocks;
}

/// Adds eight values over a warp. Lane l returns the total of value l / 4.
inline __device__ double add_up_eight(double (&value)[columns_at_once]) {
  const unsigned lane = threadIdx.x % warp_size;
#pragma unroll
  for (int half = columns_at_once / 2; half > 0; half /= 2) {
    const unsigned distance = static_cast<unsigned>(half) * (warp_size / columns_at_once);
    const bool upper = (lane & distance) != 0;
#pragma unroll
    for (int k = 0; k < half; ++k) {
      const double sent = upper ? value[k] : value[k + half];
      value[k] = (upper ? value[k + half] : value[k]) + __shfl_xor_sync(full_warp, sent, static_cast<int>(distance));
    }
  }
  double total = value[0];
  total += __shfl_xor_sync(full_warp, total, 2);
  total += __shfl_xor_sync(full_warp, total, 1);
  return total;
}

/// The pass of one block of threads.
template <class Op>
class BlockOfThreads {
 public:
  using T = typename Op::Element;
  using Sums = typename Op::Sums;
  static constexpr int elements = elements_at_once<Op>;
  /// Columns of a combination whose elements are in flight together: 16 numbers per thread.
  static constexpr int columns_in_flight = 2 * columns_at_once / elements;

  struct Shared {
    static_assert(fused::most_columns % columns_at_once == 0);
    T coefficients[Op::combines ? fused::most_columns + columns_in_flight : 1];
    double projections[Op::projects ? sum_threads / warp_size : 1][Op::projects ? columns_per_round : 1];
  };

  __device__ BlockOfThreads(std::int64_t n, const Op& op, int columns, const BlockRank& rank, Shared& shared)
      : n_(n), op_(op), columns_(columns), rank_(rank), shared_(shared) {}

  /// \param coefficients as many as columns \param partial inner products of the blocks, column by column
  __device__ Sums run(const typename Op::Scalars& scalars, const double* coefficients, double* partial) {
    if constexpr (Op::combines) {
      for (int k = static_cast<int>(threadIdx.x); k < rounded_up(columns_); k += sum_threads) {
        shared_.coefficients[k] = k < columns_ ? static_cast<T>(coefficients[k]) : T{0};
      }
      __syncthreads();
    }
    Sums sums{};
    const int rounds_end = Op::projects ? columns_ : 1;
    for (int first = 0; first < rounds_end; first += columns_per_round) {
      const int count = columns_ - first < columns_per_round ? columns_ - first : columns_per_round;
      if constexpr (Op::projects) clear_projections(count);
      for (std::int64_t tile = rank_.index; tile * tile_elements < n_; tile += rank_.count) {
        if constexpr (fused::completes_last_column<Op>) {
          if (first == 0) {
            sweep_tile(tile * tile_elements, scalars, sums);
            continue;
          }
        }
        T values[elements];
        std::int64_t at[elements];
        pass_tile(tile * tile_elements, first == 0, scalars, sums, at, values);
        if constexpr (Op::projects) project(at, values, first, count, (tile + rank_.count) * tile_elements);
      }
      if constexpr (Op::projects) store_projections(first, count, partial);
    }
    return sums;
  }

 private:
  static constexpr int tile_elements = elements * sum_threads;

  /// The elements of a thread; those beyond the end are the last one.
  __device__ void locate(std::int64_t begin, std::int64_t (&at)[elements], bool (&inside)[elements]) const {
#pragma unroll
    for (int e = 0; e < elements; ++e) {
      const std::int64_t i = begin + e * sum_threads + threadIdx.x;
      inside[e] = i < n_;
      at[e] = inside[e] ? i : n_ - 1;
    }
  }

  /// The results of the operation for the elements of a thread, 0 beyond the end. \param at where to read columns
  __device__ void pass_tile(std::int64_t begin, bool is_first_round, const typename Op::Scalars& scalars, Sums& sums,
                            std::int64_t (&at)[elements], T (&values)[elements]) {
    bool inside[elements];
    locate(begin, at, inside);
    if (fused::completes_last_column<Op> || !is_first_round) {
#pragma unroll
      for (int e = 0; e < elements; ++e) values[e] = inside[e] ? op_.value(at[e]) : T{0};
      return;
    }
    if constexpr (!fused::completes_last_column<Op>) {
      typename Op::Loaded loaded[elements];
#pragma unroll
      for (int e = 0; e < elements; ++e) loaded[e] = op_.load(at[e]);
      T combination[elements] = {};
      if constexpr (Op::combines) combine(at, combination);
#pragma unroll
      for (int e = 0; e < elements; ++e) {
        values[e] = inside[e] ? op_.apply(at[e], loaded[e], combination[e], scalars, sums) : T{0};
      }
    }
  }

  /// Combination of all columns but the last one, inner products with the columns of the first round, and the last
  /// column, by one reading.
  __device__ void sweep_tile(std::int64_t begin, const typename Op::Scalars& scalars, Sums& sums) {
    bool inside[elements];
    std::int64_t at[elements];
    locate(begin, at, inside);
    T values[elements];
    T combination[elements] = {};
#pragma unroll
    for (int e = 0; e < elements; ++e) {
      const typename Op::Loaded loaded = op_.load(at[e]);
      values[e] = inside[e] ? op_.projected(at[e], loaded, sums) : T{0};
    }
    const int others = columns_ - 1;
    for (int k = 0; k < others; k += columns_at_once) {
      T entry[columns_at_once][elements];
      load_columns(at, k, others, entry);
#pragma unroll
      for (int c = 0; c < columns_at_once; ++c) {
        const T coefficient = k + c < others ? shared_.coefficients[k + c] : T{0};
#pragma unroll
        for (int e = 0; e < elements; ++e) combination[e] += coefficient * entry[c][e];
      }
      const int count = others < columns_per_round ? others : columns_per_round;
      if (k < count) add_projections(entry, values, k, count);
    }
    double term = 0.0;
#pragma unroll
    for (int e = 0; e < elements; ++e) {
      if (inside[e]) {
        term += static_cast<double>(op_.complete(at[e], combination[e], scalars)) * static_cast<double>(values[e]);
      }
    }
    if (others >= columns_per_round) return;
    term = add_up_warp(term);
    if (lane() == 0) shared_.projections[warp()][others] += term;
  }

  /// Columns `first` on, before `end`; beyond, the last one of them.
  __device__ void load_columns(const std::int64_t (&at)[elements], int first, int end,
                               T (&entry)[columns_at_once][elements]) const {
#pragma unroll
    for (int c = 0; c < columns_at_once; ++c) {
      const T* const column = op_.block.column(first + c < end ? first + c : end - 1);
#pragma unroll
      for (int e = 0; e < elements; ++e) entry[c][e] = column[at[e]];
    }
  }

  /// \param k of the first column in this round, which has `count`
  __device__ void add_projections(const T (&entry)[columns_at_once][elements], const T (&values)[elements], int k,
                                  int count) {
    double term[columns_at_once] = {};
#pragma unroll
    for (int c = 0; c < columns_at_once; ++c) {
#pragma unroll
      for (int e = 0; e < elements; ++e) {
        term[c] += static_cast<double>(entry[c][e]) * static_cast<double>(values[e]);
      }
    }
    const double total = add_up_eight(term);
    const int own = k + static_cast<int>(lane()) / (warp_size / columns_at_once);
    if (lane() % (warp_size / columns_at_once) == 0 && own < count) shared_.projections[warp()][own] += total;
  }

  /// Beyond the last column, that one times 0.
  __device__ void combine(const std::int64_t (&at)[elements], T (&combination)[elements]) const {
    for (int k = 0; k < columns_; k += columns_in_flight) {
      T entry[columns_in_flight][elements];
#pragma unroll
      for (int c = 0; c < columns_in_flight; ++c) {
        const T* const column = op_.block.column(k + c < columns_ ? k + c : columns_ - 1);
#pragma unroll
        for (int e = 0; e < elements; ++e) entry[c][e] = column[at[e]];
      }
#pragma unroll
      for (int c = 0; c < columns_in_flight; ++c) {
#pragma unroll
        for (int e = 0; e < elements; ++e) combination[e] += shared_.coefficients[k + c] * entry[c][e];
      }
    }
  }

  /// Every warp has its own inner products.
  __device__ void clear_projections(int count) {
    for (int k = static_cast<int>(lane()); k < count; k += warp_size) shared_.projections[warp()][k] = 0.0;
    __syncwarp();
  }

  /// While columns come from the caches, the next tile, from `next` on, is brought towards them.
  __device__ void project(const std::int64_t (&at)[elements], const T (&values)[elements], int first, int count,
                          std::int64_t next) {
    for (int k = 0; k < count; k += columns_at_once) {
      if constexpr (reads_columns_twice<Op>) prefetch_columns(first + k, next);
      T entry[columns_at_once][elements];
      load_columns(at, first + k, first + count, entry);
      add_projections(entry, values, k, count);
    }
  }

  /// What this warp will read of some columns, by a lane per line.
  __device__ void prefetch_columns(int first, std::int64_t next) const {
    constexpr unsigned of_line = 128 / sizeof(T);
    constexpr unsigned lines = warp_size / of_line;
    const int column = first + static_cast<int>(lane() / lines);
    const std::int64_t at = next + warp() * warp_size + lane() % lines * of_line;
    if (lane() < lines * columns_at_once && column < columns_ && at < n_) prefetch_line(op_.block.column(column) + at);
  }

  __device__ void store_projections(int first, int count, double* partial) {
    __syncthreads();
    for (int k = static_cast<int>(threadIdx.x); k < count; k += sum_threads) {
      double sum = 0.0;
      for (int other = 0; other < sum_threads / warp_size; ++other) sum += shared_.projections[other][k];
      partial[std::int64_t{first + k} * rank_.count + rank_.index] = sum;
    }
    __syncthreads();
  }

  [[nodiscard]] static __device__ int rounded_up(int columns) {
    return (columns + columns_in_flight - 1) / columns_in_flight * columns_in_flight;
  }
  [[nodiscard]] static __device__ unsigned lane() { return threadIdx.x % warp_size; }
  [[nodiscard]] static __device__ unsigned warp() { return threadIdx.x / warp_size; }

  std::int64_t n_;
  const Op& op_;
  int columns_;
  BlockRank rank_;
  Shared& shared_;
};

/// Inner products from those of all blocks, by the threads of one.
inline __device__ void add_up_projections(int columns, int blocks, const double* partial, double* projections) {
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  for (int k = static_cast<int>(threadIdx.x) / warp_size; k < columns; k += sum_threads / warp_size) {
    double sum = 0.0;
    for (int block = lane; block < blocks; block += warp_size)
      sum += __ldcg(partial + std::int64_t{k} * blocks + block);
    sum = add_up_warp(sum);
    if (lane == 0) projections[k] = sum;
  }
}

/// run_operation() of a block operation.
template <class Op, class Close>
__device__ void run_block_operation(std::int64_t n, const Op& op, const BlockRank& rank, typename Op::State* state,
                                    unsigned* finished, typename Op::Sums* partial, double* partial_projections,
                                    const ProductDots* dot_parts, int dot_count,
                                    typename BlockOfThreads<Op>::Shared& shared, const Close& close) {
  run_operation(
      op, rank, state, finished, partial, dot_parts, dot_count, nullptr,
      [&](const typename Op::State& scalars) -> typename Op::Sums {
        return BlockOfThreads<Op>(n, op, op.columns(scalars), rank, shared)
            .run(op.scalars(scalars), op.coefficients, partial_projections);
      },
      [&](const typename Op::State& scalars) {
        if constexpr (Op::projects) {
          add_up_projections(op.columns(scalars), static_cast<int>(rank.count), partial_projections, op.projections);
        }
      },
      close);
}

/// One block operation of a loop.
template <class Op>
__global__ void __launch_bounds__(sum_threads, 2)
    loop_block_kernel(std::int64_t n, Op op, typename Op::State* state, LoopControlBlock* block,
                      typename Op::Sums* partial, double* partial_projections, const ProductDots* dot_parts,
                      int dot_count) {
  __shared__ typename BlockOfThreads<Op>::Shared shared;
  run_block_operation(n, op, BlockRank::of_kernel(), state, &block->finished, partial, partial_projections, dot_parts,
                      dot_count, shared, closing(block));
}

template <class Op>
void LoopBlock<Op>::record(const Device& device, const LoopFrame& frame, std::int64_t n, const Op& op,
                           fused::BlockSpace& space, std::span<const ProductDots> dot_parts) {
  using Sums = typename Op::Sums;
  static_assert(sizeof(Sums) <= SumSpace::value_bytes && std::is_trivially_copyable_v<Sums>);
  const Context& context = Context::of(device);
  const DeviceGuard current(device);
  launch("block operation of a loop", context, Grid{blocks_of_block_op<Op>(n), sum_threads}, loop_block_kernel<Op>, n,
         op, static_cast<typename Op::State*>(frame.state), static_cast<LoopControlBlock*>(frame.control_block),
         static_cast<Sums*>(context.sum_space().on_device), space.partial(), dot_parts.data(),
         static_cast<int>(dot_parts.size()));
}

/// One block operation that the host drives.
template <class Op>
__global__ void __launch_bounds__(sum_threads, 2)
    block_pass_kernel(std::int64_t n, Op op, typename Op::Scalars scalars, int columns, const double* coefficients,
                      typename Op::Sums* partial, double* partial_projections) {
  using Threads = BlockOfThreads<Op>;
  __shared__ typename Threads::Shared shared;
  auto sums = Threads(n, op, columns, BlockRank::of_kernel(), shared).run(scalars, coefficients, partial_projections);
  if constexpr (!std::is_empty_v<typename Op::Sums>) {
    sums = add_up_block<sum_threads>(sums);
    if (threadIdx.x == 0) partial[blockIdx.x] = sums;
  }
}

/// One block of threads.
static __global__ void __launch_bounds__(sum_threads)
    total_projections_kernel(int columns, int blocks, const double* partial, double* projections) {
  add_up_projections(columns, blocks, partial, projections);
}

template <class Op>
typename Op::Sums BlockPass<Op>::run(const Device& device, std::int64_t n, const Op& op,
                                     const typename Op::Scalars& scalars, int columns, fused::BlockSpace& space) {
  using Sums = typename Op::Sums;
  static_assert(sizeof(Sums) <= SumSpace::value_bytes && std::is_trivially_copyable_v<Sums>);
  const Context& context = Context::of(device);
  const DeviceGuard current(device);
  SumSpace& sum_space = context.sum_space();
  const std::scoped_lock alone(sum_space.mutex);
  auto* const partial = static_cast<Sums*>(sum_space.on_device);
  const std::size_t bytes = static_cast<std::size_t>(columns) * sizeof(double);
  if constexpr (Op::combines) {
    check(cudaMemcpyAsync(space.coefficients(), op.coefficients, bytes, cudaMemcpyDefault, context.stream()),
          "bringing coefficients to the GPU");
  }
  const unsigned blocks = blocks_of_block_op<Op>(n);
  launch("block operation", context, Grid{blocks, sum_threads}, block_pass_kernel<Op>, n, op, scalars, columns,
         static_cast<const double*>(space.coefficients()), partial, space.partial());
  if constexpr (Op::projects) {
    launch("inner products over blocks", context, Grid{1, sum_threads}, total_projections_kernel, columns,
           static_cast<int>(blocks), static_cast<const double*>(space.partial()), space.projections());
    check(cudaMemcpyAsync(op.projections, space.projections(), bytes, cudaMemcpyDeviceToHost, context.stream()),
          "bringing inner products to the host");
  }
  Sums result{};
  if constexpr (!std::is_empty_v<Sums>) {
    Sums* const total = partial + sum_blocks;
    launch("sum over blocks", context, Grid{1, sum_threads}, total_values_kernel<Sums>, static_cast<int>(blocks),
           static_cast<const Sums*>(partial), total);
    check(cudaMemcpyAsync(sum_space.on_host, total, sizeof(Sums), cudaMemcpyDeviceToHost, context.stream()),
          "bringing a sum to the host");
  }
  if constexpr (Op::projects || !std::is_empty_v<Sums>) context.synchronize();
  if constexpr (!std::is_empty_v<Sums>) std::memcpy(&result, sum_space.on_host, sizeof(Sums));
  return result;
}

}  // namespace tessera::cuda
