/// \file
/// Norms of vectors and residuals in the user's units, whose squares may leave the range of double.
#pragma once

#include "solvers/fused/vector_ops.hpp"
#include "tessera/fused_operator.hpp"

#include <cmath>
#include <span>

namespace tessera::detail {

/// ‖v‖₂ without overflow or underflow; not finite where an element is not.
template <class T>
[[nodiscard]] fused::ScaledNorm scaled_norm_of(const Device& device, std::span<const T> v) {
  const double largest = fused::largest_magnitude(device, v);
  if (!std::isfinite(largest)) return {largest, 0};
  return fused::scaled_norm(device, v, largest);
}

/// ‖v‖ / ‖w‖; infinity for w = 0.
[[nodiscard]] inline double ratio_of(const fused::ScaledNorm& v, const fused::ScaledNorm& w) {
  return std::ldexp(v.mantissa / w.mantissa, v.exponent - w.exponent);
}

/// Whether the root of a sum of squares in double is right: none of them left the range.
[[nodiscard]] inline bool is_far_from_limits(double norm) { return norm > 1e-140 && norm < 1e150; }

/// r = b - A x and ‖r‖₂. The operator sums squares in double, which is right far from the limits of double, and for
/// float better than the elements of r, which are rounded and may overflow. Elsewhere they are summed again, scaled.
/// Not finite where both overflowed. \param exponent b is multiplied by 2^exponent
template <class T>
[[nodiscard]] fused::ScaledNorm residual_norm(const FusedOperator<T>& A, std::span<const T> b, std::span<const T> x,
                                              std::span<T> r, int exponent = 0) {
  const double from_sum = std::sqrt(A.residual(exponent, b, x, r));
  if (is_far_from_limits(from_sum)) return fused::ScaledNorm::of(from_sum);
  const double largest = fused::largest_magnitude(A.device(), std::span<const T>(r));
  if (!std::isfinite(largest)) return fused::ScaledNorm::of(from_sum);
  return fused::scaled_norm(A.device(), std::span<const T>(r), largest);
}

}  // namespace tessera::detail
