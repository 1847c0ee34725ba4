/// \file
/// Solves whose loop a GPU runs by itself or the host drives, and what both have to agree on.
#pragma once

#include "tests/solvers/systems.hpp"
#include "tests/solvers/waiting.hpp"
#include "tests/support/cuda_test.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tessera::testing {

enum class Method { cg, bicgstab, gmres, idr, minres, chebyshev, richardson };

struct Case {
  std::string name;
  std::shared_ptr<const Csr<double>> matrix;
  std::vector<double> b;
  std::vector<double> x0;
  Method method = Method::cg;
  bool jacobi = false;
  bool rounding_decides = false;  ///< on the ending, if it does not converge, and on its iteration
  SolverOptions options;

  Case(std::string title, Csr<double> a, Method how)
      : name(std::move(title)),
        matrix(std::make_shared<const Csr<double>>(std::move(a))),
        b(product(matrix->view(), std::vector<double>(static_cast<std::size_t>(matrix->cols()), 1.0))),
        x0(b.size()),
        method(how) {}
};

struct Solved {
  SolveReport report;
  std::vector<double> x;
};

inline Solved solve(const Case& task, const LinearOperator<double>& a, const LinearOperator<double>& m) {
  const auto b = Array<double>::copy_of(task.b, a.device());
  auto x = Array<double>::copy_of(task.x0, a.device());
  const auto method = [&] {
    if (task.method == Method::richardson) return richardson<double>(a, m, b.span(), x.span(), task.options);
    if (task.method == Method::gmres) return gmres<double>(a, m, b.span(), x.span(), task.options);
    if (task.method == Method::idr) return idr<double>(a, m, b.span(), x.span(), task.options);
    if (task.method == Method::minres) return minres<double>(a, m, b.span(), x.span(), task.options);
    if (task.method == Method::chebyshev) return chebyshev<double>(a, m, b.span(), x.span(), task.options);
    if (task.method == Method::bicgstab) return bicgstab<double>(a, m, b.span(), x.span(), task.options);
    return cg<double>(a, m, b.span(), x.span(), task.options);
  };
  SolveReport report = method();
  const Array<double> found = x.to(Device{});
  return {std::move(report), {found.begin(), found.end()}};
}

inline SpmvPlan<double> plan_on(const Device& device, const std::shared_ptr<const Csr<double>>& matrix,
                                SpmvAlgorithm kernel = SpmvAlgorithm::merbit) {
  SpmvOptions options;
  options.device = device;
  options.algorithm = kernel;
  options.determinism = Determinism::run_to_run;
  return SpmvPlan<double>(matrix, options);
}

/// \param waiting whether the host drives the loop
inline Solved run(const Case& task, const Device& device, bool waiting = false,
                  SpmvAlgorithm kernel = SpmvAlgorithm::merbit) {
  const SpmvPlan<double> plan = plan_on(device, task.matrix, kernel);
  const Waiting slow(plan);
  const LinearOperator<double>& a = waiting ? static_cast<const LinearOperator<double>&>(slow) : plan;
  if (!task.jacobi) return solve(task, a, IdentityOperator<double>(plan.rows(), device));
  return solve(task, a, JacobiPreconditioner<double>(plan.matrix(), device));
}

inline Case with(Case task, const SolverOptions& options) {
  task.options = options;
  return task;
}

/// Enough rows for several blocks, and for threads with two elements at a time; never left out.
inline constexpr const char* over_blocks = "over several blocks";

/// Jacobi's iteration: of a dominant diagonal, with replacement, at its limit, and growing.
inline std::vector<Case> richardson_endings() {
  Case dominant("dominant", tridiagonal<double>(700, -1.0, 4.0, -1.0), Method::richardson);
  dominant.jacobi = true;
  Case growing("growing", from_dense<double>({{1, 3}, {3, 1}}, 2), Method::richardson);
  growing.b = {1.0, 2.0};
  growing.jacobi = true;
  const Case plain("identity", tridiagonal<double>(90, 0.2, 1.0, -0.3), Method::richardson);
  return {dominant, with(dominant, {.max_iterations = 3}),
          with(dominant, {.replacement_interval = 5, .keep_history = true}), growing, plain};
}

/// Endings of every kind.
inline std::vector<Case> endings() {
  std::vector<Case> all = richardson_endings();
  for (const Method method : {Method::cg, Method::bicgstab}) {
    const Case flat("poisson", poisson2d<double>(15, 15), method);
    all.push_back(flat);
    for (const std::int64_t limit : {0, 1, 2, 3, 4, 5, 17}) all.push_back(with(flat, {.max_iterations = limit}));
    all.push_back(with(flat, {.base = ResidualBase::r0}));
    all.push_back(with(flat, {.replacement_interval = 5, .keep_history = true}));
    all.push_back(with(flat, {.relative_tolerance = 1e-10, .stagnation_window = 1}));
    all.push_back(Case(over_blocks, poisson2d<double>(25, 25), method));
    Case preconditioned = flat;
    preconditioned.jacobi = true;
    all.push_back(preconditioned);
    Case guessed("a guess that solves it", poisson2d<double>(9, 9), method);
    guessed.x0.assign(guessed.b.size(), 1.0);
    all.push_back(guessed);
    for (const index_t n : {5, 64, 300}) {
      Case inconsistent("singular and inconsistent", path_laplacian(n), method);
      inconsistent.b = random_values<double>(inconsistent.b.size(), 3);
      inconsistent.b[0] += 1.0;
      inconsistent.rounding_decides = true;
      all.push_back(inconsistent);
    }
  }
  all.push_back(Case("tiny", scaled(convection_diffusion<double>(10, 10, 1, {.x = 1.0}), 1e-30), Method::bicgstab));
  all.push_back(Case("negative definite", scaled(poisson2d<double>(12, 12), -1.0), Method::bicgstab));
  all.push_back(Case("indefinite", diagonal_matrix<double>({1.0, 2.0, -3.0}), Method::cg));
  Case growing("growing", from_dense<double>({{1, 100}, {-100, 1}}, 2), Method::cg);
  growing.b = {1.0, 0.0};
  all.push_back(with(growing, {.divergence_tolerance = 10.0}));
  const std::vector<std::vector<std::vector<double>>> skew{{{0, 1}, {-1, 0}},
                                                           {{0, 2, 0, 1}, {-2, 0, 3, 0}, {0, -3, 0, 1}, {-1, 0, -1, 0}},
                                                           {{0, 1, 0, 0}, {-1, 0, 0, 0}, {0, 0, 0, 5}, {0, 0, -5, 0}}};
  for (const auto& dense : skew) {
    const Case task("skew", from_dense(dense, static_cast<std::int64_t>(dense.size())), Method::bicgstab);
    all.push_back(task);
    all.push_back(with(task, {.breakdown_restarts = 0}));
    all.push_back(with(task, {.shadow = Shadow::random}));
  }
  Case cyclic("cyclic", from_dense<double>({{0, 0, 0, 1}, {1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}, 4),
              Method::bicgstab);
  cyclic.b = {1, 0, 0, 0};
  all.push_back(cyclic);
  if (!sparing()) return all;
  std::vector<Case> some;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i % 4 == 0 || all[i].name == over_blocks) some.push_back(all[i]);
  }
  return some;
}

/// One source of control flow, one order of sums: both ways give the same bits.
inline void expect_same_bits(const std::vector<Case>& cases, const Device& gpu, SpmvAlgorithm kernel) {
  for (const Case& task : cases) {
    SCOPED_TRACE(task.name);
    const Solved alone = run(task, gpu, false, kernel);
    const Solved driven = run(task, gpu, true, kernel);
    EXPECT_EQ(alone.report.status, driven.report.status) << alone.report.reason << "\n" << driven.report.reason;
    EXPECT_EQ(alone.report.reason, driven.report.reason);
    EXPECT_EQ(alone.report.iterations, driven.report.iterations);
    EXPECT_EQ(alone.report.spmv_count, driven.report.spmv_count);
    EXPECT_EQ(alone.report.preconditioner_count, driven.report.preconditioner_count);
    EXPECT_EQ(alone.report.restarts, driven.report.restarts);
    EXPECT_EQ(alone.report.replacements, driven.report.replacements);
    EXPECT_EQ(alone.report.true_residual, driven.report.true_residual);
    EXPECT_EQ(alone.x, driven.x);
    ASSERT_EQ(alone.report.history.size(), driven.report.history.size());
    for (std::size_t i = 0; i < alone.report.history.size(); ++i) {
      EXPECT_EQ(alone.report.history[i].iteration, driven.report.history[i].iteration);
      EXPECT_EQ(alone.report.history[i].recurrence, driven.report.history[i].recurrence);
      if (i > 0) {
        EXPECT_GE(alone.report.history[i].seconds, alone.report.history[i - 1].seconds);
      }
    }
  }
}

/// The same endings as on the host, after nearly as many iterations.
inline void expect_endings_of_the_host(const std::vector<Case>& cases, const Device& gpu,
                                       SpmvAlgorithm kernel = SpmvAlgorithm::merbit) {
  for (const Case& task : cases) {
    SCOPED_TRACE(task.name);
    const Solved found = run(task, gpu, false, kernel);
    const Solved expected = run(task, Device{});
    expect_honest(found.report, task.matrix->view(), task.b, found.x);
    if (task.rounding_decides) {
      EXPECT_EQ(found.report.converged(), expected.report.converged()) << found.report.reason;
      continue;
    }
    EXPECT_EQ(found.report.status, expected.report.status) << found.report.reason << "\n" << expected.report.reason;
    const std::int64_t slack = 2 + expected.report.iterations / 20;
    EXPECT_LE(std::abs(found.report.iterations - expected.report.iterations), slack)
        << found.report.iterations << " and on the host " << expected.report.iterations;
  }
}

}  // namespace tessera::testing
