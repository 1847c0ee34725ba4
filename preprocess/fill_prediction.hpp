/// \file
/// Prediction of fill: elimination trees and column counts of Cholesky factors, from patterns alone.
///
/// Trees by J. W. H. Liu, "The role of elimination trees in sparse factorization", SIAM J. Matrix Anal. Appl. 11(1),
/// 1990; counts by J. R. Gilbert, E. G. Ng, B. W. Peyton, "An efficient algorithm to compute row and column counts for
/// sparse Cholesky factorization", SIAM J. Matrix Anal. Appl. 15(4), 1994, and, for AᵀA, by J. R. Gilbert, X. S. Li,
/// E. G. Ng, B. W. Peyton, BIT 41(4), 2001. O(nnz log n) at most and nearly O(nnz) time; O(rows + cols) memory.
#pragma once

#include "core/detail_namespace.hpp"
#include "tessera/csr.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace tessera::detail {

/// Rows of columns, or columns of rows: list i is indices[offsets[i]] ... indices[offsets[i + 1] - 1], in any order.
struct PatternLists {
  std::span<const offset_t> offsets;
  std::span<const index_t> indices;

  [[nodiscard]] index_t size() const noexcept {
    return offsets.empty() ? index_t{0} : static_cast<index_t>(offsets.size() - 1);
  }
  [[nodiscard]] std::span<const index_t> operator[](index_t list) const noexcept {
    const auto i = static_cast<std::size_t>(list);
    return indices.subspan(static_cast<std::size_t>(offsets[i]), static_cast<std::size_t>(offsets[i + 1] - offsets[i]));
  }
};

/// The Cholesky factor L of a symmetric pattern, by columns in their new order.
struct FillPrediction {
  std::vector<index_t> order;   ///< new column k is column order[k]: the order given, its elimination tree in postorder
  std::vector<index_t> parent;  ///< of column k in the elimination tree, above k; -1 for a root
  std::vector<offset_t> counts;  ///< entries of column k of L, the diagonal included
  std::int64_t steps = 0;        ///< work of trees and counts: entries that were read, and steps up the trees

  [[nodiscard]] offset_t factor_nnz() const noexcept;  ///< Σ counts
};

/// L of the pattern of A + Aᵀ with its rows and columns in one order; entries of the diagonal do not matter.
/// \param columns_of, rows_of  the rows and the columns of A, square
/// \param order                a permutation: new row and column k is the old order[k]
[[nodiscard]] FillPrediction predict_symmetric_fill(const PatternLists& columns_of, const PatternLists& rows_of,
                                                    std::span<const index_t> order);

/// L of AᵀA, which is not formed, for A with its columns in an order.
/// \param columns_of, rows_of  the rows and the columns of A, m x n
/// \param order                of the columns, as above
[[nodiscard]] FillPrediction predict_column_fill(const PatternLists& columns_of, const PatternLists& rows_of,
                                                 std::span<const index_t> order);

/// Rows that can hold entries of column k of L in P A = L U, for any row exchanges P: column k and its subtree meet so
/// many rows of A, of which each column below keeps one (A. George, E. Ng, "Symbolic factorization for sparse Gaussian
/// elimination with partial pivoting", SIAM J. Sci. Stat. Comput. 8(6), 1987).
/// \param fill predict_column_fill() of A
[[nodiscard]] std::vector<offset_t> predict_rows_met(const PatternLists& columns_of, const FillPrediction& fill);

}  // namespace tessera::detail
