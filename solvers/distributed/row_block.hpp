/// \file
/// The rows of one device, split for products that overlap with the halo (Y. Saad, Iterative Methods for Sparse Linear
/// Systems, 2nd ed., section 11.5): entries in own columns, and entries in columns of other devices, whose distinct
/// columns are the halo.
#pragma once

#include "tessera/several_devices.hpp"

#include <cstdint>
#include <vector>

namespace tessera::detail {

template <class T>
struct RowBlock {
  Csr<T> diagonal;               ///< own rows x own columns
  Csr<T> off_diagonal;           ///< boundary rows x halo
  Array<index_t> boundary_rows;  ///< of off_diagonal, among the own rows, ascending
  std::vector<index_t> halo;     ///< columns of the matrix, ascending
  /// Where the halo of every part begins in `halo`, and its size.
  std::vector<index_t> halo_offsets;

  /// Own rows that part `other` needs, in the order of its halo. \param of_other its block
  [[nodiscard]] static std::vector<index_t> rows_for(const RowBlock& of_other, const Partition& partition, int part);
};

/// Rows of `part`. O(cols + nnz of its rows), by the threads of `host`; bytes of one mark and one index per column
/// beside the result. \param matrix square, on the host
template <class T>
[[nodiscard]] RowBlock<T> make_row_block(const CsrView<T>& matrix, const Partition& partition, int part,
                                         const Device& host);

extern template struct RowBlock<double>;
extern template RowBlock<double> make_row_block(const CsrView<double>&, const Partition&, int, const Device&);

}  // namespace tessera::detail
