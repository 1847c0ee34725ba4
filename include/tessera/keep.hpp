/// \file
/// Sparsification of a matrix by rows: a drop tolerance and a limit of entries per row, the dual rule of ILUT
/// (Saad, ILUT).
#pragma once

#include "tessera/csr.hpp"
#include "tessera/types.hpp"

namespace tessera {

/// Which entries of a row stay. Entries that are not finite always do, beyond `most` if need be, and so does the
/// stored diagonal entry where `diagonal` is set; both count in `most`.
struct Keep {
  double tolerance = 0.0;  ///< drop |a_ij| < tolerance max_j |a_ij|, the maximum over the finite entries of row i
  index_t most = 0;        ///< entries per row: the largest magnitudes, of equal ones the first columns; 0: all
  bool diagonal = true;    ///< the diagonal entry stays, whatever its value

  /// Whether every entry of every matrix stays.
  [[nodiscard]] bool is_all() const noexcept { return tolerance == 0.0 && most == 0; }
};

namespace detail {
/// \throws InvalidArgument as keep_entries()
void check_keep(const Keep& keep);
}  // namespace detail

/// The entries of A that stay, in the order of A, on its device; host and GPU keep the same ones. A pattern, whose
/// entries count as ones, stays a pattern. Waits for a GPU.
/// \param a m x n, on any device \param first_row number of row 0 of A, for slices of a larger matrix: the diagonal
/// entry of row i is in column first_row + i \throws InvalidArgument for a tolerance that is negative or not finite, or
/// a negative `most` or `first_row`; OutOfMemory, CudaError O(nnz) work: rows of more than `most` candidates are not
/// sorted, the `most`-th magnitude is selected
template <class T>
[[nodiscard]] Csr<T> keep_entries(const Csr<T>& a, const Keep& keep, index_t first_row = 0);

}  // namespace tessera
