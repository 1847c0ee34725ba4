/// AMG as a preconditioner: iterations that hardly grow, what is refused and how, matrices of every kind, new values.
/// The hierarchy itself is tested in amg_setup_test.cpp.
#include "tessera/amg.hpp"
#include "tests/solvers/amg_systems.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>

namespace tessera::testing {
namespace {

struct Solved {
  SolveReport report;
  std::vector<double> x;
  AmgInfo hierarchy;
};

Solved solve(const Csr<double>& a, const AmgOptions& options = {}, KrylovMethod method = &cg<double>) {
  const Amg<double> amg(a.view(), options);
  EXPECT_GT(amg.info().setup_ms, 0.0);
  EXPECT_GT(amg.info().bytes, 0U);
  const SpmvPlan<double> plan(Csr<double>::copy_of(a.view()));
  const std::vector<double> b = right_side(a);
  Solved result{{}, std::vector<double>(b.size()), amg.hierarchy()};
  result.report = method(plan, amg, b, result.x, {});
  expect_honest(result.report, a.view(), b, result.x);
  return result;
}

void expect_iterations(const Csr<double>& a, std::int64_t most, const AmgOptions& options = {},
                       KrylovMethod method = &cg<double>) {
  const Solved solved = solve(a, options, method);
  EXPECT_TRUE(solved.report.converged()) << solved.report.reason;
  EXPECT_LE(solved.report.iterations, most);
  EXPECT_TRUE(solved.hierarchy.coarsens) << solved.hierarchy.reason;
}

TEST(Amg, IterationsHardlyGrowWithPoissonsMatrix) {
  for (const std::int64_t n : {20, 60, 180, 400}) {
    SCOPED_TRACE(n);
    expect_iterations(poisson2d<double>(n, n), 25);
  }
  for (const std::int64_t n : {12, 25, 50}) {
    SCOPED_TRACE(n);
    expect_iterations(poisson3d<double>(n, n, n), 25);
  }
  expect_iterations(poisson2d<double>(150, 170, Stencil2d::nine_point), 25);
  expect_iterations(poisson3d<double>(25, 30, 28, Stencil3d::twentyseven_point), 20);
}

TEST(Amg, AnisotropyJumpsNumberingAndPositiveEntries) {
  for (const double epsilon : {0.01, 1e-3, 100.0}) expect_iterations(anisotropic2d<double>(150, 150, epsilon), 25);
  expect_iterations(anisotropic3d<double>(30, 30, 30, 1.0, 1e-3), 25);
  expect_iterations(jump3d<double>(40, 40, 40), 45);
  expect_iterations(generated("poisson3d:30,shuffle=1"), 25);
  expect_iterations(generated("poisson2d:150,shuffle=1"), 25);
  for (const double ratio : {1.0, 4.0}) expect_iterations(stretched_elements(100, ratio), 35);
  expect_iterations(with_identity_rows(120), 25);
}

/// The constants span the null space; b = A x* is consistent.
TEST(Amg, NeumannProblems) {
  for (const char* spec : {"poisson3d:25,neumann=1", "poisson2d:120,neumann=1", "poisson2d:120,points=9,neumann=1"}) {
    SCOPED_TRACE(spec);
    expect_iterations(generated(spec), 30);
  }
}

TEST(Amg, ConvectionDiffusionWithBicgstab) {
  expect_iterations(generated("convdiff:32"), 20, {}, &bicgstab<double>);
  expect_iterations(convection_diffusion<double>(100, 100, 1, {.x = 0.3, .y = -0.2}), 20, {}, &bicgstab<double>);
  const Amg<double> amg(generated("convdiff:12").view(), {.coarsest_rows = 40});
  EXPECT_FALSE(amg.info().is_symmetric);
}

/// What is kept counts as memory; new values are judged anew, and coarsening ends where it did.
TEST(Amg, RefreshTellsWhatItHoldsAndFinds) {
  const Csr<double> a = generated("poisson2d:40");
  Amg<double> plain(a.view(), {.coarsest_rows = 40});
  Amg<double> kept(a.view(), {.coarsest_rows = 40, .prepare_refresh = true});
  EXPECT_GT(kept.info().bytes, plain.info().bytes + a.bytes());
  EXPECT_TRUE(kept.info().is_symmetric);
  const std::string reason = kept.hierarchy().reason;
  Array<double> values = a.values().to(Device{});
  for (std::int64_t k = 0; k < values.size(); k += 7) values[k] *= 1.25;
  const Csr<double> nonsymmetric = a.with_values(std::move(values));
  kept.refresh(nonsymmetric.view());
  EXPECT_FALSE(kept.info().is_symmetric);
  EXPECT_EQ(kept.hierarchy().reason, reason);
}

TEST(Amg, ElasticityWithRigidBodyModes) {
  for (const char* spec : {"elasticity3d:8", "elasticity3d:14", "elasticity3d:14,nu=0.4"}) {
    SCOPED_TRACE(spec);
    AmgOptions options{.block_size = 3};
    options.coordinates = generator_coordinates(parse_generator(spec));
    expect_iterations(generated(spec), 40, options);
  }
}

/// Constants per unknown, given as such or by block_size, are the same.
TEST(Amg, NearNullspaceThatIsGiven) {
  const Csr<double> a = generated("elasticity3d:9");
  AmgOptions given{.block_size = 3};
  const auto n = static_cast<std::size_t>(a.rows());
  given.near_nullspace.assign(3 * n, 0.0);
  for (std::size_t i = 0; i < n; ++i) given.near_nullspace[i % 3 * n + i] = 1.0;
  const Solved with_given = solve(a, given);
  const Solved with_blocks = solve(a, {.block_size = 3});
  EXPECT_TRUE(with_given.report.converged()) << with_given.report.reason;
  EXPECT_EQ(with_given.report.iterations, with_blocks.report.iterations);
  EXPECT_EQ(with_given.x, with_blocks.x);
}

/// Every smoother, cycle and precision: all converge, and are symmetric.
TEST(Amg, CyclesAndSmoothers) {
  const Csr<double> a = poisson3d<double>(20, 20, 20);
  for (const AmgSmoother smoother :
       {AmgSmoother::jacobi, AmgSmoother::l1_jacobi, AmgSmoother::spai0, AmgSmoother::chebyshev}) {
    for (const AmgCycle cycle : {AmgCycle::v, AmgCycle::w}) {
      for (const AmgPrecision precision : {AmgPrecision::single, AmgPrecision::full}) {
        SCOPED_TRACE(std::string(to_string(smoother)) + ' ' + std::string(to_string(cycle)) + ' ' +
                     std::string(to_string(precision)));
        const AmgOptions options{.cycle = cycle, .smoother = smoother, .precision = precision};
        expect_iterations(a, 30, options);
        EXPECT_TRUE(Amg<double>(a.view(), options).info().is_symmetric);
      }
    }
  }
  expect_iterations(a, 30, {.cycle = AmgCycle::k});
  expect_iterations(a, 60, {.prolongator_damping = 0.0});  // T itself
  expect_iterations(a, 20, {.sweeps = 2});
}

/// M is linear, and symmetric to rounding: the columns of M by products with unit vectors.
TEST(Amg, IsASymmetricPositiveDefiniteMatrix) {
  const Csr<double> a = poisson2d<double>(12, 11);
  const Amg<double> amg(a.view(), {.coarsest_rows = 10, .precision = AmgPrecision::full});
  const auto n = static_cast<std::size_t>(a.rows());
  Eigen::MatrixXd m(a.rows(), a.rows());
  for (std::size_t j = 0; j < n; ++j) {
    std::vector<double> unit(n);
    std::vector<double> column(n);
    unit[j] = 1.0;
    amg.apply(std::span<const double>(unit), std::span<double>(column));
    m.col(static_cast<Eigen::Index>(j)) = Eigen::Map<const Vector>(column.data(), a.rows());
  }
  EXPECT_LE((m - m.transpose()).cwiseAbs().maxCoeff(), 1e-14);
  const Eigen::MatrixXd error = Eigen::MatrixXd::Identity(a.rows(), a.rows()) - m * Eigen::MatrixXd(as_double(a));
  EXPECT_GT(Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(m).eigenvalues().minCoeff(), 0.0);
  const double rho = error.eigenvalues().cwiseAbs().maxCoeff();
  EXPECT_LT(rho, 0.75) << "the cycle as a solver";
  // y = α M x + β y
  const std::vector<double> x = random_values<double>(n, 3);
  std::vector<double> y = random_values<double>(n, 4);
  const Vector expected =
      2.0 * m * Eigen::Map<const Vector>(x.data(), a.rows()) - 0.5 * Eigen::Map<const Vector>(y.data(), a.rows());
  amg.apply(2.0, std::span<const double>(x), -0.5, std::span<double>(y));
  EXPECT_LE((Eigen::Map<const Vector>(y.data(), a.rows()) - expected).cwiseAbs().maxCoeff(), 1e-13);
}

/// The error of x = x + M (b - A x) falls by the spectral radius of I - M A.
TEST(Amg, AsASolverByItself) {
  for (const char* spec : {"poisson2d:90", "poisson3d:22", "poisson3d:14,points=27"}) {
    SCOPED_TRACE(spec);
    const Solved solved = solve(generated(spec), {}, &richardson<double>);
    EXPECT_TRUE(solved.report.converged()) << solved.report.reason;
    EXPECT_LE(solved.report.iterations, 60);
  }
}

TEST(Amg, SinglePrecisionMatrices) {
  System<float> system(poisson2d<float>(100, 100));
  const Amg<float> amg(system.plan.matrix());
  const SolveReport report = cg<float>(system.plan, amg, system.b, system.x, {.relative_tolerance = 1e-5});
  EXPECT_TRUE(report.converged()) << report.reason;
  EXPECT_LE(report.iterations, 15);
  system.expect_honest(report);
}

TEST(Amg, HubRows) {
  const Solved solved = solve(star_matrix(3000));
  EXPECT_TRUE(solved.report.converged()) << solved.report.reason;
  EXPECT_LE(solved.report.iterations, 30);
}

/// Nothing to coarsen: M is D⁻¹ or the inverse, and set-up says so.
TEST(Amg, DiagonalAndSmallestMatrices) {
  const Csr<double> one = diagonal_matrix<double>({4.0});
  const Amg<double> single(one.view());
  std::vector<double> z(1);
  single.apply(std::span<const double>(std::vector<double>{2.0}), std::span<double>(z));
  EXPECT_EQ(z[0], 0.5);
  const Amg<double> empty(Csr<double>{}.view());
  EXPECT_EQ(empty.rows(), 0);
  std::vector<double> nothing;
  empty.apply(std::span<const double>(nothing), std::span<double>(nothing));

  std::vector<double> entries = random_values<double>(500, 5);
  for (double& value : entries) value = 1.0 + 100.0 * std::abs(value);
  const Csr<double> diagonal = diagonal_matrix(entries);
  const Solved solved = solve(diagonal);
  EXPECT_TRUE(solved.report.converged()) << solved.report.reason;
  EXPECT_LE(solved.report.iterations, 2);
  EXPECT_FALSE(solved.hierarchy.coarsens);
  EXPECT_FALSE(solved.hierarchy.reason.empty());
}

TEST(Amg, ScaleOfTheRightSideChangesNothing) {
  const Csr<double> a = poisson2d<double>(40, 40);
  const SpmvPlan<double> plan(Csr<double>::copy_of(a.view()));
  const Amg<double> amg(a.view());
  const std::vector<double> b = right_side(a);
  std::vector<double> x(b.size());
  const SolveReport plain = cg<double>(plan, amg, b, x);
  for (const double scale : {0x1p-600, 0x1p+600}) {
    std::vector<double> scaled_b(b);
    for (double& value : scaled_b) value *= scale;
    std::vector<double> y(b.size());
    const SolveReport report = cg<double>(plan, amg, scaled_b, y);
    EXPECT_EQ(report.iterations, plain.iterations);
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i], scale * x[i]);
  }
}

/// Powers of two in A change nothing either.
TEST(Amg, ScaleOfTheMatrixChangesNothing) {
  const Csr<double> a = jump3d<double>(14, 14, 14, {.block = 4});
  const std::int64_t plain = solve(a).report.iterations;
  for (const double scale : {0x1p-60, 0x1p+60}) EXPECT_EQ(solve(scaled(a, scale)).report.iterations, plain);
}

std::vector<double> applied(const Amg<double>& amg, const std::vector<double>& r) {
  std::vector<double> z(r.size());
  amg.apply(std::span<const double>(r), std::span<double>(z));
  return z;
}

TEST(Amg, RefreshEqualsANewSetUpWhereStructureAndAggregatesAreTheSame) {
  for (const bool prepared : {false, true}) {
    for (const char* spec : {"poisson3d:14", "jump3d:13,block=4", "anisotropic2d:50", "poisson2d:40,neumann=1"}) {
      SCOPED_TRACE(spec);
      const AmgOptions options{.prepare_refresh = prepared};
      const Csr<double> a = generated(spec);
      const Csr<double> twice = scaled(a, 2.0);
      const std::vector<double> r = random_values<double>(static_cast<std::size_t>(a.rows()), 3);
      const Amg<double> fresh(twice.view(), options);
      Amg<double> refreshed(a.view(), options);
      const std::vector<double> first = applied(refreshed, r);
      refreshed.refresh(twice.view());
      EXPECT_EQ(applied(refreshed, r), applied(fresh, r));
      refreshed.refresh(a.view());
      EXPECT_EQ(applied(refreshed, r), first);
    }
  }
}

TEST(Amg, RefreshWithOtherValuesConverges) {
  for (const bool prepared : {false, true}) {
    const Csr<double> a = jump3d<double>(24, 24, 24, {.seed = 1});
    const Csr<double> b = jump3d<double>(24, 24, 24, {.contrast = 100.0, .seed = 2});
    Amg<double> amg(a.view(), {.prepare_refresh = prepared});
    amg.refresh(b.view());
    System<double> system(Csr<double>::copy_of(b.view()));
    const SolveReport report = cg<double>(system.plan, amg, system.b, system.x);
    EXPECT_TRUE(report.converged()) << report.reason;
    EXPECT_LE(report.iterations, 60);
    system.expect_honest(report);
  }
}

TEST(Amg, RefreshRefuses) {
  const Csr<double> a = poisson2d<double>(20, 20);
  Amg<double> amg(a.view());
  EXPECT_THROW(amg.refresh(poisson2d<double>(20, 21).view()), DimensionError);
  EXPECT_THROW(amg.refresh(scaled(a, -1.0).view()), InvalidMatrix);
  // M may be used again after a refresh that did not throw.
  amg.refresh(a.view());
  const std::vector<double> r = random_values<double>(400, 3);
  EXPECT_EQ(applied(amg, r), applied(Amg<double>(a.view()), r));
}

TEST(Amg, TheSameSolutionFromRunToRunAndForEveryNumberOfThreads) {
  const Csr<double> a = poisson2d<double>(120, 110);
  const std::vector<double> r = random_values<double>(static_cast<std::size_t>(a.rows()), 3);
  const std::vector<double> one = applied(Amg<double>(a.view(), {}, Device::host(1)), r);
  EXPECT_EQ(applied(Amg<double>(a.view(), {}, Device::host(2)), r), one);
  EXPECT_EQ(applied(Amg<double>(a.view(), {}, Device::host(2)), r), one);
}

/// What the report says of a hierarchy adds up.
TEST(Amg, HierarchyDescribesItself) {
  const Csr<double> a = poisson3d<double>(24, 24, 24);
  const Amg<double> amg(a.view());
  const AmgInfo& info = amg.hierarchy();
  ASSERT_GE(info.levels.size(), 2U);
  double rows = 0.0;
  double entries = 0.0;
  std::uint64_t bytes = 0;
  for (std::size_t l = 0; l < info.levels.size(); ++l) {
    rows += info.levels[l].rows;
    entries += static_cast<double>(info.levels[l].nnz);
    bytes += info.levels[l].bytes;
    EXPECT_FALSE(info.levels[l].layout.empty());
    if (l > 0) {
      EXPECT_EQ(info.levels[l].rows, info.levels[l - 1].aggregates);
    }
  }
  EXPECT_EQ(info.levels[0].rows, a.rows());
  EXPECT_EQ(info.levels[0].nnz, a.nnz());
  EXPECT_EQ(info.levels.back().aggregates, 0);
  EXPECT_LE(info.levels.back().rows, 150);
  EXPECT_DOUBLE_EQ(info.grid_complexity, rows / a.rows());
  EXPECT_DOUBLE_EQ(info.operator_complexity, entries / static_cast<double>(a.nnz()));
  EXPECT_LT(info.operator_complexity, 1.7);
  EXPECT_GE(amg.info().bytes, bytes);
  EXPECT_EQ(amg.info().name, "amg");
  EXPECT_TRUE(amg.info().is_symmetric);
  EXPECT_GT(info.times.products, 0.0);
}

}  // namespace
}  // namespace tessera::testing
