/// \file
/// What a product refuses before it begins.
#pragma once

#include "tessera/csr.hpp"
#include "tessera/spgemm.hpp"

namespace tessera {

/// \param name_a, name_b how a message calls the factors
/// \throws DimensionError naming both sizes, NotSupported for matrices or options on a GPU, InvalidArgument
template <class T>
void check_product(const Csr<T>& a, const Csr<T>& b, const SpgemmOptions& options, const char* name_a = "A",
                   const char* name_b = "B");

/// \throws NotSupported for a matrix on a GPU
template <class T>
void require_on_host(const Csr<T>& matrix, const char* name);

}  // namespace tessera
