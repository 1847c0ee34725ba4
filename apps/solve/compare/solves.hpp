/// \file
/// Whole solves with each kernel: set-up, iteration, and the residual computed apart.
#pragma once

#include "compare/candidate.hpp"
#include "compare/compare_outcome.hpp"
#include "compare/solve_task.hpp"
#include "progress.hpp"

#include <vector>

namespace tessera::cli {

/// Fills outcome.solves: each solver of the settings with each candidate. A kernel that failed among outcome.products
/// (which come first, in the order of the candidates) gets a row that says so and is not run. A solve that says it
/// converged and whose residual does not bear that out fails.
template <class T>
void compare_solves(const CompareSettings& settings, const SolveInputs<T>& inputs,
                    const std::vector<Candidate<T>>& candidates, Progress& progress, CompareOutcome& outcome);

}  // namespace tessera::cli
