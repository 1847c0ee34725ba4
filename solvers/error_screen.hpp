/// \file
/// A cheap bound on the forward error of an iterative solution, which spares most solutions the solve for a correction.
#pragma once

#include "tessera/linear_operator.hpp"

#include <cstdint>
#include <span>

namespace tessera::detail {

struct ErrorScreen {
  double bound = 0.0;   ///< on the relative error, as far as the iteration met what is hard in A
  bool clears = false;  ///< the bound is small enough
};

/// ‖M r‖ / ‖x‖ max(1, (2 k / ln(2 / ε))²) with r = b - A x: CG reduces the residual by ε within k iterations for a
/// condition number of M A up to that factor (Y. Saad, Iterative Methods for Sparse Linear Systems, 2nd ed., section
/// 6.11.3), so that the error is at most so much larger than M r. For other methods there is no such bound; over the
/// real matrices the quantity was never more than 10⁴ times too small.
/// Clears CG below 1e-4, others below 1e-5. One product with A and one with M.
/// \param iterations k
/// \param reduction  ε: residual at the end over ‖b‖
template <class T>
[[nodiscard]] ErrorScreen error_screen(const LinearOperator<T>& A, const LinearOperator<T>& M, std::span<const T> b,
                                       std::span<const T> x, std::int64_t iterations, double reduction, bool is_cg);

extern template ErrorScreen error_screen(const LinearOperator<float>&, const LinearOperator<float>&,
                                         std::span<const float>, std::span<const float>, std::int64_t, double, bool);
extern template ErrorScreen error_screen(const LinearOperator<double>&, const LinearOperator<double>&,
                                         std::span<const double>, std::span<const double>, std::int64_t, double, bool);

}  // namespace tessera::detail
