/// \file
/// Time to a residual of the solvers of one system.
#pragma once

#include "bench/krylov_contenders.hpp"
#include "bench/report.hpp"
#include "bench/setup_table.hpp"
#include "bench/solver_bench_settings.hpp"

namespace tessera::bench {

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
