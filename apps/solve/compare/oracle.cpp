#include "compare/oracle.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace tessera::cli {

namespace {

struct RowSum {
  long double sum = 0;
  long double finite_magnitude = 0;  ///< of the terms that are finite
};

template <class T>
[[nodiscard]] RowSum sum_row(const CsrView<T>& matrix, std::span<const T> x, std::size_t row) {
  RowSum result;
  for (offset_t k = matrix.row_offsets[row]; k < matrix.row_offsets[row + 1]; ++k) {
    const auto column = static_cast<std::size_t>(matrix.columns[static_cast<std::size_t>(k)]);
    const long double term = static_cast<long double>(matrix.value(k)) * static_cast<long double>(x[column]);
    result.sum += term;
    if (std::isfinite(term)) result.finite_magnitude += std::fabs(term);
  }
  return result;
}

/// Of one row: 0 for an exact result, infinity for one of the wrong kind.
[[nodiscard]] double error_over_bound(long double expected, long double bound, long double found) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  if (std::isinf(bound)) return 0.0;
  if (std::isnan(expected)) return std::isnan(found) ? 0.0 : infinite;
  if (std::isinf(expected)) return found == expected ? 0.0 : infinite;
  const long double error = std::fabs(found - expected);
  if (error == 0) return 0.0;
  if (!std::isfinite(error)) return infinite;
  return static_cast<double>(error / bound);
}

}  // namespace

template <class T>
long double rounding_factor(std::int64_t terms) {
  constexpr long double unit = static_cast<long double>(std::numeric_limits<T>::epsilon()) / 2;
  return std::expm1(static_cast<long double>(terms + 4) * unit);
}

template <class T>
ProductOracle product_oracle(const CsrView<T>& matrix, std::span<const T> x) {
  const auto rows = static_cast<std::size_t>(matrix.rows);
  ProductOracle result{std::vector<long double>(rows), std::vector<long double>(rows), 0};
  constexpr auto smallest = static_cast<long double>(std::numeric_limits<T>::denorm_min());
  constexpr auto largest = static_cast<long double>(std::numeric_limits<T>::max());
  std::int64_t unchecked = 0;
#pragma omp parallel for schedule(dynamic, 1024) reduction(+ : unchecked)
  for (std::size_t row = 0; row < rows; ++row) {
    const RowSum sum = sum_row(matrix, x, row);
    const offset_t terms = matrix.row_offsets[row + 1] - matrix.row_offsets[row];
    // Each product may also lose what lies below the smallest number.
    const long double bound =
        rounding_factor<T>(terms) * sum.finite_magnitude + static_cast<long double>(terms) * smallest;
    const bool may_overflow = !(sum.finite_magnitude + bound <= largest);
    result.y[row] = sum.sum;
    result.bound[row] = may_overflow ? std::numeric_limits<long double>::infinity() : bound;
    unchecked += may_overflow ? 1 : 0;
  }
  result.unchecked_rows = unchecked;
  return result;
}

template <class T>
Deviation deviation(const ProductOracle& oracle, std::span<const T> y) {
  Deviation result;
  for (std::size_t row = 0; row < oracle.y.size(); ++row) {
    const auto found = static_cast<long double>(y[row]);
    const double ratio = error_over_bound(oracle.y[row], oracle.bound[row], found);
    if (ratio > result.error_over_bound) result.error_over_bound = ratio;
    if (ratio <= 1.0 || !result.reason.empty()) continue;
    result.reason = fmt::format("row {}: {:.9g} instead of {:.9g}, error beyond the bound {:.2g}", row + 1, found,
                                oracle.y[row], oracle.bound[row]);
  }
  return result;
}

template long double rounding_factor<float>(std::int64_t);
template long double rounding_factor<double>(std::int64_t);
template ProductOracle product_oracle(const CsrView<float>&, std::span<const float>);
template ProductOracle product_oracle(const CsrView<double>&, std::span<const double>);
template Deviation deviation(const ProductOracle&, std::span<const float>);
template Deviation deviation(const ProductOracle&, std::span<const double>);

}  // namespace tessera::cli
