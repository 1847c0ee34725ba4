/// Polynomial preconditioners against their definitions, in long double.
#include "tessera/polynomial.hpp"

#include "solvers/polynomial.hpp"
#include "tessera/error.hpp"
#include "tests/solvers/polynomial_systems.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/error_message.hpp"

#include <gtest/gtest.h>
#include <Eigen/Eigenvalues>

#include <algorithm>
#include <limits>
#include <string>

namespace tessera::testing {
namespace {

constexpr auto chebyshev = PolynomialKind::chebyshev;
constexpr auto neumann = PolynomialKind::neumann;

/// An error of a step, at most (row + 8) ε of the largest term, reaches z multiplied by at most the second-kind
/// polynomial of the remaining steps, which the interval bounds by their number.
template <class T>
long double rounding_of(const PolynomialOptions& options, const LongMatrix& m, const std::vector<T>& r) {
  long double largest = 0;
  for (Eigen::Index i = 0; i < m.rows(); ++i) {
    long double sum = 0;
    for (Eigen::Index j = 0; j < m.cols(); ++j) sum += std::abs(m(i, j) * r[static_cast<std::size_t>(j)]);
    largest = std::max(largest, sum);
  }
  const long double steps = options.degree + 1;
  return steps * steps * static_cast<long double>(m.rows() + 8) * std::numeric_limits<T>::epsilon() * largest;
}

template <class T>
void expect_polynomial(const Csr<T>& a, const PolynomialOptions& options) {
  SCOPED_TRACE(polynomial_name(options));
  const PolynomialPreconditioner<T> m(a.view(), options);
  const LongMatrix oracle = polynomial_oracle(a.view(), options, m.polynomial());
  const std::vector<T> r = random_values<T>(static_cast<std::size_t>(a.rows()), 5);
  const std::vector<T> z = applied(m, r);
  const long double bound = rounding_of(options, oracle, r);
  for (Eigen::Index i = 0; i < oracle.rows(); ++i) {
    long double expected = 0;
    for (Eigen::Index j = 0; j < oracle.cols(); ++j) expected += oracle(i, j) * r[static_cast<std::size_t>(j)];
    EXPECT_NEAR(static_cast<double>(z[static_cast<std::size_t>(i)]), static_cast<double>(expected),
                static_cast<double>(bound));
  }
}

template <class T>
void expect_polynomials(const Csr<T>& a) {
  for (const bool is_explicit : {false, true}) {
    for (const int degree : {1, 2, 3, 4, 7, 8}) {
      expect_polynomial(a, {.degree = degree, .explicit_matrix = is_explicit, .drop_tolerance = 0.0});
      expect_polynomial(a, {.kind = neumann, .degree = degree, .explicit_matrix = is_explicit, .drop_tolerance = 0.0});
    }
    expect_polynomial(a, {.degree = 5, .interval_ratio = 7.5, .explicit_matrix = is_explicit, .drop_tolerance = 0.0});
    expect_polynomial(
        a, {.kind = neumann, .degree = 3, .damping = 0.3, .explicit_matrix = is_explicit, .drop_tolerance = 0.0});
  }
}

TEST(Polynomial, IsThatOfItsRoots) {
  expect_polynomials(poisson2d<double>(5, 4));
  expect_polynomials(poisson2d<float>(4, 5, Stencil2d::nine_point));
  expect_polynomials(irregular_spd<double>(23, 3));
  expect_polynomials(convection_diffusion<double>(3, 3, 2, {.x = 2, .y = -1}));
  expect_polynomials(make_pattern<double>(2, 2, {0, 2, 4}, {0, 1, 0, 1}));
}

/// 1 - λ p(λ) at the ends of the interval is ± 1 / T_k(θ/δ), T_k(x) = cosh(k arcosh x), and nowhere between larger.
TEST(Polynomial, ResidualPolynomialIsChebyshev) {
  for (const int degree : {1, 2, 3, 4, 8, 17, 64}) {
    for (const double ratio : {2.0, 30.0, 1000.0}) {
      const PolynomialOptions options{.degree = degree, .interval_ratio = ratio};
      PolynomialInfo info{.lambda_max = 1.7};
      const auto weights = detail::polynomial_weights(options, info);
      EXPECT_EQ(weights.size(), static_cast<std::size_t>(degree));
      EXPECT_DOUBLE_EQ(info.interval_high, 1.1 * 1.7);
      const auto residual = [&](double lambda) {
        double z = weights[0].beta;
        double before = 0.0;
        for (std::size_t k = 1; k < weights.size(); ++k) {
          const double next = z + weights[k].alpha * (z - before) + weights[k].beta * (1.0 - lambda * z);
          before = std::exchange(z, next);
        }
        return 1.0 - lambda * z;
      };
      const double sigma = (info.interval_high + info.interval_low) / (info.interval_high - info.interval_low);
      const double ends = 1.0 / std::cosh(degree * std::acosh(sigma));
      const double rounding = 1e-15 * degree * degree;
      EXPECT_NEAR(residual(info.interval_low), ends, rounding);
      EXPECT_NEAR(residual(info.interval_high), degree % 2 == 0 ? ends : -ends, rounding);
      for (double at = 0.0; at <= 1.0; at += 0.03) {
        const double lambda = info.interval_low + at * (info.interval_high - info.interval_low);
        EXPECT_LE(std::abs(residual(lambda)), ends + rounding);
      }
    }
  }
}

TEST(Polynomial, OfADiagonalMatrixIsAScalarEach) {
  const std::vector<double> entries{2.0, -4.0, 0.5, 1e6};
  for (const PolynomialKind kind : {chebyshev, neumann}) {
    const PolynomialPreconditioner<double> m(diagonal_matrix(entries).view(), {.kind = kind, .degree = 3});
    const PolynomialInfo& info = m.polynomial();
    EXPECT_EQ(info.lambda_max, 1.0);
    double p = 1.0;  // Neumann's with ω = 1
    if (kind == chebyshev) {
      const double center = (info.interval_high + info.interval_low) / 2.0;
      const double half = (info.interval_high - info.interval_low) / 2.0;
      p = 1.0 - std::cos(3.0 * std::acos((center - 1.0) / half)) / std::cosh(3.0 * std::acosh(center / half));
    }
    const std::vector<double> z = applied(m, {1.0, 1.0, 1.0, 1.0});
    for (std::size_t i = 0; i < z.size(); ++i) EXPECT_NEAR(z[i] * entries[i], p, 1e-14);
  }
}

/// No eigenvalue of D⁻¹ A may lie beyond both ends of the interval together, or M is indefinite.
TEST(Polynomial, IntervalCoversTheSpectrum) {
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    const Csr<double> a = irregular_spd<double>(120, seed);
    const PolynomialPreconditioner<double> m(a.view());
    const Eigen::MatrixXd dense(to_eigen(a.view()));
    const Eigen::VectorXd roots = dense.diagonal().cwiseSqrt().cwiseInverse();
    const Eigen::MatrixXd scaled_matrix = roots.asDiagonal() * dense * roots.asDiagonal();
    const double largest = Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(scaled_matrix).eigenvalues().maxCoeff();
    const PolynomialInfo& info = m.polynomial();
    EXPECT_GE(info.gershgorin, largest);
    EXPECT_GE(info.interval_high, largest);
    EXPECT_LE(info.lambda_max, 1.11 * largest) << "and is not far too large";
  }
}

/// The dominant eigenvector lives on 6 of 30 000 rows, where its elements are 70 times the mean: λ = 1 + 5 / 2.
TEST(Polynomial, SpectrumOfAFewRowsIsSeen) {
  constexpr index_t n = 30000;
  constexpr index_t block = 6;
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  std::vector<double> values;
  for (index_t i = 0; i < n; ++i) {
    for (index_t j = i < block ? 0 : i; j < (i < block ? block : i + 1); ++j) {
      columns.push_back(j);
      values.push_back(i == j ? 2.0 : 1.0);
    }
    offsets.push_back(static_cast<offset_t>(columns.size()));
  }
  const Csr<double> a = make_csr<double>(n, n, offsets, columns, values);
  PolynomialInfo info;
  (void)detail::diagonal_spectrum(Device{}, a.view(), {}, info);
  EXPECT_NEAR(info.lambda_max, 3.5, 1e-9) << "1.1 times the estimate exceeds Gershgorin's bound, which is exact here";
}

TEST(Polynomial, IsSymmetricWhereTheMatrixIs) {
  const Csr<double> a = irregular_spd<double>(60, 9);
  const std::vector<double> u = random_values<double>(60, 1);
  const std::vector<double> v = random_values<double>(60, 2);
  const auto dot = [](const std::vector<double>& x, const std::vector<double>& y) {
    long double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) sum += static_cast<long double>(x[i]) * y[i];
    return static_cast<double>(sum);
  };
  for (const PolynomialKind kind : {chebyshev, neumann}) {
    for (const bool is_explicit : {false, true}) {
      const PolynomialPreconditioner<double> m(
          a.view(), {.kind = kind, .degree = 5, .explicit_matrix = is_explicit, .drop_tolerance = 0.05});
      EXPECT_TRUE(m.info().is_symmetric);
      const double uv = dot(applied(m, u), v);
      EXPECT_NEAR(uv, dot(u, applied(m, v)), 1e-12 * std::abs(uv));
      EXPECT_GT(dot(applied(m, u), u), 0.0);
    }
  }
  const auto flow = convection_diffusion<double>(5, 5, 2, {.x = 2});
  EXPECT_FALSE(PolynomialPreconditioner<double>(flow.view()).info().is_symmetric);
  EXPECT_FALSE(PolynomialPreconditioner<double>(flow.view(), {.explicit_matrix = true}).info().is_symmetric);
}

template <class T>
void expect_mirrored(const CsrView<T>& m) {
  const Csr<T> copy = Csr<T>::copy_of(m);
  const Eigen::SparseMatrix<T, Eigen::RowMajor> matrix = to_eigen(m);
  const Eigen::SparseMatrix<T, Eigen::RowMajor> mirrored = matrix.transpose();
  ASSERT_EQ(matrix.nonZeros(), mirrored.nonZeros());
  for (Eigen::Index k = 0; k < matrix.nonZeros(); ++k) {
    ASSERT_EQ(matrix.innerIndexPtr()[k], mirrored.innerIndexPtr()[k]);
    ASSERT_EQ(matrix.valuePtr()[k], mirrored.valuePtr()[k]) << "bit by bit";
  }
}

TEST(ExplicitPolynomial, IsSymmetricBitByBitWhateverIsDropped) {
  for (const double tolerance : {0.0, 1e-3, 0.03, 0.2}) {
    for (const index_t most : {2, 5, std::numeric_limits<index_t>::max()}) {
      for (const PolynomialKind kind : {chebyshev, neumann}) {
        const PolynomialOptions options{
            .kind = kind, .degree = 4, .explicit_matrix = true, .drop_tolerance = tolerance, .max_row_entries = most};
        SCOPED_TRACE(polynomial_name(options));
        const PolynomialPreconditioner<double> m(irregular_spd<double>(150, 4).view(), options);
        expect_mirrored(m.matrix());
        const PolynomialPreconditioner<float> single(irregular_spd<float>(90, 6).view(), options);
        expect_mirrored(single.matrix());
        for (index_t i = 0; i < m.matrix().rows; ++i) {
          const auto row = static_cast<std::size_t>(i);
          EXPECT_LE(m.matrix().row_offsets[row + 1] - m.matrix().row_offsets[row] - 1, most);
        }
      }
    }
  }
}

/// After one product the matrix is ω D⁻¹ (2 I - ω A D⁻¹) without what the rule drops.
TEST(ExplicitPolynomial, DropsByTheRule) {
  constexpr double tolerance = 0.1;
  const Csr<double> a = irregular_spd<double>(80, 8);
  const PolynomialOptions options{.kind = neumann, .degree = 1, .explicit_matrix = true, .drop_tolerance = tolerance};
  const PolynomialPreconditioner<double> m(a.view(), options);
  const LongMatrix full = polynomial_oracle(a.view(), options, m.polynomial());
  const Eigen::MatrixXd found(to_eigen(m.matrix()));
  int dropped = 0;
  for (Eigen::Index i = 0; i < full.rows(); ++i) {
    for (Eigen::Index j = 0; j < full.cols(); ++j) {
      const long double limit = tolerance * std::sqrt(std::abs(full(i, i) * full(j, j)));
      const bool kept = i == j || std::abs(full(i, j)) >= limit;
      if (!kept && full(i, j) != 0) ++dropped;
      EXPECT_NEAR(found(i, j), static_cast<double>(kept ? full(i, j) : 0),
                  1e-14 * static_cast<double>(std::abs(full(i, i))));
    }
  }
  EXPECT_GT(dropped, 20);
  EXPECT_EQ(m.polynomial().explicit_nnz, m.matrix().nnz());
  EXPECT_EQ(m.polynomial().products, 1);
}

TEST(ExplicitPolynomial, LargerTolerancesLeaveFewerEntries) {
  const Csr<double> a = poisson2d<double>(20, 20);
  offset_t before = std::numeric_limits<offset_t>::max();
  for (const double tolerance : {0.0, 1e-2, 5e-2, 2e-1}) {
    const PolynomialPreconditioner<double> m(
        a.view(), {.kind = neumann, .degree = 4, .explicit_matrix = true, .drop_tolerance = tolerance});
    EXPECT_LT(m.polynomial().explicit_nnz, before);
    EXPECT_DOUBLE_EQ(m.polynomial().fill, static_cast<double>(m.matrix().nnz()) / static_cast<double>(a.nnz()));
    before = m.polynomial().explicit_nnz;
  }
}

/// Powers of two change no digit: M of 2^k A is 2^-k M, and what is dropped is the same.
TEST(Polynomial, PowersOfTwoChangeNoDigit) {
  const Csr<double> a = irregular_spd<double>(70, 2);
  const Csr<double> larger = scaled(a, 0x1p40);
  const std::vector<double> r = random_values<double>(70, 3);
  for (const bool is_explicit : {false, true}) {
    for (const PolynomialKind kind : {chebyshev, neumann}) {
      const PolynomialOptions options{
          .kind = kind, .degree = 4, .explicit_matrix = is_explicit, .drop_tolerance = 0.02};
      std::vector<double> expected = applied(PolynomialPreconditioner<double>(a.view(), options), r);
      for (double& value : expected) value *= 0x1p-40;
      EXPECT_EQ(applied(PolynomialPreconditioner<double>(larger.view(), options), r), expected);
    }
  }
}

TEST(Polynomial, CgTakesFewerIterationsWithTheDegree) {
  System<double> system(poisson2d<double>(60, 60));
  const auto plan = std::make_shared<const SpmvPlan<double>>(poisson2d<double>(60, 60));
  std::int64_t before =
      cg<double>(system.plan, JacobiPreconditioner<double>(plan->matrix()), system.b, system.x).iterations;
  for (const int degree : {2, 4, 8}) {
    const PolynomialPreconditioner<double> m(plan, {.degree = degree});
    EXPECT_EQ(m.polynomial().products, degree - 1);
    system.x.assign(system.size(), 0.0);
    const SolveReport report = cg<double>(system.plan, m, system.b, system.x);
    EXPECT_TRUE(report.converged()) << report.reason;
    system.expect_honest(report);
    EXPECT_LT(static_cast<double>(report.iterations), 0.75 * static_cast<double>(before)) << degree;
    before = report.iterations;
  }
}

TEST(Polynomial, OtherMethodsTakeItForANonsymmetricMatrix) {
  System<double> system(convection_diffusion<double>(12, 12, 6, {.x = 1, .y = -0.5}));
  const JacobiPreconditioner<double> jacobi(system.plan.matrix());
  for (const bool is_explicit : {false, true}) {
    for (const bool use_gmres : {false, true}) {
      const PolynomialPreconditioner<double> m(system.plan.matrix(), {.degree = 3, .explicit_matrix = is_explicit});
      const auto solve = [&](const LinearOperator<double>& by) {
        system.x.assign(system.size(), 0.0);
        const SolveReport report = use_gmres ? gmres<double>(system.plan, by, system.b, system.x)
                                             : bicgstab<double>(system.plan, by, system.b, system.x);
        EXPECT_TRUE(report.converged()) << report.reason;
        system.expect_honest(report);
        return report.iterations;
      };
      EXPECT_LT(solve(m), solve(jacobi));
    }
  }
}

TEST(Polynomial, ProductsWithFactors) {
  const PolynomialPreconditioner<double> m(poisson2d<double>(6, 5).view(), {.degree = 3});
  const std::vector<double> r = random_values<double>(30, 8);
  const std::vector<double> z = applied(m, r);
  std::vector<double> y(30, 2.0);
  m.apply(3.0, r, 0.5, y);
  for (std::size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], 3.0 * z[i] + 1.0, 1e-14);
}

TEST(Polynomial, RefreshIsANewSetUp) {
  const Csr<double> first = irregular_spd<double>(50, 1);
  std::vector<double> values(first.values().begin(), first.values().end());
  const Csr<double> second = first.with_values(Array<double>::copy_of([&] {
    for (offset_t k = 0; k < first.nnz(); ++k) values[static_cast<std::size_t>(k)] *= k % 2 == 0 ? 1.0 : 0.5;
    return values;
  }()));
  const std::vector<double> r = random_values<double>(50, 4);
  for (const bool is_explicit : {false, true}) {
    const PolynomialOptions options{.degree = 4, .explicit_matrix = is_explicit, .drop_tolerance = 0.01};
    PolynomialPreconditioner<double> m(first.view(), options);
    const PolynomialPreconditioner<double> fresh(second.view(), options);
    EXPECT_NE(applied(m, r), applied(fresh, r));
    m.refresh(second.view());
    EXPECT_EQ(applied(m, r), applied(fresh, r));
    EXPECT_EQ(m.info().bytes, fresh.info().bytes);
    EXPECT_THROW(m.refresh(poisson2d<double>(3, 3).view()), DimensionError);
  }
  const auto plan = std::make_shared<SpmvPlan<double>>(Csr<double>::copy_of(first.view()));
  PolynomialPreconditioner<double> shared(plan);
  EXPECT_LT(shared.info().bytes, PolynomialPreconditioner<double>(first.view()).info().bytes) << "no copy of A";
  EXPECT_NE(message_of<InvalidArgument>([&] { shared.refresh(second.view()); }).find("update_values() first"),
            std::string::npos);
  plan->update_values(second.view());
  shared.refresh(plan->matrix());
  EXPECT_EQ(applied(shared, r), applied(PolynomialPreconditioner<double>(second.view()), r));
}

TEST(Polynomial, RefusesWithTheRowOrTheRange) {
  const auto refusal = [](const Csr<double>& a, const PolynomialOptions& options = {}) {
    return message_of<Error>([&] { const PolynomialPreconditioner<double> m(a.view(), options); });
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(refusal(from_dense<double>({{1, 0, 0}, {0, 0, 1}, {0, 1, 0}}, 3)),
            "poly:4 needs a full diagonal: row 2 has no diagonal entry");
  EXPECT_EQ(refusal(make_csr<double>(2, 2, {0, 1, 2}, {0, 1}, {1.0, 0.0}), {.kind = neumann, .degree = 2}),
            "neumann:2 needs a finite inverse of every diagonal entry: row 2 holds 0");
  EXPECT_EQ(refusal(make_csr<double>(2, 2, {0, 1, 3}, {0, 0, 1}, {1.0, nan, 1.0})),
            "poly:4 needs finite rows: row 2 holds NaN or infinity, or its sum overflows");
  EXPECT_EQ(refusal(from_dense<double>({{1, 2, 3}}, 3)), "poly:4 needs a square matrix, got 1 x 3");
  EXPECT_THROW(PolynomialPreconditioner<double>(std::shared_ptr<const SpmvPlan<double>>{}), InvalidArgument);
  const Csr<double> a = diagonal_matrix<double>({1.0});
  EXPECT_EQ(refusal(a, {.degree = 0}), "PolynomialOptions::degree must be in [1, 64], got 0");
  EXPECT_EQ(refusal(a, {.degree = 65}), "PolynomialOptions::degree must be in [1, 64], got 65");
  EXPECT_NE(refusal(a, {.interval_ratio = 1.0}).find("interval_ratio must be finite and > 1"), std::string::npos);
  EXPECT_NE(refusal(a, {.damping = -1.0}).find("damping"), std::string::npos);
  EXPECT_NE(refusal(a, {.power_steps = -1}).find("power_steps"), std::string::npos);
  EXPECT_NE(refusal(a, {.drop_tolerance = nan}).find("drop_tolerance"), std::string::npos);
  EXPECT_NE(refusal(a, {.max_row_entries = 0}).find("max_row_entries"), std::string::npos);
  // D⁻¹ overflows only in its square.
  EXPECT_NE(refusal(make_csr<double>(2, 2, {0, 2, 4}, {0, 1, 0, 1}, {1e-300, 1e5, 1e5, 1e-300}),
                    {.kind = neumann, .degree = 8, .damping = 1.0})
                .find("gives NaN or infinity"),
            std::string::npos);
  EXPECT_THROW(PolynomialPreconditioner<double>(poisson2d<double>(40, 40).view(),
                                                {.explicit_matrix = true, .memory_limit_bytes = 1000}),
               OutOfMemory);
}

TEST(Polynomial, OfNothingAndOfANumber) {
  for (const bool is_explicit : {false, true}) {
    const PolynomialPreconditioner<double> nothing(Csr<double>{}.view(), {.explicit_matrix = is_explicit});
    EXPECT_EQ(nothing.rows(), 0);
    EXPECT_TRUE(nothing.info().is_symmetric);
    nothing.apply(std::span<const double>{}, std::span<double>{});
    const PolynomialPreconditioner<double> one(diagonal_matrix<double>({4.0}).view(),
                                               {.kind = neumann, .degree = 3, .explicit_matrix = is_explicit});
    EXPECT_EQ(applied(one, {2.0}), std::vector<double>{0.5});
  }
}

/// The power method knows positive diagonals alone.
TEST(Polynomial, NegativeDiagonalEntriesTakeGershgorin) {
  const Csr<double> a = from_dense<double>({{-2, 1, 0}, {1, 4, 1}, {0, 1, -5}}, 3);
  const PolynomialPreconditioner<double> m(a.view());
  EXPECT_EQ(m.polynomial().lambda_max, 1.5);
  EXPECT_EQ(m.polynomial().gershgorin, 1.5);
  EXPECT_EQ(
      PolynomialPreconditioner<double>(poisson2d<double>(9, 9).view(), {.power_steps = 0}).polynomial().lambda_max,
      2.0);
}

TEST(Polynomial, NamesAreThoseOfTheCommand) {
  EXPECT_EQ(polynomial_name({}), "poly:4");
  EXPECT_EQ(polynomial_name({.kind = neumann, .degree = 2}), "neumann:2");
  EXPECT_EQ(polynomial_name({.kind = neumann, .degree = 3, .explicit_matrix = true}), "neumann:3:explicit:1e-3");
  EXPECT_EQ(polynomial_name({.degree = 6, .explicit_matrix = true, .drop_tolerance = 0.0, .max_row_entries = 20}),
            "poly:6:explicit:0:20");
  EXPECT_EQ(PolynomialPreconditioner<double>(diagonal_matrix<double>({1.0}).view()).info().name, "poly");
}

}  // namespace
}  // namespace tessera::testing
