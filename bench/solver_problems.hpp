/// \file
/// The matrices on which solvers are measured, by name.
#pragma once

#include "bench/solver_bench_settings.hpp"
#include "tessera/csr.hpp"

#include <functional>
#include <string>
#include <vector>

namespace tessera::bench {

struct SolverProblem {
  std::string name;
  std::function<Csr<double>()> make;  ///< \throws what generators and readers throw
};

/// Time per iteration: large model problems, small ones, real matrices.
[[nodiscard]] std::vector<SolverProblem> iteration_problems(const SolverBenchSettings& settings);

/// Time to a residual.
[[nodiscard]] std::vector<SolverProblem> tolerance_problems(const SolverBenchSettings& settings);

/// Real square matrices with all values 1.
[[nodiscard]] std::vector<SolverProblem> ones_problems(const SolverBenchSettings& settings);

/// Graphs without weights, row i the out-links of vertex i.
[[nodiscard]] std::vector<SolverProblem> graph_problems(const SolverBenchSettings& settings);

}  // namespace tessera::bench
