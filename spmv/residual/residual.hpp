/// \file
/// Residuals of float systems on a GPU.
#pragma once

#include "tessera/csr.hpp"

namespace tessera::cuda {

/// r = 2^exponent b - A x with products and sums in double, rounded to float once at the end. Rows are summed along the
/// merge path, in an order that depends on the matrix alone. Takes 8 bytes a row of scratch space for the while.
/// \param a rows > 0; it and the vectors lie on the device
/// \returns ‖r‖₂² from the unrounded values \throws OutOfMemory, CudaError; DeviceUnavailable in a build without CUDA
[[nodiscard]] double csr_residual(const Device& device, const CsrView<float>& a, int exponent, std::span<const float> b,
                                  std::span<const float> x, std::span<float> r);

}  // namespace tessera::cuda
