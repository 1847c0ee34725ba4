/// \file
/// Whether two matrices on a GPU have one structure.
#pragma once

#include "tessera/csr.hpp"

namespace tessera::cuda {

/// Sizes, storage, row offsets and columns. O(rows + nnz); waits.
template <class T>
[[nodiscard]] bool same_structure(const Device& device, const CsrView<T>& one, const CsrView<T>& other);

}  // namespace tessera::cuda
