/// \file
/// A comparison as tables and as text.
#pragma once

#include "compare/compare_outcome.hpp"
#include "compare/table.hpp"

#include <string>
#include <vector>

namespace tessera::cli {

/// One row a kernel, a second one where cold caches were measured too. The rows are in the order of the outcome.
[[nodiscard]] TextTable product_table(const CompareOutcome& outcome);

/// The rows of one solver.
[[nodiscard]] TextTable solve_table(const CompareOutcome& outcome, Solver solver);

/// Solvers that have rows, each once, in the order of the rows.
[[nodiscard]] std::vector<Solver> solvers_of(const CompareOutcome& outcome);

/// "cg with precond jacobi, until ||b - A x|| <= 2.5e-06"
[[nodiscard]] std::string solver_title(const CompareOutcome& outcome, Solver solver);

/// What the tables do not show: failures with their reasons, times that stayed noisy, losses against a baseline.
[[nodiscard]] std::vector<std::string> remarks(const CompareOutcome& outcome);

[[nodiscard]] std::string compare_summary(const CompareOutcome& outcome);
[[nodiscard]] std::string compare_markdown(const CompareOutcome& outcome);
/// A heading and one line a row, products and solves alike; cells that do not apply are empty. Numbers in full.
[[nodiscard]] std::string compare_csv(const CompareOutcome& outcome);

}  // namespace tessera::cli
