/// \file
/// The rows of one device, split for products that overlap with the halo (Y. Saad, Iterative Methods for Sparse Linear
/// Systems, 2nd ed., section 11.5): entries in own columns, and entries in columns of other devices, whose distinct
/// columns are the halo.
#pragma once

#include "solvers/distributed/halo_columns.hpp"
#include "tessera/several_devices.hpp"

#include <cstdint>

namespace tessera::detail {

template <class T>
struct RowBlock : HaloColumns {
  Csr<T> diagonal;               ///< own rows x own columns
  Csr<T> off_diagonal;           ///< boundary rows x halo
  Array<index_t> boundary_rows;  ///< of off_diagonal, among the own rows, ascending
};

/// Rows of `part`. O(cols + nnz of its rows), by the threads of `host`; bytes of one mark and one index per column
/// beside the result. \param matrix square, on the host
template <class T>
[[nodiscard]] RowBlock<T> make_row_block(const CsrView<T>& matrix, const Partition& partition, int part,
                                         const Device& host);

extern template RowBlock<float> make_row_block(const CsrView<float>&, const Partition&, int, const Device&);
extern template RowBlock<double> make_row_block(const CsrView<double>&, const Partition&, int, const Device&);

}  // namespace tessera::detail
