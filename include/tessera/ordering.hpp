/// \file
/// Orderings of the rows and columns of a square matrix by one permutation: for factors with few entries, and for
/// products whose reads of x lie together.
#pragma once

#include "tessera/array.hpp"
#include "tessera/csr.hpp"
#include "tessera/device.hpp"

#include <span>
#include <string_view>
#include <vector>

namespace tessera {

enum class Ordering {
  natural,  ///< as the matrix is
  rcm,      ///< reverse Cuthill-McKee: small bandwidth; good for IC and ILU of low fill
  amd,  ///< approximate minimum degree (P. Amestoy, T. A. Davis, I. S. Duff, SIAM J. Matrix Anal. Appl. 17(4), 1996)
  /// Degree-based grouping: columns that many rows read come first, so that the part of x that is read most often is
  /// small enough for a cache (P. Faldu, J. Diamond, B. Grot, A Closer Look at Lightweight Graph Reordering, IISWC
  /// 2019). For products of graphs with hubs; of no use for factors
  degree,
};

[[nodiscard]] std::string_view to_string(Ordering ordering);  ///< "natural", "rcm", "amd", "degree"

/// A permutation p of 0 ... n-1: new row k is the old row p[k]. rcm and amd: of the pattern of A + Aᵀ, diagonal left
/// out.
/// \param matrix square, on the host
/// \throws DimensionError for a matrix that is not square
/// rcm: O(nnz log(max row)), from a pseudo-peripheral vertex of every component (A. George, J. W. H. Liu, ACM Trans.
/// Math. Softw. 5(3), 1979). amd: Eigen's, O(nnz) memory.
/// degree: O(n + nnz), with all threads of the host. The degree of number j is that of column j, the entries stored in
/// it, diagonal included: that is how often a product reads x_j. Eight groups, with the mean degree d: 32 d and more,
/// 16 d to 32 d, ..., d to 2 d, d/2 to d, less; the order inside a group stays.
template <class T>
[[nodiscard]] std::vector<index_t> ordering(const CsrView<T>& matrix, Ordering kind);

extern template std::vector<index_t> ordering(const CsrView<float>&, Ordering);
extern template std::vector<index_t> ordering(const CsrView<double>&, Ordering);

/// The same where the matrix lies, so that the permutation never leaves a GPU.
/// \param matrix square, on `device` \returns n numbers on `device`, those of ordering(matrix, kind)
/// degree on a GPU: O(n + nnz), columns counted by atomic additions of integers, then one stable radix sort by the
/// group; 20 bytes per row of temporary memory. rcm and amd: the structure is copied to the host, which orders it
/// \throws DimensionError as above; OutOfMemory, CudaError
template <class T>
[[nodiscard]] Array<index_t> ordering(const CsrView<T>& matrix, Ordering kind, const Device& device);

extern template Array<index_t> ordering(const CsrView<float>&, Ordering, const Device&);
extern template Array<index_t> ordering(const CsrView<double>&, Ordering, const Device&);

/// P A Pᵀ: its entry (k, l) is the entry (order[k], order[l]) of A. So x of P A Pᵀ x = b holds in x[k] what belongs to
/// row order[k] of A, and so does b. O(nnz log(max row)), with all threads of the host. Columns ascend in every row of
/// the result, as CsrView asks for, so a row is summed in another order than in A, with other rounding.
/// \param matrix square, on the host \param order a permutation of 0 ... n-1, that of ordering() say
/// \throws DimensionError for other sizes; InvalidArgument naming the first number that is out of range or occurs twice
template <class T>
[[nodiscard]] Csr<T> permuted(const CsrView<T>& matrix, std::span<const index_t> order);

extern template Csr<float> permuted(const CsrView<float>&, std::span<const index_t>);
extern template Csr<double> permuted(const CsrView<double>&, std::span<const index_t>);

/// The same where the matrix lies, with the same bits. On a GPU, rows of up to 64, 128 or 512 entries (the longer they
/// are in the mean, the more) are sorted by a few lanes each, by counting, longer ones by a segmented radix sort:
/// O(nnz) and 20 bytes per row of temporary memory, and 16 per entry of the long rows. \param matrix square, on
/// `device` \param order on `device` \throws as permuted(); OutOfMemory, CudaError
template <class T>
[[nodiscard]] Csr<T> permuted(const CsrView<T>& matrix, std::span<const index_t> order, const Device& device);

extern template Csr<float> permuted(const CsrView<float>&, std::span<const index_t>, const Device&);
extern template Csr<double> permuted(const CsrView<double>&, std::span<const index_t>, const Device&);

}  // namespace tessera
