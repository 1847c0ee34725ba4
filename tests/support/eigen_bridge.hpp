/// \file
/// Tessera matrices as Eigen matrices, for independent checks.
#pragma once

#include "tessera/csr.hpp"

#include <Eigen/SparseCore>

#include <vector>

namespace tessera::testing {

template <class T>
using EigenSparse = Eigen::SparseMatrix<T, Eigen::RowMajor, int>;

template <class T>
[[nodiscard]] EigenSparse<T> to_eigen(const CsrView<T>& a) {
  std::vector<Eigen::Triplet<T, int>> entries;
  entries.reserve(a.columns.size());
  for (index_t i = 0; i < a.rows; ++i) {
    const auto row = static_cast<std::size_t>(i);
    for (offset_t k = a.row_offsets[row]; k < a.row_offsets[row + 1]; ++k) {
      entries.emplace_back(i, a.columns[static_cast<std::size_t>(k)], a.value(k));
    }
  }
  EigenSparse<T> result(a.rows, a.cols);
  result.setFromTriplets(entries.begin(), entries.end());
  return result;
}

}  // namespace tessera::testing
