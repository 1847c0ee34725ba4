/// \file
/// The options of `compare`, understood.
#pragma once

#include "settings.hpp"

#include "tessera/timing.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::cli {

enum class Solver { cg, bicgstab, pagerank };

[[nodiscard]] std::string_view to_string(Solver solver);

/// What the rows are sorted by, best first.
enum class SortKey { total, spmv, setup, error, memory };

[[nodiscard]] std::string_view to_string(SortKey key);

struct TimingSettings {
  int warmup = 2;
  std::int64_t rounds = 0;  ///< 0: until the times are quiet
  double min_seconds = 0.5;
  double noise = 0.01;
  bool cold = false;
};

struct CompareSettings {
  ProblemSettings problem;
  MachineSettings machine;
  OutputSettings output;
  std::string kernels;
  std::vector<Solver> solvers;
  std::int64_t applies = 1000;
  SortKey sort = SortKey::total;
  TimingSettings timing;
  VectorSettings rhs;
  VectorSettings x0;
  Precond precond = Precond::automatic;
  SolverOptions solver;
  PageRankOptions pagerank;
  std::optional<std::string> baseline;
  std::optional<double> fail_if_slower;  ///< 0.05: 5 %
};

/// \throws UsageError naming option and text, also for an option of a solver that does not take part
[[nodiscard]] CompareSettings compare_settings(const Options& options);

/// Rounds of short products: at least 10, and on while noisy, for 10 times --min-time at most.
[[nodiscard]] TimingOptions product_timing(const CompareSettings& settings);
/// Of whole solves: at least 3.
[[nodiscard]] TimingOptions solve_timing(const CompareSettings& settings);

}  // namespace tessera::cli
