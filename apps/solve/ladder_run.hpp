/// \file
/// A run without a method and a preconditioner of the user's choice: the ladder (tessera/ladder.hpp).
#pragma once

#include "outcome.hpp"
#include "settings.hpp"

#include "tessera/ladder.hpp"
#include "tessera/spmv.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <string>

namespace tessera::cli {

/// Whether a run climbs the ladder: --precond auto, with --method auto or a Krylov method that all rungs then use.
[[nodiscard]] bool climbs(const RunSettings& settings);

/// The method that all rungs have to use; nothing for `auto`, and for methods that are no rungs.
[[nodiscard]] std::optional<RungMethod> rung_method(Method method);

/// Solves A x = b with b and x on the host, and fills in what the outcome says of method, preconditioner and accuracy.
/// \param solver with the observer of the run
template <class T>
void climb(const RunSettings& settings, const SpmvPlan<T>& A, std::span<const T> b, std::span<T> x,
           const SolverOptions& solver, RunOutcome& outcome);

/// Budget of predictions that nothing but a report needs: as long as the work before them took, but this at least.
[[nodiscard]] inline double outlook_seconds(double seconds_before) { return std::max(0.25, seconds_before); }

/// ladder_facts() as far as a budget allows.
struct BudgetedFacts {
  LadderFacts facts;
  std::string given_up;  ///< what was given up, and when; empty where nothing was
};

/// Where `seconds` are over or a signal arrived, the prediction of direct factors is given up, or the whole analysis.
/// \param matrix on the host \param predict as of ladder_facts()
template <class T>
[[nodiscard]] BudgetedFacts facts_within(double seconds, const MatrixStatistics& statistics, const CsrView<T>& matrix,
                                         bool predict);

/// After a run that did not converge: the first rung of the ladder that it did not try, as a command to type; empty
/// where there is none. What is not known of the matrix is looked for as long as a tenth of the run took, or 50 ms;
/// after a limit of time it is not. \param matrix on the host
/// \param predict whether the direct solver may be weighed, which takes memory
/// \param seconds of the run so far
template <class T>
void advise(const CsrView<T>& matrix, bool predict, double seconds, RunOutcome& outcome);

}  // namespace tessera::cli
