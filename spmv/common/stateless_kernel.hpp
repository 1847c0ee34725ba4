/// \file
/// A host kernel without set-up but for a glance at the matrix: one function, called with whatever the product needs.
#pragma once

#include "spmv/common/epilogue.hpp"
#include "spmv/common/kernel.hpp"
#include "spmv/common/terms.hpp"

namespace tessera::host {

/// \tparam Multiply default-constructible, called as multiply(device, a, terms, epilogue) for the inner products.
/// Its results must not depend on the number of threads.
template <class T, class Multiply>
class StatelessKernel final : public SpmvKernel<T> {
 public:
  StatelessKernel(const CsrView<T>& a, const SpmvOptions& options)
      : device_(options.device), access_(classify_gathers(a)) {}

  void apply(const CsrView<T>& a, T alpha, std::span<const T> x, T beta, std::span<T> y) const override {
    with_terms(a, x, access_, [&](const auto& terms) {
      with_epilogue(alpha, beta, y, [&](const auto& epilogue) { Multiply{}(device_, a, terms, epilogue); });
    });
  }
  ProductDots apply_and_dot(const CsrView<T>& a, std::span<const T> x, std::span<T> y,
                            std::span<const T> w) const override {
    return with_terms(a, x, access_, [&](const auto& terms) {
      return Multiply{}(device_, a, terms, OverwriteAndDot<T>{y.data(), w.data()});
    });
  }
  void describe(PlanInfo& info) const override { info.determinism = Determinism::gpu_to_gpu; }

 private:
  Device device_;
  GatherAccess access_;
};

}  // namespace tessera::host
