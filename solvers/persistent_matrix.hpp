/// \file
/// The matrix of a persistent kernel, for the problems that one solves.
#pragma once

#include "solvers/krylov_problem.hpp"
#include "solvers/persistent_kernel.hpp"
#include "spmv/plan_internals.hpp"

#include <memory>
#include <optional>

namespace tessera::detail {

/// The matrix of the problem, whose plan chose its kernel itself; else nothing.
template <class T>
[[nodiscard]] std::optional<CsrView<T>> free_matrix_of(const KrylovProblem<T>& problem) {
  const auto* const plan = dynamic_cast<const SpmvPlan<T>*>(&problem.a);
  if (plan == nullptr || !problem.preconditioner.is_fused || !problem.is_enqueueable()) return std::nullopt;
  return PlanInternals::free_matrix(*plan);
}

/// For a small matrix on a GPU and a diagonal M, else null. \throws OutOfMemory, CudaError
template <class T>
[[nodiscard]] std::unique_ptr<cuda::PersistentMatrix<T>> persistent_matrix_of(const KrylovProblem<T>& problem,
                                                                              cuda::PersistentLoop loop,
                                                                              int directions = 0) {
  const auto a = free_matrix_of(problem);
  return a ? cuda::make_persistent_matrix(problem.device(), *a, loop, directions) : nullptr;
}

/// The diagonal of M; null for the identity.
template <class T>
[[nodiscard]] const T* diagonal_of(const fused::FusedPreconditioner<T>& m) {
  const auto* const diagonal = std::get_if<fused::FusedDiagonal<T>>(&m.entry);
  return diagonal == nullptr ? nullptr : diagonal->diagonal;
}

}  // namespace tessera::detail
