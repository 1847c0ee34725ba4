/// \file
/// Float copies of double values.
#include "core/cuda/reduce.cuh"
#include "spmv/common/device_kernel.hpp"

#include <type_traits>

namespace tessera::cuda {

void round_to_float(const Device& device, std::span<const double> from, std::span<float> to) {
  const double* const source = from.data();
  float* const target = to.data();
  for_each(device, static_cast<std::int64_t>(to.size()),
           [=] __device__(std::int64_t k) { target[k] = static_cast<float>(source[k]); });
}

template <class T>
Array<float> float_values(const CsrView<T>& on_device, const SpmvOptions& options) {
  if (!std::is_same_v<T, double> || !options.fp32_values || on_device.is_pattern()) return {};
  Array<float> result(on_device.nnz(), Init::none, options.device);
  if constexpr (std::is_same_v<T, double>) round_to_float(options.device, on_device.values, result.span());
  return result;
}

template Array<float> float_values(const CsrView<float>&, const SpmvOptions&);
template Array<float> float_values(const CsrView<double>&, const SpmvOptions&);

}  // namespace tessera::cuda
