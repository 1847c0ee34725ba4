/// Dense inverse of the coarsest matrix on the host.
#include "solvers/amg/coarsest.hpp"

#include <vector>

namespace tessera::host {

template <class T>
Array<T> dense_inverse(const CsrView<T>& a, const T* diagonal) {
  const int n = a.rows;
  const auto size = static_cast<std::size_t>(n);
  Array<T> result(std::int64_t{n} * n);
  T* const matrix = result.data();
  std::vector<T> pivot_row(size);
  std::vector<T> pivot_column(size);
  for (int row = 0; row < n; ++row) {
    for (offset_t k = a.row_offsets[static_cast<std::size_t>(row)];
         k < a.row_offsets[static_cast<std::size_t>(row) + 1]; ++k) {
      matrix[std::int64_t{row} * n + a.columns[static_cast<std::size_t>(k)]] = a.value(k);
    }
  }
  for (int p = 0; p < n; ++p) {
    const T inverse = detail::inverse_of_pivot(matrix[std::int64_t{p} * n + p], diagonal[p]);
    for (int j = 0; j < n; ++j) {
      pivot_row[static_cast<std::size_t>(j)] = matrix[std::int64_t{p} * n + j] * inverse;
      pivot_column[static_cast<std::size_t>(j)] = matrix[std::int64_t{j} * n + p];
    }
    for (int i = 0; i < n; ++i) {
      T* const row = matrix + std::int64_t{i} * n;
      const T factor = pivot_column[static_cast<std::size_t>(i)];
      for (int j = 0; j < n; ++j) {
        row[j] = detail::eliminated(i, j, p, inverse, row[j], factor, pivot_row[static_cast<std::size_t>(j)]);
      }
    }
  }
  return result;
}

template Array<float> dense_inverse(const CsrView<float>&, const float*);
template Array<double> dense_inverse(const CsrView<double>&, const double*);

}  // namespace tessera::host
