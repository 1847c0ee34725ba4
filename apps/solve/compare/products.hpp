/// \file
/// Kernels checked, then timed.
#pragma once

#include "compare/candidate.hpp"
#include "compare/compare_outcome.hpp"
#include "problem.hpp"
#include "progress.hpp"

#include <vector>

namespace tessera::cli {

/// Bytes that y = A x has to move at least: nonzeros, columns and row offsets once, x once where a column is not empty,
/// y once.
template <class T>
[[nodiscard]] std::uint64_t least_product_bytes(const MatrixStatistics& matrix, bool pattern);

/// Fills outcome.products, in the order of the candidates, and the yardsticks. A candidate that throws or gives a wrong
/// result gets a row with the reason and no times. Ends early after a signal.
template <class T>
void compare_products(const CompareSettings& settings, const Problem<T>& problem,
                      const std::vector<Candidate<T>>& candidates, Progress& progress, CompareOutcome& outcome);

}  // namespace tessera::cli
