/// \file
/// Sparsification of a matrix by rows, on the device where it lies.
#include "tessera/keep.hpp"

#include "preprocess/keep_rows.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <cmath>

namespace tessera {

template <class T>
Csr<T> keep_entries(const Csr<T>& a, const Keep& keep) {
  if (!(keep.tolerance >= 0.0) || !std::isfinite(keep.tolerance)) {
    throw InvalidArgument(fmt::format("Keep::tolerance must be finite and not negative, but it is {}", keep.tolerance));
  }
  if (keep.most < 0) {
    throw InvalidArgument(fmt::format("Keep::most must not be negative, but it is {}", keep.most));
  }
  return a.device().is_host() ? host::keep_entries(a.view(), keep, a.device())
                              : cuda::keep_entries(a.view(), keep, a.device());
}

template Csr<float> keep_entries(const Csr<float>&, const Keep&);
template Csr<double> keep_entries(const Csr<double>&, const Keep&);

}  // namespace tessera
