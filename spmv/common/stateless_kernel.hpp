/// \file
/// A kernel without set-up but for a glance at the matrix: two functions that are called with it.
#pragma once

#include "spmv/common/gather_access.hpp"
#include "spmv/kernel.hpp"

namespace tessera {

template <class T>
class StatelessKernel final : public SpmvKernel<T> {
 public:
  using Apply = void (*)(const Device&, const CsrView<T>&, GatherAccess, T, std::span<const T>, T, std::span<T>);
  using ApplyAndDot = ProductDots (*)(const Device&, const CsrView<T>&, GatherAccess, std::span<const T>, std::span<T>,
                                      std::span<const T>);

  StatelessKernel(const Device& device, GatherAccess access, Determinism determinism, Apply product,
                  ApplyAndDot product_and_dot)
      : device_(device), access_(access), determinism_(determinism), apply_(product), apply_and_dot_(product_and_dot) {}

  void apply(const CsrView<T>& a, T alpha, std::span<const T> x, T beta, std::span<T> y) const override {
    apply_(device_, a, access_, alpha, x, beta, y);
  }
  ProductDots apply_and_dot(const CsrView<T>& a, std::span<const T> x, std::span<T> y,
                            std::span<const T> w) const override {
    return apply_and_dot_(device_, a, access_, x, y, w);
  }
  void describe(PlanInfo& info) const override { info.determinism = determinism_; }

 private:
  Device device_;
  GatherAccess access_;
  Determinism determinism_;
  Apply apply_;
  ApplyAndDot apply_and_dot_;
};

}  // namespace tessera
