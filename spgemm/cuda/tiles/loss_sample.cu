// A sample of C against sums in double precision: a warp per entry, a lane for every 32nd entry of A's row.
#include "spgemm/cuda/tiles/loss_sample.hpp"

#include "core/cuda/launch.cuh"

namespace tessera::cuda {

namespace {

constexpr int warps = 8;

/// Arrays of C in CSR.
template <class V>
struct CsrSource {
  const offset_t* offsets;
  const index_t* columns;
  const V* values;
};

template <class V>
__global__ void __launch_bounds__(warps* warp_size)
    loss_kernel(LossSample sample, detail::Factors<V> factors, CsrSource<V> c, SampledEntry* entries) {
  const int number = static_cast<int>(blockIdx.x) * warps + static_cast<int>(threadIdx.x / warp_size);
  const auto lane = static_cast<int>(threadIdx.x % warp_size);
  if (number >= sample.rows() * LossSample::row_entries) return;
  const index_t row = sample.row(number / LossSample::row_entries);
  const offset_t begin = c.offsets[row];
  const offset_t at = LossSample::entry(c.offsets[row + 1] - begin, number % LossSample::row_entries);
  if (at < 0) {
    if (lane == 0) entries[number] = {0.0, 0.0, -1.0};
    return;
  }
  const index_t column = c.columns[begin + at];
  double sum = 0.0;
  double magnitude = 0.0;
  for (offset_t k = factors.a_offsets[row] + lane; k < factors.a_offsets[row + 1]; k += warp_size) {
    const double term = detail::term_of(factors, k, column);
    sum += term;
    magnitude += fabs(term);
  }
#pragma unroll
  for (int lanes = warp_size / 2; lanes > 0; lanes /= 2) {
    sum += __shfl_xor_sync(full_warp, sum, lanes);
    magnitude += __shfl_xor_sync(full_warp, magnitude, lanes);
  }
  if (lane == 0) entries[number] = {static_cast<double>(c.values[begin + at]), sum, magnitude};
}

}  // namespace

template <class V>
void enqueue_loss_sample(const Context& context, const LossSample& sample, const detail::Factors<V>& factors,
                         const offset_t* c_offsets, const index_t* c_columns, const V* c_values,
                         SampledEntry* entries) {
  if (sample.rows() == 0) return;
  launch("sample of a product's loss", context,
         Grid{blocks_for(std::int64_t{sample.rows()} * LossSample::row_entries, warps), warps * warp_size},
         loss_kernel<V>, sample, factors, CsrSource<V>{c_offsets, c_columns, c_values}, entries);
}

template void enqueue_loss_sample(const Context&, const LossSample&, const detail::Factors<float>&, const offset_t*,
                                  const index_t*, const float*, SampledEntry*);
template void enqueue_loss_sample(const Context&, const LossSample&, const detail::Factors<double>&, const offset_t*,
                                  const index_t*, const double*, SampledEntry*);

}  // namespace tessera::cuda
