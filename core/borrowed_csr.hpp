/// \file
/// A Csr on the memory of a view.
#pragma once

#include "tessera/array.hpp"
#include "tessera/csr.hpp"
#include "tessera/device.hpp"

#include <span>

namespace tessera::detail {

/// The matrix of a view as a Csr, without a copy: for functions that take a Csr. The memory must outlive it and every
/// matrix that shares its structure. O(1). \param device where the view lies
template <class T>
[[nodiscard]] Csr<T> borrow_csr(const CsrView<T>& matrix, const Device& device) {
  // A Csr never writes its arrays.
  const auto adopt = [&device]<class U>(std::span<const U> memory) {
    return Array<U>::adopt({const_cast<U*>(memory.data()), memory.size()}, nullptr, device);
  };
  if (matrix.is_pattern()) {
    return Csr<T>::pattern(matrix.rows, matrix.cols, adopt(matrix.row_offsets), adopt(matrix.columns), Check::trusted);
  }
  return Csr<T>(matrix.rows, matrix.cols, adopt(matrix.row_offsets), adopt(matrix.columns), adopt(matrix.values),
                Check::trusted);
}

}  // namespace tessera::detail
