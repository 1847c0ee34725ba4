/// \file
/// Internals of a plan that solvers may use and users may not.
#pragma once

#include "spmv/common/kernel.hpp"
#include "tessera/spmv.hpp"

#include <memory>
#include <optional>

namespace tessera {

struct PlanInternals {
  /// Of the products with A; lives as long as the plan. \param plan not moved from
  template <class T>
  [[nodiscard]] static const detail::SpmvKernel<T>& kernel(const SpmvPlan<T>& plan) noexcept;

  /// The matrix, where the plan chose its kernel itself: a solver on a GPU, where no class is above run_to_run, may
  /// form its products by other means that keep this class. Not a streamed one. \param plan not moved from
  template <class T>
  [[nodiscard]] static std::optional<CsrView<T>> free_matrix(const SpmvPlan<T>& plan) noexcept;

  /// Aᵀ as an operator with inner products, residuals and enqueued products. \param plan has_transpose(), not moved
  /// from; outlives the result
  template <class T>
  [[nodiscard]] static std::shared_ptr<const FusedOperator<T>> transposed(const SpmvPlan<T>& plan);

  /// Prepares products with several columns, which the first of them does otherwise, and counts their memory in
  /// PlanInfo::bytes. From then on SpmvPlan::apply_many() on a GPU neither waits nor allocates: it is put into the
  /// device's stream, so that a graph may record it, X.columns(0, k) and Y.columns(0, k) leaving out the columns that
  /// are no longer active. Its memory stays where it is as long as the plan. Nothing on the host, and for the kernel
  /// tiles, which has panels of its own. Not concurrent with products. \throws OutOfMemory, CudaError
  template <class T>
  static void prepare_columns(const SpmvPlan<T>& plan);
};

extern template const detail::SpmvKernel<float>& PlanInternals::kernel(const SpmvPlan<float>&) noexcept;
extern template const detail::SpmvKernel<double>& PlanInternals::kernel(const SpmvPlan<double>&) noexcept;
extern template std::optional<CsrView<float>> PlanInternals::free_matrix(const SpmvPlan<float>&) noexcept;
extern template std::optional<CsrView<double>> PlanInternals::free_matrix(const SpmvPlan<double>&) noexcept;
extern template std::shared_ptr<const FusedOperator<float>> PlanInternals::transposed(const SpmvPlan<float>&);
extern template std::shared_ptr<const FusedOperator<double>> PlanInternals::transposed(const SpmvPlan<double>&);

}  // namespace tessera
