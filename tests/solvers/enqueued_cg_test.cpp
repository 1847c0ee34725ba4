// Whole solves by conjugate gradients, on the host.
#include "tests/solvers/enqueued_cg_cases.hpp"

#include "tessera/error.hpp"
#include "tests/support/error_message.hpp"

namespace tessera {
namespace {

using testing::download;

TEST(EnqueuedCg, EndsAsCgDoes) { testing::expect_solves(Device{}, 12); }
TEST(EnqueuedCg, HasTheEndingsOfCg) { testing::expect_endings(Device{}); }
TEST(EnqueuedCg, BreaksDownAsCgDoes) { testing::expect_breakdowns(Device{}); }
TEST(EnqueuedCg, TakesRightSidesOfAnyScale) {
  testing::expect_scales<double>(Device{});
  testing::expect_scales<float>(Device{});
}
TEST(EnqueuedCg, TakesEmptyAndOneByOne) { testing::expect_small(Device{}); }

TEST(EnqueuedCg, RefusesWhatNeedsTheHost) {
  const SpmvPlan<double> a(poisson2d<double>(3, 3));
  EXPECT_THROW(EnqueuedCg<double>(a, {.time_limit_seconds = 1.0}), InvalidArgument);
  EXPECT_THROW(EnqueuedCg<double>(a, {.keep_history = true}), InvalidArgument);
  EXPECT_THROW(EnqueuedCg<double>(a, {.observer = [](const IterationInfo&) { return Control::proceed; }}),
               InvalidArgument);
  EXPECT_THROW(EnqueuedCg<double>(a, {.relative_tolerance = -1.0}), InvalidArgument);
  const SpmvPlan<double> wide(testing::make_csr<double>(2, 3, {0, 1, 2}, {0, 1}, {1.0, 1.0}));
  EXPECT_THROW(EnqueuedCg<double>{wide}, DimensionError);
  EnqueuedCg<double> solver(a);
  std::vector<double> x(9);
  const std::vector<double> b(8);
  SolveOutcome outcome;
  EXPECT_THROW(solver.enqueue(b, x, &outcome), DimensionError);
  EXPECT_THROW(solver.enqueue(x, x, nullptr), InvalidArgument);
}

TEST(EnqueuedCg, FollowsNewValues) {
  SpmvPlan<double> a(testing::diagonal_matrix<double>({1, 2, 3}));
  EnqueuedCg<double> solver(a);
  const std::vector<double> b = {1, 2, 3};
  const std::vector<double> zero(3);
  EXPECT_TRUE(testing::solve_enqueued(solver, Device{}, b, zero).outcome.converged());
  a.update_values(std::vector<double>{2, 4, 6});
  for (const double x : testing::solve_enqueued(solver, Device{}, b, zero).x) EXPECT_NEAR(x, 0.5, 1e-8);
}

}  // namespace
}  // namespace tessera
