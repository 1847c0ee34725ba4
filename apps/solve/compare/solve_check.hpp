/// \file
/// Residuals computed apart from the solvers, in long double and from the matrix as it was read.
#pragma once

#include "tessera/csr.hpp"

#include <span>

namespace tessera::cli {

struct CheckedResidual {
  double value = 0.0;      ///< NaN where x is not finite
  double allowance = 0.0;  ///< how far the residual that a solver computes in T may lie below it, by rounding alone
};

/// ‖b - A x‖₂. O(nnz)
/// \param b rows elements
/// \param x cols elements
template <class T>
[[nodiscard]] CheckedResidual checked_residual(const CsrView<T>& matrix, std::span<const T> b, std::span<const T> x);

/// ‖x' - x‖₁, x' one step of PageRank (uniform teleport, dangling vertices to it) from x on the graph whose row i holds
/// the out-links of i. One step shrinks the distance of two vectors by the damping factor at least, so ranks whose last
/// step was within a tolerance stay within it.
template <class T>
[[nodiscard]] CheckedResidual checked_rank_change(const CsrView<T>& graph, double damping, std::span<const T> ranks);

}  // namespace tessera::cli
