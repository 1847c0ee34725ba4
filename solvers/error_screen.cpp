/// The screen of CG solutions: the preconditioned residual times the condition number that the iterations met.
#include "solvers/error_screen.hpp"

#include "solvers/residual_norm.hpp"
#include "tessera/array.hpp"

#include <algorithm>
#include <cmath>

namespace tessera::detail {

double cg_condition(std::int64_t iterations, double reduction) {
  const double root = 2.0 * static_cast<double>(iterations) / std::log(2.0 / std::min(reduction, 1.0));
  return std::max(1.0, root * root);
}

template <class T>
ErrorScreen screen_error(const LinearOperator<T>& M, std::span<const T> r, std::span<const T> x,
                         const SolveReport& report, double largest_eigenvalue) {
  const Device device = M.device();
  Array<T> z(static_cast<std::int64_t>(x.size()), Init::none, device);
  M.apply(r, z.span());
  const fused::ScaledNorm step = scaled_norm_of<T>(device, z.span());
  const fused::ScaledNorm size = scaled_norm_of<T>(device, x);
  ErrorScreen screen;
  screen.condition = cg_condition(report.iterations, report.r0_norm > 0.0 ? report.target / report.r0_norm : 1.0);
  screen.correction = ratio_of(step, size) / largest_eigenvalue;
  return screen;
}

template ErrorScreen screen_error(const LinearOperator<float>&, std::span<const float>, std::span<const float>,
                                  const SolveReport&, double);
template ErrorScreen screen_error(const LinearOperator<double>&, std::span<const double>, std::span<const double>,
                                  const SolveReport&, double);

}  // namespace tessera::detail
