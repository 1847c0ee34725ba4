#include "inspect.hpp"
#include "problem.hpp"

#include "support/system.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace tessera::cli {

double symmetry_tolerance(Precision precision) { return precision == Precision::fp64 ? 0x1p-40 : 0x1p-18; }

ValueSymmetry value_symmetry(const InspectOutcome& outcome) {
  const MatrixDetails& d = outcome.details;
  if (outcome.matrix.symmetry == Symmetry::numerical) return ValueSymmetry::exact;
  const index_t n = std::min(outcome.matrix.rows, outcome.matrix.cols);
  const bool zero_diagonal = outcome.matrix.diagonal_missing + outcome.matrix.diagonal_zero == n;
  if (outcome.components && d.off_diagonal > 0 && d.opposite_pairs == d.off_diagonal && zero_diagonal) {
    return ValueSymmetry::skew;
  }
  const bool comparable = outcome.components && outcome.matrix.not_finite == 0;
  return comparable && d.asymmetry <= symmetry_tolerance(outcome.precision) ? ValueSymmetry::rounding
                                                                            : ValueSymmetry::none;
}

bool looks_like_graph(const InspectOutcome& outcome) {
  const MatrixStatistics& m = outcome.matrix;
  if (!outcome.components || m.nnz == 0) return false;
  return outcome.details.ones == m.nnz && m.diagonal_missing > 0;
}

namespace {

/// A file name as a shell takes it.
[[nodiscard]] std::string shell_word(const std::string& name) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
  if (!name.empty() && name.find_first_not_of(plain) == std::string::npos) return name;
  std::string word = "'";
  for (const char c : name) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

[[nodiscard]] std::string source_words(const InspectOutcome& outcome) {
  const std::string words = outcome.from_file ? shell_word(outcome.problem) : "--" + outcome.problem;
  return words + (outcome.transposed ? " --transpose" : "");
}

void warn_about_values(const InspectOutcome& outcome, Warnings& warnings) {
  const MatrixStatistics& m = outcome.matrix;
  const MatrixDetails& d = outcome.details;
  if (value_symmetry(outcome) == ValueSymmetry::rounding) {
    warnings.push_back(
        {"W101", fmt::format("symmetric up to rounding only (|a_ij - a_ji| <= {:.2g} max |a|): --method auto takes "
                             "bicgstab; --method cg will do if the matrix is meant to be symmetric",
                             d.asymmetry)});
  }
  constexpr double wide = 1e8;
  if (d.row_norm_min > 0.0 && d.row_norm_max / d.row_norm_min > wide) {
    warnings.push_back({"W102", fmt::format("row norms span a factor of {:.1e}: ||b - A x|| is governed by the largest "
                                            "rows; scale the rows, and check the solution, not the residual alone",
                                            d.row_norm_max / d.row_norm_min)});
  }
  const index_t holes = m.diagonal_missing + m.diagonal_zero;
  if (holes > 0) {
    warnings.push_back({"W103", fmt::format("{} of {} diagonal entries are missing or zero: --precond jacobi refuses "
                                            "the matrix",
                                            holes, std::min(m.rows, m.cols))});
  }
  if (m.symmetry == Symmetry::numerical && m.diagonal_negative > 0) {
    const bool all = m.diagonal_negative == m.rows;
    warnings.push_back({"W104", all ? std::string("symmetric with a negative diagonal: if -A is positive definite, "
                                                  "solve that with cg")
                                    : fmt::format("symmetric, but {} of {} diagonal entries are negative: indefinite, "
                                                  "cg breaks down",
                                                  m.diagonal_negative, m.rows)});
  }
}

void warn_about_positions(const InspectOutcome& outcome, Warnings& warnings) {
  const MatrixStatistics& m = outcome.matrix;
  if (m.empty_rows + m.empty_cols > 0) {
    warnings.push_back({"W105", fmt::format("{} empty rows and {} empty columns: the matrix is singular", m.empty_rows,
                                            m.empty_cols)});
  }
  if (outcome.components->count > 1 && m.nnz > 0) {
    warnings.push_back(
        {"W106", fmt::format("the matrix falls into {} independent blocks, the largest with {} of {} rows",
                             outcome.components->count, outcome.components->largest, m.rows)});
  }
}

}  // namespace

Advice advise(const InspectOutcome& outcome) {
  const MatrixStatistics& m = outcome.matrix;
  Advice advice;
  if (!outcome.components) {
    advice.method_reason = fmt::format("{} x {}: A x = b and PageRank need a square matrix", m.rows, m.cols);
    return advice;
  }
  if (looks_like_graph(outcome)) {
    advice.method = "pagerank";
    advice.method_reason = fmt::format("it looks like a graph: {}, {} of {} diagonal entries missing",
                                       outcome.pattern ? "no values" : "all values are 1", m.diagonal_missing, m.rows);
    advice.command = "solve pagerank " + source_words(outcome);
    return advice;
  }
  const support::MethodChoice method = support::choose_method(Method::automatic, m);
  const support::PrecondChoice precond = support::choose_precond(Precond::automatic, m);
  advice.method = to_string(method.method);
  advice.method_reason = method.reason;
  advice.precond = to_string(precond.precond);
  advice.precond_reason = precond.reason;
  advice.command =
      fmt::format("solve {} --method {} --precond {}", source_words(outcome), advice.method, advice.precond);
  return advice;
}

Warnings inspect_warnings(const InspectOutcome& outcome) {
  Warnings warnings;
  warn_about_duplicates(outcome, warnings);
  if (!outcome.components || looks_like_graph(outcome)) return warnings;
  warn_about_values(outcome, warnings);
  warn_about_positions(outcome, warnings);
  return warnings;
}

}  // namespace tessera::cli
