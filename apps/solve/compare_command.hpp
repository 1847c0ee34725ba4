/// \file
/// `compare`: its options understood, and the command from the matrix to the written results, for a given table of
/// kernels.
#pragma once

#include "errors.hpp"
#include "outcome.hpp"

#include "compare/comparison.hpp"
#include "tessera/ordering.hpp"

#include <optional>
#include <string>
#include <vector>

namespace tessera::cli {

struct CompareSettings {
  ProblemSettings problem;
  MachineSettings machine;
  OutputSettings output;
  std::string kernels;
  VectorSettings rhs;
  bool rhs_given = false;  ///< --rhs was named
  VectorSettings x0;
  std::optional<Ordering> ordering;       ///< of all kernels; nothing: not named, that of the file
  std::vector<PrecondSettings> preconds;  ///< go into `comparison` once the matrix is known
  compare::Settings comparison;
};

/// \throws UsageError naming option and text, also for an option of a solver that does not take part
[[nodiscard]] CompareSettings compare_settings(const Options& options);

/// The candidates that --kernels names, in the order of the table; the reference always takes part, as the first.
/// \param wanted "all", or names separated by commas
/// \throws UsageError for an unknown name (naming the nearest), for one given twice, and for one that is unavailable
template <class T>
[[nodiscard]] std::vector<compare::Candidate<T>> choose_candidates(std::vector<compare::Candidate<T>> table,
                                                                   const std::string& wanted);

/// What the reports are made from.
struct CompareOutcome : CommonOutcome, compare::Outcome {
  using CommonOutcome::warnings;
  bool rhs_replaced = false;  ///< ones were in the null space of A, and no right-hand side was named
};

/// The exit code that the rows ask for: 8 for a failure or a clear loss, 130 or 143 after a signal, else that of the
/// worst solve.
[[nodiscard]] ExitCode exit_code_of(const compare::Outcome& outcome, int signal, bool exit_zero);

/// Loads the matrix, compares the candidates and writes the outputs of the settings.
/// \returns the exit code; throws what loading and compare_kernels() throw
template <class T>
[[nodiscard]] ExitCode compare_and_report(const CompareSettings& settings,
                                          const std::vector<compare::Candidate<T>>& candidates, const Options& options,
                                          const Invocation& invocation);

}  // namespace tessera::cli
