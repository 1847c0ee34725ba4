/// \file
/// Systems with several right-hand sides, each beside the solve of its own, on any device.
#pragma once

#include "tessera/array.hpp"
#include "tessera/multiple_right_sides.hpp"
#include "tests/solvers/systems.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace tessera::testing {

using Columns = std::vector<std::vector<double>>;

/// The elements of a multivector with a gap after every column, or row, filled with NaN.
class Block {
 public:
  Block(const Columns& columns, std::int64_t rows, MultiVectorLayout layout, std::int64_t gap, const Device& device)
      : rows_(rows), columns_(static_cast<std::int64_t>(columns.size())), layout_(layout), gap_(gap) {
    std::vector<double> elements(static_cast<std::size_t>(std::max<std::int64_t>(1, lines() * leading())),
                                 std::numeric_limits<double>::quiet_NaN());
    for (std::int64_t j = 0; j < columns_; ++j) {
      for (std::int64_t i = 0; i < rows_; ++i) {
        elements[at(i, j)] = columns[static_cast<std::size_t>(j)][static_cast<std::size_t>(i)];
      }
    }
    elements_ = Array<double>::copy_of(elements, device);
  }

  [[nodiscard]] MultiVectorView<double> view() { return {elements_.span(), rows_, columns_, layout_, leading()}; }
  /// \returns the columns; expects the gaps to be untouched
  [[nodiscard]] Columns columns() const {
    const Array<double> host = elements_.to(Device{});
    Columns result(static_cast<std::size_t>(columns_), std::vector<double>(static_cast<std::size_t>(rows_)));
    std::vector<bool> is_gap(static_cast<std::size_t>(host.size()), true);
    for (std::int64_t j = 0; j < columns_; ++j) {
      for (std::int64_t i = 0; i < rows_; ++i) {
        result[static_cast<std::size_t>(j)][static_cast<std::size_t>(i)] = host.span()[at(i, j)];
        is_gap[at(i, j)] = false;
      }
    }
    for (std::size_t e = 0; e < is_gap.size(); ++e) {
      EXPECT_TRUE(!is_gap[e] || std::isnan(host.span()[e])) << "gap " << e;
    }
    return result;
  }

 private:
  [[nodiscard]] bool by_columns() const { return layout_ == MultiVectorLayout::column_major; }
  [[nodiscard]] std::int64_t lines() const { return by_columns() ? columns_ : rows_; }
  [[nodiscard]] std::int64_t leading() const { return (by_columns() ? rows_ : columns_) + gap_; }
  [[nodiscard]] std::size_t at(std::int64_t i, std::int64_t j) const {
    return static_cast<std::size_t>(by_columns() ? j * leading() + i : i * leading() + j);
  }

  std::int64_t rows_;
  std::int64_t columns_;
  MultiVectorLayout layout_;
  std::int64_t gap_;
  Array<double> elements_;
};

/// Right-hand sides and guesses.
struct Sides {
  Columns b;
  Columns x;
};

struct SolvedColumns {
  std::vector<SolveReport> reports;
  Columns x;
};

struct Placement {
  MultiVectorLayout b = MultiVectorLayout::column_major;
  MultiVectorLayout x = MultiVectorLayout::column_major;
  std::int64_t gap = 0;
};

[[nodiscard]] inline SolvedColumns solve_together(IterativeMethod method, const LinearOperator<double>& a,
                                                  const LinearOperator<double>& m, const Sides& sides,
                                                  const SolverOptions& options, const Placement& placement = {}) {
  Block b(sides.b, a.rows(), placement.b, placement.gap, a.device());
  Block x(sides.x, a.rows(), placement.x, placement.gap, a.device());
  auto reports = solve_columns<double>(method, a, m, b.view(), x.view(), options);
  return {std::move(reports), x.columns()};
}

[[nodiscard]] inline SolvedColumns solve_one_by_one(IterativeMethod method, const LinearOperator<double>& a,
                                                    const LinearOperator<double>& m, const Sides& sides,
                                                    const SolverOptions& options) {
  SolvedColumns result;
  for (std::size_t j = 0; j < sides.b.size(); ++j) {
    const auto b = Array<double>::copy_of(sides.b[j], a.device());
    auto x = Array<double>::copy_of(sides.x[j], a.device());
    result.reports.push_back(IterativeSolver<double>(method, a, m, options).solve(b.span(), x.span()));
    const Array<double> found = x.to(Device{});
    result.x.emplace_back(found.begin(), found.end());
  }
  return result;
}

inline void expect_same_number(double a, double b, const std::string& where) {
  EXPECT_TRUE(a == b || (std::isnan(a) && std::isnan(b))) << where << ": " << a << " and " << b;
}

/// Everything but times.
inline void expect_same_reports(const SolveReport& a, const SolveReport& b, const std::string& where) {
  EXPECT_EQ(a.status, b.status) << where;
  EXPECT_EQ(a.breakdown, b.breakdown) << where;
  EXPECT_EQ(a.reason, b.reason) << where;
  EXPECT_EQ(a.iterations, b.iterations) << where;
  EXPECT_EQ(a.spmv_count, b.spmv_count) << where;
  EXPECT_EQ(a.preconditioner_count, b.preconditioner_count) << where;
  EXPECT_EQ(a.restarts, b.restarts) << where;
  EXPECT_EQ(a.replacements, b.replacements) << where;
  EXPECT_EQ(a.breakdowns.size(), b.breakdowns.size()) << where;
  expect_same_number(a.recurrence_residual, b.recurrence_residual, where);
  expect_same_number(a.true_residual, b.true_residual, where);
  expect_same_number(a.b_norm, b.b_norm, where);
  expect_same_number(a.r0_norm, b.r0_norm, where);
  expect_same_number(a.target, b.target, where);
  ASSERT_EQ(a.history.size(), b.history.size()) << where;
  for (std::size_t k = 0; k < a.history.size(); ++k) {
    const std::string entry = where + ", entry " + std::to_string(k);
    EXPECT_EQ(a.history[k].iteration, b.history[k].iteration) << entry;
    expect_same_number(a.history[k].recurrence, b.history[k].recurrence, entry);
    expect_same_number(a.history[k].true_residual, b.history[k].true_residual, entry);
  }
}

inline void expect_same_bits(const SolvedColumns& a, const SolvedColumns& b, const std::string& where) {
  ASSERT_EQ(a.reports.size(), b.reports.size()) << where;
  for (std::size_t j = 0; j < a.reports.size(); ++j) {
    const std::string column = where + ", column " + std::to_string(j);
    expect_same_reports(a.reports[j], b.reports[j], column);
    for (std::size_t i = 0; i < a.x[j].size(); ++i) {
      if (a.x[j][i] == b.x[j][i] || (std::isnan(a.x[j][i]) && std::isnan(b.x[j][i]))) continue;
      ADD_FAILURE() << column << ", element " << i << ": " << a.x[j][i] << " and " << b.x[j][i];
      break;
    }
  }
}

/// An eigenvector of poisson2d(nx, ny): one iteration solves it.
[[nodiscard]] inline std::vector<double> poisson_mode(index_t nx, index_t ny) {
  std::vector<double> result;
  const double pi = std::acos(-1.0);
  for (index_t j = 1; j <= ny; ++j) {
    for (index_t i = 1; i <= nx; ++i) result.push_back(std::sin(pi * i / (nx + 1)) * std::sin(pi * j / (ny + 1)));
  }
  return result;
}

[[nodiscard]] inline std::vector<double> times(double factor, std::vector<double> x) {
  for (double& value : x) value *= factor;
  return x;
}

/// Columns of every difficulty for poisson2d(nx, ny), `count` of them: an eigenvector, a random one, 0, one with a NaN,
/// one of a tiny and one of a huge scale, an exact guess, a guess that is infinite, then random ones.
[[nodiscard]] inline Sides sides_of_poisson(index_t nx, index_t ny, int count) {
  const auto n = static_cast<std::size_t>(nx) * static_cast<std::size_t>(ny);
  const std::vector<double> zero(n, 0.0);
  const Csr<double> a = poisson2d<double>(nx, ny);
  Sides sides;
  const auto add = [&](std::vector<double> b, std::vector<double> x) {
    if (static_cast<int>(sides.b.size()) == count) return;
    sides.b.push_back(std::move(b));
    sides.x.push_back(std::move(x));
  };
  add(poisson_mode(nx, ny), zero);
  add(random_values<double>(n, 1), random_values<double>(n, 2));
  add(zero, random_values<double>(n, 3));
  std::vector<double> broken = random_values<double>(n, 4);
  broken[n / 2] = std::numeric_limits<double>::quiet_NaN();
  add(broken, zero);
  add(times(1e-200, random_values<double>(n, 5)), zero);
  add(times(1e200, random_values<double>(n, 6)), zero);
  const std::vector<double> known = random_values<double>(n, 7);
  add(product(a.view(), known), known);
  std::vector<double> infinite = zero;
  infinite.back() = std::numeric_limits<double>::infinity();
  add(random_values<double>(n, 8), infinite);
  while (static_cast<int>(sides.b.size()) < count) add(random_values<double>(n, 20 + sides.b.size()), zero);
  return sides;
}

}  // namespace tessera::testing
