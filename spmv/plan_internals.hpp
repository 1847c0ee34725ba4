/// \file
/// Internals of a plan that solvers may use and users may not.
#pragma once

#include "spmv/common/kernel.hpp"
#include "tessera/spmv.hpp"

#include <memory>

namespace tessera {

struct PlanInternals {
  /// Of the products with A; lives as long as the plan. \param plan not moved from
  template <class T>
  [[nodiscard]] static const detail::SpmvKernel<T>& kernel(const SpmvPlan<T>& plan) noexcept;

  /// Aᵀ as an operator with inner products, residuals and enqueued products. \param plan has_transpose(), not moved
  /// from; outlives the result
  template <class T>
  [[nodiscard]] static std::shared_ptr<const FusedOperator<T>> transposed(const SpmvPlan<T>& plan);
};

extern template const detail::SpmvKernel<float>& PlanInternals::kernel(const SpmvPlan<float>&) noexcept;
extern template const detail::SpmvKernel<double>& PlanInternals::kernel(const SpmvPlan<double>&) noexcept;
extern template std::shared_ptr<const FusedOperator<float>> PlanInternals::transposed(const SpmvPlan<float>&);
extern template std::shared_ptr<const FusedOperator<double>> PlanInternals::transposed(const SpmvPlan<double>&);

}  // namespace tessera
