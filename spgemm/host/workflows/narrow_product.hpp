/// \file
/// Products in less than working precision on the host: in tiles, with the numbers that a GPU multiplies entry by
/// entry.
#pragma once

#include "tessera/csr.hpp"
#include "tessera/spgemm.hpp"

namespace tessera::host {

/// C = A B in options.precision, which is not `working`. fp16_fp32: values rounded to half precision, exact products,
/// sums in single precision in the order of A's row. tf32x3: sums in single precision, since the host has no tensor
/// instructions. \throws as spgemm(), OutOfMemory also where the tiles do not fit
template <class T>
[[nodiscard]] SpgemmResult<T> narrow_product(const Csr<T>& a, const Csr<T>& b, const SpgemmOptions& options);

}  // namespace tessera::host
