/// \file
/// y = A x by the definition: the oracle of the row kernel, and for speed the plainest loop there is.
#pragma once

#include "tessera/csr.hpp"

#include <span>

namespace tessera::reference {

using namespace detail;

template <class T>
void csr_multiply(const CsrView<T>& a, std::span<const T> x, std::span<T> y) {
  for (std::size_t i = 0; i < y.size(); ++i) {
    T sum{0};
    for (offset_t k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
      sum += a.value(k) * x[static_cast<std::size_t>(a.columns[static_cast<std::size_t>(k)])];
    }
    y[i] = sum;
  }
}

}  // namespace tessera::reference
