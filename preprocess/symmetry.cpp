/// Symmetry of a matrix, and the signs of its diagonal.
#include "preprocess/symmetry.hpp"

#include "core/parallel.hpp"
#include "core/structure_passes.hpp"
#include "core/sums.hpp"
#include "tessera/error.hpp"
#include "tessera/statistics.hpp"
#include "tessera/symmetry.hpp"

#include <fmt/format.h>

namespace tessera {

template <class T>
bool is_symmetric(const CsrView<T>& matrix, const Device& device) {
  if (!matrix.is_square()) return false;
  const Csr<T> other = transpose(matrix, device);
  const CsrView<T> transposed = other.view();
  const auto same = [&](auto a, auto b) { return detail::first_difference(device, a, b) < 0; };
  return same(matrix.row_offsets, transposed.row_offsets) && same(matrix.columns, transposed.columns) &&
         same(matrix.values, transposed.values);
}

template <class T>
std::int64_t first_row_without_positive_diagonal(const CsrView<T>& matrix, const Device& device) {
  if (!matrix.is_square()) {
    throw DimensionError(fmt::format("a diagonal is that of a square matrix, got {} x {}", matrix.rows, matrix.cols));
  }
  const detail::DiagonalSigns<T> diagonal{matrix.row_offsets.data(), matrix.columns.data(),
                                          matrix.is_pattern() ? nullptr : matrix.values.data()};
  if (!device.is_host()) return cuda::first_row_without_positive_diagonal(device, matrix.rows, diagonal);
  return host::parallel_sum<detail::FirstIndex>(device, matrix.rows,
                                                [&](host::Range range) {
                                                  for (std::int64_t i = range.begin; i < range.end; ++i) {
                                                    if (!diagonal.is_positive(i)) return detail::FirstIndex{i};
                                                  }
                                                  return detail::FirstIndex{};
                                                })
      .index;
}

template bool is_symmetric(const CsrView<float>&, const Device&);
template bool is_symmetric(const CsrView<double>&, const Device&);
template std::int64_t first_row_without_positive_diagonal(const CsrView<float>&, const Device&);
template std::int64_t first_row_without_positive_diagonal(const CsrView<double>&, const Device&);

}  // namespace tessera
