/// \file
/// CSR times a multivector on a GPU: a warp per row and panel of columns. Lanes are a grid of columns and strands: a
/// strand takes every so-manieth nonzero of the row, and the strands of a column are added by halves.
#include "core/cuda/launch.cuh"
#include "spmv/common/terms.cuh"
#include "spmv/multi_vector/csr_product.hpp"
#include "spmv/multi_vector/strided_vectors.cuh"

#include <bit>

namespace tessera::cuda {

namespace {

constexpr int threads = 256;

/// \param width lanes per strand, a power of two, at least the columns of y \param multiplies false: α = 0
template <class Terms, class T>
__global__ void __launch_bounds__(threads)
    csr_rows_kernel(index_t rows, const offset_t* row_offsets, Terms terms, StridedVectors<const T> x, int columns,
                    int width, bool multiplies, StridedUpdate<T> y) {
  const std::int64_t row = (std::int64_t{blockIdx.x} * threads + threadIdx.x) / warp_size;
  if (row >= rows) return;
  const int lane = static_cast<int>(threadIdx.x % warp_size);
  const int own = lane % width;
  const int column = own < columns ? own : columns - 1;
  const int strands = warp_size / width;
  const offset_t begin = __ldg(row_offsets + row);
  const offset_t end = multiplies ? __ldg(row_offsets + row + 1) : begin;
  T sum{0};
#pragma unroll 4
  for (offset_t k = begin + lane / width; k < end; k += strands) {
    const auto entry = terms.template entry<NextUse::soon>(k);
    sum += terms.product(entry, x, column);
  }
  for (int distance = width; distance < warp_size; distance *= 2) {
    sum += __shfl_xor_sync(full_warp, sum, distance);
  }
  if (lane < columns) y.store(row, lane, sum);
}

/// The nonzeros of a matrix, each times an element of a multivector.
template <class T>
struct Weighted {
  struct Nonzero {
    T value;
    index_t column;
  };
  const T* values;
  const index_t* columns;

  template <NextUse Use>
  __device__ Nonzero entry(offset_t k) const {
    return {load_entry<Use>(values + k), load_entry<Use>(columns + k)};
  }
  __device__ T product(const Nonzero& entry, const StridedVectors<const T>& x, int column) const {
    return entry.value * __ldg(x.at(entry.column, column));
  }
};

/// The same where every value is 1.
template <class T>
struct Pattern {
  const index_t* columns;

  template <NextUse Use>
  __device__ index_t entry(offset_t k) const {
    return load_entry<Use>(columns + k);
  }
  __device__ T product(index_t of_row, const StridedVectors<const T>& x, int column) const {
    return __ldg(x.at(of_row, column));
  }
};

template <class T, class Function>
void with_nonzeros(const CsrView<T>& a, Function&& function) {
  if (a.is_pattern()) return function(Pattern<T>{a.columns.data()});
  function(Weighted<T>{a.values.data(), a.columns.data()});
}

}  // namespace

template <class T>
void csr_product(const Device& device, const CsrView<T>& a, T alpha, const MultiVectorView<const T>& x, T beta,
                 const MultiVectorView<T>& y) {
  const Context& context = Context::of(device);
  const DeviceGuard current(device);
  const Grid grid{blocks_for(a.rows, threads / warp_size), threads};
  for_each_panel(x, y, [&](const StridedVectors<const T>& source, const StridedVectors<T>& target, int columns) {
    const auto width = static_cast<int>(std::bit_ceil(static_cast<unsigned>(columns)));
    with_nonzeros(a, [&]<class Terms>(const Terms& terms) {
      launch("product of rows with a multivector", context, grid, csr_rows_kernel<Terms, T>, a.rows,
             a.row_offsets.data(), terms, source, columns, width, alpha != T{0}, StridedUpdate<T>{target, alpha, beta});
    });
  });
}

template void csr_product(const Device&, const CsrView<float>&, float, const MultiVectorView<const float>&, float,
                          const MultiVectorView<float>&);
template void csr_product(const Device&, const CsrView<double>&, double, const MultiVectorView<const double>&, double,
                          const MultiVectorView<double>&);

}  // namespace tessera::cuda
