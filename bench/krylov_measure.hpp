/// \file
/// Time per iteration, and time to a residual, of the solvers of one system.
#pragma once

#include "bench/krylov_contenders.hpp"
#include "bench/report.hpp"
#include "bench/solver_problems.hpp"
#include "bench/spmv_entry.hpp"

namespace tessera::bench {

/// The difference of a long and a short solve, all contenders in turn. What ends early, mends itself on the way, or
/// whose residual is not what it says, is not timed.
[[nodiscard]] Json measure_iterations(KrylovContenders& contenders, const KrylovTask& task,
                                      const SolverBenchSettings& settings, compare::CopyYardstick& copy);

/// When a solve to a residual gives up.
struct ToleranceLimits {
  double tolerance = 1e-8;
  std::int64_t max_iterations = 20000;
};

/// Set-up and solve until ‖r‖ / ‖b‖ <= tolerance. Only what converged, by the residual computed apart, gets a ratio.
/// \param table takes the times
[[nodiscard]] Json measure_to_tolerance(KrylovContenders& contenders, const KrylovTask& task,
                                        const ToleranceLimits& limits, const SolverBenchSettings& settings,
                                        SetupTable& table);

}  // namespace tessera::bench
