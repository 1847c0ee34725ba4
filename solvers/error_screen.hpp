/// \file
/// A cheap look at a solution of conjugate gradients: whether its error can be large, from M r and the iterations. What
/// it clears needs no solve for a correction.
#pragma once

#include "tessera/linear_operator.hpp"
#include "tessera/report.hpp"

#include <cstdint>
#include <span>

namespace tessera::detail {

/// Condition number that CG met in k iterations: from k <= ½ √κ ln(2 / reduction), which bounds its iterations (Y.
/// Saad, Iterative Methods for Sparse Linear Systems, 2nd ed., section 6.11.3), κ >= (2 k / ln(2 / reduction))²; at
/// least 1. \param reduction of the residual, in (0, 1]
[[nodiscard]] double cg_condition(std::int64_t iterations, double reduction);

/// With e the error, ‖e‖ <= κ ‖M r‖ / λ_max(M A).
struct ErrorScreen {
  double correction = 0.0;  ///< ‖M r‖ / (λ ‖x‖) with a lower bound λ of λ_max(M A)
  double condition = 1.0;   ///< cg_condition()

  /// Of ‖e‖ / ‖x‖, as far as `condition` is the condition number of M A.
  [[nodiscard]] double estimate() const noexcept { return correction * condition; }
  /// Small enough to need no better estimate: at most 1e-4.
  [[nodiscard]] bool cleared() const noexcept { return estimate() <= 1e-4; }
};

/// Of a solve with cg() that converged after at least one iteration. All vectors lie on the device of A.
/// \param r the true residual \param x the solution
/// \param largest_eigenvalue a lower bound for M A: 1 for approximate inverses, the largest diagonal entry of A for the
///                           identity
/// One product with M, one vector of memory.
template <class T>
[[nodiscard]] ErrorScreen screen_error(const LinearOperator<T>& M, std::span<const T> r, std::span<const T> x,
                                       const SolveReport& report, double largest_eigenvalue);

extern template ErrorScreen screen_error(const LinearOperator<float>&, std::span<const float>, std::span<const float>,
                                         const SolveReport&, double);
extern template ErrorScreen screen_error(const LinearOperator<double>&, std::span<const double>,
                                         std::span<const double>, const SolveReport&, double);

}  // namespace tessera::detail
