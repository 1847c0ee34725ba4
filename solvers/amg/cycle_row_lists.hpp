/// \file
/// Row lists of the multigrid cycle on a GPU: the relative columns of the rows of the finest matrix, and where they
/// repeat too its values, once per list (spmv/patterns/). Columns are read from memory by no row.
#pragma once

#include "core/detail_namespace.hpp"
#include "tessera/array.hpp"
#include "tessera/csr.hpp"

#include <cstdint>

namespace tessera::cuda {

/// An entry of a list, read by one load: column - row, and the value of row templates. The first entry of a list holds
/// the number of those that follow.
template <class V>
struct alignas(2 * sizeof(V)) AmgListEntry {
  index_t column;
  V value;
};

/// Lists and the list of each row.
template <class V>
struct AmgRowLists {
  int stride = 0;                  ///< entries of the longest list and one; 0: there are no lists
  bool has_values = false;         ///< row templates
  Array<AmgListEntry<V>> entries;  ///< list by list, then amg_entries_in_flight zeros
  Array<std::uint8_t> codes;       ///< per row

  [[nodiscard]] bool exist() const noexcept { return stride > 0; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return entries.bytes() + codes.bytes(); }
};

/// Waits. \returns no lists where they do not name all rows \throws OutOfMemory, CudaError
template <class V, class T>
[[nodiscard]] AmgRowLists<V> find_row_lists(const Csr<T>& a);

/// Whether new values of the matrix, rounded to V, are those of the lists, bit by bit. Waits. \param lists with values
template <class V, class T>
[[nodiscard]] bool lists_hold(const AmgRowLists<V>& lists, const Csr<T>& a);

}  // namespace tessera::cuda
