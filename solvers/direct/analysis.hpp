/// \file
/// The order and the predicted cost of a direct solution.
#pragma once

#include "solvers/direct/column_matrix.hpp"
#include "tessera/direct.hpp"

#include <vector>

namespace tessera::detail {

struct DirectAnalysis {
  DirectPrediction prediction;
  std::vector<index_t> order;  ///< new row and column k is the old order[k]
};

/// What automatic chooses by, besides predictions.
struct DirectTraits {
  bool is_symmetric = false;
  bool has_one_sign = false;         ///< the diagonal is full, without zeros, and of one sign
  bool has_strong_diagonal = false;  ///< every diagonal entry is a hundredth or more of its scaled column's largest
};

[[nodiscard]] DirectTraits traits_of(const ColumnMatrix& matrix, const PowerScaling& scaling, bool is_symmetric);

/// \param columns_of, matrix the rows and the columns of a square matrix
/// \param method automatic chooses
[[nodiscard]] DirectAnalysis analyze_direct(const PatternLists& columns_of, const ColumnMatrix& matrix,
                                            const DirectTraits& traits, DirectMethod method);

}  // namespace tessera::detail
