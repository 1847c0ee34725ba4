/// Transposition, scaling and permutation of a matrix for direct solvers.
#include "solvers/direct/column_matrix.hpp"

#include "core/interruption.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <numeric>

namespace tessera::detail {

namespace {

std::size_t at(std::int64_t i) noexcept { return static_cast<std::size_t>(i); }

/// A sweep halves the exponents of the largest magnitudes, which are at most 2^11 apart.
constexpr int most_sweeps = 16;
constexpr int no_entry = std::numeric_limits<int>::min();

/// Exponents of the entries, no_entry for explicit zeros.
std::vector<int> exponents_of(std::span<const double> values) {
  std::vector<int> exponents(values.size());
  std::transform(values.begin(), values.end(), exponents.begin(),
                 [](double value) { return value == 0.0 ? no_entry : exponent_of(value); });
  return exponents;
}

/// value 2^exponent, at least the smallest normal number in magnitude.
double scale_entry(double value, int exponent) {
  const double scaled = scale_by_power(value, exponent);
  constexpr double smallest = std::numeric_limits<double>::min();
  return value == 0.0 || std::abs(scaled) >= smallest ? scaled : std::copysign(smallest, value);
}

}  // namespace

template <class T>
ColumnMatrix columns_of(const CsrView<T>& matrix) {
  const auto nnz = at(matrix.nnz());
  ColumnMatrix result{.offsets = std::vector<offset_t>(at(matrix.cols) + 1),
                      .rows = std::vector<index_t>(nnz),
                      .values = std::vector<double>(nnz)};
  for (const index_t column : matrix.columns) ++result.offsets[at(column) + 1];
  std::partial_sum(result.offsets.begin(), result.offsets.end(), result.offsets.begin());
  std::vector<offset_t> next(result.offsets.begin(), result.offsets.end() - 1);
  for (index_t row = 0; row < matrix.rows; ++row) {
    for (offset_t k = matrix.row_offsets[at(row)]; k < matrix.row_offsets[at(row) + 1]; ++k) {
      const auto value = static_cast<double>(matrix.value(k));
      if (!std::isfinite(value)) {
        throw InvalidMatrix(
            fmt::format("a direct solution needs finite entries: row {} holds {} in "
                        "column {}",
                        row + 1, value, matrix.columns[at(k)] + 1));
      }
      const auto place = at(next[at(matrix.columns[at(k)])]++);
      result.rows[place] = row;
      result.values[place] = value;
    }
  }
  return result;
}

template <class T>
bool is_symmetric(const CsrView<T>& matrix, const ColumnMatrix& columns) {
  if (!std::equal(matrix.row_offsets.begin(), matrix.row_offsets.end(), columns.offsets.begin()) ||
      !std::equal(matrix.columns.begin(), matrix.columns.end(), columns.rows.begin())) {
    return false;
  }
  for (offset_t k = 0; k < matrix.nnz(); ++k) {
    if (static_cast<double>(matrix.value(k)) != columns.values[at(k)]) return false;
  }
  return true;
}

PowerScaling power_scaling(const ColumnMatrix& matrix) {
  const auto n = at(matrix.size());
  const std::vector<int> exponents = exponents_of(matrix.values);
  PowerScaling scaling{.row = std::vector<int>(n), .column = std::vector<int>(n)};
  std::vector<int> row_largest(n);
  std::vector<int> column_largest(n);
  bool is_done = false;
  for (int sweep = 0; sweep < most_sweeps && !is_done; ++sweep) {
    std::fill(row_largest.begin(), row_largest.end(), no_entry);
    std::fill(column_largest.begin(), column_largest.end(), no_entry);
    for (std::size_t j = 0; j < n; ++j) {
      interruption_point(1 + matrix.offsets[j + 1] - matrix.offsets[j]);
      for (auto k = at(matrix.offsets[j]); k < at(matrix.offsets[j + 1]); ++k) {
        if (exponents[k] == no_entry) continue;
        const auto i = at(matrix.rows[k]);
        const int exponent = exponents[k] + scaling.row[i] + scaling.column[j];
        row_largest[i] = std::max(row_largest[i], exponent);
        column_largest[j] = std::max(column_largest[j], exponent);
      }
    }
    is_done = true;
    // The same for rows and columns, so that symmetric factors stay equal.
    const auto halve = [&is_done](int largest, int& exponent) {
      if (largest == no_entry || std::abs(largest) < 2) return;
      exponent -= largest / 2;
      is_done = false;
    };
    for (std::size_t i = 0; i < n; ++i) {
      halve(row_largest[i], scaling.row[i]);
      halve(column_largest[i], scaling.column[i]);
    }
  }
  return scaling;
}

ColumnMatrix permuted(const ColumnMatrix& matrix, const PowerScaling& scaling, const DirectOrder& order) {
  std::vector<index_t> inverse(order.rows.size());
  for (std::size_t k = 0; k < inverse.size(); ++k) inverse[at(order.rows[k])] = static_cast<index_t>(k);
  ColumnMatrix result;
  result.offsets.reserve(order.columns.size() + 1);
  result.rows.reserve(matrix.rows.size());
  result.values.reserve(matrix.values.size());
  result.offsets.push_back(0);
  for (const index_t column : order.columns) {
    interruption_point(1 + matrix.offsets[at(column) + 1] - matrix.offsets[at(column)]);
    for (auto k = at(matrix.offsets[at(column)]); k < at(matrix.offsets[at(column) + 1]); ++k) {
      const auto row = at(matrix.rows[k]);
      result.rows.push_back(inverse[row]);
      result.values.push_back(scale_entry(matrix.values[k], scaling.row[row] + scaling.column[at(column)]));
    }
    result.offsets.push_back(static_cast<offset_t>(result.rows.size()));
  }
  return result;
}

template ColumnMatrix columns_of(const CsrView<float>&);
template ColumnMatrix columns_of(const CsrView<double>&);
template bool is_symmetric(const CsrView<float>&, const ColumnMatrix&);
template bool is_symmetric(const CsrView<double>&, const ColumnMatrix&);

}  // namespace tessera::detail
