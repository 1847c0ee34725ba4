#include "core/enqueued_product.hpp"
#include "solvers/factors/factorization.hpp"
#include "solvers/factors/preparation.hpp"
#include "tests/solvers/factors_support.hpp"
#include "tests/support/compare.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <optional>

namespace tessera::testing {
namespace {

/// M by its columns.
template <class T>
Eigen::MatrixXd dense_operator(const LinearOperator<T>& m) {
  const auto n = static_cast<std::size_t>(m.rows());
  Eigen::MatrixXd dense(m.rows(), m.rows());
  std::vector<T> unit(n);
  std::vector<T> column(n, std::numeric_limits<T>::quiet_NaN());
  for (std::size_t j = 0; j < n; ++j) {
    unit[j] = T{1};
    m.apply(unit, std::span<T>(column));
    unit[j] = T{0};
    for (std::size_t i = 0; i < n; ++i) {
      dense(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) = static_cast<double>(column[i]);
    }
  }
  return dense;
}

double distance_to_identity(const Eigen::MatrixXd& a) {
  return (a - Eigen::MatrixXd::Identity(a.rows(), a.cols())).cwiseAbs().maxCoeff();
}

/// Rows and columns of very different sizes.
Csr<double> badly_scaled(Csr<double> a) {
  std::vector<double> values(a.values().begin(), a.values().end());
  const CsrView<double> view = a.view();
  for (index_t i = 0; i < a.rows(); ++i) {
    for (offset_t k = view.row_offsets[static_cast<std::size_t>(i)];
         k < view.row_offsets[static_cast<std::size_t>(i) + 1]; ++k) {
      const index_t j = view.columns[static_cast<std::size_t>(k)];
      values[static_cast<std::size_t>(k)] *= std::pow(10.0, (3 * i) % 7 - (5 * j) % 6);
    }
  }
  return a.with_values(Array<double>::copy_of(values));
}

/// Options under which the factors are exact.
IncompleteFactorOptions exact(FactorKind kind) {
  IncompleteFactorOptions options{.kind = kind, .drop_tolerance = 0.0, .max_row_entries = 1000, .fill_limit = 1000};
  options.level = 1000;
  return options;
}

/// With exact factors M is the inverse of A: whatever is scaled, matched and ordered has to be undone.
TEST(Factors, ExactOnesInvertForEveryPreparation) {
  const Csr<double> regular = badly_scaled(random_matrix({.n = 30, .row_entries = 5, .diagonal = 4.0, .seed = 2}));
  const Csr<double> no_diagonal = badly_scaled(random_matrix({.n = 30, .row_entries = 6, .diagonal = 0.0, .seed = 3}));
  for (const auto kind : {FactorKind::iluk, FactorKind::ilut, FactorKind::ilutp}) {
    for (const auto scaling :
         {FactorScaling::automatic, FactorScaling::none, FactorScaling::ruiz, FactorScaling::symmetric}) {
      for (const auto matching :
           {FactorMatching::automatic, FactorMatching::none, FactorMatching::scale, FactorMatching::permute}) {
        for (const auto order : {Ordering::natural, Ordering::rcm, Ordering::amd}) {
          SCOPED_TRACE(::testing::Message() << to_string(kind) << ", " << to_string(scaling) << ", "
                                            << to_string(matching) << ", " << to_string(order));
          IncompleteFactorOptions options = exact(kind);
          options.scaling = scaling;
          options.matching = matching;
          options.ordering = order;
          const IncompleteFactors<double> m(regular.view(), options);
          EXPECT_LT(distance_to_identity(dense_operator(m) * to_dense(regular.view())), 1e-6);
          EXPECT_EQ(m.factors().ordering, order);
          EXPECT_EQ(m.factors().permuted, matching == FactorMatching::permute);
          if (matching != FactorMatching::permute && kind != FactorKind::ilutp) continue;
          const IncompleteFactors<double> other(no_diagonal.view(), options);
          EXPECT_LT(distance_to_identity(dense_operator(other) * to_dense(no_diagonal.view())), 1e-6);
        }
      }
    }
  }
}

TEST(Factors, ExactCholeskyInvertsForEveryPreparation) {
  const Csr<double> a = random_matrix({.n = 30, .row_entries = 3, .diagonal = 8.0, .is_symmetric = true, .seed = 2});
  for (const auto scaling :
       {FactorScaling::automatic, FactorScaling::none, FactorScaling::ruiz, FactorScaling::symmetric}) {
    for (const auto order : {Ordering::natural, Ordering::rcm, Ordering::amd}) {
      IncompleteFactorOptions options = exact(FactorKind::ict);
      options.scaling = scaling;
      options.ordering = order;
      const IncompleteFactors<double> m(a.view(), options);
      EXPECT_LT(distance_to_identity(dense_operator(m) * to_dense(a.view())), 1e-13);
      EXPECT_TRUE(m.info().is_symmetric);
    }
  }
}

/// M = C Q (L U)⁻¹ P R of the factors of the prepared matrix, by dense matrices.
TEST(Factors, AreTheDenseFormula) {
  const Csr<double> a = badly_scaled(random_matrix({.n = 40, .row_entries = 6, .diagonal = 0.0, .seed = 5}));
  const IncompleteFactorOptions options{.drop_tolerance = 1e-2, .max_row_entries = 5};
  const detail::PreparedMatrix prepared = detail::prepare_matrix(a.view(), options, nullptr);
  detail::FactorBudget budget = no_limits(prepared.matrix);
  const detail::Factorization f =
      host::ilut(prepared.matrix, {options.drop_tolerance, options.max_row_entries, options.pivot_tolerance}, budget);
  const Eigen::Index n = a.rows();
  Eigen::MatrixXd left = Eigen::MatrixXd::Zero(n, n);   // P R
  Eigen::MatrixXd right = Eigen::MatrixXd::Zero(n, n);  // C Q
  for (Eigen::Index k = 0; k < n; ++k) {
    const auto row = static_cast<std::size_t>(prepared.permutations.row_from[static_cast<std::size_t>(k)]);
    const auto step = static_cast<std::size_t>(f.column_order[static_cast<std::size_t>(k)]);
    const auto column = static_cast<std::size_t>(prepared.permutations.column_to[step]);
    left(k, static_cast<Eigen::Index>(row)) = prepared.scales.row[row];
    right(static_cast<Eigen::Index>(column), k) = prepared.scales.column[column];
  }
  const Eigen::MatrixXd product = dense_lower(f) * dense_upper(f);
  const Eigen::MatrixXd prepared_again = left * to_dense(a.view()) * right;
  EXPECT_GT((product - prepared_again).cwiseAbs().maxCoeff(), 1e-3) << "entries were dropped";
  const Eigen::MatrixXd expected = right * product.inverse() * left;
  const IncompleteFactors<double> m(a.view(), options);
  EXPECT_LT((dense_operator(m) - expected).cwiseAbs().maxCoeff(), 1e-10 * expected.cwiseAbs().maxCoeff());

  const IncompleteFactorInfo& info = m.factors();
  EXPECT_TRUE(info.permuted);
  EXPECT_EQ(info.smallest_diagonal, 0.0);
  EXPECT_EQ(info.scaling, "matching");
  EXPECT_EQ(info.ordering, Ordering::amd);
  EXPECT_EQ(info.lower_nnz, f.lower.nnz());
  EXPECT_EQ(info.upper_nnz, f.upper.nnz() + 40);
  EXPECT_DOUBLE_EQ(info.fill, static_cast<double>(f.entries()) / static_cast<double>(a.nnz()));
  const Eigen::VectorXd solved = product.inverse() * Eigen::VectorXd::Ones(n);
  EXPECT_NEAR(info.condition_estimate, solved.cwiseAbs().maxCoeff(), 1e-10 * info.condition_estimate);
}

/// The matching permutes only where the scaled diagonal is poor.
TEST(Factors, KeepAGoodDiagonal) {
  const Csr<double> a = badly_scaled(random_matrix({.n = 40, .row_entries = 4, .diagonal = 4.0, .seed = 5}));
  const IncompleteFactors<double> m(a.view());
  EXPECT_FALSE(m.factors().permuted);
  EXPECT_GE(m.factors().smallest_diagonal, 0.01);
  EXPECT_EQ(m.factors().scaling, "matching");
  const IncompleteFactors<double> plain(a.view(), {.kind = FactorKind::ilu0});
  EXPECT_EQ(plain.factors().scaling, "ruiz");
  EXPECT_EQ(plain.factors().smallest_diagonal, 0.0) << "not computed";
  EXPECT_EQ(plain.factors().ordering, Ordering::natural);
  EXPECT_EQ(plain.info().name, "ilu0");
  EXPECT_FALSE(plain.info().is_symmetric);
  EXPECT_GT(plain.info().bytes, 0U);
}

TEST(Factors, ApplyWithAlphaAndBeta) {
  const Csr<double> a = random_matrix({.n = 50, .row_entries = 4, .seed = 5});
  const IncompleteFactors<double> m(a.view());
  const std::vector<double> x = random_values<double>(50, 1);
  std::vector<double> plain(50, std::numeric_limits<double>::quiet_NaN());
  m.apply(x, std::span<double>(plain));
  std::vector<double> y = random_values<double>(50, 2);
  const std::vector<double> old = y;
  m.apply(-2.0, x, 0.5, y);
  for (std::size_t i = 0; i < y.size(); ++i) EXPECT_DOUBLE_EQ(y[i], -2.0 * plain[i] + 0.5 * old[i]);
  EXPECT_EQ(detail::EnqueuedProduct<double>::of(m), nullptr);
}

TEST(Factors, OfCholeskyAreSymmetric) {
  const Csr<double> a = poisson2d<double>(20, 20);
  for (const auto kind : {FactorKind::ic0, FactorKind::ict}) {
    const IncompleteFactors<double> m(a.view(), {.kind = kind, .drop_tolerance = 1e-2, .max_row_entries = 5});
    const std::vector<double> u = random_values<double>(400, 1);
    const std::vector<double> v = random_values<double>(400, 2);
    std::vector<double> mu(400);
    std::vector<double> mv(400);
    m.apply(u, std::span<double>(mu));
    m.apply(v, std::span<double>(mv));
    double muv = 0.0;
    double umv = 0.0;
    for (std::size_t i = 0; i < 400; ++i) {
      muv += mu[i] * v[i];
      umv += u[i] * mv[i];
    }
    EXPECT_NEAR(muv, umv, 1e-12 * std::abs(muv) + 1e-13);
    EXPECT_TRUE(m.info().is_symmetric);
  }
}

/// Every block by itself, in the order of rows that the ordering gave.
TEST(Factors, BlocksAreFactorizedByThemselves) {
  const Csr<double> a = random_matrix({.n = 31, .row_entries = 5, .seed = 5});
  for (const auto kind : {FactorKind::iluk, FactorKind::ilutp}) {
    IncompleteFactorOptions options = exact(kind);
    options.ordering = Ordering::natural;
    options.matching = FactorMatching::none;
    options.blocks = 4;
    Eigen::MatrixXd blocks = to_dense(a.view());
    const auto block_of = [](Eigen::Index i) {
      for (Eigen::Index block = 0;; ++block) {
        if (i < 31 * (block + 1) / 4) return block;
      }
    };
    for (Eigen::Index i = 0; i < 31; ++i) {
      for (Eigen::Index j = 0; j < 31; ++j) {
        if (block_of(i) != block_of(j)) blocks(i, j) = 0.0;
      }
    }
    const IncompleteFactors<double> m(a.view(), options);
    EXPECT_LT((dense_operator(m) - blocks.inverse()).cwiseAbs().maxCoeff(), 1e-12);
    options.blocks = 1000;
    const IncompleteFactors<double> jacobi(a.view(), options);
    EXPECT_LT(distance_to_identity(dense_operator(jacobi) * 3.0), 1e-14) << "the diagonal is 3";
  }
}

TEST(Factors, OfNoRowsOfOneAndOfEmptyRows) {
  for (const auto kind :
       {FactorKind::ilu0, FactorKind::iluk, FactorKind::ilut, FactorKind::ilutp, FactorKind::ic0, FactorKind::ict}) {
    const IncompleteFactors<double> none(Csr<double>().view(), {.kind = kind});
    EXPECT_EQ(none.rows(), 0);
    none.apply({}, std::span<double>());
    const IncompleteFactors<double> one(diagonal_matrix<double>({4.0}).view(), {.kind = kind});
    EXPECT_NEAR(dense_operator(one)(0, 0), 0.25, 1e-16);
  }
  const Csr<double> empty_row = from_dense<double>({{2, 0}, {0, 0}}, 2);
  const IncompleteFactors<double> m(empty_row.view(), {.kind = FactorKind::ilu0});
  EXPECT_EQ(m.factors().zero_pivots, 1);
  EXPECT_NEAR(dense_operator(m)(0, 0), 0.5, 1e-16);
  EXPECT_EQ(dense_operator(m)(1, 1), 1.0);
}

TEST(Factors, OfAPattern) {
  const Csr<double> a = make_pattern<double>(3, 3, {0, 2, 4, 6}, {0, 1, 1, 2, 0, 2});
  const IncompleteFactors<double> m(a.view(), exact(FactorKind::ilutp));
  EXPECT_LT(distance_to_identity(dense_operator(m) * to_dense(a.view())), 1e-14);
}

TEST(Factors, InSinglePrecision) {
  const Csr<double> a = random_matrix({.n = 30, .row_entries = 6, .diagonal = 0.0, .seed = 3});
  const Csr<float> single = a.with_value_type<float>();
  const IncompleteFactors<float> m(single.view(), exact(FactorKind::ilutp));
  EXPECT_LT(distance_to_identity(dense_operator(m) * to_dense(single.view())), 1e-3);
  const Csr<float> grid = poisson2d<float>(12, 12);
  const IncompleteFactors<float> ict(grid.view(), exact(FactorKind::ict));
  EXPECT_LT(distance_to_identity(dense_operator(ict) * to_dense(grid.view())), 1e-4);
}

/// Scaled by powers of two, A has the same factors in its scaled space, and M is scaled back.
TEST(Factors, DoNotDependOnTheUnits) {
  const Csr<double> a = random_matrix({.n = 40, .row_entries = 5, .diagonal = 1.0, .seed = 9});
  for (const auto kind : {FactorKind::ilu0, FactorKind::ilut, FactorKind::ilutp}) {
    const IncompleteFactorOptions options{.kind = kind, .drop_tolerance = 1e-2, .max_row_entries = 5};
    const IncompleteFactors<double> m(a.view(), options);
    for (const double unit : {std::ldexp(1.0, 400), std::ldexp(1.0, -400)}) {
      const IncompleteFactors<double> other(scaled(a, unit).view(), options);
      EXPECT_LT((dense_operator(other) * unit - dense_operator(m)).cwiseAbs().maxCoeff(),
                1e-9 * dense_operator(m).cwiseAbs().maxCoeff());
      EXPECT_EQ(other.factors().lower_nnz, m.factors().lower_nnz);
    }
  }
}

TEST(Factors, RefreshWithTheSameValuesGivesTheSameBits) {
  const Csr<double> a = badly_scaled(random_matrix({.n = 80, .row_entries = 8, .diagonal = 0.0, .seed = 6}));
  const IncompleteFactorOptions options{.drop_tolerance = 1e-2, .max_row_entries = 5};
  IncompleteFactors<double> m(a.view(), options);
  const Eigen::MatrixXd fresh = dense_operator(m);
  const IncompleteFactorInfo before = m.factors();
  m.refresh(a.view());
  EXPECT_EQ((dense_operator(m) - fresh).cwiseAbs().maxCoeff(), 0.0);
  EXPECT_EQ(m.factors().lower_nnz, before.lower_nnz);
  EXPECT_EQ(m.factors().upper_nnz, before.upper_nnz);
  EXPECT_EQ(m.factors().permuted, before.permuted);
  EXPECT_EQ(m.factors().condition_estimate, before.condition_estimate);
}

TEST(Factors, RefreshTakesNewValuesOrKeepsTheOld) {
  const Csr<double> a = random_matrix({.n = 40, .row_entries = 6, .diagonal = 0.0, .seed = 5});
  IncompleteFactors<double> m(a.view(), exact(FactorKind::ilutp));
  const Csr<double> changed = badly_scaled(Csr<double>::copy_of(a.view()));
  m.refresh(changed.view());
  const Eigen::MatrixXd inverse = dense_operator(m);
  EXPECT_LT(distance_to_identity(inverse * to_dense(changed.view())), 1e-6);
  std::vector<double> values(changed.values().begin(), changed.values().end());
  values[7] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(m.refresh(changed.with_values(Array<double>::copy_of(values)).view()), InvalidMatrix);
  EXPECT_THROW(m.refresh(diagonal_matrix<double>({1.0}).view()), DimensionError);
  EXPECT_EQ((dense_operator(m) - inverse).cwiseAbs().maxCoeff(), 0.0);
}

TEST(Factors, ThreadsGiveTheSameBits) {
  const Csr<double> a = many_small_blocks(20000);
  const std::vector<double> x = random_values<double>(80000, 1);
  for (const auto kind : {FactorKind::ilu0, FactorKind::ilut, FactorKind::ic0, FactorKind::ict}) {
    const IncompleteFactorOptions options{.kind = kind, .ordering = Ordering::natural};
    const IncompleteFactors<double> one(a.view(), options, Device::host(1));
    const IncompleteFactors<double> four(a.view(), options, Device::host(4));
    EXPECT_GT(four.info().bytes, one.info().bytes) << "with the schedules of levels";
    std::vector<double> y(x.size());
    std::vector<double> z(x.size());
    one.apply(x, std::span<double>(y));
    four.apply(x, std::span<double>(z));
    EXPECT_TRUE(same_bytes<double>(y, z)) << to_string(kind);
    EXPECT_EQ(one.factors().lower_levels, 4) << to_string(kind);
    EXPECT_EQ(one.factors().upper_levels, 4) << to_string(kind);
  }
}

TEST(Factors, MoveKeepsTheOperator) {
  const Csr<double> a = random_matrix({.n = 20, .row_entries = 4, .seed = 5});
  IncompleteFactors<double> m(a.view(), exact(FactorKind::ilut));
  const IncompleteFactors<double> moved(std::move(m));
  EXPECT_LT(distance_to_identity(dense_operator(moved) * to_dense(a.view())), 1e-13);
}

}  // namespace
}  // namespace tessera::testing
