/// \file
/// Row patterns times a multivector, eight columns at a time: codes, lists and values are read once per panel.
#pragma once

#include "spmv/patterns/pattern_product.hpp"
#include "tessera/csr.hpp"
#include "tessera/multi_vector.hpp"

namespace tessera::cuda {

/// Whether values lie as the kernel reads them: in full or rounded, by slices, or in templates.
template <class T>
[[nodiscard]] bool suits_panels(const PatternOperand<T>& operand) noexcept {
  return operand.half_places == nullptr && operand.value_codes == nullptr;
}

/// Y = α A X + β Y. Neither waits nor allocates. \param operand that suits_panels() \param a its matrix, read for
/// exceptions \throws CudaError
template <class T>
void enqueue_pattern_panels(const Context& context, const PatternOperand<T>& operand, const CsrView<T>& a, T alpha,
                            const MultiVectorView<const T>& x, T beta, const MultiVectorView<T>& y);

}  // namespace tessera::cuda
