#include "product_check.hpp"
#include "interrupt.hpp"

#include "core/structure_passes.hpp"
#include "support/system.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

namespace tessera::cli {

namespace {

template <class T>
[[nodiscard]] CheckedVector multiply(const CsrView<T>& m, const CheckedVector& x) {
  const auto rows = static_cast<std::size_t>(m.rows);
  CheckedVector y{std::vector<double>(rows), std::vector<double>(rows)};
  for (std::size_t i = 0; i < rows; ++i) {
    for (offset_t k = m.row_offsets[i]; k < m.row_offsets[i + 1]; ++k) {
      const auto j = static_cast<std::size_t>(m.columns[static_cast<std::size_t>(k)]);
      const auto value = static_cast<double>(m.value(k));
      y.value[i] += value * x.value[j];
      y.magnitude[i] += std::fabs(value) * x.magnitude[j];
    }
  }
  return y;
}

/// By how much values and sums may be rounded, relative. In half precision values lose the most, those near 0 more than
/// 2^-11 of theirs.
template <class T>
[[nodiscard]] double rounding_unit(const std::vector<SpgemmReport>& products) {
  auto unit = static_cast<double>(std::numeric_limits<T>::epsilon());
  for (const SpgemmReport& report : products) {
    if (report.precision == SpgemmPrecision::working) continue;
    unit = std::max({unit, static_cast<double>(std::numeric_limits<float>::epsilon()),
                     2.0 * report.loss.value_or(SpgemmLoss{}).largest_rounding});
  }
  return unit;
}

}  // namespace

template <class T>
ProductCheck<T>::ProductCheck(const SpgemmSettings& settings, const Csr<T>& a, const Csr<T>& b)
    : factors_(settings.has_two_factors() ? 2 : settings.power), longest_(detail::longest_row(a.view().row_offsets)) {
  x_.value = support::random_vector<double>(b.cols(), settings.machine.seed);
  x_.magnitude = x_.value;
  for (double& element : x_.magnitude) element = std::fabs(element);
  expected_ = x_;
  for (int k = 0; k < factors_; ++k) {
    expected_ = multiply(settings.has_two_factors() && k == 0 ? b.view() : a.view(), expected_);
    stop_if_interrupted();
  }
}

template <class T>
void ProductCheck<T>::add(const CsrView<T>& slice, index_t first_row, const std::vector<SpgemmReport>& products) {
  // Every product sums at most as many terms an entry as a row of A or C has entries, each rounded by a unit, and,
  // applied to x, at most as many again in double.
  const CheckedVector found = multiply(slice, x_);
  const auto longest = static_cast<double>(std::max(longest_, detail::longest_row(slice.row_offsets)));
  const double bound = rounding_unit<T>(products) * (2.0 * factors_ + 2.0) * (longest + 2.0);
  for (std::size_t i = 0; i < found.value.size(); ++i) {
    const std::size_t row = static_cast<std::size_t>(first_row) + i;
    const double difference = std::fabs(found.value[i] - expected_.value[row]);
    if (difference == 0.0) continue;
    const double ratio = difference / (bound * expected_.magnitude[row]);
    result_.error = std::isnan(ratio) ? std::numeric_limits<double>::infinity() : std::max(result_.error, ratio);
  }
}

template <class T>
std::uint64_t ProductCheck<T>::bytes(const Csr<T>& a, const Csr<T>& b) noexcept {
  constexpr std::uint64_t vectors = 9;
  return vectors * static_cast<std::uint64_t>(std::max({a.rows(), b.rows(), b.cols()})) * sizeof(double);
}

template class ProductCheck<float>;
template class ProductCheck<double>;

}  // namespace tessera::cli
