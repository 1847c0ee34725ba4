/// \file
/// Base of the kernels of a GPU that read the matrix of the plan: a float copy of the values
/// (SpmvOptions::fp32_values), and inner products in a separate pass.
#pragma once

#include "core/cuda/vector_ops.hpp"
#include "spmv/common/kernel.hpp"
#include "tessera/array.hpp"

#include <span>
#include <type_traits>

namespace tessera::cuda {

/// A float copy of the values if the options ask for one and the matrix has double values; else nothing.
/// \param on_device the matrix on options.device \throws OutOfMemory
template <class T>
[[nodiscard]] Array<float> float_values(const CsrView<T>& on_device, const SpmvOptions& options);

/// \param from,to as many on the device
void round_to_float(const Device& device, std::span<const double> from, std::span<float> to);

/// A kernel overrides apply() and describe(), to which it adds float_bytes().
template <class T>
class DeviceKernel : public SpmvKernel<T> {
 public:
  DeviceKernel(const CsrView<T>& a, const SpmvOptions& options)
      : device_(options.device), floats_(float_values(a, options)) {}

  /// The product, then <w, y> and <y, y> in one pass, in an order that depends on the number of rows alone.
  ProductDots apply_and_dot(const CsrView<T>& a, std::span<const T> x, std::span<T> y,
                            std::span<const T> w) const override {
    this->apply(a, T{1}, x, T{0}, y);
    return dots<T>(device_, y, w);
  }

  void update_values(std::span<const T> values) override {
    if constexpr (std::is_same_v<T, double>) {
      if (!floats_.empty()) round_to_float(device_, values, floats_.span());
    }
  }

 protected:
  [[nodiscard]] const Device& device() const noexcept { return device_; }
  /// Empty unless the options asked for them.
  [[nodiscard]] std::span<const float> floats() const noexcept { return floats_.span(); }
  [[nodiscard]] std::uint64_t float_bytes() const noexcept { return floats_.bytes(); }

 private:
  Device device_;
  Array<float> floats_;
};

}  // namespace tessera::cuda
