/// Incomplete factorizations, their common part: budgets and the estimate of ‖(L U)⁻¹ e‖∞.
#include "solvers/factors/factorization.hpp"

#include "core/detail_namespace.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera::detail {

namespace {

/// The fill limit counts of as many entries as there are rows at least, so that an empty matrix has factors.
offset_t limit_of_entries(double fill_limit, index_t rows, offset_t entries) {
  const double most = fill_limit * static_cast<double>(std::max<offset_t>(entries, rows));
  constexpr double largest = 0.5 * static_cast<double>(std::numeric_limits<offset_t>::max());
  return static_cast<offset_t>(std::min(most, largest));
}

}  // namespace

FactorBudget::FactorBudget(const IncompleteFactorOptions& options, index_t rows, offset_t entries)
    : kind_(options.kind),
      fill_limit_(options.fill_limit),
      seconds_(options.time_limit_seconds),
      all_rows_(rows),
      matrix_entries_(entries),
      most_entries_(limit_of_entries(options.fill_limit, rows, entries)),
      limit_(options.time_limit_seconds) {}

void FactorBudget::refuse_entries(index_t row, offset_t entries) const {
  throw BudgetExceeded(fmt::format(
      "{}: the factors have {} entries after {} of {} rows, more than {} times the {} entries of the matrix",
      to_string(kind_), entries, std::min(row + 1, all_rows_), all_rows_, fill_limit_, matrix_entries_));
}

void FactorBudget::check_time() const {
  if (is_wanted()) return;
  throw BudgetExceeded(std::isfinite(seconds_)
                           ? fmt::format("{}: given up, the limit is {:.3g} s", to_string(kind_), seconds_)
                           : fmt::format("{}: given up", to_string(kind_)));
}

}  // namespace tessera::detail

namespace tessera::host {

namespace {

/// x = L⁻¹ x. The diagonal of L is that of both factors for L Lᵀ, else it is 1.
void solve_lower(const Factorization& factors, std::vector<double>& x) {
  const FactorRows& lower = factors.lower;
  for (index_t i = 0; i < lower.rows(); ++i) {
    double sum = x[static_cast<std::size_t>(i)];
    for (std::size_t k = lower.begin(i); k < lower.end(i); ++k) {
      sum -= lower.values[k] * x[static_cast<std::size_t>(lower.columns[k])];
    }
    x[static_cast<std::size_t>(i)] = factors.is_symmetric ? sum / factors.diagonal[static_cast<std::size_t>(i)] : sum;
  }
}

/// x = U⁻¹ x
void solve_upper(const Factorization& factors, std::vector<double>& x) {
  const FactorRows& upper = factors.upper;
  for (index_t i = upper.rows() - 1; i >= 0; --i) {
    double sum = x[static_cast<std::size_t>(i)];
    for (std::size_t k = upper.begin(i); k < upper.end(i); ++k) {
      sum -= upper.values[k] * x[static_cast<std::size_t>(upper.columns[k])];
    }
    x[static_cast<std::size_t>(i)] = sum / factors.diagonal[static_cast<std::size_t>(i)];
  }
}

}  // namespace

double condition_estimate(const Factorization& factors) {
  std::vector<double> x(factors.diagonal.size(), 1.0);
  solve_lower(factors, x);
  solve_upper(factors, x);
  double largest = 0.0;
  for (const double value : x) {
    if (std::isnan(value)) return value;
    largest = std::max(largest, std::abs(value));
  }
  return largest;
}

}  // namespace tessera::host
