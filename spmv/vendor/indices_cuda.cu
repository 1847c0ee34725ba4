/// \file
/// Index arrays for cuSPARSE, made on the GPU.
#include "core/cuda/reduce.cuh"
#include "preprocess/csr5_descriptor.hpp"
#include "spmv/vendor/indices.hpp"

namespace tessera::cuda {

namespace {

constexpr int threads = 256;
constexpr offset_t nonzeros_per_block = 2048;

/// Two threads of a block find the rows in which its nonzeros begin and end, then all search between these.
__global__ void __launch_bounds__(threads)
    expand_rows_kernel(index_t rows, offset_t nnz, const offset_t* row_offsets, index_t* row_of) {
  __shared__ index_t range[2];
  const offset_t begin = std::int64_t{blockIdx.x} * nonzeros_per_block;
  const offset_t end = begin + nonzeros_per_block < nnz ? begin + nonzeros_per_block : nnz;
  if (threadIdx.x < 2) range[threadIdx.x] = row_of_nonzero(row_offsets, rows, threadIdx.x == 0 ? begin : end - 1);
  __syncthreads();
  const index_t first = range[0];
  const index_t count = range[1] - first + 1;
  for (offset_t k = begin + threadIdx.x; k < end; k += threads) {
    row_of[k] = first + row_of_nonzero(row_offsets + first, count, k);
  }
}

}  // namespace

void narrow_offsets(const Device& device, std::span<const offset_t> from, std::span<std::int32_t> to) {
  const offset_t* const source = from.data();
  std::int32_t* const target = to.data();
  for_each(device, static_cast<std::int64_t>(to.size()),
           [=] __device__(std::int64_t i) { target[i] = static_cast<std::int32_t>(source[i]); });
}

void expand_rows(const Device& device, std::span<const offset_t> row_offsets, std::span<index_t> row_of) {
  if (row_of.empty()) return;
  const auto nnz = static_cast<offset_t>(row_of.size());
  const DeviceGuard current(device);
  launch("expanding row numbers", Context::of(device),
         Grid{blocks_for(nnz, static_cast<int>(nonzeros_per_block)), threads}, expand_rows_kernel,
         static_cast<index_t>(row_offsets.size() - 1), nnz, row_offsets.data(), row_of.data());
}

template <class T>
void fill_ones(const Device& device, std::span<T> values) {
  T* const target = values.data();
  for_each(device, static_cast<std::int64_t>(values.size()), [=] __device__(std::int64_t i) { target[i] = T{1}; });
}

template void fill_ones(const Device&, std::span<float>);
template void fill_ones(const Device&, std::span<double>);

}  // namespace tessera::cuda
