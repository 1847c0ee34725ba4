#include "core/cuda/reduce.cuh"
#include "core/cuda/vector_ops.hpp"
#include "core/power_of_two.hpp"

namespace tessera::cuda {

template <class T>
void scale(const Device& device, T beta, std::span<T> y) {
  if (beta == T{1}) return;
  T* const to = y.data();
  for_each(device, static_cast<std::int64_t>(y.size()),
           [=] __device__(std::int64_t i) { to[i] = beta == T{0} ? T{0} : beta * to[i]; });
}

template <class T>
void combine(const Device& device, T alpha, std::span<const T> x, T beta, std::span<T> y) {
  const T* const from = x.data();
  T* const to = y.data();
  for_each(device, static_cast<std::int64_t>(y.size()),
           [=] __device__(std::int64_t i) { to[i] = beta == T{0} ? alpha * from[i] : alpha * from[i] + beta * to[i]; });
}

/// <w, y> and <y, y>
template <class T>
struct BothDots {
  const T* w;
  const T* y;
  __device__ void operator()(std::int64_t i, PlainSums<2>& sums) const {
    const auto value = static_cast<double>(y[i]);
    sums.of[0] += static_cast<double>(w[i]) * value;
    sums.of[1] += value * value;
  }
};

template <class T>
ProductDots dots(const Device& device, std::span<const T> y, std::span<const T> w) {
  const auto sums =
      fused_values<PlainSums<2>>(device, static_cast<std::int64_t>(y.size()), BothDots<T>{w.data(), y.data()});
  return {sums.of[0], sums.of[1]};
}

template <class T>
void enqueue_dots(const Device& device, std::span<const T> y, std::span<const T> w, ProductDots* sums) {
  static_assert(sizeof(ProductDots) == sizeof(PlainSums<2>));
  const Context& context = Context::of(device);
  const DeviceGuard current(device);
  enqueue_values(context, static_cast<std::int64_t>(y.size()), BothDots<T>{w.data(), y.data()},
                 static_cast<PlainSums<2>*>(context.sum_space().on_device), reinterpret_cast<PlainSums<2>*>(sums));
}

template <class T>
double subtract_from(const Device& device, int exponent, std::span<const T> b, std::span<T> r) {
  const T* const from = b.data();
  T* const to = r.data();
  const host::PowerOfTwo<T> scaled(exponent);
  return fused_sum<1>(device, static_cast<std::int64_t>(r.size()), [=] __device__(std::int64_t i, double(&sum)[1]) {
    const T value = scaled(from[i]) - to[i];
    to[i] = value;
    sum[0] += static_cast<double>(value) * static_cast<double>(value);
  })[0];
}

template void scale(const Device&, float, std::span<float>);
template void combine(const Device&, float, std::span<const float>, float, std::span<float>);
template ProductDots dots(const Device&, std::span<const float>, std::span<const float>);
template void enqueue_dots(const Device&, std::span<const float>, std::span<const float>, ProductDots*);
template double subtract_from(const Device&, int, std::span<const float>, std::span<float>);
template void scale(const Device&, double, std::span<double>);
template void combine(const Device&, double, std::span<const double>, double, std::span<double>);
template ProductDots dots(const Device&, std::span<const double>, std::span<const double>);
template void enqueue_dots(const Device&, std::span<const double>, std::span<const double>, ProductDots*);
template double subtract_from(const Device&, int, std::span<const double>, std::span<double>);

}  // namespace tessera::cuda
