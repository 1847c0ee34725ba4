/// HITS against the singular vectors, and Katz centrality against the solution, of dense matrices by Eigen.
#include "tessera/centrality.hpp"

#include "tessera/error.hpp"
#include "tessera/statistics.hpp"
#include "tests/solvers/rank_graphs.hpp"
#include "tests/support/eigen_bridge.hpp"
#include "tests/support/error_message.hpp"

#include <gtest/gtest.h>
#include <Eigen/Dense>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace tessera::testing {
namespace {

using Vector = Eigen::VectorXd;
using Dense = Eigen::MatrixXd;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

template <class T>
Dense dense_of(const Csr<T>& graph) {
  return Dense(to_eigen(graph.view()).template cast<double>());
}

template <class T>
struct Scores {
  std::vector<T> hubs, authorities;
  HitsReport report;
};

template <class T>
Scores<T> hits_of(const Csr<T>& graph, const CentralityOptions& options = {}) {
  const SpmvPlan<T> plan(Csr<T>::copy_of(graph.view()), {.device = Device{}, .with_transpose = true});
  Scores<T> scores{std::vector<T>(static_cast<std::size_t>(graph.rows()), T{7}),
                   std::vector<T>(static_cast<std::size_t>(graph.cols()), T{7}),
                   {}};
  scores.report = hits<T>(plan, scores.hubs, scores.authorities, options);
  return scores;
}

template <class T>
std::pair<std::vector<T>, KatzReport> katz_of(const Csr<T>& graph, const KatzOptions& options = {}) {
  const SpmvPlan<T> plan(transpose(graph.view()));
  std::vector<T> scores(static_cast<std::size_t>(graph.rows()), T{7});
  KatzReport report = katz<T>(plan, scores, options);
  return {std::move(scores), std::move(report)};
}

template <class T>
double l1_distance(const std::vector<T>& found, const Vector& expected) {
  double sum = 0.0;
  for (Eigen::Index i = 0; i < expected.size(); ++i) {
    sum += std::abs(static_cast<double>(found[static_cast<std::size_t>(i)]) - expected[i]);
  }
  return sum;
}

/// The part of equal hubs in the space of the largest eigenvalue of A A^T, scaled to sum 1.
Vector dominant_part(const Dense& a) {
  const Eigen::SelfAdjointEigenSolver<Dense> solver(a * a.transpose());
  const Vector& values = solver.eigenvalues();
  const Vector start = Vector::Ones(a.rows());
  Vector part = Vector::Zero(a.rows());
  // From the largest down.
  for (Eigen::Index k = a.rows() - 1; k >= 0; --k) {
    if (values[k] < values[a.rows() - 1] * (1.0 - 1e-10)) break;
    part += solver.eigenvectors().col(k).dot(start) * solver.eigenvectors().col(k);
  }
  return part / part.sum();
}

void expect_singular_vectors(const Csr<double>& graph, double tolerance) {
  const Dense a = dense_of(graph);
  const Vector hubs = dominant_part(a);
  Vector authorities = a.transpose() * hubs;
  authorities /= authorities.sum();
  const Scores<double> found = hits_of(graph, {.tolerance = 1e-14});
  EXPECT_EQ(found.report.status, Status::converged) << found.report.reason;
  EXPECT_LE(found.report.residual, 1e-14);
  EXPECT_LE(l1_distance(found.hubs, hubs), tolerance);
  EXPECT_LE(l1_distance(found.authorities, authorities), tolerance);
}

Csr<double> weighted_graph() {
  return from_dense<double>({{0, 2, 0, 0.5}, {1, 3, 0, 0}, {0, 4, 0, 1}, {0, 0, 0, 0}}, 4);
}

TEST(Hits, AreTheSingularVectorsOfTheLargestSingularValue) {
  for (const auto& [name, graph] : small_graphs<double>()) {
    if (graph.nnz() == 0 || graph.rows() > 600) continue;
    SCOPED_TRACE(name);
    expect_singular_vectors(graph, 1e-11);
  }
  expect_singular_vectors(weighted_graph(), 1e-12);
  expect_singular_vectors(from_dense<double>({{1, 0, 3, 1, 0}, {0, 2, 1, 0, 0}, {1, 1, 0, 0, 4}}, 5), 1e-12);
}

/// Two equal pairs: all combinations of their vectors are singular vectors.
TEST(Hits, TiedComponentsShareByTheirPartOfEqualHubs) {
  expect_singular_vectors(from_dense<double>({{0, 1, 0, 0}, {1, 0, 0, 0}, {0, 0, 0, 1}, {0, 0, 1, 0}}, 4), 1e-13);
  expect_singular_vectors(from_dense<double>({{0, 0, 1, 1}, {0, 0, 0, 0}, {0, 0, 0, 0}, {0, 2, 0, 0}}, 4), 1e-13);
}

TEST(Hits, SlowConvergenceIsTold) {
  // Two components with singular values 1 and 0.99.
  const auto slow = hits_of(from_dense<double>({{1, 0}, {0, 0.99}}, 2), {.tolerance = 1e-6});
  EXPECT_TRUE(slow.report.converged());
  EXPECT_NEAR(slow.report.contraction, 0.99 * 0.99, 1e-4);
  EXPECT_GT(slow.hubs[1], slow.report.residual);
  EXPECT_LE(slow.hubs[1], 1.1 * slow.report.residual * slow.report.contraction / (1.0 - slow.report.contraction));
}

TEST(Hits, GraphsWithoutLinksOrVertices) {
  for (const index_t n : {1, 5}) {
    const auto none = hits_of(pattern_of<double>(std::vector<std::vector<index_t>>(static_cast<std::size_t>(n))));
    EXPECT_TRUE(none.report.converged());
    EXPECT_EQ(none.report.reason, "the graph has no links: all scores are 0");
    EXPECT_EQ(none.hubs, std::vector<double>(static_cast<std::size_t>(n)));
    EXPECT_EQ(none.authorities, none.hubs);
  }
  EXPECT_EQ(hits_of(Csr<double>{}).report.reason, "the graph is empty");
  const auto loop = hits_of(pattern_of<double>({{0}}));
  EXPECT_EQ(loop.hubs, std::vector<double>{1.0});
}

TEST(Hits, LimitsAndObserversEndIt) {
  const Csr<double> graph = weighted_graph();
  const auto two = hits_of(graph, {.tolerance = 1e-12, .max_iterations = 2, .keep_history = true});
  EXPECT_EQ(two.report.status, Status::max_iterations);
  EXPECT_EQ(two.report.iterations, 2);
  EXPECT_EQ(two.report.history.size(), 2U);
  EXPECT_EQ(two.report.reason.find("iteration limit 2 reached; max(||h' - h||_1, ||a' - a||_1) = "), 0U);
  EXPECT_EQ(hits_of(graph, {.max_iterations = 0}).report.status, Status::max_iterations);
  const auto stopped = hits_of(graph, {.tolerance = 0.0, .observer = [](const IterationInfo& info) {
                                         return info.iteration < 3 ? Control::proceed : Control::stop;
                                       }});
  EXPECT_EQ(stopped.report.status, Status::interrupted);
  EXPECT_EQ(stopped.report.iterations, 3);
  EXPECT_EQ(hits_of(graph, {.tolerance = 0.0, .time_limit_seconds = 0.0}).report.status, Status::time_limit);
  // Rounding keeps some changes above 0 for ever, or they reach it.
  const auto exact = hits_of(from_dense<float>({{0.1F, 0.7F}, {0.3F, 0.9F}}, 2), {.tolerance = 0.0});
  EXPECT_TRUE(exact.report.status == Status::stagnated || exact.report.converged()) << exact.report.reason;
  EXPECT_LT(exact.report.iterations, 200);
}

TEST(Hits, RefusesWhatIsNoGraph) {
  const auto refusal = [](const Csr<double>& graph) {
    return message_of<InvalidMatrix>([&] { (void)hits_of(graph); });
  };
  EXPECT_EQ(refusal(from_dense<double>({{0, 1}, {-2, 0}}, 2)),
            "link weights must be finite and not negative, but row 2, column 1 holds -2");
  EXPECT_NE(refusal(from_dense<double>({{0, nan}, {1, 0}}, 2)).find("row 1, column 2 holds nan"), std::string::npos);
  const SpmvPlan<double> plan(weighted_graph(), {.device = Device{}, .with_transpose = true});
  std::vector<double> four(4);
  std::vector<double> three(3);
  EXPECT_EQ(message_of<DimensionError>([&] { (void)hits<double>(plan, four, three); }),
            "authorities must have one element per vertex: 4, got 3");
  EXPECT_THROW((void)hits<double>(plan, four, four), InvalidArgument);
  EXPECT_THROW((void)hits<double>(SpmvPlan<double>(weighted_graph()), four, four), NotSupported);
  for (const double tolerance : {-1e-9, 1.0, nan}) {
    EXPECT_THROW((void)hits_of(weighted_graph(), {.tolerance = tolerance}), InvalidArgument);
  }
}

double spectral_radius(const Dense& a) {
  return Eigen::EigenSolver<Dense>(a, false).eigenvalues().cwiseAbs().maxCoeff();
}

Vector katz_solution(const Dense& a, double alpha) {
  const auto n = a.rows();
  return Dense(Dense::Identity(n, n) - alpha * a.transpose()).partialPivLu().solve(Vector::Ones(n));
}

/// Largest relative difference.
double relative_error(const std::vector<double>& found, const Vector& expected) {
  double worst = 0.0;
  for (Eigen::Index i = 0; i < expected.size(); ++i) {
    worst = std::max(worst, std::abs(found[static_cast<std::size_t>(i)] - expected[i]) / expected[i]);
  }
  return worst;
}

/// Between a hub and its leaves terms are large and small in turn, and a small one ends the loop.
TEST(Katz, ConvergesWhereTermsRiseAndFallInTurn) {
  std::vector<std::vector<index_t>> star(201);
  for (index_t leaf = 1; leaf <= 200; ++leaf) {
    star[0].push_back(leaf);
    star[static_cast<std::size_t>(leaf)].push_back(0);
  }
  KatzOptions options;
  options.tolerance = 1e-10;
  options.normalized = false;
  const auto [scores, report] = katz_of(pattern_of<double>(star), options);
  EXPECT_EQ(report.status, Status::converged) << report.reason;
  EXPECT_LE(report.error_bound, 1e-10);
  // x_0 = 1 + 200 a x_1,  x_1 = 1 + a x_0
  const double a = report.alpha;
  const double hub = (1.0 + 200.0 * a) / (1.0 - 200.0 * a * a);
  EXPECT_NEAR(scores[0], hub, 1e-9 * hub);
  EXPECT_NEAR(scores[7], 1.0 + a * hub, 1e-9 * hub);
}

TEST(Katz, SolvesItsSystemAndBoundsTheError) {
  for (const auto& [name, graph] : small_graphs<double>()) {
    if (graph.rows() > 600) continue;
    SCOPED_TRACE(name);
    const Dense a = dense_of(graph);
    for (const double tolerance : {1e-3, 1e-12}) {
      KatzOptions options;
      options.tolerance = tolerance;
      options.normalized = false;
      const auto [scores, report] = katz_of(graph, options);
      EXPECT_TRUE(report.converged()) << report.reason;
      EXPECT_LE(report.error_bound, tolerance);
      EXPECT_LE(relative_error(scores, katz_solution(a, report.alpha)), report.error_bound + 1e-13);
    }
  }
}

TEST(Katz, AlphaComesFromACloseUpperBoundOfTheSpectralRadius) {
  std::vector<std::pair<std::string, Csr<double>>> graphs = small_graphs<double>();
  graphs.emplace_back("weighted", from_dense<double>({{0, 20, 0.1}, {3, 0, 0}, {5, 7, 0}}, 3));
  for (const auto& [name, graph] : graphs) {
    if (graph.rows() > 600) continue;
    SCOPED_TRACE(name);
    const double rho = spectral_radius(dense_of(graph));
    const KatzReport report = katz_of(graph).second;
    EXPECT_GE(report.spectral_bound, rho * (1.0 - 1e-13));
    // A graph without cycles has 0, which is approached as 1 / steps.
    if (rho > 0.0) {
      EXPECT_LE(report.spectral_bound, 1.05 * rho);
    }
    EXPECT_EQ(report.alpha, report.spectral_bound > 0.0 ? katz_share / report.spectral_bound : katz_share);
  }
  // The star, whose terms alternate between its halves: sqrt(leaves).
  const Csr<double> star = from_dense<double>({{0, 1, 1, 1, 1}, {1, 0}, {1, 0}, {1, 0}, {1, 0}}, 5);
  EXPECT_NEAR(katz_of(star).second.spectral_bound, 2.0, 2e-3);
}

/// Without cycles every alpha will do: scores of a chain count its walks.
TEST(Katz, GraphsWithoutCyclesTakeEveryAlpha) {
  KatzOptions options;
  options.alpha = 1.0;
  options.tolerance = 0.0;
  options.normalized = false;
  const auto [scores, report] = katz_of(chain<double>(40), options);
  EXPECT_TRUE(report.converged()) << report.reason;
  for (std::size_t i = 0; i < 40; ++i) EXPECT_EQ(scores[i], static_cast<double>(i + 1));
}

TEST(Katz, AnAlphaBeyondTheSpectralRadiusDiverges) {
  const Csr<double> graph = from_dense<double>({{0, 1, 1}, {1, 0, 1}, {1, 1, 0}}, 3);  // rho = 2
  KatzOptions options;
  options.alpha = 0.6;
  const KatzReport report = katz_of(graph, options).second;
  EXPECT_EQ(report.status, Status::diverged);
  EXPECT_EQ(report.reason.find("the terms of the series grow: alpha = 0.6 must be below 1 / rho(A), and rho(A) <= 2; "),
            0U)
      << report.reason;
  EXPECT_FALSE(std::isfinite(report.error_bound));
  options.alpha = 0.5;  // terms neither grow nor fall
  const KatzReport tie = katz_of(graph, options).second;
  EXPECT_EQ(tie.status, Status::max_iterations);
  EXPECT_NE(tie.reason.find("rho(A) <= 2"), std::string::npos) << tie.reason;
  options.alpha = 0.499;
  options.max_iterations = 20000;
  EXPECT_TRUE(katz_of(graph, options).second.converged());
}

TEST(Katz, ScalesAndLimits) {
  const Csr<double> graph = weighted_graph();
  KatzOptions options;
  options.alpha = 0.05;
  options.tolerance = 1e-13;
  const Vector solution = katz_solution(dense_of(graph), 0.05);
  EXPECT_LE(relative_error(katz_of(graph, options).first, solution.normalized()), 1e-12);
  options.normalized = false;
  options.beta = 3.0;
  const auto [scores, report] = katz_of(graph, options);
  EXPECT_LE(relative_error(scores, 3.0 * solution), 1e-12);
  EXPECT_NEAR(report.sum, 3.0 * solution.sum(), 1e-11);
  EXPECT_TRUE(std::isnan(report.spectral_bound)) << "nothing asked for it";
  options.max_iterations = 1;
  const KatzReport one = katz_of(graph, options).second;
  EXPECT_EQ(one.status, Status::max_iterations);
  EXPECT_LT(one.error_bound, 1.0) << "the first term is below 1, which proves convergence";
  EXPECT_LE(relative_error(katz_of(graph, options).first, 3.0 * solution), one.error_bound);
  KatzOptions single;
  const auto in_single = katz_of(small_graphs<float>()[7].second, single).second;
  EXPECT_EQ(in_single.status, Status::stagnated) << "1e-9 is beyond fp32";
  single.tolerance = 0.0;
  EXPECT_LT(katz_of(small_graphs<float>()[7].second, single).second.iterations, 300) << "no term matters any more";
  single.tolerance = 1e-5;
  EXPECT_TRUE(katz_of(small_graphs<float>()[7].second, single).second.converged());
}

TEST(Katz, EmptyGraphsAndRefusals) {
  EXPECT_EQ(katz_of(Csr<double>{}).second.reason, "the graph is empty");
  const auto [scores, report] = katz_of(pattern_of<double>({{}, {}}));
  EXPECT_EQ(scores, std::vector<double>(2, 1.0 / std::sqrt(2.0)));
  EXPECT_TRUE(report.converged());
  EXPECT_EQ(message_of<InvalidMatrix>([&] {
              (void)katz_of(from_dense<double>({{0, 1}, {-2, 0}}, 2));
            }),
            "link weights must be finite and not negative, but row 2, column 1 holds -2");
  std::vector<double> two(2);
  const SpmvPlan<double> wide(from_dense<double>({{1, 0, 1}, {0, 1, 0}}, 3));
  EXPECT_THROW((void)katz<double>(wide, two), DimensionError);
  KatzOptions options;
  for (const double alpha : {-0.1, nan}) {
    options.alpha = alpha;
    EXPECT_THROW((void)katz_of(weighted_graph(), options), InvalidArgument);
  }
  options = {};
  options.beta = 0.0;
  EXPECT_THROW((void)katz_of(weighted_graph(), options), InvalidArgument);
}

}  // namespace
}  // namespace tessera::testing
