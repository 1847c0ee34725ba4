/// \file
/// Base of the kernels of a GPU that have a product of one launch whose blocks leave their parts of inner products.
#pragma once

#include "core/cuda/context.hpp"
#include "core/cuda/vector_ops.hpp"
#include "core/detail_namespace.hpp"
#include "spmv/common/block_dots.hpp"
#include "spmv/common/kernel.hpp"

#include <mutex>
#include <span>
#include <utility>

namespace tessera::cuda {

/// A kernel overrides leaves_parts(), launch_with_parts() and total(); without such a product, inner products take a
/// pass of their own. \tparam Base of the kernel otherwise
template <class T, class Base = SpmvKernel<T>>
class DotPartsKernel : public Base {
 public:
  /// \param arguments of the base
  template <class... Arguments>
  explicit DotPartsKernel(const Device& device, Arguments&&... arguments)
      : Base(std::forward<Arguments>(arguments)...), device_(device) {}

  ProductDots apply_and_dot(const CsrView<T>& a, std::span<const T> x, std::span<T> y,
                            std::span<const T> w) const override {
    if (!leaves_parts()) {
      this->apply(a, T{1}, x, T{0}, y);
      return dots<T>(device_, y, w);
    }
    const std::scoped_lock lock(mutex_);
    launch_with_total(a, x, y, w, total());
    ProductDots result;
    detail::copy_bytes(Device{}, &result, device_, total(), sizeof(result));
    return result;
  }

  bool enqueue_apply_and_dot(const CsrView<T>& a, std::span<const T> x, std::span<T> y, std::span<const T> w,
                             ProductDots* sums) const override {
    if (!leaves_parts()) return false;
    const std::scoped_lock lock(mutex_);
    launch_with_total(a, x, y, w, sums);
    return true;
  }

  std::span<const ProductDots> enqueue_apply_and_dot_parts(const CsrView<T>& a, std::span<const T> x, std::span<T> y,
                                                           std::span<const T> w) const override {
    if (!leaves_parts()) return {};
    const std::scoped_lock lock(mutex_);
    return launch_with_parts(a, x, y, w);
  }

 protected:
  /// Whether there is such a product.
  [[nodiscard]] virtual bool leaves_parts() const = 0;
  /// y = A x. The caller holds the mutex. \returns the parts of <w, y> and <y, y>, few enough to be added up by many
  virtual std::span<const ProductDots> launch_with_parts(const CsrView<T>& a, std::span<const T> x, std::span<T> y,
                                                         std::span<const T> w) const = 0;
  /// Room for the sum of the parts, on the device.
  [[nodiscard]] virtual ProductDots* total() const = 0;

  mutable std::mutex mutex_;  ///< of what products write, from the first launch of one to its last

 private:
  void launch_with_total(const CsrView<T>& a, std::span<const T> x, std::span<T> y, std::span<const T> w,
                         ProductDots* sums) const {
    const auto parts = launch_with_parts(a, x, y, w);
    const DeviceGuard current(device_);
    enqueue_total(Context::of(device_), parts, sums);
  }

  Device device_;
};

}  // namespace tessera::cuda
