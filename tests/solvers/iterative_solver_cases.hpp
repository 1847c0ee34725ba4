/// \file
/// Solves by an IterativeSolver beside those of the functions, on any device.
#pragma once

#include "tessera/amg.hpp"
#include "tessera/array.hpp"
#include "tessera/incomplete_factors.hpp"
#include "tessera/iterative_solver.hpp"
#include "tessera/spmv.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace tessera::testing {

inline constexpr IterativeMethod all_methods[] = {
    IterativeMethod::cg,     IterativeMethod::bicgstab,  IterativeMethod::gmres,     IterativeMethod::idr,
    IterativeMethod::minres, IterativeMethod::chebyshev, IterativeMethod::richardson};

[[nodiscard]] inline SolveReport solve_by_function(IterativeMethod method, const LinearOperator<double>& a,
                                                   const LinearOperator<double>& m, std::span<const double> b,
                                                   std::span<double> x, const SolverOptions& options) {
  switch (method) {
    case IterativeMethod::cg:
      return cg<double>(a, m, b, x, options);
    case IterativeMethod::bicgstab:
      return bicgstab<double>(a, m, b, x, options);
    case IterativeMethod::gmres:
      return gmres<double>(a, m, b, x, options);
    case IterativeMethod::idr:
      return idr<double>(a, m, b, x, options);
    case IterativeMethod::minres:
      return minres<double>(a, m, b, x, options);
    case IterativeMethod::chebyshev:
      return chebyshev<double>(a, m, b, x, options);
    case IterativeMethod::richardson:
      return richardson<double>(a, m, b, x, options);
  }
  return {};
}

/// A vector with elements of both signs and many sizes, different for every k.
[[nodiscard]] inline std::vector<double> right_side(std::int64_t n, int k) {
  std::vector<double> b(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < b.size(); ++i) {
    b[i] = std::sin(0.37 * static_cast<double>(i + 1) * (k + 1)) + 1e-3 * k;
  }
  return b;
}

struct Solved {
  SolveReport report;
  std::vector<double> x;
};

/// Solve(b, x) from a guess, on a device.
template <class Solve>
[[nodiscard]] Solved solved(const Device& device, const std::vector<double>& b, const std::vector<double>& guess,
                            const Solve& solve) {
  const auto right = Array<double>::copy_of(b, device);
  auto x = Array<double>::copy_of(guess, device);
  SolveReport report = solve(right.span(), x.span());
  const Array<double> on_host = x.to(Device{});
  return {std::move(report), {on_host.begin(), on_host.end()}};
}

inline void expect_same(const Solved& a, const Solved& b, const std::string& where) {
  EXPECT_EQ(a.x, b.x) << where;
  EXPECT_EQ(a.report.status, b.report.status) << where;
  EXPECT_EQ(a.report.reason, b.report.reason) << where;
  EXPECT_EQ(a.report.iterations, b.report.iterations) << where;
  EXPECT_EQ(a.report.spmv_count, b.report.spmv_count) << where;
  EXPECT_EQ(a.report.preconditioner_count, b.report.preconditioner_count) << where;
  EXPECT_TRUE(a.report.true_residual == b.report.true_residual ||
              (std::isnan(a.report.true_residual) && std::isnan(b.report.true_residual)))
      << where << ": " << a.report.true_residual << " and " << b.report.true_residual;
  EXPECT_EQ(a.report.restarts, b.report.restarts) << where;
}

/// Solves `solves` systems by one solver and by the function, one of them with a right-hand side that is not finite.
inline void expect_bits_of_function(IterativeMethod method, const LinearOperator<double>& a,
                                    const LinearOperator<double>& m, const std::string& name, int solves = 4) {
  SolverOptions options;
  options.max_iterations = 30;
  IterativeSolver<double> solver(method, a, m, options);
  std::vector<double> guess(static_cast<std::size_t>(a.rows()), 0.0);
  for (int k = 0; k < solves; ++k) {
    std::vector<double> b = right_side(a.rows(), k);
    if (k == 1 && !b.empty()) b.back() = std::numeric_limits<double>::infinity();
    const Solved kept = solved(a.device(), b, guess, [&](auto right, auto x) { return solver.solve(right, x); });
    const Solved anew = solved(a.device(), b, guess,
                               [&](auto right, auto x) { return solve_by_function(method, a, m, right, x, options); });
    expect_same(kept, anew, name + ", solve " + std::to_string(k));
    guess = kept.x;
  }
}

}  // namespace tessera::testing
