/// \file
/// PageRank of one graph: time per iteration, time with set-up, and errors, as in MERBIT, §5.5.1.
#pragma once

#include "bench/report.hpp"
#include "bench/solver_problems.hpp"
#include "bench/spmv_entry.hpp"
#include "tessera/csr.hpp"

#include <string>

namespace tessera::bench {

/// Runs of 200 iterations and short ones, all contenders in turn. Ranks are held against those of 210 iterations, which
/// one more step on the host must leave where they are.
/// \param adjacency a pattern, row i the out-links of vertex i \param table takes the times of 200 iterations
[[nodiscard]] Json measure_pagerank(const std::string& name, const Csr<double>& adjacency, const Device& device,
                                    const SolverBenchSettings& settings, compare::CopyYardstick& copy,
                                    SetupTable& table);

}  // namespace tessera::bench
