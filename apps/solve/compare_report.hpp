/// \file
/// A comparison as tables and text, as CSV and as JSON.
#pragma once

#include "compare_command.hpp"
#include "report_json.hpp"
#include "text_table.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::cli {

/// One line of CSV (RFC 4180, but lines end in \n): cells with commas, quotes or line breaks are quoted.
[[nodiscard]] std::string csv_line(const std::vector<std::string>& cells);

/// One row per kernel, a second one where cold caches were measured too. The rows are in the order of the outcome.
[[nodiscard]] TextTable product_table(const CompareOutcome& outcome);

/// The rows of one solver.
[[nodiscard]] TextTable solve_table(const CompareOutcome& outcome, compare::Solver solver);

/// compare::Solvers that have rows, each once, in the order of the rows.
[[nodiscard]] std::vector<compare::Solver> solvers_of(const CompareOutcome& outcome);

/// "cg with precond jacobi, until ||b - A x|| <= 2.5e-06"
[[nodiscard]] std::string solver_title(const CompareOutcome& outcome, compare::Solver solver);

/// What the tables do not show: failures with their reasons, times that stayed noisy, losses against a baseline.
[[nodiscard]] std::vector<std::string> remarks(const CompareOutcome& outcome);

/// \param width of the terminal that it is for, 0 for none
[[nodiscard]] std::string compare_summary(const CompareOutcome& outcome, std::size_t width = 0);
[[nodiscard]] std::string compare_markdown(const CompareOutcome& outcome);
/// A heading and one line per row, products and solves alike; cells that do not apply are empty. Numbers in full.
[[nodiscard]] std::string compare_csv(const CompareOutcome& outcome);

/// Schema solve.compare/1. \param code the exit code that the program is going to return
[[nodiscard]] Json compare_json(const CompareOutcome& outcome, const Options& options, const Invocation& invocation,
                                ExitCode code);

}  // namespace tessera::cli
