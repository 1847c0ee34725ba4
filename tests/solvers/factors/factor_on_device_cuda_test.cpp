/// ILU(0) and IC(0) on a GPU against textbook loops over dense rows, bit by bit.
#include "solvers/factors/factorization.hpp"
#include "solvers/factors/pivot.hpp"
#include "solvers/factors/prepared_factors.hpp"
#include "tests/solvers/factors/factor_systems.hpp"
#include "tests/solvers/systems.hpp"
#include "tests/support/cuda_test.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

namespace tessera::testing {
namespace {

using detail::is_good_pivot;
using detail::Pivot;
using detail::safe_pivot;

/// A sparse matrix while it is factorized.
struct Rows {
  std::vector<std::map<index_t, double>> rows;
  index_t zero_pivots = 0;
  bool positive = true;
};

template <class T>
Rows rows_of(const CsrView<T>& a) {
  Rows result;
  result.rows.resize(static_cast<std::size_t>(a.rows));
  for (std::size_t i = 0; i < result.rows.size(); ++i) {
    for (offset_t k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
      result.rows[i][a.columns[static_cast<std::size_t>(k)]] = static_cast<double>(a.value(k));
    }
  }
  return result;
}

/// Saad, algorithm 10.4: the variant IKJ on the pattern of A, with a diagonal.
template <class T>
Rows ilu0_by_hand(const CsrView<T>& a) {
  Rows f = rows_of(a);
  for (std::size_t i = 0; i < f.rows.size(); ++i) {
    auto& row = f.rows[i];
    const auto own = static_cast<index_t>(i);
    double row_max = 0.0;
    for (const auto& [j, value] : row) row_max = std::max(row_max, std::abs(value));
    row.try_emplace(own, 0.0);
    for (auto& [k, value] : row) {
      if (k >= own) break;
      const auto& other = f.rows[static_cast<std::size_t>(k)];
      value /= other.at(k);
      for (const auto& [j, u] : other) {
        const auto target = j > k ? row.find(j) : row.end();
        if (target != row.end()) target->second -= rounded(value, u);
      }
    }
    const Pivot<double> pivot = safe_pivot(row[own], row_max);
    row[own] = pivot.value;
    f.zero_pivots += pivot.is_replaced ? 1 : 0;
  }
  return f;
}

/// Rows of L with its diagonal.
template <class T>
Rows ic0_by_hand(const CsrView<T>& a, double shift) {
  Rows f = rows_of(a);
  for (std::size_t i = 0; i < f.rows.size(); ++i) {
    auto& row = f.rows[i];
    const auto own = static_cast<index_t>(i);
    row.erase(row.upper_bound(own), row.end());
    const double diagonal = row.try_emplace(own, 0.0).first->second;
    const double enlarged = diagonal * (1.0 + shift);
    double left = enlarged;
    for (auto& [j, value] : row) {
      if (j == own) break;
      const auto& other = f.rows[static_cast<std::size_t>(j)];
      for (const auto& [k, l] : row) {
        if (k >= j) break;
        if (const auto at = other.find(k); at != other.end()) value -= rounded(l, at->second);
      }
      value /= other.at(j);
      left -= rounded(value, value);
    }
    const bool is_good = is_good_pivot(left, enlarged);
    f.positive = f.positive && is_good;
    row[own] = is_good ? std::sqrt(left) : 1.0;
  }
  return f;
}

/// The entries of one triangle. \param transposed of Lᵀ: L with rows and columns exchanged
template <class T>
void expect_triangle(const detail::TriangularFactor<T>& found, const Rows& expected, bool lower, bool transposed) {
  const Csr<T> strict = found.strict.to(Device{});
  std::vector<std::map<index_t, double>> entries(expected.rows.size());
  for (std::size_t i = 0; i < expected.rows.size(); ++i) {
    for (const auto& [j, value] : expected.rows[i]) {
      if (transposed && j < static_cast<index_t>(i)) {
        entries[static_cast<std::size_t>(j)][static_cast<index_t>(i)] = value;
      } else if (!transposed && (lower ? j < static_cast<index_t>(i) : j > static_cast<index_t>(i))) {
        entries[i][j] = value;
      }
    }
  }
  for (std::size_t i = 0; i < entries.size(); ++i) {
    auto entry = entries[i].begin();
    const auto row = static_cast<std::int64_t>(i);
    ASSERT_EQ(strict.row_offsets()[row + 1] - strict.row_offsets()[row], static_cast<offset_t>(entries[i].size()))
        << "row " << i;
    for (offset_t k = strict.row_offsets()[row]; k < strict.row_offsets()[row + 1]; ++k, ++entry) {
      ASSERT_EQ(strict.columns()[k], entry->first) << "row " << i;
      const auto value = static_cast<T>(entry->second);
      ASSERT_TRUE(strict.values()[k] == value || (std::isnan(value) && std::isnan(strict.values()[k])))
          << "entry (" << i << ", " << entry->first << "): " << strict.values()[k] << ", not " << value;
    }
  }
}

template <class T>
void expect_diagonal(const detail::TriangularFactor<T>& found, const Rows& expected) {
  const Array<T> inverse = found.inverse_diagonal.to(Device{});
  ASSERT_EQ(inverse.size(), static_cast<std::int64_t>(expected.rows.size()));
  for (std::size_t i = 0; i < expected.rows.size(); ++i) {
    const double diagonal = expected.rows[i].at(static_cast<index_t>(i));
    ASSERT_EQ(inverse[static_cast<std::int64_t>(i)], static_cast<T>(1.0 / diagonal)) << "row " << i;
  }
}

/// From the shapes of triangles: a matrix, structurally symmetric or not.
/// \param missing one in so many diagonal entries is left out; 0: none
Csr<double> square_matrix(const FactorShape& shape, index_t n, bool symmetric, unsigned missing, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  std::vector<std::map<index_t, double>> rows(static_cast<std::size_t>(n));
  for (index_t i = 0; i < n; ++i) {
    for (const index_t j : shape.columns(i, n, random)) {
      const double value = uniform(random);
      rows[static_cast<std::size_t>(i)][j] = value;
      if (symmetric || random() % 2 == 0) {
        rows[static_cast<std::size_t>(j)][i] = symmetric ? value : uniform(random);
      }
    }
  }
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  std::vector<double> values;
  for (index_t i = 0; i < n; ++i) {
    auto& row = rows[static_cast<std::size_t>(i)];
    double sum = 0.5;
    for (const auto& [j, value] : row) sum += std::abs(value);
    if (missing == 0 || random() % missing != 0) row[i] = symmetric ? sum : sum * uniform(random);
    for (const auto& [j, value] : row) {
      columns.push_back(j);
      values.push_back(value);
    }
    offsets.push_back(static_cast<offset_t>(columns.size()));
  }
  return make_csr<double>(n, n, offsets, columns, values);
}

class FactorOnDevice : public CudaTest {
 protected:
  template <class T>
  static void expect_ilu0(const Csr<T>& a) {
    const Csr<T> on_gpu = a.to(gpu());
    const cuda::DeviceFactors<T> found = cuda::factor_on_device(on_gpu.view(), false, 0.0, gpu());
    const Rows expected = ilu0_by_hand(a.view());
    EXPECT_EQ(found.zero_pivots, expected.zero_pivots);
    EXPECT_TRUE(found.positive);
    EXPECT_TRUE(found.lower.inverse_diagonal.empty());
    expect_triangle(found.lower, expected, true, false);
    expect_triangle(found.upper, expected, false, false);
    expect_diagonal(found.upper, expected);
  }
  template <class T>
  static void expect_ic0(const Csr<T>& a, double shift) {
    const Csr<T> on_gpu = a.to(gpu());
    const cuda::DeviceFactors<T> found = cuda::factor_on_device(on_gpu.view(), true, shift, gpu());
    const Rows expected = ic0_by_hand(a.view(), shift);
    EXPECT_EQ(found.positive, expected.positive);
    EXPECT_EQ(found.zero_pivots, 0);
    expect_triangle(found.lower, expected, true, false);
    expect_triangle(found.upper, expected, false, true);
    expect_diagonal(found.lower, expected);
    expect_diagonal(found.upper, expected);
  }
  [[nodiscard]] static std::vector<index_t> sizes() {
    if (sparing()) return {1, 33, 100};
    if (gpu_is_emulated) return {1, 33, 300};
    return {1, 33, 300, 2000};
  }
};

TEST_F(FactorOnDevice, Ilu0OfEveryShape) {
  std::uint64_t seed = 1;
  for (const FactorShape& shape : factor_shapes()) {
    for (const index_t n : sizes()) {
      SCOPED_TRACE(shape.name + ", n = " + std::to_string(n));
      const Csr<double> a = square_matrix(shape, n, false, 0, ++seed);
      expect_ilu0(a);
      if (n < 100) expect_ilu0(a.with_value_type<float>());
      if (HasFailure()) return;
    }
  }
}

TEST_F(FactorOnDevice, Ic0OfEveryShape) {
  std::uint64_t seed = 101;
  for (const FactorShape& shape : factor_shapes()) {
    for (const index_t n : sizes()) {
      SCOPED_TRACE(shape.name + ", n = " + std::to_string(n));
      const Csr<double> a = square_matrix(shape, n, true, 0, ++seed);
      expect_ic0(a, n % 2 == 0 ? 0.0 : 0.125);
      if (n < 100) expect_ic0(a.with_value_type<float>(), 0.0);
      if (HasFailure()) return;
    }
  }
}

/// Without diagonal entries, with zeros, and with rows that eliminate to nothing.
TEST_F(FactorOnDevice, ZeroPivotsAreReplacedAndCounted) {
  std::uint64_t seed = 201;
  for (const FactorShape& shape : factor_shapes()) {
    SCOPED_TRACE(shape.name);
    expect_ilu0(square_matrix(shape, 100, false, 3, ++seed));
  }
  expect_ilu0(from_dense<double>({{1, 2, 3}, {2, 4, 6}, {-1, -2, 5}}, 3));
  expect_ilu0(from_dense<double>({{0, 1}, {1, 0}}, 2));
  expect_ilu0(make_csr<double>(3, 3, {0, 0, 1, 2}, {1, 0}, {0.0, 1.0}));
  expect_ilu0(make_pattern<double>(3, 3, {0, 2, 4, 6}, {0, 1, 0, 1, 1, 2}));
  expect_ilu0(from_dense<double>({{1e-300, 1}, {1, 1e-300}}, 2));
}

TEST_F(FactorOnDevice, Ic0SaysWhenAPivotIsNotPositive) {
  expect_ic0(from_dense<double>({{1, 2}, {2, 1}}, 2), 0.0);
  expect_ic0(from_dense<double>({{1, 2}, {2, 1}}, 2), 4.0);
  expect_ic0(from_dense<double>({{-1, 0}, {0, 1}}, 2), 0.0);
  expect_ic0(from_dense<double>({{0, 1}, {1, 2}}, 2), 0.0);
  expect_ic0(make_csr<double>(2, 2, {0, 1, 2}, {1, 0}, {1.0, 1.0}), 0.0);
}

/// A matrix whose pattern is not symmetric ends too: what has no counterpart is taken as 0 in Lᵀ.
TEST_F(FactorOnDevice, Ic0OfAnAsymmetricPatternEnds) {
  const Csr<double> a = square_matrix(factor_shapes()[3], 100, false, 0, 301).to(gpu());
  const cuda::DeviceFactors<double> found = cuda::factor_on_device(a.view(), true, 0.0, gpu());
  EXPECT_EQ(found.lower.strict.rows(), 100);
}

/// Of the host's factorization.
Rows rows_of(const detail::Factorization& factors) {
  Rows result;
  result.rows.resize(factors.diagonal.size());
  for (index_t i = 0; i < factors.lower.rows(); ++i) {
    auto& row = result.rows[static_cast<std::size_t>(i)];
    row[i] = factors.diagonal[static_cast<std::size_t>(i)];
    for (const detail::FactorRows* part : {&factors.lower, &factors.upper}) {
      if (part == &factors.upper && factors.is_symmetric) continue;
      for (std::size_t k = part->begin(i); k < part->end(i); ++k) row[part->columns[k]] = part->values[k];
    }
  }
  result.zero_pivots = factors.zero_pivots;
  return result;
}

TEST_F(FactorOnDevice, SameBitsAsOnTheHost) {
  std::uint64_t seed = 401;
  for (const FactorShape& shape : factor_shapes()) {
    for (const bool cholesky : {false, true}) {
      SCOPED_TRACE(shape.name + (cholesky ? ", IC(0)" : ", ILU(0)"));
      const Csr<double> a = square_matrix(shape, 120, cholesky, cholesky ? 0 : 5, ++seed);
      detail::FactorRows rows;
      rows.offsets.assign(a.row_offsets().begin(), a.row_offsets().end());
      rows.columns.assign(a.columns().begin(), a.columns().end());
      rows.values.assign(a.values().begin(), a.values().end());
      detail::FactorBudget budget(IncompleteFactorOptions{}, a.rows(), a.nnz());
      const Rows expected = rows_of(cholesky ? host::ic0(rows, {1e-3, 1.0}, budget, Device{})
                                             : host::ilu_on_pattern(rows, 0, budget, Device{}));
      const Csr<double> on_gpu = a.to(gpu());
      const cuda::DeviceFactors<double> found = cuda::factor_on_device(on_gpu.view(), cholesky, 0.0, gpu());
      EXPECT_EQ(found.zero_pivots, expected.zero_pivots);
      expect_triangle(found.lower, expected, true, false);
      expect_triangle(found.upper, expected, false, cholesky);
      expect_diagonal(found.upper, expected);
    }
  }
}

TEST_F(FactorOnDevice, NoRows) {
  const Csr<double> a = Csr<double>().to(gpu());
  EXPECT_EQ(cuda::factor_on_device(a.view(), false, 0.0, gpu()).zero_pivots, 0);
  EXPECT_TRUE(cuda::factor_on_device(a.view(), true, 0.0, gpu()).positive);
}

}  // namespace
}  // namespace tessera::testing
