/// Symmetry of a matrix, and the signs of its diagonal.
#include "tessera/symmetry.hpp"

#include "preprocess/statistics.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

namespace tessera {

template <class T>
bool is_symmetric(const CsrView<T>& matrix, const Device& device) {
  if (!matrix.is_square()) return false;
  const unsigned holds = device.is_host() ? host::mirrors(matrix, device) : cuda::mirrors(matrix, device);
  return (holds & detail::mirror::equal) != 0;
}

template <class T>
std::int64_t first_row_without_positive_diagonal(const CsrView<T>& matrix, const Device& device) {
  if (!matrix.is_square()) {
    throw DimensionError(fmt::format("a diagonal is that of a square matrix, got {} x {}", matrix.rows, matrix.cols));
  }
  return device.is_host() ? host::first_row_without_positive_diagonal(matrix, device)
                          : cuda::first_row_without_positive_diagonal(matrix, device);
}

template bool is_symmetric(const CsrView<float>&, const Device&);
template bool is_symmetric(const CsrView<double>&, const Device&);
template std::int64_t first_row_without_positive_diagonal(const CsrView<float>&, const Device&);
template std::int64_t first_row_without_positive_diagonal(const CsrView<double>&, const Device&);

}  // namespace tessera
