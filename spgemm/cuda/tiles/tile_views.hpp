/// \file
/// Matrices on a GPU as the workflow `tiles` looks at them.
#pragma once

#include "preprocess/tile_merge.hpp"
#include "tessera/csr.hpp"

namespace tessera::cuda {

template <class T>
[[nodiscard]] detail::CsrStructurePointers structure_of(const CsrView<T>& matrix) noexcept {
  return {matrix.rows, matrix.row_offsets.data(), matrix.columns.data()};
}

/// Whether two matrices are one.
template <class T>
[[nodiscard]] bool same_arrays(const CsrView<T>& a, const CsrView<T>& b) noexcept {
  return a.rows == b.rows && a.cols == b.cols && a.row_offsets.data() == b.row_offsets.data() &&
         a.columns.data() == b.columns.data() && a.values.data() == b.values.data();
}

}  // namespace tessera::cuda
