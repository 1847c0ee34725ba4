/// \file
/// Multivectors as kernels of a GPU see them: a place and two strides.
#pragma once

#include "spmv/multi_vector/csr_product.hpp"
#include "tessera/multi_vector.hpp"

#include <algorithm>
#include <cstdint>

namespace tessera::cuda {

template <class T>
struct StridedVectors {
  T* first;
  std::int64_t row_stride;
  std::int64_t column_stride;

  [[nodiscard]] __device__ T* at(std::int64_t row, int column) const {
    return first + row * row_stride + column * column_stride;
  }
};

/// Y = α S + β Y; the old Y is not read when β = 0.
template <class T>
struct StridedUpdate {
  StridedVectors<T> y;
  T alpha;
  T beta;

  __device__ void store(std::int64_t row, int column, T sum) const {
    T* const target = y.at(row, column);
    *target = beta == T{0} ? alpha * sum : alpha * sum + beta * *target;
  }
};

/// body(x, y, columns) for each panel of at most panel_columns columns.
template <class T, class Body>
void for_each_panel(const MultiVectorView<const T>& x, const MultiVectorView<T>& y, Body&& body) {
  for (std::int64_t column = 0; column < y.columns(); column += detail::panel_columns) {
    const auto columns = static_cast<int>(std::min<std::int64_t>(detail::panel_columns, y.columns() - column));
    body(StridedVectors<const T>{x.data() + column * x.column_stride(), x.row_stride(), x.column_stride()},
         StridedVectors<T>{y.data() + column * y.column_stride(), y.row_stride(), y.column_stride()}, columns);
  }
}

}  // namespace tessera::cuda
