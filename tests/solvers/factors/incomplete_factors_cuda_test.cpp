/// Incomplete factors whose operator lies on a GPU, against those of the host.
#include "core/enqueued_product.hpp"
#include "tessera/error.hpp"
#include "tessera/incomplete_factors.hpp"
#include "tests/solvers/systems.hpp"
#include "tests/support/cuda_test.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace tessera::testing {
namespace {

class IncompleteFactorsOnGpu : public CudaTest {
 protected:
  /// M r, for vectors on the host.
  [[nodiscard]] static std::vector<double> apply(const IncompleteFactors<double>& m, const std::vector<double>& r) {
    const auto on_device = Array<double>::copy_of(r, m.device());
    Array<double> z(m.rows(), Init::none, m.device());
    m.apply(on_device.span(), z.span());
    const Array<double> result = z.to(Device{});
    return {result.begin(), result.end()};
  }

  static void expect_near(const std::vector<double>& found, const std::vector<double>& expected) {
    ASSERT_EQ(found.size(), expected.size());
    double largest = 0.0;
    for (const double value : expected) largest = std::max(largest, std::abs(value));
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-10 * largest) << i;
  }

  template <class Exception>
  static std::string refusal(const Csr<double>& a, const IncompleteFactorOptions& options) {
    try {
      const IncompleteFactors<double> m(a.to(gpu()).view(), options, gpu());
    } catch (const Exception& error) {
      return error.what();
    }
    return "accepted";
  }

  Csr<double> matrix_ = convection_diffusion<double>(sparing() ? 6 : 16, 12, 1, Peclet{3.0, 1.0, 0.0});
  Csr<double> grid_ = poisson2d<double>(sparing() ? 6 : 16, 12);
};

TEST_F(IncompleteFactorsOnGpu, OfTheHostGiveTheSameOperator) {
  const Csr<double> on_gpu = matrix_.to(gpu());
  const std::vector<double> r = random_values<double>(static_cast<std::size_t>(matrix_.rows()), 1);
  for (const auto kind : {FactorKind::ilu0, FactorKind::iluk, FactorKind::ilut, FactorKind::ilutp}) {
    for (const auto solve : {TriangularSolve::automatic, TriangularSolve::levels, TriangularSolve::sync_free}) {
      SCOPED_TRACE(::testing::Message() << to_string(kind) << ", " << to_string(solve));
      const IncompleteFactorOptions options{.kind = kind,
                                            .drop_tolerance = 1e-2,
                                            .scaling = FactorScaling::ruiz,
                                            .matching = FactorMatching::permute,
                                            .ordering = Ordering::rcm,
                                            .solve = solve};
      const IncompleteFactors<double> host(matrix_.view(), options);
      const IncompleteFactors<double> m(on_gpu.view(), options, gpu());
      expect_near(apply(m, r), apply(host, r));
      EXPECT_EQ(m.device(), gpu());
      EXPECT_EQ(m.factors().condition_estimate, host.factors().condition_estimate);
      EXPECT_EQ(m.factors().lower_levels, host.factors().lower_levels);
      EXPECT_NE(m.factors().solve, TriangularSolve::automatic);
      EXPECT_NE(detail::EnqueuedProduct<double>::of(m), nullptr);
    }
  }
}

TEST_F(IncompleteFactorsOnGpu, OfTheGpuAreThoseOfTheHost) {
  const std::vector<double> r = random_values<double>(static_cast<std::size_t>(matrix_.rows()), 1);
  for (const auto kind : {FactorKind::ilu0, FactorKind::ic0}) {
    SCOPED_TRACE(to_string(kind));
    const Csr<double>& a = kind == FactorKind::ilu0 ? matrix_ : grid_;
    IncompleteFactorOptions options{.kind = kind, .ordering = Ordering::natural};
    IncompleteFactors<double> m(a.to(gpu()).view(), options, gpu());
    EXPECT_EQ(m.factors().scaling, "none") << "on the device";
    options.scaling = FactorScaling::none;
    const IncompleteFactors<double> host(a.view(), options);
    expect_near(apply(m, r), apply(host, r));
    EXPECT_EQ(m.factors().lower_nnz, host.factors().lower_nnz);
    EXPECT_EQ(m.factors().upper_nnz, host.factors().upper_nnz);
    EXPECT_EQ(m.factors().fill, host.factors().fill);
    EXPECT_EQ(m.factors().shift, 0.0);
    EXPECT_NEAR(m.factors().condition_estimate, host.factors().condition_estimate,
                1e-10 * host.factors().condition_estimate);
    EXPECT_EQ(m.info().is_symmetric, kind == FactorKind::ic0);
    const std::vector<double> before = apply(m, r);
    m.refresh(scaled(a, 2.0).to(gpu()).view());
    std::vector<double> after = apply(m, r);
    for (double& value : after) value *= 2.0;
    expect_near(after, before);
  }
}

/// Kershaw's matrix needs a shift, the same as on the host.
TEST_F(IncompleteFactorsOnGpu, FindTheShiftOfTheHost) {
  const Csr<double> a = from_dense<double>({{3, -2, 0, 2}, {-2, 3, -2, 0}, {0, -2, 3, -2}, {2, 0, -2, 3}}, 4);
  const IncompleteFactorOptions options{
      .kind = FactorKind::ic0, .scaling = FactorScaling::none, .ordering = Ordering::natural};
  const IncompleteFactors<double> host(a.view(), options);
  const IncompleteFactors<double> m(a.to(gpu()).view(), options, gpu());
  EXPECT_GT(host.factors().shift, 0.0);
  EXPECT_EQ(m.factors().shift, host.factors().shift);
  const std::vector<double> r{1, -2, 3, 5};
  expect_near(apply(m, r), apply(host, r));
}

TEST_F(IncompleteFactorsOnGpu, SolveBySolvers) {
  const std::vector<double> b = random_values<double>(static_cast<std::size_t>(matrix_.rows()), 1);
  const SpmvPlan<double> plan(matrix_.to(gpu()), {.device = gpu()});
  for (const auto kind : {FactorKind::ilu0, FactorKind::ilutp}) {
    const IncompleteFactors<double> m(plan.matrix(), {.kind = kind}, gpu());
    const auto b_on_gpu = Array<double>::copy_of(b, gpu());
    Array<double> x(plan.rows(), Init::zero, gpu());
    const SolveReport report = bicgstab<double>(plan, m, b_on_gpu.span(), x.span());
    EXPECT_TRUE(report.converged()) << report.reason;
    EXPECT_LT(report.iterations, 40);
  }
}

TEST_F(IncompleteFactorsOnGpu, RefuseWithTheWordsOfTheHost) {
  const auto natural = [](FactorKind kind) {
    return IncompleteFactorOptions{.kind = kind, .ordering = Ordering::natural};
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto contains = [](const std::string& text, const char* words) {
    EXPECT_NE(text.find(words), std::string::npos) << text;
  };
  const Csr<double> not_finite = make_csr<double>(2, 2, {0, 2, 4}, {0, 1, 0, 1}, {1, nan, nan, 3});
  contains(refusal<InvalidMatrix>(not_finite, natural(FactorKind::ilu0)), "row 1");
  contains(refusal<InvalidMatrix>(not_finite, natural(FactorKind::ic0)), "row 1");
  contains(refusal<InvalidMatrix>(from_dense<double>({{2, 1}, {0, 2}}, 2), natural(FactorKind::ic0)), "symmetric");
  contains(refusal<InvalidMatrix>(diagonal_matrix<double>({1, -2}), natural(FactorKind::ic0)), "row 2 holds -2");
  contains(refusal<InvalidMatrix>(from_dense<double>({{1, 3}, {3, 1}}, 2), natural(FactorKind::ic0)),
           "the largest shift is 1");
}

TEST_F(IncompleteFactorsOnGpu, OfNoRows) {
  for (const auto kind : {FactorKind::ilu0, FactorKind::ilutp}) {
    const IncompleteFactors<double> m(Csr<double>().to(gpu()).view(), {.kind = kind}, gpu());
    EXPECT_EQ(m.rows(), 0);
  }
}

}  // namespace
}  // namespace tessera::testing
