/// Small grain: whole solves of small systems on several threads, whose sums have chunks of two terms.
#include "tests/support/small_grain.hpp"
#include "core/parallel.hpp"
#include "tessera/amg.hpp"
#include "tessera/incomplete_factors.hpp"
#include "tessera/pagerank.hpp"
#include "tests/solvers/rank_oracle.hpp"
#include "tests/solvers/systems.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tessera::testing {
namespace {

struct Solved {
  std::vector<double> x;
  SolveReport report;
};

using Solve = std::function<SolveReport(const SpmvPlan<double>&, const LinearOperator<double>&, std::span<const double>,
                                        std::span<double>)>;

[[nodiscard]] std::vector<std::pair<std::string, Solve>> methods() {
  const SolverOptions options{.relative_tolerance = 1e-9, .restart = 7};
  return {
      {"cg", [=](const auto& a, const auto& m, auto b, auto x) { return cg<double>(a, m, b, x, options); }},
      {"bicgstab", [=](const auto& a, const auto& m, auto b, auto x) { return bicgstab<double>(a, m, b, x, options); }},
      {"gmres", [=](const auto& a, const auto& m, auto b, auto x) { return gmres<double>(a, m, b, x, options); }},
      {"idr", [=](const auto& a, const auto& m, auto b, auto x) { return idr<double>(a, m, b, x, options); }}};
}

[[nodiscard]] std::unique_ptr<LinearOperator<double>> make_precond(const std::string& name, const CsrView<double>& a,
                                                                   const Device& device) {
  if (name == "jacobi") return std::make_unique<JacobiPreconditioner<double>>(a, device);
  if (name == "amg") return std::make_unique<Amg<double>>(a, AmgOptions{.coarsest_rows = 10}, device);
  IncompleteFactorOptions options;
  options.kind = name == "ic0" ? FactorKind::ic0 : FactorKind::ilu0;
  return std::make_unique<IncompleteFactors<double>>(a, options, device);
}

class SmallGrainSolves : public ::testing::Test {
 protected:
  [[nodiscard]] static Solved run(const Solve& method, const std::string& precond, int threads) {
    SpmvOptions options;
    options.device = Device::host(threads);
    options.determinism = Determinism::gpu_to_gpu;
    const SpmvPlan<double> plan(poisson2d<double>(13, 11), options);
    const auto m = make_precond(precond, plan.matrix(), options.device);
    const std::vector<double> b = random_values<double>(static_cast<std::size_t>(plan.rows()), 3);
    Solved solved{std::vector<double>(b.size()), {}};
    solved.report = method(plan, *m, b, solved.x);
    expect_honest(solved.report, plan.matrix(), b, solved.x);
    return solved;
  }
  const SmallGrain grain_;
};

TEST_F(SmallGrainSolves, ConvergeWithTheSameBitsForEveryNumberOfThreads) {
  ASSERT_EQ(host::threads_for(Device::host(4), 143), 4);
  ASSERT_GT(host::sum_chunks(143), 4);
  for (const auto& [name, method] : methods()) {
    for (const std::string precond : {"jacobi", "amg", "ic0", "ilu0"}) {
      const Solved first = run(method, precond, 1);
      EXPECT_TRUE(first.report.converged()) << name << ", " << precond << ": " << first.report.reason;
      for (const int threads : {2, 3, 5, 5}) {
        const Solved again = run(method, precond, threads);
        EXPECT_EQ(again.x, first.x) << name << ", " << precond << ", " << threads << " threads";
        EXPECT_EQ(again.report.iterations, first.report.iterations) << name << ", " << precond;
      }
    }
  }
}

TEST_F(SmallGrainSolves, RanksAreThoseOfOneThread) {
  const auto graph = generate<double>(parse_generator("rmat:200"));
  const auto ranks = [&](int threads) {
    const TransitionMatrix<double> transition(graph.view(), Device::host(threads));
    PageRankOptions options;
    options.tolerance = 1e-13;
    options.spmv.device = Device::host(threads);
    options.spmv.determinism = Determinism::gpu_to_gpu;
    const auto result = pagerank(transition, options);
    EXPECT_TRUE(result.converged()) << result.reason;
    return std::vector<double>(result.ranks.begin(), result.ranks.end());
  };
  const std::vector<double> first = ranks(1);
  for (const int threads : {2, 3, 5}) EXPECT_EQ(ranks(threads), first) << threads << " threads";
}

}  // namespace
}  // namespace tessera::testing
