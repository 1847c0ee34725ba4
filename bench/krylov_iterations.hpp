/// \file
/// Time per iteration of the solvers of one system.
#pragma once

#include "bench/krylov_contenders.hpp"
#include "bench/report.hpp"
#include "bench/solver_bench_settings.hpp"
#include "bench/spmv_entry.hpp"

namespace tessera::bench {

/// The difference of a long and a short solve, all contenders in turn. What ends early, mends itself on the way, or
/// whose residual is not what it says, is not timed.
[[nodiscard]] Json measure_iterations(KrylovContenders& contenders, const KrylovTask& task,
                                      const SolverBenchSettings& settings, Copy& copy);

}  // namespace tessera::bench
