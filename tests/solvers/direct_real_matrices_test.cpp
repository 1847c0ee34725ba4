/// Real systems by direct factors: they converge at once, or the tolerance is below rounding; hidden errors are found.
#include "tessera/accuracy.hpp"
#include "tessera/direct.hpp"
#include "tessera/error.hpp"
#include "tessera/matrix_market.hpp"
#include "tests/solvers/systems.hpp"
#include "tests/support/matrices_dir.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace tessera::testing {
namespace {

Csr<double> real_matrix(const std::string& name) {
  return read_matrix_market<double>(*real_matrices_dir() / (name + ".mtx.gz")).matrix;
}

double relative_error_of(const std::vector<double>& x, const std::vector<double>& truth) {
  double squares = 0.0;
  double size = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    squares += (x[i] - truth[i]) * (x[i] - truth[i]);
    size += truth[i] * truth[i];
  }
  return std::sqrt(squares / size);
}

/// Every square matrix with real values, of up to 20 000 rows, by the method that automatic takes, and by both LUs
/// where they are little work.
TEST(DirectRealMatrices, SolvesThemAll) {
  TESSERA_REQUIRE_REAL_MATRICES();
  int solved = 0;
  for (const auto& path : real_matrix_files()) {
    const Csr<double> matrix = read_matrix_market<double>(path).matrix;
    const CsrView<double> a = matrix.view();
    if (!a.is_square() || a.is_pattern() || a.rows > 20'000) continue;
    SCOPED_TRACE(matrix_name(path));
    const SpmvPlan<double> plan(Csr<double>::copy_of(a));
    const std::vector<double> truth = random_values<double>(static_cast<std::size_t>(a.rows), 5);
    const std::vector<double> b = product(a, truth);
    for (const DirectMethod method : {DirectMethod::automatic, DirectMethod::lu_amd, DirectMethod::lu_colamd}) {
      SCOPED_TRACE(to_string(method));
      if (method != DirectMethod::automatic && predict_direct(a, method).flops > 2e7) continue;
      const DirectFactors<double> factors(a, {.method = method});
      std::vector<double> x(b.size());
      const SolveReport report = richardson<double>(plan, factors, b, x);
      expect_honest(report, a, b, x);
      EXPECT_TRUE(report.converged()) << report.reason;
      EXPECT_LE(report.iterations, 3);
      // Refined until it stagnates, x is exact for a nearby system.
      std::vector<double> y(b.size());
      static_cast<void>(richardson<double>(plan, factors, b, y, {.relative_tolerance = 1e-300, .max_iterations = 6}));
      EXPECT_LE(backward_error<double>(a, b, y).componentwise, 1e-11);
      ++solved;
    }
  }
  EXPECT_GE(solved, 60);
}

/// No method reaches 1e-8 ‖b‖ for these and random b: the report says so, and the backward error says why.
TEST(DirectRealMatrices, UnattainableTolerances) {
  TESSERA_REQUIRE_REAL_MATRICES();
  for (const char* name : {"cryg2500", "lns_3937"}) {
    SCOPED_TRACE(name);
    const SpmvPlan<double> plan(real_matrix(name));
    const CsrView<double> a = plan.matrix();
    const DirectFactors<double> factors(a);
    const std::vector<double> b = random_values<double>(static_cast<std::size_t>(a.rows), 6);
    std::vector<double> x(b.size());
    const SolveReport report = richardson<double>(plan, factors, b, x);
    expect_honest(report, a, b, x);
    EXPECT_EQ(report.status, Status::stagnated) << report.reason;
    const BackwardError error = backward_error<double>(a, b, x);
    EXPECT_LE(error.componentwise, 1e-13);
    EXPECT_GT(error.attainable, report.target);
  }
}

/// Solutions of small residual and large error: estimated, and repaired.
TEST(DirectRealMatrices, HiddenErrors) {
  TESSERA_REQUIRE_REAL_MATRICES();
  for (const char* name : {"bips98_606", "qh1484", "freeFlyingRobot_7"}) {
    SCOPED_TRACE(name);
    const SpmvPlan<double> plan(real_matrix(name));
    const CsrView<double> a = plan.matrix();
    const DirectFactors<double> factors(a);
    const std::vector<double> truth = random_values<double>(static_cast<std::size_t>(a.rows), 7);
    const std::vector<double> b = product(a, truth);
    // M with a relative error of 1e-2: richardson() stops as soon as the residual is small, and x may be wrong.
    const FunctionOperator<double> rough(a.rows, a.rows, [&](std::span<const double> r, std::span<double> z) {
      factors.apply(r, z);
      for (std::size_t i = 0; i < z.size(); ++i) z[i] *= i % 2 == 0 ? 1.0 + 1e-2 : 1.0 - 1e-2;
    });
    std::vector<double> x(b.size());
    const SolveReport report = richardson<double>(plan, rough, b, x);
    ASSERT_TRUE(report.converged()) << report.reason;
    const CorrectionSolver<double> solve = [&](std::span<const double> r, std::span<double> d,
                                               const SolverOptions& options) {
      return richardson<double>(plan, factors, r, d, options);
    };
    // The estimate is the larger one of two norms.
    double largest = 0.0;
    double largest_x = 0.0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      largest = std::max(largest, std::abs(x[i] - truth[i]));
      largest_x = std::max(largest_x, std::abs(x[i]));
    }
    const double error = std::max(relative_error_of(x, truth), largest / largest_x);
    const ErrorEstimate warned = estimate_error<double>(plan, solve, b, x, report.target, {}, ErrorGate::warn);
    EXPECT_TRUE(warned.is_known());
    // Direct factors themselves leave an error of 1e-4 to qh1484.
    EXPECT_LE(std::abs(std::log(warned.relative_error / error)), std::log(5.0)) << error;
    const ErrorEstimate repaired = estimate_error<double>(plan, solve, b, x, report.target, {}, ErrorGate::repair);
    EXPECT_TRUE(repaired.is_known());
    EXPECT_LE(relative_error_of(x, truth), 1e-3);
    std::vector<double> r(b.size());
    EXPECT_LE(std::sqrt(plan.residual(0, b, x, r)), report.target);
  }
}

TEST(DirectRealMatrices, SingularOnesAreRefused) {
  TESSERA_REQUIRE_REAL_MATRICES();
  for (const char* name : {"bcspwr10", "rajat01", "karate", "wiki-Vote", "ca-GrQc"}) {
    SCOPED_TRACE(name);
    EXPECT_THROW(DirectFactors<double>(real_matrix(name).view()), SingularMatrix);
  }
}

}  // namespace
}  // namespace tessera::testing
