/// \file
/// Residual of a float system on a GPU: a product in double along the merge path, then the difference.
#include "core/cuda/reduce.cuh"
#include "core/power_of_two.hpp"
#include "spmv/merge/merge_kernel.cuh"
#include "spmv/residual/residual.hpp"

namespace tessera::cuda {

namespace {

/// y = A x in double.
Array<double> product_in_double(const Device& device, const CsrView<float>& a, std::span<const float> x) {
  const Context& context = Context::of(device);
  const DeviceGuard current(device);
  Array<double> y(a.rows, Init::none, device);
  MergeScratch<double> scratch(a.row_offsets, a.nnz(), device);
  const UpdateEpilogue<double> epilogue{y.data(), 1.0, 0.0};
  if (a.is_pattern()) {
    scratch.multiply(context, a.row_offsets.data(), DevicePatternTerms<double, float>{a.columns.data(), x.data()},
                     epilogue);
  } else {
    scratch.multiply(context, a.row_offsets.data(),
                     DeviceWeightedTerms<double, float, float>{a.values.data(), a.columns.data(), x.data()}, epilogue);
  }
  return y;
}

}  // namespace

double csr_residual(const Device& device, const CsrView<float>& a, int exponent, std::span<const float> b,
                    std::span<const float> x, std::span<float> r) {
  const Array<double> product = product_in_double(device, a, x);
  const double* const y = product.data();
  const float* const from = b.data();
  float* const to = r.data();
  const host::PowerOfTwo<double> scaled(exponent);
  return fused_sum<1>(device, a.rows, [=] __device__(std::int64_t i, double(&sum)[1]) {
    const double value = scaled(static_cast<double>(from[i])) - y[i];
    to[i] = static_cast<float>(value);
    sum[0] += value * value;
  })[0];
}

}  // namespace tessera::cuda
