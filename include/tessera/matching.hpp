/// \file
/// Matchings of rows with columns along the nonzeros of a square matrix: structural rank, and the matching with the
/// largest product of magnitudes, which brings large entries to the diagonal.
#pragma once

#include "tessera/csr.hpp"
#include "tessera/scaling.hpp"

#include <vector>

namespace tessera {

/// Column that each row is matched with; -1 for a row that is left over.
struct Matching {
  std::vector<index_t> column_of_row;  ///< rows entries
  index_t cardinality = 0;             ///< matched rows

  [[nodiscard]] bool is_perfect() const noexcept { return cardinality == static_cast<index_t>(column_of_row.size()); }
};

/// A matching of the largest cardinality, which is the structural rank: no values make the rank larger. Explicit zeros
/// count as no entry. Starts with pairs of which one has no other partner left (R. M. Karp, M. Sipser, FOCS 1981), then
/// augmenting paths (J. E. Hopcroft, R. M. Karp, SIAM J. Comput. 2(4), 1973).
/// \param matrix on the host, also rectangular
/// O(nnz sqrt(rows)) at worst, near O(nnz) in practice; iterative, so long paths need no deep stack. On one thread, 32
/// bytes per row, 12 per column and 4 per nonzero.
template <class T>
[[nodiscard]] Matching maximum_matching(const CsrView<T>& matrix);

/// The perfect matching with the largest product of |a_ij|, and the scaling that follows from its dual variables: in
/// Â = R A C all magnitudes are at most 1 (to rounding), and 1 where rows are matched; where that takes factors beyond
/// the range of double, they are limited and entries that are not matched may be larger (I. S. Duff, J. Koster, "On
/// algorithms for permuting large entries to the diagonal of a sparse matrix", SIAM J. Matrix Anal. Appl. 22(4), 2001).
/// Where that takes too long, some matched entries are smaller than 1 in Â and the product need not be the largest.
struct ProductMatching {
  Matching matching;  ///< of maximum cardinality; of maximum product too, if is_optimal
  Scaling scaling;    ///< all 1 unless the matching is perfect
  /// min_i |â_ii| with the scaling above, a missing entry being 0: how good the diagonal is without a permutation.
  /// 1 for the 0 x 0 matrix.
  double smallest_diagonal = 0.0;
  /// The matching is perfect and its product is the largest, which the scaling proves.
  bool is_optimal = false;
};

/// Duals from the maxima of columns and rows, as many rows as possible matched along entries that these make 1
/// (maximum_matching() of them). If rows are left over: first the pairs that are in every perfect matching, then
/// shortest augmenting paths with a heap, searched from all rows left over at once. The searches read at most some 11
/// entries per nonzero and 500 000 more, a count, so that results repeat. Rows left over then are matched along entries
/// of at least 0.1 in Â, and the last ones along any.
/// O(nnz (log n + sqrt n)) at worst, O(nnz log n) in practice. On one thread, up to 100 bytes per row and 12 per
/// nonzero.
///
/// \param matrix square, on the host. Explicit zeros count as no entry
/// \throws DimensionError for a matrix that is not square; InvalidMatrix naming the first row that holds NaN or
/// infinity
template <class T>
[[nodiscard]] ProductMatching maximum_product_matching(const CsrView<T>& matrix);

extern template Matching maximum_matching(const CsrView<float>&);
extern template Matching maximum_matching(const CsrView<double>&);
extern template ProductMatching maximum_product_matching(const CsrView<float>&);
extern template ProductMatching maximum_product_matching(const CsrView<double>&);

}  // namespace tessera
