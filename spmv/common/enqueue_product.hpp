/// \file
/// y = A x with inner products in the stream of a GPU, by what a kernel offers.
#pragma once

#include "core/cuda/vector_ops.hpp"
#include "spmv/common/kernel.hpp"

#include <span>

namespace tessera::detail {

/// y = A x and, in *sums on the device, <w, y> and <y, y>. Does not wait.
template <class T>
void enqueue_product(const Device& device, const SpmvKernel<T>& kernel, const CsrView<T>& a, std::span<const T> x,
                     std::span<T> y, std::span<const T> w, ProductDots* sums) {
  if (kernel.enqueue_apply_and_dot(a, x, y, w, sums)) return;
  kernel.apply(a, T{1}, x, T{0}, y);
  cuda::enqueue_dots<T>(device, y, w, sums);
}

/// The same, leaving the inner products in parts where the kernel can.
template <class T>
[[nodiscard]] std::span<const ProductDots> enqueue_product_parts(const Device& device, const SpmvKernel<T>& kernel,
                                                                 const CsrView<T>& a, std::span<const T> x,
                                                                 std::span<T> y, std::span<const T> w,
                                                                 ProductDots* sums) {
  const auto parts = kernel.enqueue_apply_and_dot_parts(a, x, y, w);
  if (!parts.empty()) return parts;
  enqueue_product(device, kernel, a, x, y, w, sums);
  return {sums, 1};
}

}  // namespace tessera::detail
