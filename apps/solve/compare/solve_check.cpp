#include "compare/solve_check.hpp"

#include "compare/oracle.hpp"

#include <cmath>
#include <vector>

namespace tessera::cli {

template <class T>
CheckedResidual checked_residual(const CsrView<T>& matrix, std::span<const T> b, std::span<const T> x) {
  long double squares = 0;
  long double allowed_squares = 0;
  const auto rows = static_cast<std::size_t>(matrix.rows);
#pragma omp parallel for schedule(static) reduction(+ : squares, allowed_squares)
  for (std::size_t row = 0; row < rows; ++row) {
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
    squares += residual * residual;
    allowed_squares += allowed * allowed;
  }
  return {static_cast<double>(std::sqrt(squares)), static_cast<double>(std::sqrt(allowed_squares))};
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

template CheckedResidual checked_residual(const CsrView<float>&, std::span<const float>, std::span<const float>);
template CheckedResidual checked_residual(const CsrView<double>&, std::span<const double>, std::span<const double>);
template CheckedResidual checked_rank_change(const CsrView<float>&, double, std::span<const float>);
template CheckedResidual checked_rank_change(const CsrView<double>&, double, std::span<const double>);

}  // namespace tessera::cli
