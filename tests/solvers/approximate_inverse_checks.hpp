/// \file
/// What the tests of FSAI and of SPAI share: rows against their definition, bits, refusals.
#pragma once

#include "tessera/approximate_inverse.hpp"
#include "tests/solvers/factors_support.hpp"

#include <gtest/gtest.h>
#include <Eigen/Dense>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tessera::testing {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

template <class T>
[[nodiscard]] std::vector<Index> columns_of(const CsrView<T>& a, index_t i) {
  const auto row = static_cast<std::size_t>(i);
  return {a.columns.begin() + a.row_offsets[row], a.columns.begin() + a.row_offsets[row + 1]};
}

template <class T>
void expect_same_bits(const CsrView<T>& a, const CsrView<T>& b) {
  EXPECT_TRUE(std::equal(a.row_offsets.begin(), a.row_offsets.end(), b.row_offsets.begin(), b.row_offsets.end()));
  EXPECT_TRUE(std::equal(a.columns.begin(), a.columns.end(), b.columns.begin(), b.columns.end()));
  EXPECT_TRUE(std::equal(a.values.begin(), a.values.end(), b.values.begin(), b.values.end()));
}

/// What call() throws as an Exception; "accepted" where it throws none.
template <class Exception>
[[nodiscard]] std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const Exception& error) {
    return error.what();
  }
  return "accepted";
}

/// A symmetric positive definite matrix.
[[nodiscard]] inline Csr<double> definite(std::uint64_t seed, index_t n = 40) {
  return random_matrix({.n = n, .row_entries = 3, .diagonal = 8.0, .is_symmetric = true, .seed = seed});
}

/// Rows against Eigen's QR of each least-squares problem: no residual exceeds the best one by more than `relative`.
template <class T>
void expect_spai_rows(const CsrView<T>& a, const CsrView<T>& m, double relative) {
  const MatrixXd dense = to_dense(a);
  const MatrixXd inverse = to_dense(m);
  for (index_t i = 0; i < m.rows; ++i) {
    const std::vector<Index> j = columns_of(m, i);
    const MatrixXd columns = dense(j, Eigen::all).transpose();
    const VectorXd e = VectorXd::Unit(dense.rows(), i);
    const VectorXd best = columns.colPivHouseholderQr().solve(e);
    const double residual = (columns * VectorXd(inverse(i, j)) - e).norm();
    EXPECT_LE(residual, (columns * best - e).norm() + relative) << "row " << i;
    EXPECT_LE((VectorXd(inverse(i, j)) - best).norm(), 1e3 * relative * best.norm()) << "row " << i;
    if (dense(i, i) != 0.0) {
      EXPECT_LE(residual, (VectorXd(dense.row(i)) - e).norm() + relative) << "row " << i;
    }
  }
}

}  // namespace tessera::testing
