/// \file
/// What a product has to be: sums in long double, and how far a correct kernel may be off.
#pragma once

#include "tessera/csr.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tessera::cli {

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

}  // namespace tessera::cli
