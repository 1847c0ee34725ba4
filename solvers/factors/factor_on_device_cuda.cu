/// ILU(0) and IC(0) on a GPU (Y. Saad, Iterative Methods for Sparse Linear Systems, 2nd ed., §10.3): a warp per row,
/// all rows in one kernel in the order of their levels. A row waits for pivots and entries of earlier rows, each its
/// own flag (handover.cuh). Every entry is updated by one row after the other, in ascending order, in double and
/// without fused multiply-add, as on the host: factors of double matrices have the host's bits.
#include "core/csr_pointers.hpp"
#include "core/cuda/memory.hpp"
#include "core/cuda/reduce.cuh"
#include "core/cuda/scan.hpp"
#include "core/partition_point.hpp"
#include "core/value_passes.hpp"
#include "solvers/factors/device_levels.hpp"
#include "solvers/factors/handover.cuh"
#include "solvers/factors/pivot.hpp"
#include "solvers/factors/prepared_factors.hpp"
#include "solvers/fused/preconditioner.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>

namespace tessera::cuda {

using namespace detail;

namespace {

constexpr int factor_threads = 128;
constexpr int rows_of_block = factor_threads / warp_size;

/// One strict triangle of the matrix while it becomes a factor.
struct FactorPart {
  const offset_t* offsets;
  index_t* columns;
  double* values;  ///< what elimination has left so far; of L, its entries as soon as they are known
};

/// One strict triangle with its memory.
struct OwnedPart {
  Array<offset_t> offsets;
  Array<index_t> columns;
  Array<double> values;

  [[nodiscard]] FactorPart pointers() noexcept { return {offsets.data(), columns.data(), values.data()}; }
};

struct FactorCounters {
  unsigned ticket;
  int zero_pivots;
  int bad_pivots;  ///< not positive, of IC(0)
};

/// The matrix as kernels see it while it is factorized.
struct FactorState {
  index_t rows;
  FactorPart lower;
  FactorPart upper;
  double* upper_done;      ///< entries of U, or of Lᵀ, that rows hand to each other
  double* pivots;          ///< u_ii, or l_ii, handed over too
  double* diagonal;        ///< what elimination has left of it so far
  const double* scale;     ///< max_k |a_ik|; of IC(0) the diagonal entry with its shift
  const offset_t* mirror;  ///< IC(0): place of l_ij in Lᵀ; -1: it has none
  FactorCounters* counters;
};

/// First place in [low, high) whose column is not below `column`.
__device__ offset_t lower_bound(const index_t* columns, offset_t low, offset_t high, index_t column) {
  return detail::partition_point(low, high, [&](offset_t k) { return columns[k] < column; });
}

/// Place of a column in [low, high), or -1.
__device__ offset_t find_column(const index_t* columns, offset_t low, offset_t high, index_t column) {
  const offset_t at = lower_bound(columns, low, high, column);
  return at < high && columns[at] == column ? at : -1;
}

/// A warp per row: its parts, its diagonal entry times `diagonal_factor`, and FactorState::scale.
template <class T, bool Cholesky>
__global__ void __launch_bounds__(factor_threads)
    split_kernel(index_t rows, CsrPointers<T> a, double diagonal_factor, FactorPart lower, FactorPart upper,
                 double* diagonal, double* scale) {
  const std::int64_t number = std::int64_t{blockIdx.x} * rows_of_block + threadIdx.x / warp_size;
  if (number >= rows) return;
  const auto row = static_cast<index_t>(number);
  const offset_t begin = a.offsets[row];
  const offset_t end = a.offsets[row + 1];
  const offset_t lower_length = lower.offsets[row + 1] - lower.offsets[row];
  const offset_t upper_begin = end - (upper.offsets[row + 1] - upper.offsets[row]);
  double largest = 0.0;
  for (offset_t k = begin + threadIdx.x % warp_size; k < end; k += warp_size) {
    const auto value = static_cast<double>(value_at(a, k));
    const double magnitude = value < 0.0 ? -value : value;
    if (largest < magnitude) largest = magnitude;
    if (k - begin < lower_length) {
      lower.columns[lower.offsets[row] + (k - begin)] = a.columns[k];
      lower.values[lower.offsets[row] + (k - begin)] = value;
    } else if (k >= upper_begin) {
      upper.columns[upper.offsets[row] + (k - upper_begin)] = a.columns[k];
      upper.values[upper.offsets[row] + (k - upper_begin)] = value;
    } else {
      diagonal[row] = value * diagonal_factor;
      if (Cholesky) scale[row] = value * diagonal_factor;
    }
  }
  for (int distance = warp_size / 2; distance > 0; distance /= 2) {
    const double other = __shfl_xor_sync(full_warp, largest, distance);
    if (largest < other) largest = other;
  }
  if (!Cholesky && threadIdx.x % warp_size == 0) scale[row] = largest;
}

/// An entry of the row that is eliminated, and the entry of the earlier row that changes it.
struct Update {
  double* target = nullptr;  ///< null: none
  const double* source = nullptr;
};

/// The row of a warp. Memory that it changes is its own until the row is done.
template <bool Cholesky>
struct EliminatedRow {
  const FactorState& s;
  index_t row;

  /// Entry number m of what is left to update of the row: places after p in L, then the diagonal and U.
  [[nodiscard]] __device__ Update update_of_own(offset_t p, offset_t m, index_t k) const {
    const offset_t left = s.lower.offsets[row + 1] - p - 1;
    index_t column = row;
    double* target = s.diagonal + row;
    if (m < left) {
      column = s.lower.columns[p + 1 + m];
      target = s.lower.values + p + 1 + m;
    } else if (m > left) {
      const offset_t at = s.upper.offsets[row] + (m - left - 1);
      column = s.upper.columns[at];
      target = s.upper.values + at;
    }
    const offset_t source = find_column(s.upper.columns, s.upper.offsets[k], s.upper.offsets[k + 1], column);
    return source < 0 ? Update{} : Update{target, s.upper_done + source};
  }

  /// Entry q of row k of U.
  [[nodiscard]] __device__ Update update_by(offset_t p, offset_t q) const {
    const index_t column = s.upper.columns[q];
    double* target = s.diagonal + row;
    if (column != row) {
      if (Cholesky && column > row) return {};
      const bool below = column < row;
      const offset_t begin = below ? p + 1 : s.upper.offsets[row];
      const offset_t end = (below ? s.lower.offsets : s.upper.offsets)[row + 1];
      const offset_t at = find_column(below ? s.lower.columns : s.upper.columns, begin, end, column);
      if (at < 0) return {};
      target = (below ? s.lower.values : s.upper.values) + at;
    } else if (Cholesky) {
      return {};
    }
    return {target, s.upper_done + q};
  }

  /// Subtracts l times row k of U from what is left of the row, by the shorter of both.
  __device__ void subtract(offset_t p, index_t k, double l) const {
    const offset_t first = s.upper.offsets[k];
    const offset_t other = s.upper.offsets[k + 1] - first;
    const offset_t in_lower = s.lower.offsets[row + 1] - p - 1;
    // The diagonal of IC(0) is updated by finish_entry().
    const offset_t own = Cholesky ? in_lower : in_lower + 1 + s.upper.offsets[row + 1] - s.upper.offsets[row];
    const bool by_own = own < other;
    const offset_t count = by_own ? own : other;
    for (offset_t m0 = 0; m0 < count; m0 += warp_size) {
      const offset_t m = m0 + threadIdx.x % warp_size;
      Update update;
      if (m < count) update = by_own ? update_of_own(p, m, k) : update_by(p, first + m);
      const double u = wait_for(update.target != nullptr, update.source);
      if (update.target != nullptr) *update.target -= fused::rounded_product(l, u);
    }
  }

  /// By one lane: the entry of L, and what is left of the diagonal of IC(0).
  __device__ void finish_entry(offset_t p, double l) const {
    s.lower.values[p] = l;
    if constexpr (Cholesky) {
      s.diagonal[row] -= fused::rounded_product(l, l);
      if (s.mirror[p] >= 0) hand_over(s.upper_done + s.mirror[p], l);
    }
  }

  __device__ void finish_row() const {
    if constexpr (!Cholesky) {
      const offset_t end = s.upper.offsets[row + 1];
      for (offset_t q = s.upper.offsets[row] + threadIdx.x % warp_size; q < end; q += warp_size) {
        hand_over(s.upper_done + q, s.upper.values[q]);
      }
    }
    if (threadIdx.x % warp_size != 0) return;
    const double left = s.diagonal[row];
    if constexpr (Cholesky) {
      const bool is_positive = is_good_pivot(left, s.scale[row]);
      if (!is_positive) atomicAdd(&s.counters->bad_pivots, 1);
      hand_over(s.pivots + row, is_positive ? sqrt(left) : 1.0);
    } else {
      const Pivot<double> pivot = safe_pivot(left, s.scale[row]);
      if (pivot.is_replaced) atomicAdd(&s.counters->zero_pivots, 1);
      hand_over(s.pivots + row, pivot.value);
    }
  }

  __device__ void eliminate() const {
    const offset_t end = s.lower.offsets[row + 1];
    for (offset_t p = s.lower.offsets[row]; p < end; ++p) {
      const index_t k = s.lower.columns[p];
      const double pivot = wait_for(true, s.pivots + k);
      // What other lanes wrote before the last barrier.
      const double l = s.lower.values[p] / pivot;
      __syncwarp();
      if (threadIdx.x % warp_size == 0) finish_entry(p, l);
      subtract(p, k, l);
      __syncwarp();
    }
    finish_row();
  }
};

template <bool Cholesky>
__global__ void __launch_bounds__(factor_threads) factor_kernel(FactorState state, const index_t* order) {
  WarpTickets tickets(&state.counters->ticket);
  const auto rows = static_cast<unsigned>(state.rows);
  for (unsigned t = tickets.take(); t < rows; t = tickets.take()) {
    EliminatedRow<Cholesky>{state, order[t]}.eliminate();
  }
}

/// Memory of both triangles, with their offsets.
template <class T>
void allocate_parts(const CsrView<T>& matrix, OwnedPart& lower, OwnedPart& upper, const Device& device) {
  const std::int64_t n = matrix.rows;
  lower.offsets = Array<offset_t>(n + 1, Init::zero, device);
  upper.offsets = Array<offset_t>(n + 1, Init::zero, device);
  for_each(
      device, n,
      [a = pointers_of(matrix), below = lower.offsets.data(), above = upper.offsets.data()] __device__(std::int64_t i) {
        const offset_t end = a.offsets[i + 1];
        const offset_t at = lower_bound(a.columns, a.offsets[i], end, static_cast<index_t>(i));
        below[i] = at - a.offsets[i];
        above[i] = end - at - (at < end && a.columns[at] == i ? 1 : 0);
      });
  for (OwnedPart* part : {&lower, &upper}) {
    const offset_t entries = exclusive_sum(device, part->offsets.span());
    part->columns = Array<index_t>(entries, Init::none, device);
    part->values = Array<double>(entries, Init::none, device);
  }
}

/// Places of the entries of L in Lᵀ, whose pattern is the upper triangle. What has no place there is left out. A warp
/// per row. \param done 0; what will come is marked as not known
__global__ void __launch_bounds__(factor_threads)
    mirror_kernel(index_t rows, FactorPart lower, FactorPart upper, offset_t* mirror, double* done) {
  const std::int64_t number = std::int64_t{blockIdx.x} * rows_of_block + threadIdx.x / warp_size;
  if (number >= rows) return;
  const auto row = static_cast<index_t>(number);
  const offset_t end = lower.offsets[row + 1];
  for (offset_t p = lower.offsets[row] + threadIdx.x % warp_size; p < end; p += warp_size) {
    const index_t k = lower.columns[p];
    mirror[p] = find_column(upper.columns, upper.offsets[k], upper.offsets[k + 1], row);
    if (mirror[p] >= 0) take_back(done + mirror[p]);
  }
}

template <class T>
[[nodiscard]] Array<T> converted(Array<double> values, const Device& device) {
  if constexpr (std::is_same_v<T, double>) {
    return values;
  } else {
    Array<T> result(values.size(), Init::none, device);
    convert_values<double, T>(device, values.span(), result.span());
    return result;
  }
}

template <class T>
[[nodiscard]] Csr<T> factor_of(index_t n, OwnedPart part, Array<double> values, const Device& device) {
  return Csr<T>(n, n, std::move(part.offsets), std::move(part.columns), converted<T>(std::move(values), device),
                Check::trusted);
}

/// As many blocks as the GPU holds.
template <class Kernel>
[[nodiscard]] unsigned resident_blocks(const Context& context, Kernel kernel) {
  int per_multiprocessor = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_multiprocessor, kernel, factor_threads, 0),
        "asking how many blocks a multiprocessor holds");
  return static_cast<unsigned>(context.multiprocessors() * std::max(per_multiprocessor, 1));
}

/// Runs the elimination. \returns its counters
FactorCounters eliminate_all(const FactorState& state, const Array<index_t>& order, bool cholesky,
                             const Device& device) {
  const Context& context = Context::of(device);
  Array<FactorCounters> counters(1, Init::zero, device);
  FactorState with_counters = state;
  with_counters.counters = counters.data();
  const auto kernel = cholesky ? factor_kernel<true> : factor_kernel<false>;
  const unsigned blocks = std::min(blocks_for(state.rows, rows_of_block), resident_blocks(context, kernel));
  launch(cholesky ? "IC(0)" : "ILU(0)", context, Grid{blocks, factor_threads}, kernel, with_counters,
         static_cast<const index_t*>(order.data()));
  return counters.to(Device{})[0];
}

}  // namespace

template <class T>
DeviceFactors<T> factor_on_device(const CsrView<T>& matrix, bool cholesky, double shift, const Device& device) {
  const index_t n = matrix.rows;
  DeviceFactors<T> factors;
  if (n == 0) return factors;
  const Context& context = Context::of(device);
  const DeviceGuard current(device);
  const DeviceLevels levels = levels_of(matrix, TriangleSide::lower, device);
  OwnedPart lower;
  OwnedPart upper;
  allocate_parts(matrix, lower, upper, device);
  Array<double> diagonal(n, Init::zero, device);
  Array<double> scale(n, Init::zero, device);
  const auto split = cholesky ? split_kernel<T, true> : split_kernel<T, false>;
  launch("parts of a matrix", context, Grid{blocks_for(n, rows_of_block), factor_threads}, split, n,
         pointers_of(matrix), cholesky ? 1.0 + shift : 1.0, lower.pointers(), upper.pointers(), diagonal.data(),
         scale.data());
  Array<double> upper_done(upper.columns.size(), Init::none, device);
  Array<double> pivots(n, Init::none, device);
  take_back_all(context, pivots);
  Array<offset_t> mirror;
  if (cholesky) {
    mirror = Array<offset_t>(lower.columns.size(), Init::none, device);
    zero_bytes(device, upper_done.data(), upper_done.bytes());
    launch("places of L in its transpose", context, Grid{blocks_for(n, rows_of_block), factor_threads}, mirror_kernel,
           n, lower.pointers(), upper.pointers(), mirror.data(), upper_done.data());
  } else {
    take_back_all(context, upper_done);
  }
  const FactorCounters counters = eliminate_all({n, lower.pointers(), upper.pointers(), upper_done.data(),
                                                 pivots.data(), diagonal.data(), scale.data(), mirror.data(), nullptr},
                                                levels.order, cholesky, device);
  factors.zero_pivots = counters.zero_pivots;
  factors.positive = counters.bad_pivots == 0;
  for_each(device, n, [p = pivots.data()] __device__(std::int64_t i) { p[i] = 1.0 / p[i]; });
  factors.upper.inverse_diagonal = converted<T>(std::move(pivots), device);
  if (cholesky) factors.lower.inverse_diagonal = factors.upper.inverse_diagonal.to(device);
  Array<double> lower_values = std::move(lower.values);
  factors.lower.strict = factor_of<T>(n, std::move(lower), std::move(lower_values), device);
  factors.upper.strict = factor_of<T>(n, std::move(upper), std::move(upper_done), device);
  return factors;
}

template DeviceFactors<float> factor_on_device(const CsrView<float>&, bool, double, const Device&);
template DeviceFactors<double> factor_on_device(const CsrView<double>&, bool, double, const Device&);

}  // namespace tessera::cuda
