/// \file
/// Internals of a plan that solvers may use and users may not.
#pragma once

#include "spmv/common/kernel.hpp"
#include "tessera/spmv.hpp"

namespace tessera {

struct PlanInternals {
  /// Of the products with A; lives as long as the plan. \param plan not moved from
  template <class T>
  [[nodiscard]] static const detail::SpmvKernel<T>& kernel(const SpmvPlan<T>& plan) noexcept;
};

extern template const detail::SpmvKernel<float>& PlanInternals::kernel(const SpmvPlan<float>&) noexcept;
extern template const detail::SpmvKernel<double>& PlanInternals::kernel(const SpmvPlan<double>&) noexcept;

}  // namespace tessera
