/// \file
/// C = A B on a GPU.
#pragma once

#include "spgemm/accumulate/factors.hpp"
#include "tessera/spgemm.hpp"

namespace tessera::cuda {

/// \tparam V T, or NoValue for the pattern \param a, b on the host or on the device of the options, where C will lie
/// \throws DeviceUnavailable in a build without CUDA; else as spgemm()
template <class V, class T>
[[nodiscard]] SpgemmResult<T> multiply(const Csr<T>& a, const Csr<T>& b, const SpgemmOptions& options);

}  // namespace tessera::cuda
