/// \file
/// A run without a method and a preconditioner of the user's choice: the ladder (tessera/ladder.hpp).
#pragma once

#include "outcome.hpp"
#include "settings.hpp"

#include "tessera/ladder.hpp"
#include "tessera/spmv.hpp"

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

/// After a run that did not converge: the first rung of the ladder that it did not try, as a command to type; empty
/// where there is none. \param matrix on the host
/// \param predict whether the direct solver may be weighed, which takes memory
template <class T>
[[nodiscard]] std::string next_command(const RunOutcome& outcome, const CsrView<T>& matrix, bool predict);

}  // namespace tessera::cli
