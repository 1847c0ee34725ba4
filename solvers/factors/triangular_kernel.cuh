/// \file
/// Kernels of triangular solves: x_i = (b_i - sum_j s_ij x_j) / d_i by a group of lanes per row, a warp per task.
///
/// Entries of a row are subtracted one after the other by a lane, and the lanes are added in one order, without fused
/// multiply-add: all kernels give the same bits, and rows of one lane those of a loop on the host.
///
/// Ends say where b comes from and what becomes of x:
///   T    right_side(q);        b of position q
///   void finish(q, value);     after x of position q is known
#pragma once

#include "core/cuda/dependent_launch.cuh"
#include "solvers/factors/handover.cuh"
#include "solvers/factors/packed_triangle.hpp"
#include "solvers/fused/preconditioner.hpp"

#include <cstdint>

namespace tessera::cuda {

/// Threads of a block that solves tasks of any number of blocks.
inline constexpr int triangular_threads = 128;
/// Of the block that solves several levels.
inline constexpr int merged_threads = 1024;

/// a - b c, rounded twice.
template <class T>
[[nodiscard]] __device__ T minus_product(T a, T b, T c) {
  const T product = fused::rounded_product(b, c);
  return a - product;
}

/// w_k = row_scale_k r_{row_from_k}, then L y = w.
template <class T>
struct ForwardEnds {
  const index_t* from;  ///< element of r per position
  const T* scale;       ///< null: 1
  const T* r;
  T* backward;  ///< solution of the other solve, which is marked as not known; null: not

  [[nodiscard]] __device__ T right_side(index_t q) const {
    const T value = r[from[q]];
    return scale == nullptr ? value : fused::rounded_product(scale[q], value);
  }
  __device__ void finish(index_t q, T /*value*/) const {
    if (backward != nullptr) take_back(backward + q);
  }
};

/// U w = y, then z_{column_to_k} = alpha column_scale_k w_k + beta z_{column_to_k}.
template <class T>
struct BackwardEnds {
  const index_t* from;  ///< position in the forward solve
  T* forward;           ///< its solution
  bool takes_back;      ///< whether that is marked as not known once it is read
  const index_t* to;    ///< element of z per position
  const T* scale;       ///< null: 1
  T* z;
  T alpha;
  T beta;

  [[nodiscard]] __device__ T right_side(index_t q) const {
    T* const at = forward + from[q];
    const T value = *at;
    if (takes_back) take_back(at);
    return value;
  }
  __device__ void finish(index_t q, T value) const {
    if (scale != nullptr) value = fused::rounded_product(scale[q], value);
    if (alpha != T{1}) value = fused::rounded_product(alpha, value);
    T* const at = z + to[q];
    if (beta != T{0}) value += fused::rounded_product(beta, *at);
    *at = value;
  }
};

/// Entries of a lane that are on their way, with the unknowns that belong to them.
template <class T>
struct TriangularEntries {
  index_t column[triangular_entries_in_flight];
  T value[triangular_entries_in_flight];

  /// Entries k, k + stride, ... below `end`.
  __device__ void load(const TriangularPointers<T>& a, offset_t k, offset_t end, unsigned stride) {
#pragma unroll
    for (int u = 0; u < triangular_entries_in_flight; ++u) {
      const offset_t entry = k + offset_t{stride} * u;
      column[u] = entry < end ? __ldcs(a.columns + entry) : -1;
      value[u] = entry < end ? __ldcs(a.values + entry) : T{0};
    }
  }

  /// sum - what the entries give, of unknowns that earlier kernels or this block computed.
  [[nodiscard]] __device__ T subtract_known(T sum, const T* x) const {
    T unknown[triangular_entries_in_flight];
#pragma unroll
    for (int u = 0; u < triangular_entries_in_flight; ++u) {
      unknown[u] = column[u] >= 0 ? x[column[u]] : T{0};
    }
    return subtract(sum, unknown);
  }

  /// The same with unknowns that other warps hand over. All lanes must call, and all wait.
  [[nodiscard]] __device__ T subtract_awaited(T sum, const T* x) const {
    ValueBits<T> bits[triangular_entries_in_flight];
#pragma unroll
    for (int u = 0; u < triangular_entries_in_flight; ++u) bits[u] = column[u] >= 0 ? absent<T> : 0;
    for (;;) {
      bool is_missing = false;
#pragma unroll
      for (int u = 0; u < triangular_entries_in_flight; ++u) {
        if (bits[u] == absent<T>) bits[u] = peek(x + column[u]);
      }
#pragma unroll
      for (int u = 0; u < triangular_entries_in_flight; ++u) is_missing = is_missing || bits[u] == absent<T>;
      if (!__any_sync(full_warp, is_missing)) break;
      if (is_missing) let_others_run();
    }
    T unknown[triangular_entries_in_flight];
#pragma unroll
    for (int u = 0; u < triangular_entries_in_flight; ++u) unknown[u] = value_of<T>(bits[u]);
    return subtract(sum, unknown);
  }

 private:
  [[nodiscard]] __device__ T subtract(T sum, const T (&unknown)[triangular_entries_in_flight]) const {
#pragma unroll
    for (int u = 0; u < triangular_entries_in_flight; ++u) {
      if (column[u] >= 0) sum = minus_product(sum, value[u], unknown[u]);
    }
    return sum;
  }
};

/// Solves the rows of a task. All lanes of the warp must call. \tparam Waits whether unknowns are still to come
/// \param before_unknowns called once by every thread, before what other kernels write is read
template <bool Waits, class T, class Ends, class BeforeUnknowns>
__device__ void solve_task(const TriangularPointers<T>& a, const Ends& ends, T* x, unsigned t,
                           const BeforeUnknowns& before_unknowns) {
  const TriangularTask task = a.tasks[t];
  const offset_t begin = a.begins[t];
  const offset_t end = a.begins[t + 1];
  const unsigned lane = threadIdx.x % warp_size;
  const unsigned lanes = 1u << task.lanes_log2;
  const unsigned active = static_cast<unsigned>(task.rows) << task.lanes_log2;
  const offset_t own_end = lane < active ? end : 0;
  const index_t row = task.first_row + static_cast<index_t>(lane >> task.lanes_log2);
  const bool leads = lane < active && lane % lanes == 0;
  const offset_t step = offset_t{active} * triangular_entries_in_flight;
  TriangularEntries<T> entries;
  entries.load(a, begin + lane, own_end, active);
  T inverse{1};
  if (leads && a.inverse_diagonal != nullptr) inverse = a.inverse_diagonal[row];
  before_unknowns();
  T sum = leads ? ends.right_side(row) : T{0};
  for (offset_t k = begin; k < end; k += step) {
    if (k != begin) entries.load(a, k + lane, own_end, active);
    if constexpr (Waits) {
      sum = entries.subtract_awaited(sum, x);
    } else {
      sum = entries.subtract_known(sum, x);
    }
  }
  for (unsigned distance = lanes / 2; distance > 0; distance /= 2) {
    sum += __shfl_xor_sync(full_warp, sum, static_cast<int>(distance));
  }
  if (!leads) return;
  if (a.inverse_diagonal != nullptr) sum = fused::rounded_product(sum, inverse);
  if constexpr (Waits) {
    hand_over(x + row, sum);
  } else {
    x[row] = sum;
  }
  ends.finish(row, sum);
}

struct NothingBefore {
  __device__ void operator()() const {}
};
struct KernelBefore {
  __device__ void operator()() const { wait_for_previous_kernel(); }
};

/// One level, a warp per task.
template <class T, class Ends>
__global__ void __launch_bounds__(triangular_threads)
    solve_level_kernel(const std::int32_t* halted, TriangularPointers<T> a, Ends ends, T* x, unsigned first,
                       unsigned last) {
  let_next_kernel_start();
  if (is_halted(halted)) return;
  const unsigned t = first + blockIdx.x * (triangular_threads / warp_size) + threadIdx.x / warp_size;
  if (t < last) {
    solve_task<false>(a, ends, x, t, KernelBefore{});
  } else {
    wait_for_previous_kernel();
  }
}

/// Consecutive levels, each of few tasks. One block.
template <class T, class Ends>
__global__ void __launch_bounds__(merged_threads)
    solve_levels_kernel(const std::int32_t* halted, TriangularPointers<T> a, Ends ends, T* x,
                        const index_t* level_tasks, index_t first, index_t last) {
  let_next_kernel_start();
  if (is_halted(halted)) return;
  wait_for_previous_kernel();
  for (index_t level = first; level < last; ++level) {
    const auto end = static_cast<unsigned>(level_tasks[level + 1]);
    const unsigned begin = static_cast<unsigned>(level_tasks[level]) + threadIdx.x / warp_size;
    for (unsigned t = begin; t < end; t += merged_threads / warp_size) {
      solve_task<false>(a, ends, x, t, NothingBefore{});
    }
    __syncthreads();
  }
}

/// All levels: every row waits for its unknowns. \param ticket 0 \param other_ticket of the other solve, set to 0
template <class T, class Ends>
__global__ void __launch_bounds__(triangular_threads)
    solve_sync_free_kernel(const std::int32_t* halted, TriangularPointers<T> a, Ends ends, T* x, unsigned tasks,
                           unsigned* ticket, unsigned* other_ticket) {
  if (is_halted(halted)) return;
  if (blockIdx.x == 0 && threadIdx.x == 0) *other_ticket = 0;
  WarpTickets tickets(ticket);
  for (unsigned t = tickets.take(); t < tasks; t = tickets.take()) solve_task<true>(a, ends, x, t, NothingBefore{});
}

}  // namespace tessera::cuda
