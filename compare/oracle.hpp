/// \file
/// Reference results in long double: products with a bound on the rounding error of every row, and residuals.
#pragma once

#include "tessera/csr.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tessera::compare {

/// How far sums of `terms` products in T may lie from the exact ones, relative to the sum of the magnitudes, whatever
/// the order of summation: (1 + u)^(terms + 4) - 1 <= exp((terms + 4) u) - 1, u the unit roundoff (Higham, Accuracy and
/// Stability of Numerical Algorithms, 2nd ed., section 3.1). The 4 leave room for alpha, beta and the reference itself.
template <class T>
[[nodiscard]] long double rounding_factor(std::int64_t terms);

/// A x row by row in long double with the bound on the error of each row.
struct ProductOracle {
  std::vector<long double> y;
  std::vector<long double> bound;   ///< infinite where partial sums can overflow in T, so that nothing can be said
  std::int64_t unchecked_rows = 0;  ///< of infinite bound
};

/// \param x cols elements. O(nnz) with the host's threads. NaN and infinity in the matrix pass into y.
template <class T>
[[nodiscard]] ProductOracle product_oracle(const CsrView<T>& matrix, std::span<const T> x);

/// A vector held against an oracle.
struct Deviation {
  double error_over_bound = 0.0;  ///< the largest ratio of all rows; infinite when a row is NaN that should not be
  std::string reason;             ///< the first row beyond its bound, with numbers; empty when there is none
  [[nodiscard]] bool within_bound() const noexcept { return reason.empty(); }
};

/// Rows whose exact result is NaN or infinite have to be the same NaN or infinity.
/// \param y as many elements as the oracle has rows
template <class T>
[[nodiscard]] Deviation deviation(const ProductOracle& oracle, std::span<const T> y);

/// A residual computed apart from the solvers, in long double and from the matrix as it was read.
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

}  // namespace tessera::compare
