/// Direct factors: exact where they should be, refusals with numbers, and predictions that hold.
#include "tessera/direct.hpp"
#include "core/interruption.hpp"
#include "solvers/direct/analysis.hpp"
#include "solvers/direct/eigen_solvers.hpp"
#include "support/odd_structures.hpp"
#include "tessera/error.hpp"
#include "tessera/generators.hpp"
#include "tests/solvers/systems.hpp"
#include "tests/support/eigen_bridge.hpp"

#include <gtest/gtest.h>
#include <Eigen/SparseCholesky>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace tessera::testing {
namespace {

constexpr DirectMethod every_method[] = {DirectMethod::automatic, DirectMethod::cholesky, DirectMethod::lu_amd,
                                         DirectMethod::lu_colamd};
constexpr DirectMethod lu_methods[] = {DirectMethod::automatic, DirectMethod::lu_amd, DirectMethod::lu_colamd};

/// Words of an exception of a kind; fails without one.
template <class E, class F>
std::string refusal(F&& call) {
  try {
    call();
  } catch (const E& error) {
    return error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "another exception: " << error.what();
    return {};
  }
  ADD_FAILURE() << "no exception";
  return {};
}

template <class T>
std::vector<T> solved(const DirectFactors<T>& factors, const std::vector<T>& b) {
  std::vector<T> x(b.size(), std::numeric_limits<T>::quiet_NaN());
  factors.apply(b, x);
  return x;
}

/// max |x - y| / max |y|
template <class T>
double relative_difference(const std::vector<T>& x, const std::vector<T>& y) {
  double difference = 0.0;
  double size = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    difference = std::max(difference, std::abs(double{x[i]} - double{y[i]}));
    size = std::max(size, std::abs(double{y[i]}));
  }
  return x.empty() ? 0.0 : difference / size;
}

/// Scattered entries and a permuted diagonal: nonsingular, with rows to exchange.
Csr<double> scattered(index_t n, std::uint64_t seed, bool with_diagonal) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  std::vector<index_t> to(static_cast<std::size_t>(n));
  for (index_t i = 0; i < n; ++i) to[static_cast<std::size_t>(i)] = i;
  if (!with_diagonal) std::shuffle(to.begin(), to.end(), random);
  std::vector<std::vector<double>> dense(static_cast<std::size_t>(n), std::vector<double>(static_cast<std::size_t>(n)));
  for (std::size_t i = 0; i < dense.size(); ++i) {
    for (int k = 0; k < 3; ++k) dense[i][random() % dense.size()] = uniform(random);
    dense[i][static_cast<std::size_t>(to[i])] = uniform(random) < 0.0 ? -6.0 : 6.0;
  }
  return from_dense<double>(dense, n);
}

template <class T>
class DirectOfType : public ::testing::Test {};
using ElementTypes = ::testing::Types<float, double>;
TYPED_TEST_SUITE(DirectOfType, ElementTypes);

TYPED_TEST(DirectOfType, SolvesToRounding) {
  using T = TypeParam;
  const Csr<T> a = poisson2d<T>(17, 13);
  const std::vector<T> x = random_values<T>(static_cast<std::size_t>(a.rows()), 3);
  const std::vector<T> b = product(a.view(), x);
  for (const DirectMethod method : every_method) {
    SCOPED_TRACE(to_string(method));
    const DirectFactors<T> factors(a.view(), {.method = method});
    // cond(A) is about 120.
    EXPECT_LE(relative_difference(solved(factors, b), x), 500 * double{std::numeric_limits<T>::epsilon()});
    EXPECT_EQ(factors.rows(), a.rows());
    EXPECT_EQ(factors.info().name, "direct");
    EXPECT_GT(factors.info().bytes, 0U);
    EXPECT_GE(factors.info().setup_ms, factors.factors().factor_ms);
    const bool is_cholesky = method == DirectMethod::cholesky || method == DirectMethod::automatic;
    EXPECT_EQ(factors.info().is_symmetric, is_cholesky);
    EXPECT_EQ(factors.factors().prediction.method == DirectMethod::cholesky, is_cholesky);
  }
}

TYPED_TEST(DirectOfType, AlphaAndBeta) {
  using T = TypeParam;
  const Csr<T> a = diagonal_matrix<T>({T{2}, T{-4}});
  const DirectFactors<T> factors(a.view());
  std::vector<T> y{T{1}, T{2}};
  factors.apply(T{3}, std::vector<T>{T{2}, T{8}}, T{-1}, y);
  EXPECT_EQ(y, (std::vector<T>{T{2}, T{-8}}));
  y.assign(2, std::numeric_limits<T>::quiet_NaN());
  factors.apply(T{1}, std::vector<T>{T{2}, T{8}}, T{0}, y);
  EXPECT_EQ(y, (std::vector<T>{T{1}, T{-2}}));
}

TEST(Direct, ScatteredSystemsWithAndWithoutADiagonal) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    for (const bool with_diagonal : {true, false}) {
      const Csr<double> a = scattered(60, seed, with_diagonal);
      const std::vector<double> x = random_values<double>(60, seed);
      const std::vector<double> b = product(a.view(), x);
      for (const DirectMethod method : lu_methods) {
        SCOPED_TRACE(to_string(method));
        const DirectFactors<double> factors(a.view(), {.method = method});
        EXPECT_LE(relative_difference(solved(factors, b), x), 1e-11);
      }
    }
  }
}

TEST(Direct, EmptyAndOneByOne) {
  const Csr<double> empty = from_dense<double>({}, 0);
  const Csr<double> one = diagonal_matrix<double>({-3.0});
  for (const DirectMethod method : every_method) {
    SCOPED_TRACE(to_string(method));
    EXPECT_EQ(solved(DirectFactors<double>(empty.view(), {.method = method}), {}), std::vector<double>{});
    const DirectFactors<double> factors(one.view(), {.method = method});
    EXPECT_EQ(solved(factors, {6.0}), std::vector<double>{-2.0});
    EXPECT_EQ(factors.factors().factor_nnz, 1);
    EXPECT_EQ(factors.factors().prediction.factor_nnz, 1);
    EXPECT_EQ(predict_direct(empty.view(), method).factor_nnz, 0);
  }
  EXPECT_EQ(DirectFactors<double>(one.view(), {.method = DirectMethod::cholesky}).factors().negative_pivots, 1);
}

TEST(Direct, PatternMatricesHaveOnes) {
  // [1 1 0; 1 0 1; 0 1 1] has the determinant -2.
  const Csr<double> a = make_pattern<double>(3, 3, {0, 2, 4, 6}, {0, 1, 0, 2, 1, 2});
  const std::vector<double> x{1.0, 2.0, 3.0};
  for (const DirectMethod method : lu_methods) {
    EXPECT_LE(relative_difference(solved(DirectFactors<double>(a.view(), {.method = method}), {3.0, 4.0, 5.0}), x),
              1e-14);
  }
}

/// Rows of 1e±180 and columns of 1e±60. The scaling that is found is another one, so the condition is too.
TEST(Direct, BadlyScaledSystems) {
  const Csr<double> a = scattered(40, 5, false);
  const std::vector<double> expected = random_values<double>(40, 9);
  std::vector<double> values(a.values().begin(), a.values().end());
  std::vector<double> x = expected;
  std::vector<int> row_powers(40);
  std::vector<int> column_powers(40);
  for (std::size_t i = 0; i < 40; ++i) {
    row_powers[i] = static_cast<int>(i % 5) * 300 - 600;
    column_powers[i] = static_cast<int>(i % 3) * 200 - 200;
  }
  const CsrView<double> view = a.view();
  std::vector<double> b = product(view, expected);
  for (std::size_t i = 0; i < 40; ++i) {
    for (auto k = view.row_offsets[i]; k < view.row_offsets[i + 1]; ++k) {
      const auto entry = static_cast<std::size_t>(k);
      values[entry] =
          std::ldexp(values[entry], row_powers[i] + column_powers[static_cast<std::size_t>(view.columns[entry])]);
    }
    b[i] = std::ldexp(b[i], row_powers[i]);
    x[i] = std::ldexp(x[i], -column_powers[i]);
  }
  const Csr<double> scaled_a = a.with_values(Array<double>::copy_of(values));
  for (const DirectMethod method : lu_methods) {
    SCOPED_TRACE(to_string(method));
    std::vector<double> z = solved(DirectFactors<double>(scaled_a.view(), {.method = method}), b);
    for (std::size_t i = 0; i < 40; ++i) z[i] = std::ldexp(z[i], column_powers[i]);
    EXPECT_LE(relative_difference(z, expected), 1e-9);
  }
}

TEST(Direct, SingularMatricesAreNamed) {
  // Row 2 is the sum of rows 0 and 1; an empty row; an empty column; zeros that are stored.
  const std::vector<std::vector<std::vector<double>>> singular{
      {{1, 2, 0}, {0, 1, 1}, {1, 3, 1}}, {{1, 2, 0}, {0, 0, 0}, {1, 3, 1}}, {{1, 0, 2}, {3, 0, 1}, {1, 0, 1}}};
  for (const auto& dense : singular) {
    const Csr<double> a = from_dense<double>(dense, 3);
    for (const DirectMethod method : lu_methods) {
      SCOPED_TRACE(to_string(method));
      const std::string words =
          refusal<InvalidMatrix>([&] { DirectFactors<double>(a.view(), DirectOptions{.method = method}); });
      const bool has_full_structure = &dense == singular.data();
      EXPECT_NE(
          words.find(has_full_structure ? "singular to rounding: the pivot of column" : "at most 2 of its 3 rows"),
          std::string::npos)
          << words;
    }
  }
  const Csr<double> zeros = make_csr<double>(2, 2, {0, 1, 2}, {0, 1}, {0.0, 1.0});
  for (const DirectMethod method : every_method) {
    EXPECT_THROW(DirectFactors<double>(zeros.view(), DirectOptions{.method = method}), InvalidMatrix);
  }
}

TEST(Direct, RefusesWhatItCannotDo) {
  const Csr<double> wide = from_dense<double>({{1, 2, 3}}, 3);
  EXPECT_THROW(DirectFactors<double>(wide.view()), DimensionError);
  EXPECT_THROW(static_cast<void>(predict_direct(wide.view())), DimensionError);
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const Csr<double> bad = make_csr<double>(2, 2, {0, 1, 3}, {0, 0, 1}, {1.0, nan, 2.0});
  EXPECT_NE(refusal<InvalidMatrix>([&] { DirectFactors<double>(bad.view()); }).find("row 2"), std::string::npos);
  EXPECT_THROW(static_cast<void>(predict_direct(bad.view())), InvalidMatrix);
  const Csr<double> lopsided = from_dense<double>({{2, 1}, {0.5, 2}}, 2);
  const DirectOptions cholesky{.method = DirectMethod::cholesky};
  EXPECT_NE(refusal<InvalidMatrix>([&] { DirectFactors<double>(lopsided.view(), cholesky); }).find("symmetric"),
            std::string::npos);
}

TEST(Direct, LimitsAreHeldAgainstThePrediction) {
  const Csr<double> a = poisson2d<double>(20, 20);
  for (const DirectMethod method : every_method) {
    SCOPED_TRACE(to_string(method));
    const DirectPrediction prediction = predict_direct(a.view(), method);
    const auto words = [&](const DirectOptions& options) {
      return refusal<BudgetExceeded>([&] { DirectFactors<double>(a.view(), options); });
    };
    for (const std::string& said : {words({.method = method, .flops_limit = prediction.flops * 0.99}),
                                    words({.method = method, .factor_nnz_limit = prediction.factor_nnz - 1}),
                                    words({.method = method, .memory_limit_bytes = prediction.bytes - 1})}) {
      EXPECT_NE(said.find(std::to_string(prediction.factor_nnz) + " entries"), std::string::npos) << said;
      EXPECT_NE(said.find(std::to_string(prediction.bytes) + " bytes"), std::string::npos) << said;
    }
    EXPECT_NO_THROW(DirectFactors<double>(a.view(), DirectOptions{.method = method,
                                                                  .flops_limit = prediction.flops,
                                                                  .factor_nnz_limit = prediction.factor_nnz,
                                                                  .memory_limit_bytes = prediction.bytes}));
  }
}

TEST(Direct, PredictionsHold) {
  const Csr<double> a = convection_diffusion<double>(15, 15, 4, Peclet{.x = 3.0, .y = 1.0, .z = 2.0});
  for (const DirectMethod method : {DirectMethod::lu_amd, DirectMethod::lu_colamd}) {
    const DirectFactors<double> factors(a.view(), {.method = method});
    const DirectInfo& info = factors.factors();
    EXPECT_EQ(info.prediction.method, method);
    // An M-matrix: diagonal pivots are good enough. Supernodes store some zeros, which SparseLU counts.
    EXPECT_LE(static_cast<double>(info.factor_nnz), 1.1 * static_cast<double>(info.prediction.factor_nnz));
    if (method == DirectMethod::lu_amd) {
      EXPECT_GE(info.factor_nnz, info.prediction.factor_nnz);
    }
  }
  const Csr<double> spd = poisson3d<double>(9, 9, 9);
  const DirectFactors<double> factors(spd.view(), {.method = DirectMethod::cholesky});
  EXPECT_EQ(factors.factors().factor_nnz, factors.factors().prediction.factor_nnz);
  EXPECT_EQ(factors.factors().negative_pivots, 0);
}

/// A grid whose rows were rotated: the matching finds its diagonal, and with it the fill of the grid.
TEST(Direct, MatchingRestoresTheDiagonal) {
  const Csr<double> grid = poisson2d<double>(20, 20);
  const CsrView<double> view = grid.view();
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  std::vector<double> values;
  for (std::size_t i = 0; i < 400; ++i) {
    const std::size_t row = (i + 137) % 400;
    for (auto k = static_cast<std::size_t>(view.row_offsets[row]);
         k < static_cast<std::size_t>(view.row_offsets[row + 1]); ++k) {
      columns.push_back(view.columns[k]);
      values.push_back(view.values[k]);
    }
    offsets.push_back(static_cast<offset_t>(columns.size()));
  }
  const Csr<double> rotated = make_csr<double>(400, 400, offsets, columns, values);
  const DirectFactors<double> factors(rotated.view());
  EXPECT_EQ(factors.factors().prediction.method, DirectMethod::lu_amd);
  EXPECT_LE(static_cast<double>(factors.factors().factor_nnz),
            1.2 * static_cast<double>(predict_direct(view, DirectMethod::cholesky).factor_nnz));
  const std::vector<double> x = random_values<double>(400, 4);
  EXPECT_LE(relative_difference(solved(factors, product(rotated.view(), x)), x), 1e-12);
}

TEST(Direct, RefreshTakesNewValues) {
  const Csr<double> a = scattered(50, 21, true);
  for (const DirectMethod method : lu_methods) {
    DirectFactors<double> factors(a.view(), {.method = method});
    const Csr<double> other = scaled(a, -0.125);
    factors.refresh(other.view());
    const std::vector<double> x = random_values<double>(50, 4);
    EXPECT_LE(relative_difference(solved(factors, product(other.view(), x)), x), 1e-11);
    EXPECT_THROW(factors.refresh(diagonal_matrix<double>({1.0}).view()), DimensionError);
    EXPECT_THROW(factors.refresh(scaled(a, 0.0).view()), InvalidMatrix);
    // The old factors stay.
    EXPECT_LE(relative_difference(solved(factors, product(other.view(), x)), x), 1e-11);
    const DirectFactors<double> moved = std::move(factors);
    EXPECT_LE(relative_difference(solved(moved, product(other.view(), x)), x), 1e-11);
  }
}

/// L D Lᵀ without pivoting breaks down, or nearly, though the diagonal has one sign.
TEST(Direct, AutomaticLeavesCholeskyThatLosesDigits) {
  for (const double small : {0.0, 1e-17, 1e-13}) {
    // The first pivot after the scaling leaves 1 - 1 in the second.
    const Csr<double> a = from_dense<double>({{1, 1, 0.5}, {1, 1 + small, -0.5}, {0.5, -0.5, 1}}, 3);
    const std::vector<double> x{1.0, -2.0, 3.0};
    const std::vector<double> b = product(a.view(), x);
    const DirectFactors<double> factors(a.view());
    EXPECT_LE(relative_difference(solved(factors, b), x), 1e-12) << small;
  }
}

/// max |b - A x| / max(|A| |x| + |b|), in long double.
double backward_error(const CsrView<double>& a, const std::vector<double>& x, const std::vector<double>& b) {
  long double error = 0.0L;
  long double size = 0.0L;
  for (std::size_t i = 0; i < b.size(); ++i) {
    long double residual = b[i];
    long double row = std::abs(b[i]);
    for (offset_t k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
      const long double term =
          static_cast<long double>(a.value(k)) * x[static_cast<std::size_t>(a.columns[static_cast<std::size_t>(k)])];
      residual -= term;
      row += std::abs(term);
    }
    error = std::max(error, std::abs(residual));
    size = std::max(size, row);
  }
  return static_cast<double>(error / size);
}

Csr<double> circuit(index_t n) { return generate<double>(parse_generator("circuit:" + std::to_string(n))); }

/// Row exchanges by a threshold of .01 fill circuits, the more the larger they are.
TEST(Direct, SmallPivotsKeepTheFillOfCircuits) {
  const Csr<double> a = circuit(5000);
  const DirectFactors<double> factors(a.view());
  const DirectInfo& info = factors.factors();
  EXPECT_LE(info.factor_nnz, info.prediction.factor_nnz);
  const std::vector<double> b = random_values<double>(5000, 3);
  EXPECT_LE(backward_error(a.view(), solved(factors, b), b), 1e-14);
}

TEST(Direct, LuStopsAtItsLimitOfEntries) {
  const Csr<double> a = circuit(5000);
  detail::DirectSystem system{.columns_of = {a.view().row_offsets, a.view().columns},
                              .columns = detail::columns_of(a.view())};
  const auto [prediction, order, scaling] =
      detail::analyze_direct(system, detail::traits_of(system), DirectMethod::lu_amd, {});
  const detail::ColumnMatrix b = detail::permuted(system.columns, scaling, order);
  const offset_t predicted = prediction.factor_nnz;
  constexpr offset_t any = std::numeric_limits<offset_t>::max();
  EXPECT_TRUE(detail::make_eigen_lu(0.01)->factorize(b, predicted, 2 * predicted).is_overfull);
  const detail::FactorFacts facts = detail::make_eigen_lu(0.01)->factorize(b, predicted, any);
  EXPECT_TRUE(facts.is_complete);
  EXPECT_GT(facts.factor_nnz, 2 * predicted);
  EXPECT_TRUE(detail::make_eigen_lu(0.01)->factorize(b, predicted, facts.factor_nnz + b.size()).is_complete);
  EXPECT_TRUE(detail::make_eigen_lu(0.01)->factorize(b, predicted, facts.factor_nnz / 2).is_overfull);
}

/// A diagonal just strong enough to do without a matching, of 1 % to 2 %: small pivots lose all digits.
Csr<double> weak_diagonal(index_t n, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  std::vector<std::vector<double>> dense(static_cast<std::size_t>(n), std::vector<double>(static_cast<std::size_t>(n)));
  for (std::size_t i = 0; i < dense.size(); ++i) {
    for (int k = 0; k < 4; ++k) dense[i][random() % dense.size()] = uniform(random);
    dense[i][i] = 0.016 + 0.004 * uniform(random);
  }
  return from_dense<double>(dense, n);
}

TEST(Direct, LargerPivotsWhereSmallOnesLoseDigits) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    const Csr<double> a = weak_diagonal(1000, seed);
    const std::vector<double> b = random_values<double>(1000, seed);
    const DirectFactors<double> factors(a.view(), {.method = DirectMethod::lu_amd});
    EXPECT_LE(backward_error(a.view(), solved(factors, b), b), 1e-8);
  }
}

/// A prediction that is exceeded by far more than twice: the last factors have no limit but that of memory.
TEST(Direct, FactorsBeyondThePrediction) {
  const Csr<double> a = poisson2d<double>(30, 30);
  DirectPrediction prediction = predict_direct(a.view(), DirectMethod::lu_amd);
  const offset_t expected = prediction.factor_nnz;
  auto wrong = std::make_shared<detail::DirectAnalysis>(*prediction.analysis);
  wrong->prediction.factor_nnz /= 4;
  prediction.analysis = wrong;
  const DirectOptions options{.method = DirectMethod::lu_amd, .prediction = prediction};
  EXPECT_GE(DirectFactors<double>(a.view(), options).factors().factor_nnz, expected);
  DirectOptions limited = options;
  limited.memory_limit_bytes = 2 * wrong->prediction.bytes;
  EXPECT_NE(refusal<BudgetExceeded>([&] { DirectFactors<double>(a.view(), limited); }).find("row exchanges"),
            std::string::npos);
}

/// The caller wants the work until it was asked some times.
TEST(Direct, IsInterruptedWithinFactors) {
  const Csr<double> a = poisson3d<double>(24, 24, 24);
  const std::vector<double> b = random_values<double>(static_cast<std::size_t>(a.rows()), 5);
  for (const DirectMethod method : {DirectMethod::cholesky, DirectMethod::lu_amd}) {
    SCOPED_TRACE(to_string(method));
    const DirectPrediction prediction = predict_direct(a.view(), method);
    DirectFactors<double> factors(a.view(), {.method = method, .prediction = prediction});
    for (const int most_asked : {0, 3}) {
      int asked = 0;
      {
        const detail::InterruptionScope scope(std::numeric_limits<double>::infinity(),
                                              [&] { return ++asked <= most_asked; });
        EXPECT_THROW(factors.refresh(scaled(a, 2.0).view()), BudgetExceeded);
      }
      EXPECT_EQ(asked, most_asked + 1);
      EXPECT_LE(backward_error(a.view(), solved(factors, b), b), 1e-14) << "the old factors stay";
    }
    const detail::InterruptionScope late(0.0);
    EXPECT_THROW(DirectFactors<double>(a.view(), DirectOptions{.method = method, .prediction = prediction}),
                 BudgetExceeded);
  }
  EXPECT_LE(backward_error(a.view(), solved(DirectFactors<double>(a.view()), b), b), 1e-14);
}

/// Predictions give up where factors are out of reach, factors do not.
TEST(Direct, PredictionsAreBounded) {
  const Csr<double> a = support::odd_matrix("random", 500, 1);
  const DirectPrediction prediction = predict_direct(a.view());
  const auto nnz = static_cast<double>(prediction.factor_nnz);
  const auto refused = [&](const DirectLimits& limits) {
    return refusal<BudgetExceeded>([&] { static_cast<void>(predict_direct(a.view(), {}, limits)); });
  };
  EXPECT_NE(refused({.factor_nnz = nnz / 2}).find("entries"), std::string::npos);
  EXPECT_NE(refused({.flops = prediction.flops / 2}).find("flops"), std::string::npos);
  EXPECT_EQ(predict_direct(a.view(), {}, {.flops = 2 * prediction.flops, .factor_nnz = 2 * nnz}).factor_nnz,
            prediction.factor_nnz);
}

TEST(Direct, DenseRowsAndColumns) {
  const Csr<double> hubs = support::odd_matrix("hubs", 3000, 1);
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  std::vector<double> values;
  for (index_t i = 0; i < 1000; ++i) {  // the diagonal, one column, another row
    for (index_t j = 0; j < 1000; ++j) {
      if (i != j && j != 17 && i != 400) continue;
      columns.push_back(j);
      values.push_back(i == j ? 4.0 : 1.0 / static_cast<double>(1 + i + j));
    }
    offsets.push_back(static_cast<offset_t>(columns.size()));
  }
  const Csr<double> cross = make_csr<double>(1000, 1000, offsets, columns, values);
  for (const Csr<double>* a : {&hubs, &cross}) {
    const std::vector<double> b = random_values<double>(static_cast<std::size_t>(a->rows()), 2);
    for (const DirectMethod method : lu_methods) {
      SCOPED_TRACE(to_string(method));
      const DirectFactors<double> factors(a->view(), {.method = method});
      EXPECT_LE(backward_error(a->view(), solved(factors, b), b), 1e-10);
      if (a == &cross) {
        EXPECT_LE(factors.factors().factor_nnz, 3 * cross.nnz());
      }
    }
  }
}

TEST(Direct, IsInterruptedWithinOrders) {
  const Csr<double> a = support::odd_matrix("triangular", 40'000, 1);
  for (const DirectMethod method : lu_methods) {
    SCOPED_TRACE(to_string(method));
    const detail::InterruptionScope late(0.0);
    EXPECT_THROW(static_cast<void>(predict_direct(a.view(), method)), BudgetExceeded);
  }
}

/// Triangular solves of L D Lᵀ walk through the factors as the factorization does, which can be interrupted.
TEST(Direct, SolvesAreNotInterrupted) {
  for (const Csr<double>& a : {poisson2d<double>(15, 15), scattered(225, 2, false)}) {
    const DirectFactors<double> factors(a.view());
    const std::vector<double> b = random_values<double>(225, 8);
    const std::vector<double> expected = solved(factors, b);
    const detail::InterruptionScope late(0.0);
    EXPECT_EQ(solved(factors, b), expected);
  }
}

TEST(Direct, RichardsonRefines) {
  const Csr<double> a = scattered(200, 2, false);
  const SpmvPlan<double> plan(Csr<double>::copy_of(a.view()));
  const DirectFactors<double> factors(a.view());
  const std::vector<double> b = random_values<double>(200, 8);
  std::vector<double> x(200);
  const SolveReport report = richardson<double>(plan, factors, b, x, {.relative_tolerance = 1e-12});
  expect_honest(report, a.view(), b, x);
  EXPECT_TRUE(report.converged()) << report.reason;
  EXPECT_LE(report.iterations, 2);
}

TEST(Direct, Names) {
  EXPECT_EQ(to_string(DirectMethod::automatic), "auto");
  EXPECT_EQ(to_string(DirectMethod::cholesky), "cholesky");
  EXPECT_EQ(to_string(DirectMethod::lu_amd), "lu-amd");
  EXPECT_EQ(to_string(DirectMethod::lu_colamd), "lu-colamd");
}

}  // namespace
}  // namespace tessera::testing
