/// Backward errors against long double, and error estimates where the forward error is known.
#include "tessera/accuracy.hpp"
#include "tessera/direct.hpp"
#include "tessera/error.hpp"
#include "tests/solvers/systems.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace tessera::testing {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// By the definition, in long double.
template <class T>
BackwardError backward_error_oracle(const CsrView<T>& a, const std::vector<T>& b, const std::vector<T>& x) {
  long double worst = 0;
  long double squares = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    long double residual = b[i];
    long double size = std::abs(static_cast<long double>(b[i]));
    for (offset_t k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
      const long double term =
          static_cast<long double>(a.value(k)) * x[static_cast<std::size_t>(a.columns[static_cast<std::size_t>(k)])];
      residual -= term;
      size += std::abs(term);
    }
    if (size > 0) worst = std::max(worst, std::abs(residual) / size);
    squares += size * size;
  }
  return {static_cast<double>(worst), static_cast<double>(std::numeric_limits<T>::epsilon() * std::sqrt(squares))};
}

template <class T>
class AccuracyOfType : public ::testing::Test {};
using ElementTypes = ::testing::Types<float, double>;
TYPED_TEST_SUITE(AccuracyOfType, ElementTypes);

TYPED_TEST(AccuracyOfType, BackwardErrorIsThatOfLongDouble) {
  using T = TypeParam;
  const Csr<T> grid = poisson3d<T>(14, 15, 50);  // more than one thread's share
  const Csr<T> wide = from_dense<T>({{1, 0, -3, 2}, {0, 0, 0, 0}, {0, T(0.25), 0, 0}}, 4);
  for (const Csr<T>* a : {&grid, &wide}) {
    const std::vector<T> x = random_values<T>(static_cast<std::size_t>(a->cols()), 1);
    const std::vector<T> b = random_values<T>(static_cast<std::size_t>(a->rows()), 2);
    const BackwardError expected = backward_error_oracle<T>(a->view(), b, x);
    const BackwardError found = backward_error<T>(a->view(), b, x);
    // Sums in double of at most 8 terms.
    EXPECT_NEAR(found.componentwise, expected.componentwise, 16 * std::numeric_limits<double>::epsilon());
    EXPECT_NEAR(found.attainable / expected.attainable, 1.0, 1e-12);
    EXPECT_EQ(found.componentwise, backward_error<T>(a->view(), b, x, Device::host(1)).componentwise);
    EXPECT_EQ(found.attainable, backward_error<T>(a->view(), b, x, Device::host(1)).attainable);
  }
}

TEST(BackwardErrorTest, SolutionsToRounding) {
  const Csr<double> a = poisson2d<double>(20, 20);
  const std::vector<double> x = random_values<double>(400, 3);
  const std::vector<double> b = product(a.view(), x);
  EXPECT_LE(backward_error<double>(a.view(), b, x).componentwise, 3e-16);
  std::vector<double> other = x;
  other[77] += 1e-6;
  EXPECT_GT(backward_error<double>(a.view(), b, other).componentwise, 1e-8);
}

TEST(BackwardErrorTest, RowsOfZeros) {
  const Csr<double> a = from_dense<double>({{0, 0}, {2, 0}}, 2);
  EXPECT_EQ(backward_error<double>(a.view(), std::vector{0.0, 2.0}, std::vector{1.0, 5.0}).componentwise, 0.0);
  EXPECT_EQ(backward_error<double>(a.view(), std::vector{1.0, 2.0}, std::vector{1.0, 5.0}).componentwise, 1.0);
  const Csr<double> empty = from_dense<double>({}, 0);
  EXPECT_EQ(backward_error<double>(empty.view(), {}, {}).attainable, 0.0);
  const Csr<double> pattern = make_pattern<double>(1, 2, {0, 2}, {0, 1});
  EXPECT_EQ(backward_error<double>(pattern.view(), std::vector{3.0}, std::vector{1.0, 2.0}).componentwise, 0.0);
}

TEST(BackwardErrorTest, OverflowAndUnderflow) {
  // |A| |x| overflows though A x = b = 0.
  const Csr<double> a = from_dense<double>({{1e200, -1e200}, {1, 0}}, 2);
  const std::vector<double> x{1e200, 1e200};
  const BackwardError found = backward_error<double>(a.view(), std::vector{0.0, 2e200}, x);
  EXPECT_NEAR(found.componentwise, 1.0 / 3.0, 1e-15);
  EXPECT_EQ(found.attainable, infinity);
  // Squares of sizes overflow, or underflow, and they do not.
  for (const double unit : {1e250, 1e-250}) {
    const Csr<double> one = diagonal_matrix<double>({1.0, 1.0});
    const BackwardError error =
        backward_error<double>(one.view(), std::vector{unit, unit}, std::vector{0.5 * unit, unit});
    EXPECT_NEAR(error.componentwise, 1.0 / 3.0, 1e-15);
    EXPECT_NEAR(error.attainable / (2.5 * std::numeric_limits<double>::epsilon() * unit), 1.0, 1e-12);
  }
}

TEST(BackwardErrorTest, NotFinite) {
  const Csr<double> a = diagonal_matrix<double>({1.0, 1.0, 1.0});
  for (const double bad : {nan, infinity}) {
    EXPECT_TRUE(std::isnan(
        backward_error<double>(a.view(), std::vector{1.0, 1.0, 1.0}, std::vector{1.0, bad, 1.0}).componentwise));
    EXPECT_TRUE(std::isnan(
        backward_error<double>(a.view(), std::vector{1.0, bad, 1.0}, std::vector{1.0, 1.0, 1.0}).componentwise));
  }
  EXPECT_THROW(static_cast<void>(backward_error<double>(a.view(), std::vector{1.0}, std::vector{1.0, 1.0, 1.0})),
               DimensionError);
  EXPECT_THROW(static_cast<void>(backward_error<double>(a.view(), std::vector{1.0, 1.0, 1.0}, std::vector{1.0})),
               DimensionError);
}

/// A system, and richardson() with direct factors for corrections.
struct GatedSystem {
  explicit GatedSystem(Csr<double> matrix) : plan(std::move(matrix)), factors(plan.matrix()) {}

  [[nodiscard]] CorrectionSolver<double> solver() {
    return [this](std::span<const double> r, std::span<double> d, const SolverOptions& options) {
      ++solves;
      seen = options;
      return richardson<double>(plan, factors, r, d, options);
    };
  }
  ErrorEstimate estimate(const std::vector<double>& b, std::vector<double>& x, ErrorGate gate, double target) {
    return estimate_error<double>(plan, solver(), b, x, target, {}, gate);
  }

  SpmvPlan<double> plan;
  DirectFactors<double> factors;
  int solves = 0;
  SolverOptions seen;
};

/// The larger one of the relative errors in the Euclidean norm and of the largest entry.
double error_of(const std::vector<double>& x, const std::vector<double>& truth) {
  double squares = 0.0;
  double size = 0.0;
  double largest = 0.0;
  double largest_x = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    squares += (x[i] - truth[i]) * (x[i] - truth[i]);
    size += x[i] * x[i];
    largest = std::max(largest, std::abs(x[i] - truth[i]));
    largest_x = std::max(largest_x, std::abs(x[i]));
  }
  return std::max(std::sqrt(squares / size), largest / largest_x);
}

/// diag(1 ... 1e-12): a small residual says nothing of the last component.
TEST(ErrorGateTest, EstimatesAndRepairsWhatTheResidualHides) {
  const std::vector<double> diagonal{1.0, 1e-3, 1e-6, 1e-9, 1e-12};
  const std::vector<double> truth(5, 1.0);
  for (const double wrong : {0.5, 1e-3, 1e-5}) {
    GatedSystem system(diagonal_matrix<double>(diagonal));
    std::vector<double> x = truth;
    x[4] += wrong;
    const double error = error_of(x, truth);
    const ErrorEstimate warned = system.estimate(diagonal, x, ErrorGate::warn, 1e-8);
    EXPECT_TRUE(warned.is_known());
    EXPECT_NEAR(warned.relative_error / error, 1.0, 0.02);
    EXPECT_EQ(warned.digits(), static_cast<int>(-std::log10(error)));
    EXPECT_EQ(warned.corrections, 0);
    EXPECT_EQ(system.solves, 1);
    EXPECT_EQ(x[4], 1.0 + wrong);
    const ErrorEstimate repaired = system.estimate(diagonal, x, ErrorGate::repair, 1e-8);
    EXPECT_TRUE(repaired.is_known());
    EXPECT_EQ(repaired.corrections, 1);
    EXPECT_LE(repaired.relative_error, 1e-12);
    EXPECT_LE(error_of(x, truth), 1e-12);
  }
}

/// The Hilbert matrix of order 9 has a condition number of 5e11.
TEST(ErrorGateTest, HilbertMatrix) {
  constexpr std::size_t n = 9;
  std::vector<std::vector<double>> hilbert(n, std::vector<double>(n));
  for (std::size_t i = 0; i < n; ++i) {
    // Times lcm(1, ..., 17): all entries are integers, so that b is exact.
    for (std::size_t j = 0; j < n; ++j) hilbert[i][j] = 12252240.0 / static_cast<double>(i + j + 1);
  }
  GatedSystem system(from_dense<double>(hilbert, n));
  const std::vector<double> truth(n, 1.0);
  const std::vector<double> b = product(system.plan.matrix(), truth);
  std::vector<double> x(n);
  system.factors.apply(b, x);
  x[4] += 1e-2;
  x[5] -= 1e-2;
  const double error = error_of(x, truth);
  const ErrorEstimate warned = system.estimate(b, x, ErrorGate::warn, 1e300);
  EXPECT_NEAR(warned.relative_error / error, 1.0, 0.2);
  const ErrorEstimate repaired = system.estimate(b, x, ErrorGate::repair, 1e300);
  EXPECT_GE(repaired.corrections, 1);
  EXPECT_LE(error_of(x, truth), 1e-3);
}

TEST(ErrorGateTest, OptionsOfTheCorrections) {
  GatedSystem system(diagonal_matrix<double>({1.0, 2.0}));
  std::vector<double> x{1.0, 2.0};
  int observed = 0;
  SolverOptions options{.relative_tolerance = 1e-14, .absolute_tolerance = 5.0, .max_iterations = 77};
  options.observer = [&](const IterationInfo&) {
    ++observed;
    return Control::proceed;
  };
  const ErrorEstimate estimate =
      estimate_error<double>(system.plan, system.solver(), std::vector{2.0, 4.0}, x, 0.0, options, ErrorGate::warn);
  EXPECT_EQ(system.seen.relative_tolerance, 1e-2);
  EXPECT_EQ(system.seen.absolute_tolerance, 0.0);
  EXPECT_EQ(system.seen.max_iterations, 77);
  EXPECT_GT(observed, 0);
  EXPECT_GE(estimate.iterations, 1);
  EXPECT_GT(estimate.ms, 0.0);
}

TEST(ErrorGateTest, NothingIsKnownAfterASolveThatFailed) {
  const SpmvPlan<double> plan(diagonal_matrix<double>({1.0, 2.0}));
  const CorrectionSolver<double> idle = [&](std::span<const double> r, std::span<double> d, SolverOptions options) {
    options.max_iterations = 0;
    return cg<double>(plan, r, d, options);
  };
  std::vector<double> x{1.0, 1.0};
  for (const ErrorGate gate : {ErrorGate::warn, ErrorGate::repair}) {
    const auto estimate = estimate_error<double>(plan, idle, std::vector{2.0, 4.0}, x, 0.0, {}, gate);
    EXPECT_FALSE(estimate.is_known());
    EXPECT_EQ(estimate.digits(), 0);
    EXPECT_EQ(estimate.corrections, 0);
    EXPECT_EQ(x, (std::vector{1.0, 1.0}));
  }
}

/// A correction that raises the residual above a target that was met is undone; one that never met it is kept.
TEST(ErrorGateTest, KeepsTheTarget) {
  const SpmvPlan<double> plan(diagonal_matrix<double>({1.0, 1e-8}));
  // Says that it converged, and adds 0.3 to the wrong component.
  const CorrectionSolver<double> misleading = [](std::span<const double>, std::span<double> d, const SolverOptions&) {
    d[0] = 0.3;
    SolveReport report;
    report.b_norm = 1.0;
    return report;
  };
  const std::vector<double> b{1.0, 1e-8};
  std::vector<double> x{1.0, 2.0};
  const auto undone = estimate_error<double>(plan, misleading, b, x, 1e-6, {}, ErrorGate::repair);
  EXPECT_EQ(undone.corrections, 0);
  EXPECT_EQ(x, (std::vector{1.0, 2.0}));
  const auto kept = estimate_error<double>(plan, misleading, b, x, 1e-12, {}, ErrorGate::repair);
  EXPECT_EQ(kept.corrections, 1);  // the second is no smaller
  EXPECT_EQ(x, (std::vector{1.3, 2.0}));
}

TEST(ErrorGateTest, Edges) {
  GatedSystem system(diagonal_matrix<double>({1.0, 4.0}));
  std::vector<double> exact{2.0, 0.5};
  const ErrorEstimate none = system.estimate({2.0, 2.0}, exact, ErrorGate::repair, 0.0);
  EXPECT_TRUE(none.is_known());
  EXPECT_EQ(none.relative_error, 0.0);
  EXPECT_EQ(none.digits(), 15);
  EXPECT_EQ(system.solves, 0);
  std::vector<double> zero{0.0, 0.0};
  const ErrorEstimate from_zero = system.estimate({2.0, 2.0}, zero, ErrorGate::repair, 0.0);
  EXPECT_EQ(zero, (std::vector{2.0, 0.5}));
  EXPECT_EQ(from_zero.relative_error, 0.0);
  std::vector<double> bad{nan, 1.0};
  EXPECT_FALSE(system.estimate({2.0, 2.0}, bad, ErrorGate::repair, 0.0).is_known());
  EXPECT_THROW(static_cast<void>(system.estimate({2.0, 2.0}, exact, ErrorGate::off, 0.0)), InvalidArgument);
  EXPECT_THROW(static_cast<void>(
                   estimate_error<double>(system.plan, {}, std::vector{2.0, 2.0}, exact, 0.0, {}, ErrorGate::warn)),
               InvalidArgument);
  EXPECT_EQ(to_string(ErrorGate::off), "off");
  EXPECT_EQ(to_string(ErrorGate::warn), "warn");
  EXPECT_EQ(to_string(ErrorGate::repair), "repair");
  std::vector<double> nothing;
  EXPECT_TRUE(GatedSystem(from_dense<double>({}, 0)).estimate({}, nothing, ErrorGate::warn, 0.0).is_known());
}

}  // namespace
}  // namespace tessera::testing
