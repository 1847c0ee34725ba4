/// The smoothed prolongator of short rows on a GPU: P = (I - ω D⁻¹ A_f) T for the T of ones, without forming T or A_f
/// T. A thread per row sorts the aggregates of its at most eight neighbours in registers. The terms of an entry are
/// added in the order of the row, as the sparse product A_f T adds them: the bits are the same.
///
/// Memory movement: A_f twice, aggregates twice (mostly from cache), writes P once.
#include "core/cuda/launch.cuh"
#include "solvers/amg/offsets.hpp"
#include "solvers/amg/prolongator.hpp"

#include <limits>
#include <utility>

namespace tessera::cuda {

namespace {

constexpr int threads = 128;
constexpr int longest = detail::longest_short_row;
constexpr index_t none = std::numeric_limits<index_t>::max();

/// The entries of a row by their aggregates, `none` where there is no entry or no aggregate.
template <class T>
struct ShortRow {
  index_t aggregate[longest];
  T value[longest];

  /// Stable: entries of one aggregate stay in their order.
  __device__ void sort() {
#pragma unroll
    for (int pass = 0; pass < longest; ++pass) {
#pragma unroll
      for (int u = pass & 1; u + 1 < longest; u += 2) {
        if (aggregate[u] <= aggregate[u + 1]) continue;
        const index_t a = aggregate[u];
        aggregate[u] = aggregate[u + 1];
        aggregate[u + 1] = a;
        const T v = value[u];
        value[u] = value[u + 1];
        value[u + 1] = v;
      }
    }
  }

  [[nodiscard]] __device__ int count() const {
    int result = 0;
#pragma unroll
    for (int u = 0; u < longest; ++u) {
      bool is_new = aggregate[u] != none;
#pragma unroll
      for (int q = 0; q < u; ++q) is_new = is_new && aggregate[q] != aggregate[u];
      result += is_new ? 1 : 0;
    }
    return result;
  }
};

/// The row of a thread.
[[nodiscard]] __device__ std::int64_t own_row(detail::RowRange rows) {
  return rows.first + std::int64_t{blockIdx.x} * threads + threadIdx.x;
}

/// The rows of a block, through shared memory, so that loads are contiguous.
template <class T>
__device__ ShortRow<T> load_rows(const CsrPointers<T>& a, const index_t* aggregates, detail::RowRange rows,
                                 bool with_values) {
  __shared__ index_t aggregate[threads * longest];
  __shared__ T value[threads * longest];
  const std::int64_t row = own_row(rows);
  const std::int64_t first = row - threadIdx.x;
  const offset_t begin = a.offsets[first];
  const offset_t end = a.offsets[first + threads < rows.last ? first + threads : rows.last];
#pragma unroll
  for (int u = 0; u < longest; ++u) {
    const int at = static_cast<int>(threadIdx.x) + u * threads;
    if (begin + at >= end) continue;
    const index_t of_column = aggregates[a.columns[begin + at]];
    aggregate[at] = of_column < 0 ? none : of_column;
    if (with_values) value[at] = value_at(a, begin + at);
  }
  __syncthreads();
  const int start = row < rows.last ? static_cast<int>(a.offsets[row] - begin) : 0;
  const int length = row < rows.last ? static_cast<int>(a.offsets[row + 1] - begin) - start : 0;
  ShortRow<T> result;
#pragma unroll
  for (int u = 0; u < longest; ++u) {
    result.aggregate[u] = u < length ? aggregate[start + u] : none;
    result.value[u] = u < length && with_values ? value[start + u] : T{0};
  }
  return result;
}

template <class T>
__global__ void __launch_bounds__(threads)
    count_short_rows_kernel(CsrPointers<T> a, const index_t* aggregates, detail::RowRange rows, offset_t* counts) {
  const ShortRow<T> entries = load_rows(a, aggregates, rows, false);
  const std::int64_t row = own_row(rows);
  if (row < rows.last) counts[row] = entries.count();
}

template <class T>
__global__ void __launch_bounds__(threads)
    fill_short_rows_kernel(CsrPointers<T> a, const index_t* aggregates, detail::RowRange rows, const T* diagonal,
                           T omega, const offset_t* offsets, index_t* columns, T* values) {
  ShortRow<T> entries = load_rows(a, aggregates, rows, true);
  const std::int64_t row = own_row(rows);
  if (row >= rows.last) return;
  entries.sort();
  const index_t own = aggregates[row];
  const T scale = diagonal[row] > T{0} ? omega / diagonal[row] : T{0};
  offset_t at = offsets[row];
  T sum{};
#pragma unroll
  for (int u = 0; u < longest; ++u) {
    const index_t aggregate = entries.aggregate[u];
    sum += entries.value[u];
    const bool ends = u + 1 == longest || entries.aggregate[u + 1 < longest ? u + 1 : u] != aggregate;
    if (!ends) continue;
    if (aggregate != none) {
      columns[at] = aggregate;
      values[at++] = (aggregate == own ? T{1} : T{0}) - fused::rounded_product(scale, sum);
    }
    sum = T{};
  }
}

}  // namespace

template <class T>
Csr<T> smooth_short_rows(const Device& device, const CsrView<T>& a, detail::RowRange rows,
                         const detail::Aggregates& aggregates, const T* diagonal, double omega) {
  const Context& context = Context::of(device);
  const DeviceGuard current(device);
  const Grid grid{blocks_for(rows.size(), threads), threads};
  const index_t* const of_row = aggregates.of_row.data();
  Array<offset_t> offsets(std::int64_t{a.rows} + 1, Init::none, device);
  launch("counting a prolongator", context, grid, count_short_rows_kernel<T>, pointers_of(a), of_row, rows,
         offsets.data());
  const offset_t nnz = detail::counts_to_offsets(device, offsets.span(), rows);
  Array<index_t> columns(nnz, Init::none, device);
  Array<T> values(nnz, Init::none, device);
  launch("smoothing a prolongator", context, grid, fill_short_rows_kernel<T>, pointers_of(a), of_row, rows, diagonal,
         static_cast<T>(omega), static_cast<const offset_t*>(offsets.data()), columns.data(), values.data());
  return Csr<T>(a.rows, aggregates.count, std::move(offsets), std::move(columns), std::move(values), Check::trusted);
}

template Csr<float> smooth_short_rows(const Device&, const CsrView<float>&, detail::RowRange, const detail::Aggregates&,
                                      const float*, double);
template Csr<double> smooth_short_rows(const Device&, const CsrView<double>&, detail::RowRange,
                                       const detail::Aggregates&, const double*, double);

}  // namespace tessera::cuda
