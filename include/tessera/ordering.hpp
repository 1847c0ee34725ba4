/// \file
/// Orderings of the rows and columns of a square matrix by one permutation, for factors with few entries.
#pragma once

#include "tessera/csr.hpp"

#include <span>
#include <string_view>
#include <vector>

namespace tessera {

enum class Ordering {
  natural,  ///< as the matrix is
  rcm,      ///< reverse Cuthill-McKee: small bandwidth; good for IC and ILU of low fill
  amd,  ///< approximate minimum degree (P. Amestoy, T. A. Davis, I. S. Duff, SIAM J. Matrix Anal. Appl. 17(4), 1996)
};

[[nodiscard]] std::string_view to_string(Ordering ordering);  ///< "natural", "rcm", "amd"

/// A permutation p of 0 ... n-1: new row k is the old row p[k]. Of the pattern of A + Aᵀ, diagonal left out.
/// \param matrix square, on the host
/// \throws DimensionError for a matrix that is not square
/// rcm: O(nnz log(max row)), from a pseudo-peripheral vertex of every component (A. George, J. W. H. Liu, ACM Trans.
/// Math. Softw. 5(3), 1979). amd: Eigen's, O(nnz) memory.
template <class T>
[[nodiscard]] std::vector<index_t> ordering(const CsrView<T>& matrix, Ordering kind);

extern template std::vector<index_t> ordering(const CsrView<float>&, Ordering);
extern template std::vector<index_t> ordering(const CsrView<double>&, Ordering);

/// P A Pᵀ: its entry (k, l) is the entry (order[k], order[l]) of A. So x of P A Pᵀ x = b holds in x[k] what belongs to
/// row order[k] of A, and so does b. O(nnz log(max row)), with all threads of the host
/// \param matrix square, on the host \param order a permutation of 0 ... n-1, that of ordering() say
/// \throws DimensionError for other sizes; InvalidArgument naming the first number that is out of range or occurs twice
template <class T>
[[nodiscard]] Csr<T> permuted(const CsrView<T>& matrix, std::span<const index_t> order);

extern template Csr<float> permuted(const CsrView<float>&, std::span<const index_t>);
extern template Csr<double> permuted(const CsrView<double>&, std::span<const index_t>);

}  // namespace tessera
