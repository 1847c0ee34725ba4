/// \file
/// Products in less than working precision against oracles: rounding to half precision in closed form, sums in long
/// double.
#pragma once

#include "tests/spgemm/product_check.hpp"
#include "tests/support/make_csr.hpp"

#include <functional>
#include <random>

namespace tessera::testing {

/// The nearest number in half precision, of two the one whose last bit is 0; infinity from 65520 on. NaN stays.
[[nodiscard]] inline long double nearest_half(long double value) {
  const long double magnitude = std::fabs(value);
  if (std::isnan(value)) return value;
  if (magnitude >= 65520.0L) return std::copysign(std::numeric_limits<long double>::infinity(), value);
  const int exponent = magnitude < 0x1p-14L ? -14 : std::ilogb(magnitude);
  // Numbers are whole multiples of the unit: nearbyint() rounds to the nearest, ties to even.
  const long double unit = std::ldexp(1.0L, exponent - 10);
  return std::copysign(std::nearbyint(magnitude / unit) * unit, value);
}

/// A matrix with values rounded to half precision; a pattern as it is.
template <class T>
[[nodiscard]] Csr<T> rounded_to_half(const Csr<T>& matrix) {
  Csr<T> result = Csr<T>::copy_of(matrix.view());
  if (matrix.is_pattern()) return result;
  Array<T> values(matrix.nnz(), Init::none);
  for (std::int64_t k = 0; k < matrix.nnz(); ++k) {
    values[k] = static_cast<T>(nearest_half(static_cast<long double>(matrix.values()[k])));
  }
  return result.template with_values<T>(std::move(values));
}

/// An entry of the exact product, and what bounds on its errors are made of.
struct ExactEntry {
  index_t row = 0;
  index_t column = 0;
  long double sum = 0;
  long double magnitude = 0;  ///< Σ |a_ik b_kj|
  long double lifted = 0;     ///< the same with 2^-14, the least normal half, for values below it
  int terms = 0;
  int tiles = 0;  ///< pairs of tiles that its terms come from
};

/// Fails at the first entry of C that is farther from the product of A and B than bound(entry).
template <class T>
[[nodiscard]] ::testing::AssertionResult is_within(const CsrView<T>& a, const CsrView<T>& b, const CsrView<T>& c,
                                                   const std::function<long double(const ExactEntry&)>& bound) {
  std::vector<ExactEntry> cells(static_cast<std::size_t>(b.cols));
  std::vector<index_t> last_tile(cells.size());
  for (index_t i = 0; i < a.rows; ++i) {
    const auto at = static_cast<std::size_t>(i);
    std::fill(cells.begin(), cells.end(), ExactEntry{});
    std::fill(last_tile.begin(), last_tile.end(), -1);
    for (offset_t k = a.row_offsets[at]; k < a.row_offsets[at + 1]; ++k) {
      const index_t inner = a.columns[static_cast<std::size_t>(k)];
      for (offset_t l = b.row_offsets[static_cast<std::size_t>(inner)];
           l < b.row_offsets[static_cast<std::size_t>(inner) + 1]; ++l) {
        const auto j = static_cast<std::size_t>(b.columns[static_cast<std::size_t>(l)]);
        ExactEntry& cell = cells[j];
        const long double term = static_cast<long double>(a.value(k)) * static_cast<long double>(b.value(l));
        cell.sum += term;
        cell.magnitude += std::fabs(term);
        cell.lifted += std::fmax(std::fabs(static_cast<long double>(a.value(k))), 0x1p-14L) *
                       std::fmax(std::fabs(static_cast<long double>(b.value(l))), 0x1p-14L);
        ++cell.terms;
        cell.tiles += std::exchange(last_tile[j], inner / 8) != inner / 8 ? 1 : 0;
      }
    }
    for (offset_t e = c.row_offsets[at]; e < c.row_offsets[at + 1]; ++e) {
      ExactEntry cell = cells[static_cast<std::size_t>(c.columns[static_cast<std::size_t>(e)])];
      cell.row = i;
      cell.column = c.columns[static_cast<std::size_t>(e)];
      const auto found = static_cast<long double>(c.values[static_cast<std::size_t>(e)]);
      if (cell.terms > 0 && std::fabs(found - cell.sum) <= bound(cell)) continue;
      return ::testing::AssertionFailure()
             << "entry (" << i << ", " << cell.column << ") of " << cell.terms << " terms is " << found << ", not "
             << cell.sum << ", off by " << std::fabs(found - cell.sum) << ", beyond " << bound(cell);
    }
  }
  return ::testing::AssertionSuccess();
}

/// Sums in single precision by tensor instructions that cut bits off, 6 n u Σ |a b|. They align subnormal halves by the
/// exponent of the least normal one.
[[nodiscard]] inline long double half_bound(const ExactEntry& entry) {
  return 6.0L * entry.terms * 0x1p-24L * entry.lifted;
}
/// Two TF32 numbers per value, (2 p + 32) u Σ |a b|.
[[nodiscard]] inline long double tf32_bound(const ExactEntry& entry) {
  return (2.0L * entry.tiles + 32.0L) * 0x1p-24L * entry.magnitude;
}
/// Exact products, sums in double, rounded once to single.
[[nodiscard]] inline long double double_bound(const ExactEntry& entry) {
  const long double sums = entry.terms * 0x1p-53L / (1.0L - entry.terms * 0x1p-53L) * entry.magnitude;
  return 0x1p-24L * (std::fabs(entry.sum) + sums) + sums + 0x1p-149L;
}

/// Values in [-1, 1) times 2^e, e from `low` to `high`.
template <class T>
[[nodiscard]] Csr<T> with_exponents(const Csr<T>& matrix, int low, int high, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::uniform_real_distribution<double> mantissa(0.5, 1.0);
  std::uniform_int_distribution<int> exponent(low, high);
  Array<T> values(matrix.nnz(), Init::none);
  for (T& value : values) {
    const double magnitude = std::ldexp(mantissa(generator), exponent(generator));
    value = static_cast<T>(generator() % 2 == 0 ? magnitude : -magnitude);
  }
  return Csr<T>::copy_of(matrix.view()).template with_values<T>(std::move(values));
}

[[nodiscard]] inline SpgemmOptions precision_options(SpgemmPrecision precision,
                                                     const Device& device = Device::host(2)) {
  SpgemmOptions options;
  options.precision = precision;
  options.device = device;
  return options;
}

}  // namespace tessera::testing
