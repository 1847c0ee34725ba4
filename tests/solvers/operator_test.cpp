/// Operators that users write with the public header alone, and operators that do not fit.
#include "tessera/error.hpp"
#include "tests/solvers/systems.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <span>
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

/// Counts who asks for more than its size and device.
class Misfit final : public LinearOperator<double> {
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

INSTANTIATE_TEST_SUITE_P(Method, Operators, ::testing::Values(Solve{&cg<double>}, Solve{&bicgstab<double>}),
                         [](const auto& method) { return std::string(method.index == 0 ? "cg" : "bicgstab"); });

}  // namespace
}  // namespace tessera::testing
