// Several right-hand sides on a GPU: every column as the solve of its own but for rounding, columns that drop out,
// equal bits from run to run and with and without graphs.
#include "tessera/approximate_inverse.hpp"
#include "tests/solvers/multiple_right_sides_cases.hpp"
#include "tests/solvers/waiting.hpp"
#include "tests/support/cuda_test.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace tessera::testing {
namespace {

constexpr IterativeMethod together[] = {IterativeMethod::cg, IterativeMethod::bicgstab, IterativeMethod::gmres};

using MultipleRightSidesOnGpu = CudaTest;

/// Same endings, nearly the same iterations and solutions.
void expect_alike(const SolvedColumns& found, const SolvedColumns& alone, const Csr<double>& a, const Sides& sides,
                  const std::string& where) {
  ASSERT_EQ(found.reports.size(), alone.reports.size());
  for (std::size_t j = 0; j < found.reports.size(); ++j) {
    const std::string column = where + ", column " + std::to_string(j);
    const SolveReport& report = found.reports[j];
    EXPECT_EQ(report.status, alone.reports[j].status) << column << ": " << report.reason;
    EXPECT_NEAR(static_cast<double>(report.iterations), static_cast<double>(alone.reports[j].iterations), 4.0)
        << column;
    EXPECT_EQ(report.history.empty(), false) << column;
    if (report.status == Status::not_finite) continue;
    // Only residuals of b of ordinary size are numbers that the oracle can square.
    if (report.b_norm > 1e-100 && report.b_norm < 1e100) {
      expect_honest(report, a.view(), sides.b[j], found.x[j]);
    }
    for (std::size_t i = 0; i < found.x[j].size(); ++i) {
      // Two solutions to 1e-11 of b, and the smallest eigenvalue of the matrices here is above 0.1.
      EXPECT_NEAR(found.x[j][i], alone.x[j][i], 2e-10 * report.b_norm) << column << ", element " << i;
    }
  }
}

TEST_F(MultipleRightSidesOnGpu, ColumnsEndAsAlone) {
  const Csr<double> a = poisson2d<double>(9, 8);
  const auto plan =
      std::make_shared<const SpmvPlan<double>>(Csr<double>::copy_of(a.view()), SpmvOptions{.device = gpu()});
  const JacobiPreconditioner<double> jacobi(plan->matrix(), gpu());
  const IdentityOperator<double> identity(72, gpu());
  const FsaiPreconditioner<double> fsai(plan->matrix(), {}, gpu());
  const std::pair<const char*, const LinearOperator<double>*> preconditioners[] = {
      {"identity", &identity}, {"jacobi", &jacobi}, {"fsai", &fsai}};
  for (const IterativeMethod method : together) {
    for (const auto& [name, m] : preconditioners) {
      Sides sides = sides_of_poisson(9, 8, 9);
      // The endings of NaN have no history.
      for (const std::ptrdiff_t j : {7, 3}) {
        sides.b.erase(sides.b.begin() + j);
        sides.x.erase(sides.x.begin() + j);
      }
      const SolverOptions options{.relative_tolerance = 1e-11, .keep_history = true};
      expect_alike(solve_together(method, *plan, *m, sides, options),
                   solve_one_by_one(method, *plan, *m, sides, options), a, sides,
                   std::string(to_string(method)) + ", " + name);
    }
  }
}

TEST_F(MultipleRightSidesOnGpu, NumbersOfColumnsAndLayouts) {
  using enum MultiVectorLayout;
  const Csr<double> a = poisson2d<double>(6, 5);
  const SpmvPlan<double> plan(Csr<double>::copy_of(a.view()), {.device = gpu()});
  const JacobiPreconditioner<double> jacobi(plan.matrix(), gpu());
  for (const IterativeMethod method : together) {
    for (const int count : {0, 1, 7, repetitions(33, 9)}) {
      const Sides sides = sides_of_poisson(6, 5, count);
      const SolvedColumns first = solve_together(method, plan, jacobi, sides, {});
      expect_same_bits(solve_together(method, plan, jacobi, sides, {}, {row_major, column_major, 2}), first,
                       std::to_string(count));
      for (std::size_t j = 0; j < first.reports.size(); ++j) {
        const bool is_broken = j == 3 || j == 7;
        EXPECT_EQ(first.reports[j].status, is_broken ? Status::not_finite : Status::converged)
            << j << ": " << first.reports[j].reason;
      }
    }
  }
}

/// Each at a direction of its own; from both sides, with every kind of M.
TEST_F(MultipleRightSidesOnGpu, ColumnsOfGmresRestartOnTheirOwn) {
  const Csr<double> a = convection_diffusion<double>(9, 8, 1, {.x = 3.0, .y = -1.0});
  const SpmvPlan<double> plan(Csr<double>::copy_of(a.view()), {.algorithm = SpmvAlgorithm::merbit, .device = gpu()});
  std::vector<double> uneven(72);
  for (std::size_t i = 0; i < uneven.size(); ++i) uneven[i] = std::ldexp(1.0, static_cast<int>(i % 5));
  const Csr<double> scaling = diagonal_matrix(uneven).to(gpu());
  const JacobiPreconditioner<double> diagonal(scaling.view(), gpu());
  const SpmvPlan<double> full(tridiagonal<double>(72, 0.25, 1.0, 0.25),
                              {.algorithm = SpmvAlgorithm::merbit, .device = gpu()});
  const std::pair<const char*, const LinearOperator<double>*> preconditioners[] = {{"diagonal", &diagonal},
                                                                                   {"a plan", &full}};
  Sides sides;
  for (std::uint64_t j = 0; j < 5; ++j) sides.b.push_back(random_values<double>(72, j));
  sides.b[2] = times(1e-3, product(a.view(), std::vector<double>(72, 1.0)));
  sides.x.assign(5, std::vector<double>(72, 0.0));
  for (const auto& [name, m] : preconditioners) {
    for (const PreconditionerSide side : {PreconditionerSide::right, PreconditionerSide::left}) {
      const SolverOptions options{.relative_tolerance = 1e-9, .restart = 23, .side = side, .keep_history = true};
      const std::string where = std::string(name) + (side == PreconditionerSide::left ? ", left" : ", right");
      const SolvedColumns found = solve_together(IterativeMethod::gmres, plan, *m, sides, options);
      const SolvedColumns alone = solve_one_by_one(IterativeMethod::gmres, plan, *m, sides, options);
      for (std::size_t j = 0; j < sides.b.size(); ++j) {
        const std::string column = where + ", column " + std::to_string(j);
        EXPECT_TRUE(found.reports[j].converged()) << column << ": " << found.reports[j].reason;
        EXPECT_NEAR(static_cast<double>(found.reports[j].iterations), static_cast<double>(alone.reports[j].iterations),
                    1.0)
            << column;
        EXPECT_EQ(found.reports[j].preconditioner_count - found.reports[j].iterations,
                  alone.reports[j].preconditioner_count - alone.reports[j].iterations)
            << column;
        expect_honest(found.reports[j], a.view(), sides.b[j], found.x[j]);
      }
      expect_same_bits(solve_together(IterativeMethod::gmres, plan, *m, sides, options), found, where + ", again");
    }
  }
}

TEST_F(MultipleRightSidesOnGpu, OperatorsThatCannotBeEnqueuedAreSolvedOneByOne) {
  const SpmvPlan<double> plan(poisson2d<double>(6, 5), {.device = gpu()});
  const Waiting waiting(plan);
  const IdentityOperator<double> identity(30, gpu());
  const Sides sides = sides_of_poisson(6, 5, 4);
  expect_same_bits(solve_together(IterativeMethod::cg, waiting, identity, sides, {}),
                   solve_one_by_one(IterativeMethod::cg, waiting, identity, sides, {}), "waiting");
}

/// Row templates leave nothing to share, full values do. The observer tells: it is called once per iteration of a
/// column, or of the panel, and at their starts.
TEST_F(MultipleRightSidesOnGpu, PlansThatReadNextToNothingSolveOneByOne) {
  constexpr index_t n = 70 * 70;
  const Csr<double> stencil = convection_diffusion<double>(70, 70, 1, {.x = 3.0, .y = -1.0});
  const std::vector<double> noise = random_values<double>(static_cast<std::size_t>(stencil.nnz()), 3);
  std::vector<double> values(stencil.values().begin(), stencil.values().end());
  for (std::size_t k = 0; k < values.size(); ++k) values[k] *= 1.0 + 0.01 * noise[k];
  const Csr<double> uneven = stencil.with_values(Array<double>::copy_of(values));
  const IdentityOperator<double> identity(n, gpu());
  Sides sides;
  for (std::uint64_t j = 0; j < 3; ++j) sides.b.push_back(random_values<double>(static_cast<std::size_t>(n), j));
  sides.x.assign(3, std::vector<double>(static_cast<std::size_t>(n), 0.0));
  for (const Csr<double>* const a : {&stencil, &uneven}) {
    const SpmvPlan<double> plan(Csr<double>::copy_of(a->view()),
                                {.algorithm = SpmvAlgorithm::patterns, .device = gpu()});
    std::int64_t calls = 0;
    SolverOptions options{.relative_tolerance = 1e-4};
    options.observer = [&](const IterationInfo& /*info*/) {
      ++calls;
      return Control::proceed;
    };
    const SolvedColumns found = solve_together(IterativeMethod::bicgstab, plan, identity, sides, options);
    std::int64_t all = 0;
    std::int64_t most = 0;
    for (const SolveReport& report : found.reports) {
      EXPECT_TRUE(report.converged()) << report.reason;
      all += report.iterations;
      most = std::max(most, report.iterations);
    }
    EXPECT_GE(calls, a == &stencil ? all : most);
    EXPECT_LE(calls, a == &stencil ? all + 3 : most + 1);
  }
}

TEST_F(MultipleRightSidesOnGpu, ReplacementsLimitsAndObservers) {
  const Csr<double> a = poisson2d<double>(9, 8);
  const SpmvPlan<double> plan(Csr<double>::copy_of(a.view()), {.device = gpu()});
  const IdentityOperator<double> identity(72, gpu());
  Sides sides;
  for (std::uint64_t j = 0; j < 3; ++j) sides.b.push_back(random_values<double>(72, j));
  sides.x.assign(3, std::vector<double>(72, 0.0));
  for (const IterativeMethod method : together) {
    for (const SolverOptions& options :
         {SolverOptions{.relative_tolerance = 1e-11, .replacement_interval = 4, .keep_history = true},
          SolverOptions{.relative_tolerance = 1e-11, .max_iterations = 5, .keep_history = true}}) {
      const SolvedColumns found = solve_together(method, plan, identity, sides, options);
      const SolvedColumns alone = solve_one_by_one(method, plan, identity, sides, options);
      for (std::size_t j = 0; j < 3; ++j) {
        EXPECT_EQ(found.reports[j].status, alone.reports[j].status) << found.reports[j].reason;
        EXPECT_EQ(found.reports[j].replacements > 0, alone.reports[j].replacements > 0);
        ASSERT_EQ(found.reports[j].history.size(), static_cast<std::size_t>(found.reports[j].iterations) + 1);
        for (std::size_t k = 0; k < found.reports[j].history.size(); ++k) {
          EXPECT_EQ(found.reports[j].history[k].iteration, static_cast<std::int64_t>(k));
        }
        expect_honest(found.reports[j], a.view(), sides.b[j], found.x[j]);
      }
    }
    std::int64_t calls = 0;
    SolverOptions options{.relative_tolerance = 1e-11};
    options.observer = [&](const IterationInfo& info) {
      EXPECT_EQ(info.iteration, calls++);
      return info.iteration == 3 ? Control::stop : Control::proceed;
    };
    const SolvedColumns stopped = solve_together(method, plan, identity, sides, options);
    for (std::size_t j = 0; j < 3; ++j) {
      EXPECT_EQ(stopped.reports[j].status, Status::interrupted) << stopped.reports[j].reason;
      expect_honest(stopped.reports[j], a.view(), sides.b[j], stopped.x[j]);
    }
  }
}

}  // namespace
}  // namespace tessera::testing
