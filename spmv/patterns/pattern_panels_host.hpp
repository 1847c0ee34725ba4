/// \file
/// Row patterns times a multivector on the host, eight columns at a time.
#pragma once

#include "spmv/patterns/row_patterns.hpp"
#include "tessera/csr.hpp"
#include "tessera/device.hpp"
#include "tessera/multi_vector.hpp"

namespace tessera::host {

/// Y = α A X + β Y; the old Y is not read when β = 0. Threads take ranges of rows; the terms of an element are added in
/// the order of the row: gpu_to_gpu. \param found the lists of `a`
template <class T>
void multiply_pattern_panels(const Device& device, const detail::RowPatterns<T>& found, const CsrView<T>& a, T alpha,
                             const MultiVectorView<const T>& x, T beta, const MultiVectorView<T>& y);

}  // namespace tessera::host
