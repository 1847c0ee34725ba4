/// \file
/// Residual of a float matrix with sums in double, wherever matrix and vectors lie.
#pragma once

#include "tessera/csr.hpp"
#include "tessera/device.hpp"

#include <span>

namespace tessera::detail {

/// r = 2^exponent b - A x. O(nnz). \param place of the matrix: `device`, or the host, which fetches the vectors
/// \param b,x,r on `device` \returns the sum of squares of r
double float_residual(const Device& device, const Device& place, const CsrView<float>& a, int exponent,
                      std::span<const float> b, std::span<const float> x, std::span<float> r);

}  // namespace tessera::detail
