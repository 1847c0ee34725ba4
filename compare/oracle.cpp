#include "compare/oracle.hpp"

#include "core/parallel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <vector>

namespace tessera::compare {

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

/// function(row) for all rows, in blocks of rows that any thread takes.
template <class Function>
void for_row_blocks(std::int64_t rows, const Function& function) {
  constexpr std::int64_t block = 1024;
  host::parallel_tasks(Device{}, (rows + block - 1) / block, [&](std::int64_t number) {
    const std::int64_t end = std::min(rows, (number + 1) * block);
    for (std::int64_t row = number * block; row < end; ++row) function(static_cast<std::size_t>(row));
  });
}

/// Sums over the rows of a residual.
struct Squares {
  long double residual = 0;
  long double allowed = 0;  ///< by rounding
  Squares& operator+=(const Squares& other) {
    residual += other.residual;
    allowed += other.allowed;
    return *this;
  }
};

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
  std::atomic<std::int64_t> unchecked{0};
  const auto check_row = [&](std::size_t row) {
    const RowSum sum = sum_row(matrix, x, row);
    const offset_t terms = matrix.row_offsets[row + 1] - matrix.row_offsets[row];
    // Each product may also lose what lies below the smallest number.
    const long double bound =
        rounding_factor<T>(terms) * sum.finite_magnitude + static_cast<long double>(terms) * smallest;
    const bool may_overflow = !(sum.finite_magnitude + bound <= largest);
    result.y[row] = sum.sum;
    result.bound[row] = may_overflow ? std::numeric_limits<long double>::infinity() : bound;
    if (may_overflow) unchecked.fetch_add(1, std::memory_order_relaxed);
  };
  for_row_blocks(matrix.rows, check_row);
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

template <class T>
CheckedResidual checked_residual(const CsrView<T>& matrix, std::span<const T> b, std::span<const T> x) {
  const auto add_row = [&](std::size_t row, Squares& squares) {
    auto residual = static_cast<long double>(b[row]);
    long double magnitude = std::fabs(residual);
    for (offset_t k = matrix.row_offsets[row]; k < matrix.row_offsets[row + 1]; ++k) {
      const auto column = static_cast<std::size_t>(matrix.columns[static_cast<std::size_t>(k)]);
      const long double term = static_cast<long double>(matrix.value(k)) * static_cast<long double>(x[column]);
      residual -= term;
      magnitude += std::fabs(term);
    }
    const long double allowed =
        rounding_factor<T>(matrix.row_offsets[row + 1] - matrix.row_offsets[row] + 1) * magnitude;
    squares.residual += residual * residual;
    squares.allowed += allowed * allowed;
  };
  const auto sums = host::parallel_sum<Squares>(Device{}, matrix.rows, [&](host::Range range) {
    Squares part;
    for (std::int64_t row = range.begin; row < range.end; ++row) add_row(static_cast<std::size_t>(row), part);
    return part;
  });
  return {static_cast<double>(std::sqrt(sums.residual)), static_cast<double>(std::sqrt(sums.allowed))};
}

namespace {

/// What flows into each vertex in one step without the jumps, and the mass of vertices without out-links.
struct Flow {
  std::vector<long double> in;
  std::vector<std::int64_t> links;  ///< in-links a vertex
  long double dangling = 0;
};

template <class T>
[[nodiscard]] Flow flow_of(const CsrView<T>& graph, std::span<const T> ranks) {
  const auto n = static_cast<std::size_t>(graph.rows);
  Flow flow{std::vector<long double>(n), std::vector<std::int64_t>(n), 0};
  for (std::size_t row = 0; row < n; ++row) {
    long double weight = 0;
    for (offset_t k = graph.row_offsets[row]; k < graph.row_offsets[row + 1]; ++k) {
      weight += static_cast<long double>(graph.value(k));
    }
    const auto rank = static_cast<long double>(ranks[row]);
    if (!(weight > 0)) {
      flow.dangling += rank;
      continue;
    }
    for (offset_t k = graph.row_offsets[row]; k < graph.row_offsets[row + 1]; ++k) {
      const auto column = static_cast<std::size_t>(graph.columns[static_cast<std::size_t>(k)]);
      flow.in[column] += rank * static_cast<long double>(graph.value(k)) / weight;
      ++flow.links[column];
    }
  }
  return flow;
}

}  // namespace

template <class T>
CheckedResidual checked_rank_change(const CsrView<T>& graph, double damping, std::span<const T> ranks) {
  const Flow flow = flow_of(graph, ranks);
  const auto d = static_cast<long double>(damping);
  const auto n = static_cast<long double>(graph.rows);
  long double change = 0;
  long double allowed = 0;
  for (std::size_t i = 0; i < flow.in.size(); ++i) {
    const long double next = d * (flow.in[i] + flow.dangling / n) + (1 - d) / n;
    change += std::fabs(next - static_cast<long double>(ranks[i]));
    // Scaling by the out weight, damping, jumps and the sum that is held at 1 round a few times more.
    constexpr std::int64_t further_roundings = 16;
    allowed += rounding_factor<T>(flow.links[i] + further_roundings) * next;
  }
  // Both vectors of the last step were rounded.
  return {static_cast<double>(change), static_cast<double>(2 * allowed)};
}

template long double rounding_factor<float>(std::int64_t);
template long double rounding_factor<double>(std::int64_t);
template ProductOracle product_oracle(const CsrView<float>&, std::span<const float>);
template ProductOracle product_oracle(const CsrView<double>&, std::span<const double>);
template Deviation deviation(const ProductOracle&, std::span<const float>);
template Deviation deviation(const ProductOracle&, std::span<const double>);
template CheckedResidual checked_residual(const CsrView<float>&, std::span<const float>, std::span<const float>);
template CheckedResidual checked_residual(const CsrView<double>&, std::span<const double>, std::span<const double>);
template CheckedResidual checked_rank_change(const CsrView<float>&, double, std::span<const float>);
template CheckedResidual checked_rank_change(const CsrView<double>&, double, std::span<const double>);

}  // namespace tessera::compare
