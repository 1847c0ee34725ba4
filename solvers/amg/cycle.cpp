/// Weights of the sweeps in a multigrid cycle, and the test of a whole one: damped Jacobi, and Chebyshev polynomials as
/// sweeps (Y. Saad, Iterative Methods for Sparse Linear Systems, 2nd ed., §12.3.2).
#include "solvers/amg/cycle.hpp"

#include "solvers/amg/cycle_steps.hpp"
#include "solvers/amg/probe.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

namespace tessera::detail {

namespace {

/// The estimate of ρ may be a little too small.
constexpr double chebyshev_margin = 1.05;

/// 1 / roots of the Chebyshev polynomial on [ρ / ratio, 1.05 ρ].
std::vector<double> chebyshev_weights(const AmgOptions& options, double rho) {
  const double high = chebyshev_margin * rho;
  const double low = rho / options.chebyshev_ratio;
  std::vector<double> weights;
  for (int k = 0; k < options.chebyshev_degree; ++k) {
    const double angle = std::numbers::pi * (2.0 * k + 1.0) / (2.0 * options.chebyshev_degree);
    weights.push_back(2.0 / (high + low + (high - low) * std::cos(angle)));
  }
  return weights;
}

/// Of one sweep as the user counts them.
std::vector<double> weights_of_sweep(const AmgOptions& options, double rho) {
  switch (options.smoother) {
    case AmgSmoother::jacobi:
      return {options.smoother_damping / rho};
    case AmgSmoother::chebyshev:
      return chebyshev_weights(options, rho);
    case AmgSmoother::l1_jacobi:
    case AmgSmoother::spai0:
      break;
  }
  return {1.0};
}

std::vector<double> repeated(const std::vector<double>& weights, int times) {
  std::vector<double> result;
  for (int k = 0; k < times; ++k) result.insert(result.end(), weights.begin(), weights.end());
  return result;
}

}  // namespace

std::vector<double> sweep_weights(const AmgOptions& options, double rho) {
  return repeated(weights_of_sweep(options, rho), options.sweeps);
}

std::vector<double> amg_level_weights(const AmgOptions& options, double rho, bool is_smoothed_coarsest) {
  if (!is_smoothed_coarsest) return sweep_weights(options, rho);
  return repeated(weights_of_sweep(options, rho), amg_coarsest_sweeps);
}

void require_sound_cycle(double product, bool is_symmetric) {
  if (!std::isfinite(product)) {
    throw InvalidMatrix(
        "AMG: a cycle gave NaN or infinity: the matrix is not positive definite, or its entries leave the range of "
        "the cycle's precision");
  }
  if (is_symmetric && product <= 0.0) {
    throw InvalidMatrix(
        fmt::format("AMG: <M u, u> is {:.3g} for a random vector u: the matrix is not positive definite", product));
  }
}

}  // namespace tessera::detail
