/// \file
/// Row patterns times a multivector, eight columns at a time: codes, lists and values are read once per panel.
#pragma once

#include "spmv/patterns/pattern_product.hpp"
#include "tessera/csr.hpp"
#include "tessera/multi_vector.hpp"

namespace tessera::cuda {

/// Y = α A X + β Y. Neither waits nor allocates. \param a the matrix of the operand, read for exceptions
/// \throws CudaError
template <class T>
void enqueue_pattern_panels(const Context& context, const PatternOperand<T>& operand, const CsrView<T>& a, T alpha,
                            const MultiVectorView<const T>& x, T beta, const MultiVectorView<T>& y);

}  // namespace tessera::cuda
