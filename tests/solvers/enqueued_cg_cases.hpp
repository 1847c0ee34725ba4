/// \file
/// Solves that are enqueued as a whole, on any device, beside cg() and the long-double residual.
#pragma once

#include "tessera/amg.hpp"
#include "tessera/array.hpp"
#include "tessera/enqueued_cg.hpp"
#include "tessera/spmv.hpp"
#include "tests/solvers/systems.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace tessera::testing {

template <class T>
struct Enqueued {
  SolveOutcome outcome;
  std::vector<T> x;
};

template <class T>
[[nodiscard]] std::vector<T> download(const Array<T>& array) {
  const Array<T> copy = array.to(Device{});
  return {copy.begin(), copy.end()};
}

template <class T>
[[nodiscard]] Enqueued<T> solve_enqueued(EnqueuedCg<T>& solver, const Device& device, const std::vector<T>& b,
                                         const std::vector<T>& guess) {
  const auto right = Array<T>::copy_of(b, device);
  auto x = Array<T>::copy_of(guess, device);
  Array<SolveOutcome> outcome(1, Init::zero, device);
  solver.enqueue(right.span(), x.span(), outcome.data());
  return {download(outcome).front(), download(x)};
}

/// The residual that the outcome names is that of x, and converged means that it is small enough. The residual of an
/// enqueued solve is b - fl(A x), rounded to T: its bound is that of the product in T.
template <class T>
void expect_honest(const Enqueued<T>& solved, const CsrView<T>& a, const std::vector<T>& b, const std::string& where) {
  const SolveOutcome& outcome = solved.outcome;
  const ResidualOracle oracle = residual_oracle(a, b, solved.x);
  constexpr double to_t =
      static_cast<double>(std::numeric_limits<T>::epsilon()) / std::numeric_limits<double>::epsilon();
  EXPECT_NEAR(outcome.true_residual, static_cast<double>(oracle.norm), 2 * to_t * static_cast<double>(oracle.bound))
      << where;
  EXPECT_EQ(outcome.converged(), outcome.true_residual <= outcome.target) << where;
}

/// The way that cg() ends, within some iterations, and an honest outcome.
template <class T>
Enqueued<T> expect_as_cg(const LinearOperator<T>& a, const LinearOperator<T>& m, const CsrView<T>& matrix,
                         const std::vector<T>& b, const std::vector<T>& guess, const SolverOptions& options,
                         const std::string& where, std::int64_t slack = 1) {
  EnqueuedCg<T> solver(a, m, options);
  Enqueued<T> result = solve_enqueued(solver, a.device(), b, guess);
  const auto right = Array<T>::copy_of(b, a.device());
  auto x = Array<T>::copy_of(guess, a.device());
  const SolveReport report = cg<T>(a, m, right.span(), x.span(), options);
  const std::string both =
      where + ": " + report.reason + "; enqueued: " + std::string(to_string(result.outcome.status));
  EXPECT_EQ(result.outcome.status, report.status) << both;
  EXPECT_EQ(result.outcome.breakdown, report.breakdown) << both;
  EXPECT_NEAR(static_cast<double>(result.outcome.iterations), static_cast<double>(report.iterations),
              static_cast<double>(slack))
      << both;
  EXPECT_NEAR(static_cast<double>(result.outcome.preconditioner_count),
              static_cast<double>(report.preconditioner_count), static_cast<double>(slack))
      << both;
  EXPECT_DOUBLE_EQ(result.outcome.b_norm, report.b_norm) << both;
  EXPECT_DOUBLE_EQ(result.outcome.target, report.target) << both;
  EXPECT_NEAR(result.outcome.r0_norm, report.r0_norm, 1e-5 * report.r0_norm) << both;
  expect_honest(result, matrix, b, both);
  return result;
}

/// Poisson 2D with other scales in its rows and columns: D A D.
[[nodiscard]] inline Csr<double> scaled_poisson(std::int64_t side) {
  const Csr<double> poisson = poisson2d<double>(side, side);
  const CsrView<double> view = poisson.view();
  std::vector<double> values(view.values.begin(), view.values.end());
  const auto scale = [](std::size_t i) { return std::exp2(static_cast<double>(i % 5)); };
  for (std::size_t i = 0; i < static_cast<std::size_t>(view.rows); ++i) {
    const auto end = static_cast<std::size_t>(view.row_offsets[i + 1]);
    for (auto k = static_cast<std::size_t>(view.row_offsets[i]); k < end; ++k) {
      values[k] *= scale(i) * scale(static_cast<std::size_t>(view.columns[k]));
    }
  }
  return Csr<double>(view.rows, view.cols, poisson.row_offsets().to(Device{}), poisson.columns().to(Device{}),
                     Array<double>::copy_of(values));
}

/// With no preconditioner, one that is fused, and one that is a product.
inline void expect_solves(const Device& device, std::int64_t side) {
  const Csr<double> matrix = scaled_poisson(side);
  const SpmvPlan<double> a(matrix.to(device), SpmvOptions{.device = device});
  const IdentityOperator<double> none(a.rows(), device);
  const JacobiPreconditioner<double> jacobi(a.matrix(), device);
  const Amg<double> amg(a.matrix(), {}, device);
  const auto n = static_cast<std::size_t>(a.rows());
  const std::vector<double> b = random_values<double>(n, 7);
  const std::vector<double> guess = random_values<double>(n, 8);
  const std::vector<double> zero(n);
  for (const LinearOperator<double>* m :
       {static_cast<const LinearOperator<double>*>(&none), static_cast<const LinearOperator<double>*>(&jacobi),
        static_cast<const LinearOperator<double>*>(&amg)}) {
    const auto solved = expect_as_cg<double>(a, *m, matrix.view(), b, zero, {}, "from 0");
    EXPECT_TRUE(solved.outcome.converged());
    EXPECT_TRUE(expect_as_cg<double>(a, *m, matrix.view(), b, guess, {}, "from a guess").outcome.converged());
    const auto again = expect_as_cg<double>(a, *m, matrix.view(), b, solved.x, {}, "from the solution", 0);
    EXPECT_EQ(again.outcome.iterations, 0);
    EXPECT_EQ(again.x, solved.x);
  }
}

inline void expect_endings(const Device& device) {
  const Csr<double> matrix = scaled_poisson(6);
  const SpmvPlan<double> a(matrix.to(device), SpmvOptions{.device = device});
  const JacobiPreconditioner<double> m(a.matrix(), device);
  const std::vector<double> b = random_values<double>(36, 7);
  const std::vector<double> guess = random_values<double>(36, 8);
  const auto solve = [&](const SolverOptions& options, const std::string& where, std::int64_t slack = 0) {
    return expect_as_cg<double>(a, m, matrix.view(), b, guess, options, where, slack).outcome;
  };
  EXPECT_EQ(solve({.max_iterations = 0}, "no iteration").status, Status::max_iterations);
  EXPECT_EQ(solve({.max_iterations = 5}, "5 iterations").iterations, 5);
  // Rounding decides how many restarts gain something. With a kernel by name, cg() runs the same loop.
  const SpmvAlgorithm kernel = device.is_host() ? SpmvAlgorithm::csr : SpmvAlgorithm::csr_vector;
  const SpmvPlan<double> named(matrix.to(device), {.algorithm = kernel, .device = device});
  const auto futile = expect_as_cg<double>(named, JacobiPreconditioner<double>(named.matrix(), device), matrix.view(),
                                           b, guess, {.relative_tolerance = 1e-30}, "beyond rounding", 60);
  EXPECT_EQ(futile.outcome.status, Status::stagnated);
  // The ending is the same for both with the kernel of `auto`, whatever the loop.
  const SolverOptions beyond{.relative_tolerance = 1e-30};
  EnqueuedCg<double> enqueued(a, m, beyond);
  const Enqueued<double> ended = solve_enqueued(enqueued, device, b, guess);
  EXPECT_EQ(ended.outcome.status, Status::stagnated);
  expect_honest(ended, matrix.view(), b, "beyond rounding, enqueued");
  const auto right = Array<double>::copy_of(b, device);
  auto x = Array<double>::copy_of(guess, device);
  EXPECT_EQ(cg<double>(a, m, right.span(), x.span(), beyond).status, Status::stagnated);
  // The first step suits the first entry and throws the second one 1e6 times its length away.
  const Csr<double> stiff = diagonal_matrix<double>({1.0, 1e6});
  const SpmvPlan<double> of_stiff(stiff.to(device), SpmvOptions{.device = device});
  const auto diverged = expect_as_cg<double>(of_stiff, IdentityOperator<double>(2, device), stiff.view(), {1.0, 1e-4},
                                             {0.0, 0.0}, {.divergence_tolerance = 10.0}, "diverging", 0);
  EXPECT_EQ(diverged.outcome.status, Status::diverged);
  const auto returned = expect_as_cg<double>(of_stiff, IdentityOperator<double>(2, device), stiff.view(), {1.0, 1e-4},
                                             {0.0, 0.0}, {.max_iterations = 1}, "worse than the guess", 0);
  EXPECT_EQ(returned.outcome.status, Status::max_iterations);
  EXPECT_EQ(returned.x, std::vector<double>(2)) << "the guess is the best x";
  EXPECT_TRUE(solve({.base = ResidualBase::r0}, "relative to r0").converged());
  EXPECT_TRUE(solve({.relative_tolerance = 0.0, .absolute_tolerance = 1e-6}, "absolute").converged());
  EXPECT_TRUE(solve({.replacement_interval = 4}, "replacing").replacements > 1);
}

inline void expect_breakdowns(const Device& device) {
  // Indefinite: eigenvalues of both signs.
  const Csr<double> saddle = diagonal_matrix<double>({1, -2, 3, -4, 5});
  const SpmvPlan<double> a(saddle.to(device), SpmvOptions{.device = device});
  const IdentityOperator<double> none(5, device);
  const std::vector<double> b = {1, 2, 3, 4, 5};
  const std::vector<double> zero(5);
  const auto broken = expect_as_cg<double>(a, none, saddle.view(), b, zero, {}, "indefinite", 5);
  EXPECT_EQ(broken.outcome.status, Status::breakdown);
  // -I as M.
  const SpmvPlan<double> minus(diagonal_matrix<double>({-1, -1, -1, -1, -1}).to(device), SpmvOptions{.device = device});
  const Csr<double> plus = diagonal_matrix<double>({1, 2, 3, 4, 5});
  const SpmvPlan<double> definite(plus.to(device), SpmvOptions{.device = device});
  const auto refused = expect_as_cg<double>(definite, minus, plus.view(), b, zero, {}, "M is negative", 0);
  EXPECT_EQ(refused.outcome.breakdown, Breakdown::preconditioner);
}

/// b of any scale, b = 0, and what is not finite.
template <class T>
void expect_scales(const Device& device) {
  const Csr<T> matrix = poisson2d<T>(5, 4);
  const SpmvPlan<T> a(matrix.to(device), SpmvOptions{.device = device});
  const IdentityOperator<T> none(20, device);
  const std::vector<T> zero(20);
  SolverOptions options;
  options.relative_tolerance = 1e3 * static_cast<double>(std::numeric_limits<T>::epsilon());
  for (const int exponent : {0, std::numeric_limits<T>::max_exponent - 8, std::numeric_limits<T>::min_exponent + 30}) {
    std::vector<T> b = random_values<T>(20, 9);
    for (T& value : b) value = std::ldexp(value, exponent);
    EnqueuedCg<T> solver(a, options);
    const Enqueued<T> solved = solve_enqueued(solver, device, b, zero);
    EXPECT_TRUE(solved.outcome.converged()) << exponent;
    // In units that squares fit into.
    std::vector<T> x = solved.x;
    for (T& value : x) value = std::ldexp(value, -exponent);
    for (T& value : b) value = std::ldexp(value, -exponent);
    const ResidualOracle oracle = residual_oracle(matrix.view(), b, x);
    EXPECT_LE(static_cast<double>(oracle.norm), 1.1 * std::ldexp(solved.outcome.target, -exponent)) << exponent;
  }
  EnqueuedCg<T> solver(a, options);
  const std::vector<T> guess = random_values<T>(20, 3);
  const Enqueued<T> of_zero = solve_enqueued(solver, device, zero, guess);
  EXPECT_TRUE(of_zero.outcome.converged());
  EXPECT_EQ(of_zero.x, zero);
  std::vector<T> bad = guess;
  bad[7] = std::numeric_limits<T>::infinity();
  const Enqueued<T> refused = solve_enqueued(solver, device, bad, guess);
  EXPECT_EQ(refused.outcome.status, Status::not_finite);
  EXPECT_EQ(refused.x, guess);
  EXPECT_EQ(solve_enqueued(solver, device, guess, bad).outcome.status, Status::not_finite);
}

inline void expect_small(const Device& device) {
  const SpmvPlan<double> empty(Csr<double>().to(device), SpmvOptions{.device = device});
  EnqueuedCg<double> of_empty(empty);
  EXPECT_TRUE(solve_enqueued<double>(of_empty, device, {}, {}).outcome.converged());
  const SpmvPlan<double> one(diagonal_matrix<double>({4}).to(device), SpmvOptions{.device = device});
  EnqueuedCg<double> of_one(one);
  const auto solved = solve_enqueued<double>(of_one, device, {2}, {0});
  EXPECT_TRUE(solved.outcome.converged());
  EXPECT_EQ(solved.x, std::vector<double>{0.5});
}

}  // namespace tessera::testing
