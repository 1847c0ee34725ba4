/// \file
/// What a product refuses before it begins.
#pragma once

#include "tessera/csr.hpp"
#include "tessera/spgemm.hpp"

namespace tessera {

/// \param name_a, name_b how a message calls the factors
/// \throws DimensionError naming both sizes, NotSupported for matrices on another device than the options' and for
/// accumulators that it does not have, InvalidArgument
template <class T>
void check_product(const Csr<T>& a, const Csr<T>& b, const SpgemmOptions& options, const char* name_a = "A",
                   const char* name_b = "B");

/// \throws NotSupported for a matrix neither on the host nor on `device`
template <class T>
void require_reachable(const Csr<T>& matrix, const Device& device, const char* name);

}  // namespace tessera
