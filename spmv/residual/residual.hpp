/// \file
/// Residuals of float systems, with products and sums in double.
#pragma once

#include "tessera/csr.hpp"

#include <span>

namespace tessera {

namespace host {

/// r = 2^exponent b - A x, rounded to T once at the end. Rows are distributed over threads as by the kernel csr.
/// \returns ‖r‖₂² from the unrounded values
template <class T>
[[nodiscard]] double csr_residual(const Device& device, const CsrView<T>& a, int exponent, std::span<const T> b,
                                  std::span<const T> x, std::span<T> r);

}  // namespace host

namespace cuda {

/// The same. Rows are summed along the merge path, in an order that depends on the matrix alone. Needs 8 bytes of
/// scratch memory per row. \param a rows > 0; it and the vectors lie on the device
/// \throws OutOfMemory, CudaError; DeviceUnavailable in a build without CUDA
[[nodiscard]] double csr_residual(const Device& device, const CsrView<float>& a, int exponent, std::span<const float> b,
                                  std::span<const float> x, std::span<float> r);

}  // namespace cuda
}  // namespace tessera
