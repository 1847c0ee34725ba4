/// IDR(4) against direct solutions and a plain transcription in long double, and its endings.
#include "core/random.hpp"
#include "tessera/error.hpp"
#include "tests/solvers/systems.hpp"
#include "tests/support/eigen_bridge.hpp"

#include <gtest/gtest.h>
#include <Eigen/Dense>
#include <Eigen/SparseLU>

#include <string>
#include <utility>

namespace tessera::testing {
namespace {

using LongMatrix = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;
using LongVector = Eigen::Matrix<long double, Eigen::Dynamic, 1>;

/// The shadow space of a seed: its span decides, not its basis.
LongMatrix shadow_space(Eigen::Index n, Eigen::Index s, std::uint64_t seed) {
  LongMatrix p(n, s);
  for (Eigen::Index k = 0; k < s; ++k) {
    for (Eigen::Index i = 0; i < n; ++i) {
      const std::uint64_t stream = (static_cast<std::uint64_t>(k) << 32) + static_cast<std::uint64_t>(i);
      p(i, k) = 2.0 * detail::SplitMix64(seed, stream).uniform() - 1.0;
    }
  }
  for (Eigen::Index k = 0; k < s; ++k) {
    for (Eigen::Index i = 0; i < k; ++i) p.col(k) -= p.col(i).dot(p.col(k)) * p.col(i);
    p.col(k).normalize();
  }
  return p;
}

/// ‖r‖₂ after every product, by the definition: r of the next space G_j+1 = (I - ω A M)(G_j ∩ P^⊥). In each step the
/// combination of the latest s differences of residuals that makes r orthogonal to P is found by a dense solve (P.
/// Sonneveld, M. B. van Gijzen, 2008, section 3), with the differences made biorthogonal as the method prescribes.
std::vector<long double> oracle_residuals(const LongMatrix& a, const LongMatrix& m, const LongVector& b,
                                          const LongMatrix& p, std::size_t count) {
  const Eigen::Index n = a.rows();
  const Eigen::Index s = p.cols();
  LongMatrix g = LongMatrix::Zero(n, s);
  LongMatrix image = LongMatrix::Identity(s, s);
  LongMatrix u = LongMatrix::Zero(n, s);
  LongVector r = b;
  long double omega = 1;
  std::vector<long double> result{r.norm()};
  while (result.size() < count) {
    for (Eigen::Index k = 0; k < s && result.size() < count; ++k) {
      const Eigen::Index rest = s - k;
      const LongVector f = p.rightCols(rest).transpose() * r;
      const LongVector c = LongMatrix(image.bottomRightCorner(rest, rest)).fullPivLu().solve(f);
      const LongVector v = r - g.rightCols(rest) * c;
      LongVector next = u.rightCols(rest) * c + omega * (m * v);
      // Of the earlier directions, what makes A u orthogonal to the first shadow vectors.
      if (k > 0) {
        const LongMatrix small = p.leftCols(k).transpose() * g.leftCols(k);
        const LongVector right = p.leftCols(k).transpose() * (a * next);
        const LongVector alpha = small.fullPivLu().solve(right);
        next -= u.leftCols(k) * alpha;
      }
      u.col(k) = next;
      g.col(k) = a * next;
      image.col(k) = p.transpose() * g.col(k);
      r -= p.col(k).dot(r) / p.col(k).dot(g.col(k)) * g.col(k);
      result.push_back(r.norm());
    }
    if (result.size() == count) break;
    const LongVector t = a * (m * r);
    const long double cosine = t.dot(r) / (t.norm() * r.norm());
    omega = t.dot(r) / t.squaredNorm();
    if (std::abs(cosine) < 0.7L) omega *= 0.7L / std::abs(cosine);
    r -= omega * t;
    result.push_back(r.norm());
  }
  return result;
}

struct Named {
  std::string name;
  Csr<double> matrix;
};

std::vector<Named> small_matrices() {
  std::vector<Named> result;
  result.push_back({"convection 2d", convection_diffusion<double>(9, 8, 1, {.x = 3.0, .y = -1.0})});
  result.push_back({"symmetric", poisson2d<double>(8, 7)});
  result.push_back({"skew", tridiagonal<double>(40, -1.0, 0.5, 1.0)});
  result.push_back({"one-sided", tridiagonal<double>(30, 0.0, 2.0, -1.0)});
  return result;
}

/// In the first four cycles; rounding errors grow with every step, as in all methods of short recurrences.
TEST(Idr, ResidualsAreThoseOfTheOracle) {
  for (const Named& system : small_matrices()) {
    const auto n = static_cast<std::size_t>(system.matrix.rows());
    const std::vector<double> b = random_values<double>(n, 5);
    const LongMatrix a = Eigen::MatrixXd(to_eigen(system.matrix.view())).cast<long double>();
    const LongVector right = Eigen::Map<const Eigen::VectorXd>(b.data(), a.rows()).cast<long double>();
    const SpmvPlan<double> plan(Csr<double>::copy_of(system.matrix.view()));
    const JacobiPreconditioner<double> jacobi(system.matrix.view());
    const IdentityOperator<double> identity(plan.rows());
    for (const bool preconditioned : {false, true}) {
      SCOPED_TRACE(system.name + (preconditioned ? ", Jacobi" : ""));
      const LongMatrix m = preconditioned ? LongMatrix(a.diagonal().cwiseInverse().asDiagonal())
                                          : LongMatrix(LongMatrix::Identity(a.rows(), a.cols()));
      std::vector<double> x(n);
      const SolverOptions options{.relative_tolerance = 1e-12, .max_iterations = 20, .keep_history = true};
      const SolveReport report =
          preconditioned ? idr<double>(plan, jacobi, b, x, options) : idr<double>(plan, identity, b, x, options);
      expect_honest(report, system.matrix.view(), b, x);
      const auto expected = oracle_residuals(a, m, right, shadow_space(a.rows(), 4, options.seed), 21);
      ASSERT_GT(report.history.size(), 10U) << report.reason;
      for (std::size_t i = 0; i < report.history.size(); ++i) {
        EXPECT_NEAR(report.history[i].recurrence, static_cast<double>(expected[i]), 1e-8 * report.b_norm)
            << "at iteration " << i;
      }
    }
  }
}

TEST(Idr, SolvesAsADirectMethodDoes) {
  std::vector<Named> systems;
  systems.push_back({"convection 2d", convection_diffusion<double>(25, 20, 1, {.x = 3.0, .y = -1.0})});
  systems.push_back({"convection 3d", convection_diffusion<double>(9, 10, 8, {.x = 0.5, .y = 2.0, .z = -4.0})});
  systems.push_back({"large enough for threads", convection_diffusion<double>(96, 90, 1, {.x = 1.0, .y = 1.0})});
  for (const Named& system : systems) {
    const CsrView<double> a = system.matrix.view();
    const SpmvPlan<double> plan(Csr<double>::copy_of(a));
    const JacobiPreconditioner<double> jacobi(a);
    const IdentityOperator<double> identity(a.rows);
    std::int64_t applied = 0;
    const auto opaque = counting<double>(jacobi, applied);
    for (const LinearOperator<double>* const m :
         {static_cast<const LinearOperator<double>*>(&identity), static_cast<const LinearOperator<double>*>(&jacobi),
          static_cast<const LinearOperator<double>*>(&opaque)}) {
      SCOPED_TRACE(system.name);
      const std::vector<double> b = random_values<double>(static_cast<std::size_t>(a.rows), 17);
      std::vector<double> x(b.size());
      const SolveReport report = idr<double>(plan, *m, b, x, {.relative_tolerance = 1e-11});
      EXPECT_EQ(report.status, Status::converged) << report.reason;
      expect_honest(report, a, b, x);
      if (m == &opaque) {
        EXPECT_EQ(report.preconditioner_count, applied);
      }
      Eigen::SparseLU<Eigen::SparseMatrix<double>> lu;
      lu.compute(Eigen::SparseMatrix<double>(to_eigen(a)));
      const Eigen::Map<const Eigen::VectorXd> eigen_b(b.data(), static_cast<Eigen::Index>(b.size()));
      const Eigen::Map<const Eigen::VectorXd> eigen_x(x.data(), eigen_b.size());
      const Eigen::VectorXd exact = lu.solve(eigen_b);
      // ‖x - x*‖ <= κ(A) rtol ‖x*‖ with κ below 2e4 for these matrices.
      EXPECT_LE((eigen_x - exact).norm(), 2e-7 * exact.norm());
    }
  }
}

/// In exact arithmetic n + n / 4 products suffice.
TEST(Idr, EndsWithinItsProducts) {
  for (const index_t n : {1, 2, 3, 4, 5, 12}) {
    System<double> system(tridiagonal<double>(n, -1.5, 3.0, -0.5));
    const SolveReport report = system.idr();
    EXPECT_TRUE(report.converged()) << report.reason;
    EXPECT_LE(report.iterations, n + (n + 3) / 4 + 1) << "n = " << n;
    system.expect_honest(report);
  }
}

TEST(Idr, CountsProductsExactly) {
  const SpmvPlan<double> plan(convection_diffusion<double>(15, 15, 1, {.x = 2.0}));
  std::int64_t products = 0;
  const auto counted = counting<double>(plan, products);
  for (const std::int64_t interval : {0, 7}) {
    products = 0;
    std::vector<double> x(225);
    const IdentityOperator<double> identity(225);
    const SolveReport report =
        idr<double>(counted, identity, random_values<double>(225, 1), x, {.replacement_interval = interval});
    EXPECT_TRUE(report.converged()) << report.reason;
    EXPECT_EQ(report.spmv_count, products);
    EXPECT_EQ(report.preconditioner_count, 0) << "there is none";
    EXPECT_EQ(report.replacements > 0, interval > 0);
  }
}

TEST(Idr, SeedsDecideTheShadowSpace) {
  System<double> one(convection_diffusion<double>(15, 15, 1, {.x = 2.0}));
  System<double> again(convection_diffusion<double>(15, 15, 1, {.x = 2.0}));
  System<double> other(convection_diffusion<double>(15, 15, 1, {.x = 2.0}));
  (void)one.idr();
  (void)again.idr();
  EXPECT_EQ(one.x, again.x);
  EXPECT_TRUE(other.idr({.seed = 43}).converged());
  EXPECT_NE(one.x, other.x);
}

/// A s is orthogonal to s for every s, where BiCGSTAB breaks down.
TEST(Idr, SkewSymmetric) {
  System<double> system(from_dense<double>({{0, 2, 0, 1}, {-2, 0, 3, 0}, {0, -3, 0, 1}, {-1, 0, -1, 0}}, 4));
  const SolveReport report = system.idr();
  EXPECT_TRUE(report.converged()) << report.reason;
  system.expect_honest(report);
}

TEST(Idr, GuessesAndZero) {
  System<double> solved(poisson2d<double>(9, 9));
  solved.x.assign(81, 1.0);
  EXPECT_EQ(solved.idr().iterations, 0);
  System<double> guessed(convection_diffusion<double>(15, 15, 1, {.x = 2.0}));
  guessed.x = random_values<double>(225, 8);
  const SolveReport report = guessed.idr();
  EXPECT_TRUE(report.converged()) << report.reason;
  guessed.expect_honest(report);
  System<double> zero(poisson2d<double>(5, 5));
  zero.b.assign(25, 0.0);
  zero.x.assign(25, 3.0);
  EXPECT_TRUE(zero.idr().converged());
  EXPECT_EQ(zero.x, std::vector<double>(25, 0.0));
  const SpmvPlan<double> none(make_csr<double>(0, 0, {0}, {}, {}));
  std::vector<double> nothing;
  EXPECT_TRUE(idr<double>(none, IdentityOperator<double>(0), nothing, nothing).converged());
}

TEST(Idr, NaN) {
  System<double> system(poisson2d<double>(5, 5));
  system.b[7] = std::nan("");
  EXPECT_EQ(system.idr().status, Status::not_finite);
  const SpmvPlan<double> plan(poisson2d<double>(5, 5));
  for (const int bad : {2, 4, 6, 7}) {
    int products = 0;
    const FunctionOperator<double> breaks(25, 25, [&](std::span<const double> v, std::span<double> y) {
      plan.apply(v, y);
      if (++products == bad) y[4] = std::nan("");
    });
    const IdentityOperator<double> identity(25);
    std::vector<double> x(25);
    const std::vector<double> b(25, 1.0);
    const SolveReport report = idr<double>(breaks, identity, b, x, {.breakdown_restarts = 0});
    EXPECT_EQ(report.status, Status::not_finite) << report.reason;
    EXPECT_EQ(report.iterations, bad - 2);
    expect_honest(report, plan.matrix(), b, x);
    products = 0;
    x.assign(25, 0.0);
    const SolveReport recovers = idr<double>(breaks, identity, b, x);
    EXPECT_TRUE(recovers.converged()) << recovers.reason;
    EXPECT_EQ(recovers.restarts, 1);
  }
}

TEST(Idr, SingularEndsHonestly) {
  for (const index_t n : {5, 64, 300}) {
    System<double> system(path_laplacian(n));
    const std::vector<double> consistent = product(system.plan.matrix(), random_values<double>(system.size(), 5));
    system.b = consistent;
    const SolveReport report = system.idr();
    EXPECT_TRUE(report.converged()) << report.reason;
    system.expect_honest(report);
    system.b = random_values<double>(system.size(), 3);
    system.b[0] += 1.0;
    system.x.assign(system.size(), 0.0);
    const SolveReport inconsistent = system.idr({.max_iterations = 5000});
    EXPECT_FALSE(inconsistent.converged());
    system.expect_honest(inconsistent);
  }
  System<double> zero(diagonal_matrix(std::vector<double>(6, 0.0)));
  zero.b.assign(6, 1.0);
  const SolveReport report = zero.idr();
  EXPECT_EQ(report.status, Status::breakdown) << report.reason;
  EXPECT_EQ(report.breakdown, Breakdown::alpha);
  EXPECT_EQ(report.iterations, 0);
}

TEST(Idr, ScalesOfTwoChangeNothing) {
  const Csr<double> a = convection_diffusion<double>(15, 15, 1, {.x = 2.0});
  const std::vector<double> b = random_values<double>(225, 4);
  const auto solved = [&](int a_power, int b_power) {
    const SpmvPlan<double> plan(scaled(a, std::ldexp(1.0, a_power)));
    std::vector<double> right = b;
    for (double& value : right) value = std::ldexp(value, b_power);
    std::vector<double> x(225);
    const SolveReport report = idr<double>(plan, IdentityOperator<double>(225), right, x);
    EXPECT_TRUE(report.converged()) << report.reason;
    for (double& value : x) value = std::ldexp(value, a_power - b_power);
    return std::pair{report.iterations, x};
  };
  const auto plain = solved(0, 0);
  EXPECT_EQ(solved(100, 0), plain);
  EXPECT_EQ(solved(-100, 0), plain);
  EXPECT_EQ(solved(0, 900), plain);
  EXPECT_EQ(solved(0, -900), plain);
}

TEST(Idr, SinglePrecision) {
  System<float> system(convection_diffusion<float>(15, 15, 1, {.x = 2.0}));
  const SolveReport report = system.idr({.relative_tolerance = 1e-5});
  EXPECT_EQ(report.status, Status::converged) << report.reason;
  system.expect_honest(report);
  System<float> exact(convection_diffusion<float>(15, 15, 1, {.x = 2.0}));
  exact.b = random_values<float>(225, 6);
  const SolveReport stagnates = exact.idr({.relative_tolerance = 0.0});
  EXPECT_EQ(stagnates.status, Status::stagnated) << stagnates.reason;
  EXPECT_LE(stagnates.true_residual, 1e-5 * stagnates.b_norm);
  exact.expect_honest(stagnates);
}

TEST(Idr, ObserverTimeAndIterationLimits) {
  for (const std::int64_t last : {0, 3, 5, 11}) {
    System<double> system(convection_diffusion<double>(15, 15, 1, {.x = 2.0}));
    SolverOptions options;
    options.observer = [&](const IterationInfo& info) {
      return info.iteration == last ? Control::stop : Control::proceed;
    };
    const SolveReport report = system.idr(options);
    EXPECT_EQ(report.status, Status::interrupted) << report.reason;
    EXPECT_EQ(report.iterations, last);
    system.expect_honest(report);
  }
  System<double> timed(convection_diffusion<double>(15, 15, 1, {.x = 2.0}));
  const SolveReport late = timed.idr({.time_limit_seconds = 0.0});
  EXPECT_EQ(late.status, Status::time_limit) << late.reason;
  timed.expect_honest(late);
  for (const std::int64_t limit : {0, 1, 4, 5, 6}) {
    System<double> system(convection_diffusion<double>(15, 15, 1, {.x = 2.0}));
    const SolveReport report = system.idr({.max_iterations = limit});
    EXPECT_EQ(report.status, Status::max_iterations) << report.reason;
    EXPECT_EQ(report.iterations, limit);
    system.expect_honest(report);
  }
}

}  // namespace
}  // namespace tessera::testing
