/// The screen of CG solutions: the preconditioned residual times the condition number that the iterations met.
#include "solvers/error_screen.hpp"

#include "tessera/array.hpp"

#include <algorithm>
#include <cmath>

namespace tessera::detail {

namespace {

/// ‖v‖₂ by a product with the identity, which sums in double on every device. \param scratch as long as v
template <class T>
[[nodiscard]] double norm(std::span<const T> v, std::span<T> scratch, const Device& device) {
  return std::sqrt(IdentityOperator<T>(static_cast<std::int64_t>(v.size()), device).apply_and_dot(v, scratch, v).yy);
}

}  // namespace

double cg_condition(std::int64_t iterations, double reduction) {
  const double root = 2.0 * static_cast<double>(iterations) / std::log(2.0 / std::min(reduction, 1.0));
  return std::max(1.0, root * root);
}

template <class T>
ErrorScreen screen_error(const LinearOperator<T>& M, std::span<const T> r, std::span<const T> x,
                         const SolveReport& report, double largest_eigenvalue) {
  const Device device = M.device();
  Array<T> z(static_cast<std::int64_t>(x.size()), Init::none, device);
  const double step = std::sqrt(M.apply_and_dot(r, z.span(), r).yy);
  const double size = norm<T>(x, z.span(), device);
  ErrorScreen screen;
  screen.condition = cg_condition(report.iterations, report.r0_norm > 0.0 ? report.target / report.r0_norm : 1.0);
  screen.correction = step / (largest_eigenvalue * size);
  return screen;
}

template ErrorScreen screen_error(const LinearOperator<float>&, std::span<const float>, std::span<const float>,
                                  const SolveReport&, double);
template ErrorScreen screen_error(const LinearOperator<double>&, std::span<const double>, std::span<const double>,
                                  const SolveReport&, double);

}  // namespace tessera::detail
