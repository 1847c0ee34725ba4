/// \file
/// Triangular factors of many shapes, with permutations and scales, and M r by a plain loop.
#pragma once

#include "solvers/factors/device_levels.hpp"
#include "solvers/factors/prepared_factors.hpp"
#include "tests/support/make_csr.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace tessera::testing {

/// Rows of a triangle, columns ascending.
template <class T>
struct TriangleRows {
  std::vector<std::vector<std::pair<index_t, T>>> rows;
  std::vector<T> inverse_diagonal;  ///< empty: all 1

  [[nodiscard]] detail::TriangularFactor<T> on(const Device& device) const {
    std::vector<offset_t> offsets{0};
    std::vector<index_t> columns;
    std::vector<T> values;
    for (const auto& row : rows) {
      for (const auto& [column, value] : row) {
        columns.push_back(column);
        values.push_back(value);
      }
      offsets.push_back(static_cast<offset_t>(columns.size()));
    }
    const auto n = static_cast<std::int64_t>(rows.size());
    return {make_csr<T>(n, n, offsets, columns, values).to(device), Array<T>::copy_of(inverse_diagonal, device)};
  }
};

/// The factors of M on the host.
template <class T>
struct HostFactors {
  TriangleRows<T> lower;
  TriangleRows<T> upper;
  std::vector<index_t> row_from;
  std::vector<T> row_scale;
  std::vector<index_t> column_to;
  std::vector<T> column_scale;

  [[nodiscard]] std::size_t size() const { return lower.rows.size(); }
  [[nodiscard]] detail::PreparedFactors<T> on(const Device& device) const {
    return {lower.on(device),
            upper.on(device),
            Array<index_t>::copy_of(row_from, device),
            Array<T>::copy_of(row_scale, device),
            Array<index_t>::copy_of(column_to, device),
            Array<T>::copy_of(column_scale, device)};
  }
};

/// Columns of row i of a strictly lower triangle.
struct FactorShape {
  std::string name;
  std::vector<index_t> (*columns)(index_t i, index_t n, std::mt19937_64& random);
};

[[nodiscard]] inline std::vector<index_t> some_below(index_t i, std::size_t count, std::mt19937_64& random) {
  std::vector<index_t> columns;
  if (i == 0) return columns;
  for (std::size_t k = 0; k < count; ++k) columns.push_back(static_cast<index_t>(random() % static_cast<unsigned>(i)));
  std::sort(columns.begin(), columns.end());
  columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
  return columns;
}

/// Rows from `first` to i - 1.
[[nodiscard]] inline std::vector<index_t> range_below(index_t first, index_t i) {
  std::vector<index_t> columns(static_cast<std::size_t>(i - first));
  std::iota(columns.begin(), columns.end(), first);
  return columns;
}

[[nodiscard]] inline std::vector<FactorShape> factor_shapes() {
  return {
      {"diagonal", [](index_t, index_t, std::mt19937_64&) { return std::vector<index_t>{}; }},
      {"chain", [](index_t i, index_t, std::mt19937_64&) { return range_below(std::max(i - 1, 0), i); }},
      {"two levels",
       [](index_t i, index_t n, std::mt19937_64& random) {
         return i < n / 2 ? std::vector<index_t>{} : some_below(n / 2, 3, random);
       }},
      {"short rows", [](index_t i, index_t, std::mt19937_64& random) { return some_below(i, random() % 5, random); }},
      {"rows of all lengths",
       [](index_t i, index_t, std::mt19937_64& random) {
         return some_below(i, random() % (1u << random() % 9), random);
       }},
      {"band of 40", [](index_t i, index_t, std::mt19937_64&) { return range_below(std::max(i - 40, 0), i); }},
      {"hub rows",
       [](index_t i, index_t n, std::mt19937_64& random) {
         if (i == n - 1 || i == n / 2) return range_below(0, i);
         return i == 0 ? std::vector<index_t>{} : i % 2 == 0 ? std::vector<index_t>{0} : some_below(i, 2, random);
       }},
  };
}

/// Values of either sign, below 0.9 of the diagonal in the sum of a row, so that solutions stay in range.
template <class T>
[[nodiscard]] TriangleRows<T> lower_triangle(const FactorShape& shape, index_t n, bool unit, std::mt19937_64& random) {
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  TriangleRows<T> triangle;
  for (index_t i = 0; i < n; ++i) {
    auto& row = triangle.rows.emplace_back();
    const std::vector<index_t> columns = shape.columns(i, n, random);
    const double d = unit ? 1.0 : (uniform(random) < 0 ? -1.0 : 1.0) * (1.5 + uniform(random));
    for (const index_t j : columns) {
      row.emplace_back(j, static_cast<T>(0.9 * uniform(random) * d / static_cast<double>(columns.size())));
    }
    if (!unit) triangle.inverse_diagonal.push_back(static_cast<T>(1.0 / d));
  }
  return triangle;
}

/// Rows and columns from last to first.
template <class T>
[[nodiscard]] TriangleRows<T> turned_around(TriangleRows<T> triangle) {
  const auto n = static_cast<index_t>(triangle.rows.size());
  std::reverse(triangle.rows.begin(), triangle.rows.end());
  std::reverse(triangle.inverse_diagonal.begin(), triangle.inverse_diagonal.end());
  for (auto& row : triangle.rows) {
    std::reverse(row.begin(), row.end());
    for (auto& entry : row) entry.first = n - 1 - entry.first;
  }
  return triangle;
}

/// \param mapped whether there are permutations and scales
template <class T>
[[nodiscard]] HostFactors<T> random_factors(const FactorShape& shape, index_t n, bool mapped, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  HostFactors<T> factors;
  factors.lower = lower_triangle<T>(shape, n, !mapped, random);
  factors.upper = turned_around(lower_triangle<T>(shape, n, false, random));
  if (!mapped) return factors;
  factors.row_from.resize(static_cast<std::size_t>(n));
  std::iota(factors.row_from.begin(), factors.row_from.end(), 0);
  factors.column_to = factors.row_from;
  std::shuffle(factors.row_from.begin(), factors.row_from.end(), random);
  std::shuffle(factors.column_to.begin(), factors.column_to.end(), random);
  std::uniform_real_distribution<double> uniform(0.25, 4.0);
  for (index_t i = 0; i < n; ++i) {
    factors.row_scale.push_back(static_cast<T>(uniform(random)));
    factors.column_scale.push_back(static_cast<T>(uniform(random)));
  }
  return factors;
}

/// a b, never contracted with an addition.
template <class T>
[[nodiscard]] T rounded(T a, T b) {
  const volatile T product = a * b;
  return product;
}

/// x_i = (b_i - sum_j s_ij x_j) / d_i, row after row, with the sums of the documented lanes. \param b becomes x
template <class T>
void substitute(const TriangleRows<T>& triangle, bool is_lower, std::vector<T>& b) {
  const std::size_t n = triangle.rows.size();
  for (std::size_t step = 0; step < n; ++step) {
    const std::size_t i = is_lower ? step : n - 1 - step;
    const auto& row = triangle.rows[i];
    const std::size_t lanes = std::size_t{1} << cuda::lanes_log2_of(static_cast<offset_t>(row.size()));
    std::vector<T> sums(lanes, T{0});
    sums[0] = b[i];
    for (std::size_t k = 0; k < row.size(); ++k) {
      sums[k % lanes] -= rounded(row[k].second, b[static_cast<std::size_t>(row[k].first)]);
    }
    for (std::size_t distance = lanes / 2; distance > 0; distance /= 2) {
      const std::vector<T> before = sums;
      for (std::size_t lane = 0; lane < lanes; ++lane) sums[lane] = before[lane] + before[lane ^ distance];
    }
    b[i] = triangle.inverse_diagonal.empty() ? sums[0] : rounded(sums[0], triangle.inverse_diagonal[i]);
  }
}

/// z = C Q U⁻¹ L⁻¹ P R r
template <class T>
[[nodiscard]] std::vector<T> image_of(const HostFactors<T>& factors, const std::vector<T>& r) {
  const std::size_t n = r.size();
  std::vector<T> w(n);
  for (std::size_t k = 0; k < n; ++k) {
    w[k] = r[factors.row_from.empty() ? k : static_cast<std::size_t>(factors.row_from[k])];
    if (!factors.row_scale.empty()) w[k] = rounded(factors.row_scale[k], w[k]);
  }
  substitute(factors.lower, true, w);
  substitute(factors.upper, false, w);
  std::vector<T> z(n);
  for (std::size_t k = 0; k < n; ++k) {
    const T value = factors.column_scale.empty() ? w[k] : rounded(factors.column_scale[k], w[k]);
    z[factors.column_to.empty() ? k : static_cast<std::size_t>(factors.column_to[k])] = value;
  }
  return z;
}

/// Levels of a triangle, from the definition.
template <class T>
[[nodiscard]] index_t levels_by_definition(const TriangleRows<T>& triangle, bool is_lower) {
  const std::size_t n = triangle.rows.size();
  std::vector<index_t> level(n, 0);
  index_t levels = 0;
  for (std::size_t step = 0; step < n; ++step) {
    const std::size_t i = is_lower ? step : n - 1 - step;
    for (const auto& [j, value] : triangle.rows[i]) {
      level[i] = std::max(level[i], level[static_cast<std::size_t>(j)] + 1);
    }
    levels = std::max(levels, level[i] + 1);
  }
  return levels;
}

}  // namespace tessera::testing
