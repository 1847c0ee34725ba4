/// \file
/// The whole comparison, without reading options or writing results, so that tests can hand in their own kernels.
#pragma once

#include "compare/candidate.hpp"
#include "compare/compare_outcome.hpp"
#include "problem.hpp"
#include "progress.hpp"

#include <vector>

namespace tessera::cli {

/// Checks, times and sorts. \param candidates the reference among them, if it shall be one
/// \throws DimensionError when solvers are asked for and the matrix is not square; InvalidMatrix when the baseline is
///         of another matrix; what vectors and preconditioner throw; OutOfMemory
template <class T>
[[nodiscard]] CompareOutcome compare(const CompareSettings& settings, const Problem<T>& problem,
                                     const std::vector<Candidate<T>>& candidates, Progress& progress);

}  // namespace tessera::cli
