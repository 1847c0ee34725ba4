/// The screen and the gate that look at the error of a solution, and the limits of methods that go with them.

#include "support/error_gate.hpp"
#include "solvers/ladder/error_claim.hpp"
#include "support/factor_precond.hpp"
#include "support/system.hpp"

#include "tessera/generators.hpp"
#include "tessera/preconditioner.hpp"
#include "tessera/spmv.hpp"
#include "tests/support/make_csr.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <vector>

namespace tessera::support {

namespace {

using detail::cg_condition;

constexpr double epsilon = std::numeric_limits<double>::epsilon();

TEST(CgCondition, InvertsTheBoundOnIterations) {
  for (const double kappa : {4.0, 1e2, 1e6}) {
    const double bound = 0.5 * std::sqrt(kappa) * std::log(2.0 / 1e-8);
    const auto k = static_cast<std::int64_t>(std::ceil(bound));
    EXPECT_NEAR(cg_condition(k, 1e-8), kappa, 0.25 * kappa);
  }
  EXPECT_EQ(cg_condition(0, 1e-8), 1.0);
  EXPECT_EQ(cg_condition(3, 1e-8), 1.0) << "a few iterations say nothing";
  EXPECT_TRUE(std::isfinite(cg_condition(10, 7.0))) << "no reduction";
}

TEST(BackwardStable, ByTheComponentsOrByAResidualAsSmallAsRounding) {
  SolveReport report;
  report.target = 1e-10;
  report.true_residual = 1e-6;
  EXPECT_TRUE(is_backward_stable({.componentwise = 3e-16, .attainable = 1e-7}, report, epsilon));
  EXPECT_FALSE(is_backward_stable({.componentwise = 1e-9, .attainable = 1e-9}, report, epsilon));
  EXPECT_TRUE(is_backward_stable({.componentwise = 1e-9, .attainable = 1e-6}, report, epsilon));
  report.target = 1e-5;
  EXPECT_FALSE(is_backward_stable({.componentwise = 1e-9, .attainable = 1e-6}, report, epsilon)) << "met already";
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(is_backward_stable({.componentwise = nan, .attainable = nan}, report, epsilon));
}

/// A = diag(1, 2, 1e-12) with x = e: the residual of (1, 1, 0) is tiny, its error is not.
class GateTest : public ::testing::Test {
 protected:
  [[nodiscard]] Accuracy assess(ErrorGate gate, Method method) {
    const auto matrix = testing::from_dense<double>({{1, 0, 0}, {0, 2, 0}, {0, 0, 1e-12}}, 3);
    const SpmvPlan<double> A(Csr<double>::copy_of(matrix.view()));
    const JacobiPreconditioner<double> M(matrix.view());
    const MatrixStatistics facts = statistics(matrix.view());
    report_.status = Status::converged;
    report_.iterations = 2;
    report_.true_residual = 1e-12;
    report_.b_norm = report_.r0_norm = std::sqrt(5.0);
    report_.target = 1e-8;
    const std::vector<double> b{1.0, 2.0, 1e-12};
    return assess_accuracy<double>({{A, M}, matrix.view(), facts, method, b, x_, {}}, gate, report_);
  }

  std::vector<double> x_{1.0, 1.0, 0.0};
  SolveReport report_;
};

TEST_F(GateTest, OffComputesTheBackwardErrorAlone) {
  const Accuracy accuracy = assess(ErrorGate::off, Method::bicgstab);
  EXPECT_EQ(accuracy.backward.componentwise, 1.0) << "row 3 is not solved at all";
  EXPECT_FALSE(accuracy.estimate);
}

TEST_F(GateTest, WarnFindsTheErrorAndLeavesX) {
  const Accuracy accuracy = assess(ErrorGate::warn, Method::bicgstab);
  ASSERT_TRUE(accuracy.estimate);
  EXPECT_TRUE(accuracy.estimate->is_known());
  EXPECT_NEAR(accuracy.estimate->relative_error, 1.0, 1e-2) << "of the largest entry";
  EXPECT_TRUE(accuracy.estimate->is_of_largest_entry);
  EXPECT_EQ(accuracy.estimate->corrections, 0);
  EXPECT_EQ(x_, (std::vector<double>{1.0, 1.0, 0.0}));
}

TEST_F(GateTest, RepairCorrectsX) {
  const Accuracy accuracy = assess(ErrorGate::repair, Method::bicgstab);
  ASSERT_TRUE(accuracy.estimate);
  EXPECT_GE(accuracy.estimate->corrections, 1);
  for (const double value : x_) EXPECT_NEAR(value, 1.0, 1e-6);
  EXPECT_LT(report_.true_residual, 1e-15) << "of the x before it was 1e-12";
  EXPECT_LT(accuracy.backward.componentwise, 1e-6);
}

TEST_F(GateTest, WhatDidNotEndWellIsNotAsked) {
  report_ = {};
  const auto matrix = poisson2d<double>(5, 5);
  const SpmvPlan<double> A(Csr<double>::copy_of(matrix.view()));
  const IdentityOperator<double> M(A.rows());
  const MatrixStatistics facts = statistics(matrix.view());
  const std::vector<double> b(25, 1.0);
  std::vector<double> x(25, 0.0);
  for (const Status status : {Status::max_iterations, Status::breakdown, Status::interrupted}) {
    SolveReport report;
    report.status = status;
    report.true_residual = 5.0;
    const Accuracy accuracy =
        assess_accuracy<double>({{A, M}, matrix.view(), facts, Method::cg, b, x, {}}, ErrorGate::repair, report);
    EXPECT_FALSE(accuracy.estimate) << to_string(status);
    EXPECT_EQ(accuracy.backward.componentwise, 1.0);
  }
}

TEST(Methods, VectorsGrowWithTheRestart) {
  SolverOptions options;
  options.restart = 30;
  EXPECT_EQ(vectors_of(Method::gmres, 1000, options, true) - vectors_of(Method::cg, 1000, options, true), 31U);
  EXPECT_EQ(vectors_of(Method::gmres, 1000, options, false) - vectors_of(Method::cg, 1000, options, false), 61U);
  EXPECT_LT(vectors_of(Method::gmres, 3, options, false), 20U) << "no more directions than rows";
  EXPECT_GT(vectors_of(Method::idr, 1000, options, true), vectors_of(Method::bicgstab, 1000, options, true));
}

TEST(Methods, RefinementIsShort) {
  SolverOptions options;
  EXPECT_EQ(refinement_options(options).max_iterations, 10);
  EXPECT_EQ(refinement_options(options).stagnation_window, 3);
  options.max_iterations = 2;
  options.stagnation_window = 7;
  EXPECT_EQ(refinement_options(options).max_iterations, 2);
  EXPECT_EQ(refinement_options(options).stagnation_window, 7);
}

TEST(FactorMemory, FillFollowsFromTheMemoryThatIsLeft) {
  MatrixStatistics facts;
  facts.rows = facts.cols = 1000;
  facts.nnz = 5000;
  EXPECT_NEAR(affordable_fill(12 * 5000 * 3, facts, sizeof(double)), 3.0, 1e-12);
  EXPECT_NEAR(affordable_fill(12 * 5000 * 3, facts, sizeof(float)), 4.5, 1e-12);
  EXPECT_GE(factor_workspace_bytes(facts), 12U * 5000U);
  facts.nnz = 0;
  EXPECT_TRUE(std::isfinite(affordable_fill(100, facts, sizeof(double))));
}

}  // namespace

}  // namespace tessera::support
