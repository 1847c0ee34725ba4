/// \file
/// Sparsification of a matrix by rows, on the device where it lies.
#include "tessera/keep.hpp"

#include "preprocess/keep_rows.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <cmath>

namespace tessera {

void detail::check_keep(const Keep& keep) {
  if (!(keep.tolerance >= 0.0) || !std::isfinite(keep.tolerance)) {
    throw InvalidArgument(fmt::format("Keep::tolerance must be finite and not negative, but it is {}", keep.tolerance));
  }
  if (keep.most < 0) {
    throw InvalidArgument(fmt::format("Keep::most must not be negative, but it is {}", keep.most));
  }
}

template <class T>
Csr<T> keep_entries(const Csr<T>& a, const Keep& keep, index_t first_row) {
  detail::check_keep(keep);
  if (first_row < 0) {
    throw InvalidArgument(fmt::format("the first row of a slice must not be negative, but it is {}", first_row));
  }
  return a.device().is_host() ? host::keep_entries(a.view(), keep, first_row, a.device())
                              : cuda::keep_entries(a.view(), keep, first_row, a.device());
}

template Csr<float> keep_entries(const Csr<float>&, const Keep&, index_t);
template Csr<double> keep_entries(const Csr<double>&, const Keep&, index_t);

}  // namespace tessera
