/// Bound on the forward error from the preconditioned residual and the iterations.
#include "solvers/error_screen.hpp"

#include "solvers/fused/vector_ops.hpp"
#include "tessera/array.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera::detail {

namespace {

template <class T>
[[nodiscard]] double norm_of(const Device& device, std::span<const T> v) {
  const double largest = fused::largest_magnitude(device, v);
  return std::isfinite(largest) ? fused::scaled_norm(device, v, largest).value() : largest;
}

}  // namespace

template <class T>
ErrorScreen error_screen(const LinearOperator<T>& A, const LinearOperator<T>& M, std::span<const T> b,
                         std::span<const T> x, std::int64_t iterations, double reduction, bool is_cg) {
  constexpr double limit_of_cg = 1e-4;
  constexpr double limit_of_others = 1e-5;
  const Device device = A.device();
  const double x_norm = norm_of(device, x);
  if (!(x_norm > 0.0)) return {std::numeric_limits<double>::infinity(), false};
  Array<T> r(A.rows(), Init::none, device);
  Array<T> z(A.rows(), Init::none, device);
  static_cast<void>(A.residual(0, b, x, r.span()));
  M.apply(r.span(), z.span());
  const double logarithm = std::log(2.0 / std::clamp(reduction, std::numeric_limits<double>::min(), 1.0));
  const double steps = 2.0 * static_cast<double>(iterations) / logarithm;
  const double bound = norm_of<T>(device, z.span()) / x_norm * std::max(1.0, steps * steps);
  return {bound, bound <= (is_cg ? limit_of_cg : limit_of_others)};
}

template ErrorScreen error_screen(const LinearOperator<float>&, const LinearOperator<float>&, std::span<const float>,
                                  std::span<const float>, std::int64_t, double, bool);
template ErrorScreen error_screen(const LinearOperator<double>&, const LinearOperator<double>&, std::span<const double>,
                                  std::span<const double>, std::int64_t, double, bool);

}  // namespace tessera::detail
