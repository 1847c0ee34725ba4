/// \file
/// Slow, obvious reference results in long double, with error bounds that say how far a correct kernel may be off.
#pragma once

#include "tessera/csr.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace tessera::testing {

/// y = α A x + β y in long double, with a bound on the rounding error of any summation order in type T:
/// |ŷ_i - y_i| <= γ_{k_i + 4} (|α| Σ |a_ij x_j| + |β y_i|), γ_n = n u / (1 - n u), k_i the length of row i
/// (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., §3.1; any order of summation).
struct ProductOracle {
  std::vector<long double> y;
  std::vector<long double> bound;
};

template <class T>
[[nodiscard]] ProductOracle multiply_oracle(T alpha, const CsrView<T>& a, std::span<const T> x, T beta,
                                            std::span<const T> y) {
  ProductOracle result{std::vector<long double>(static_cast<std::size_t>(a.rows)),
                       std::vector<long double>(static_cast<std::size_t>(a.rows))};
  constexpr long double unit = static_cast<long double>(std::numeric_limits<T>::epsilon()) / 2;
  for (std::size_t i = 0; i < result.y.size(); ++i) {
    long double sum = 0;
    long double magnitude = 0;
    for (offset_t k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
      const auto j = static_cast<std::size_t>(a.columns[static_cast<std::size_t>(k)]);
      const long double term = static_cast<long double>(a.value(k)) * static_cast<long double>(x[j]);
      sum += term;
      magnitude += std::fabs(term);
    }
    const long double old = beta == T{0} ? 0.0L : static_cast<long double>(beta) * static_cast<long double>(y[i]);
    result.y[i] = static_cast<long double>(alpha) * sum + old;
    const auto terms = static_cast<long double>(a.row_offsets[i + 1] - a.row_offsets[i] + 4);
    const long double gamma = terms * unit / (1 - terms * unit);
    result.bound[i] = gamma * (std::fabs(static_cast<long double>(alpha)) * magnitude + std::fabs(old)) +
                      static_cast<long double>(std::numeric_limits<T>::denorm_min());
  }
  return result;
}

}  // namespace tessera::testing
