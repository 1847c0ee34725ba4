/// \file
/// TransposedOperator: the transposed product of a plan as an operator of its own.
#pragma once

#include "core/enqueued_product.hpp"
#include "spmv/common/enqueue_product.hpp"
#include "spmv/plan_internals.hpp"
#include "spmv/residual/float_residual.hpp"
#include "tessera/fused_operator.hpp"

#include <cstdint>
#include <span>
#include <type_traits>

namespace tessera::detail {

template <class T>
class TransposedOperator final : public FusedOperator<T>, private EnqueuedProduct<T> {
 public:
  /// \param place of the matrix
  TransposedOperator(const TransposedProduct<T>& product, const Device& device, const Device& place)
      : product_(product), device_(device), place_(place) {}

  [[nodiscard]] std::int64_t rows() const override { return product_.view().rows; }
  [[nodiscard]] std::int64_t cols() const override { return product_.view().cols; }
  [[nodiscard]] Device device() const override { return device_; }

 protected:
  void do_apply(T alpha, std::span<const T> x, T beta, std::span<T> y) const override {
    product_.kernel().apply(product_.view(), alpha, x, beta, y);
  }
  ProductDots do_apply_and_dot(std::span<const T> x, std::span<T> y, std::span<const T> w) const override {
    return product_.kernel().apply_and_dot(product_.view(), x, y, w);
  }
  double do_residual(int exponent, std::span<const T> b, std::span<const T> x, std::span<T> r) const override {
    if constexpr (std::is_same_v<T, float>) return float_residual(device_, place_, product_.view(), exponent, b, x, r);
    return FusedOperator<T>::do_residual(exponent, b, x, r);
  }

 private:
  [[nodiscard]] const EnqueuedProduct<T>* enqueued_product() const noexcept override {
    return place_.is_host() ? nullptr : this;
  }
  void enqueue(std::span<const T> x, std::span<T> y, std::span<const T> w, ProductDots* sums) const override {
    enqueue_product(device_, product_.kernel(), product_.view(), x, y, w, sums);
  }
  [[nodiscard]] std::span<const ProductDots> enqueue_parts(std::span<const T> x, std::span<T> y, std::span<const T> w,
                                                           ProductDots* sums,
                                                           const std::int32_t* /*halted*/) const override {
    return enqueue_product_parts(device_, product_.kernel(), product_.view(), x, y, w, sums);
  }

  const TransposedProduct<T>& product_;
  Device device_;
  Device place_;
};

}  // namespace tessera::detail
