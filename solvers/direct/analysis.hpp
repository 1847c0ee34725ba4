/// \file
/// The order and the predicted cost of a direct solution.
#pragma once

#include "preprocess/symmetric_pattern.hpp"
#include "solvers/direct/column_matrix.hpp"
#include "tessera/direct.hpp"

#include <vector>

namespace tessera::detail {

struct DirectAnalysis {
  DirectPrediction prediction;
  DirectOrder order;
  PowerScaling scaling;
};

/// What automatic chooses by, besides predictions.
struct DirectTraits {
  PowerScaling scaling;              ///< of the matrix as it is
  bool has_one_sign = false;         ///< the diagonal is full, without zeros, and of one sign
  bool has_strong_diagonal = false;  ///< every diagonal entry is a hundredth or more of its scaled column's largest
};

[[nodiscard]] DirectTraits traits_of(const DirectSystem& system);

/// Where LU would find a weak diagonal, rows are permuted first, and scaled, so that a matching with the largest
/// product becomes the diagonal.
/// \param method automatic chooses
/// \param limits on orders by AMD
/// \throws InvalidMatrix for a structurally singular matrix; BudgetExceeded
[[nodiscard]] DirectAnalysis analyze_direct(const DirectSystem& system, const DirectTraits& traits, DirectMethod method,
                                            const FillLimits& limits);

/// The scaling of new values for an order that is kept. \throws as analyze_direct()
[[nodiscard]] PowerScaling scaling_like(const DirectSystem& system, const DirectOrder& order);

}  // namespace tessera::detail
