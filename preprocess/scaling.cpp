/// \file
/// Equilibration by Ruiz, and the symmetric scaling to a unit diagonal.
#include "tessera/scaling.hpp"

#include "core/csr_pointers.hpp"
#include "preprocess/scaling_limits.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tessera {

using namespace detail;

namespace {

[[nodiscard]] std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

template <class T>
void require_finite(const CsrView<T>& a) {
  for (index_t i = 0; i < a.rows && !a.is_pattern(); ++i) {
    for (offset_t k = a.row_offsets[at(i)]; k < a.row_offsets[at(i) + 1]; ++k) {
      if (std::isfinite(a.value(k))) continue;
      throw InvalidMatrix(fmt::format("a scaling needs finite values, but row {}, column {} holds {}", i + 1,
                                      a.columns[at(k)] + 1, a.value(k)));
    }
  }
}

/// Divides by the square roots of what is not zero.
void divide_by_roots(const std::vector<double>& largest, std::vector<double>& factors) {
  for (std::size_t i = 0; i < factors.size(); ++i) {
    if (largest[i] > 0.0) factors[i] = limited_factor(factors[i] / std::sqrt(largest[i]));
  }
}

template <class T>
void sweep(const CsrView<T>& a, Scaling& scaling, std::vector<double>& row_max, std::vector<double>& column_max) {
  std::fill(column_max.begin(), column_max.end(), 0.0);
  for (index_t i = 0; i < a.rows; ++i) {
    double largest = 0.0;
    for (offset_t k = a.row_offsets[at(i)]; k < a.row_offsets[at(i) + 1]; ++k) {
      const std::size_t j = at(a.columns[at(k)]);
      const double magnitude = scaled_magnitude(scaling.row[at(i)], static_cast<double>(a.value(k)), scaling.column[j]);
      largest = std::max(largest, magnitude);
      column_max[j] = std::max(column_max[j], magnitude);
    }
    row_max[at(i)] = largest;
  }
  divide_by_roots(row_max, scaling.row);
  divide_by_roots(column_max, scaling.column);
}

}  // namespace

template <class T>
Scaling ruiz_scaling(const CsrView<T>& matrix, int sweeps) {
  if (sweeps < 0) throw InvalidArgument(fmt::format("Ruiz scaling: {} sweeps", sweeps));
  require_finite(matrix);
  Scaling scaling{std::vector<double>(at(matrix.rows), 1.0), std::vector<double>(at(matrix.cols), 1.0)};
  std::vector<double> row_max(at(matrix.rows));
  std::vector<double> column_max(at(matrix.cols));
  for (int s = 0; s < sweeps; ++s) sweep(matrix, scaling, row_max, column_max);
  return scaling;
}

template <class T>
Scaling symmetric_scaling(const CsrView<T>& matrix) {
  if (!matrix.is_square()) {
    throw DimensionError(
        fmt::format("a symmetric scaling needs a square matrix, this one is {} x {}", matrix.rows, matrix.cols));
  }
  const CsrPointers<T> a = pointers_of(matrix);
  std::vector<double> factors(at(matrix.rows), 1.0);
  for (index_t i = 0; i < matrix.rows; ++i) {
    const offset_t k = diagonal_position(a, i);
    if (k < 0) continue;
    const auto value = static_cast<double>(value_at(a, k));
    if (!std::isfinite(value)) {
      throw InvalidMatrix(
          fmt::format("a symmetric scaling needs a finite diagonal, but row {} holds {}", i + 1, value));
    }
    if (value != 0.0) factors[at(i)] = limited_factor(1.0 / std::sqrt(std::abs(value)));
  }
  return {factors, factors};
}

template Scaling ruiz_scaling(const CsrView<float>&, int);
template Scaling ruiz_scaling(const CsrView<double>&, int);
template Scaling symmetric_scaling(const CsrView<float>&);
template Scaling symmetric_scaling(const CsrView<double>&);

}  // namespace tessera
