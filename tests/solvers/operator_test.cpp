/// Operators that users write with the public header alone, and operators that do not fit.
#include "tessera/error.hpp"
#include "tests/solvers/systems.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace tessera::testing {
namespace {

using Solve = SolveReport (*)(const LinearOperator<double>&, const LinearOperator<double>&, std::span<const double>,
                              std::span<double>, const SolverOptions&);

class Operators : public ::testing::TestWithParam<Solve> {};

/// -u'' by differences; Smoother is an approximate inverse.
class Laplacian final : public LinearOperator<double> {
 public:
  explicit Laplacian(std::int64_t n) : n_(n) {}
  [[nodiscard]] std::int64_t rows() const override { return n_; }
  [[nodiscard]] std::int64_t cols() const override { return n_; }

 protected:
  void do_apply(double alpha, std::span<const double> x, double beta, std::span<double> y) const override {
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double before = i > 0 ? x[i - 1] : 0.0;
      const double after = i + 1 < x.size() ? x[i + 1] : 0.0;
      const double image = 2.0 * x[i] - before - after;
      y[i] = alpha * image + (beta == 0.0 ? 0.0 : beta * y[i]);
    }
  }

 private:
  std::int64_t n_;
};

class Smoother final : public LinearOperator<double> {
 public:
  explicit Smoother(std::int64_t n) : n_(n) {}
  [[nodiscard]] std::int64_t rows() const override { return n_; }
  [[nodiscard]] std::int64_t cols() const override { return n_; }

 protected:
  void do_apply(double alpha, std::span<const double> x, double beta, std::span<double> y) const override {
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double before = i > 0 ? x[i - 1] : 0.0;
      const double after = i + 1 < x.size() ? x[i + 1] : 0.0;
      const double image = x[i] + 0.4 * (before + after);
      y[i] = alpha * image + (beta == 0.0 ? 0.0 : beta * y[i]);
    }
  }

 private:
  std::int64_t n_;
};

TEST_P(Operators, OfUsersAreSolved) {
  if (GetParam() == Solve{&richardson<double>}) GTEST_SKIP() << "I - M A has no small spectral radius";
  constexpr std::int64_t n = 200;
  const Csr<double> matrix = tridiagonal<double>(n, -1.0, 2.0, -1.0);
  const std::vector<double> b = random_values<double>(n, 5);
  const Laplacian a(n);
  for (const bool preconditioned : {false, true}) {
    std::vector<double> x(b.size());
    const SolveReport report =
        preconditioned ? GetParam()(a, Smoother(n), b, x, {}) : GetParam()(a, IdentityOperator<double>(n), b, x, {});
    EXPECT_TRUE(report.converged()) << report.reason;
    expect_honest(report, matrix.view(), b, x);
    // A plan of the same matrix takes the same way, to rounding.
    const SpmvPlan<double> plan(tridiagonal<double>(n, -1.0, 2.0, -1.0));
    std::vector<double> y(b.size());
    const SolveReport expected = preconditioned ? GetParam()(plan, Smoother(n), b, y, {})
                                                : GetParam()(plan, IdentityOperator<double>(n), b, y, {});
    EXPECT_EQ(report.status, expected.status);
    EXPECT_LE(std::abs(report.iterations - expected.iterations), 2 + expected.iterations / 20);
  }
}

/// A plan behind a function: what is fused in the plan takes passes of its own.
TEST_P(Operators, PlainAndFusedGiveTheSameBits) {
  constexpr std::int64_t n = 90;
  SpmvOptions by_rows;
  by_rows.algorithm = SpmvAlgorithm::csr;
  const SpmvPlan<double> plan(tridiagonal<double>(n, -1.0, 3.0, -1.0), by_rows);
  const SpmvPlan<double> inverse(diagonal_matrix(std::vector<double>(static_cast<std::size_t>(n), 0.3)), by_rows);
  std::int64_t products = 0;
  std::int64_t inverses = 0;
  const FunctionOperator<double> a = counting(plan, products);
  const FunctionOperator<double> m = counting(inverse, inverses);
  const std::vector<double> b = random_values<double>(n, 4);
  std::vector<double> x(b.size());
  std::vector<double> y(b.size());
  const SolveReport plain = GetParam()(a, m, b, x, {});
  const SolveReport fused = GetParam()(plan, inverse, b, y, {});
  EXPECT_TRUE(plain.converged()) << plain.reason;
  expect_honest(plain, plan.matrix(), b, x);
  EXPECT_EQ(plain.iterations, fused.iterations);
  EXPECT_EQ(plain.true_residual, fused.true_residual);
  EXPECT_EQ(x, y);
  EXPECT_EQ(products, plain.spmv_count);
  EXPECT_EQ(inverses, plain.preconditioner_count);
}

TEST_P(Operators, MayThrow) {
  const Laplacian laplacian(50);
  int left = 0;
  const FunctionOperator<double> a(50, 50, [&](std::span<const double> from, std::span<double> to) {
    if (--left == 0) throw std::runtime_error("the operator gave up");
    laplacian.apply(from, to);
  });
  const std::vector<double> b = random_values<double>(50, 6);
  for (const int last : {1, 2, 7}) {
    left = last;
    std::vector<double> x(b.size(), 1.0);
    EXPECT_THROW((void)GetParam()(a, Smoother(50), b, x, {}), std::runtime_error);
    for (const double value : x) ASSERT_TRUE(std::isfinite(value));
  }
}

/// Counts who asks for more than its size and device.
class Misfit final : public FusedOperator<double> {
 public:
  Misfit(std::int64_t rows, std::int64_t cols) : rows_(rows), cols_(cols) {}
  [[nodiscard]] std::int64_t rows() const override { return rows_; }
  [[nodiscard]] std::int64_t cols() const override { return cols_; }
  [[nodiscard]] std::optional<std::span<const double>> diagonal() const override {
    ++questions;
    return std::nullopt;
  }
  [[nodiscard]] bool is_identity() const override {
    ++questions;
    return false;
  }
  [[nodiscard]] DualBuffer<double> make_output() const override {
    ++questions;
    return DualBuffer<double>(0, DualBuffer<double>::Mode::single, Device{});
  }

  mutable int questions = 0;

 protected:
  void do_apply(double /*alpha*/, std::span<const double> /*x*/, double /*beta*/,
                std::span<double> /*y*/) const override {
    ++questions;
  }

 private:
  std::int64_t rows_;
  std::int64_t cols_;
};

TEST_P(Operators, ThatDoNotFitAreRefusedBeforeTheyAreAsked) {
  const Laplacian a(10);
  const std::vector<double> b(10, 1.0);
  std::vector<double> x(10);
  for (const std::int64_t n : {0, 9, 11}) {
    const Misfit m(n, n);
    EXPECT_THROW((void)GetParam()(a, m, b, x, {}), DimensionError);
    EXPECT_EQ(m.questions, 0);
  }
  const Misfit oblong(10, 9);
  EXPECT_THROW((void)GetParam()(oblong, a, b, x, {}), DimensionError);
  EXPECT_EQ(oblong.questions, 0);
  const Misfit fits(10, 10);
  EXPECT_THROW((void)GetParam()(a, fits, b, x, {.relative_tolerance = -1.0}), InvalidArgument);
  EXPECT_THROW((void)GetParam()(a, fits, std::span(b).first(9), x, {}), DimensionError);
  EXPECT_EQ(fits.questions, 0);
}

std::string name_of(const ::testing::TestParamInfo<Solve>& method) {
  constexpr const char* names[] = {"cg", "bicgstab", "gmres", "idr", "richardson"};
  return names[method.index];
}

INSTANTIATE_TEST_SUITE_P(Method, Operators,
                         ::testing::Values(Solve{&cg<double>}, Solve{&bicgstab<double>}, Solve{&gmres<double>},
                                           Solve{&idr<double>}, Solve{&richardson<double>}),
                         name_of);

}  // namespace
}  // namespace tessera::testing
