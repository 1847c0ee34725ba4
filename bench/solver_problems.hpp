/// \file
/// Settings of bench_solvers_cuda, and its matrices by name.
#pragma once

#include "tessera/csr.hpp"

#include <functional>
#include <string>
#include <vector>

namespace tessera::bench {

struct SolverBenchSettings {
  std::vector<std::string> parts{"krylov", "converge", "paper-bicgstab", "pagerank"};
  std::vector<std::string> problems;         ///< of krylov and converge; empty: those of the part; "none"
  std::vector<std::string> graphs;           ///< of pagerank; empty: those of the part; "none"
  std::vector<std::string> files;            ///< Matrix Market; empty: some of TESSERA_TEST_DATA
  std::vector<std::string> kernels;          ///< empty: all
  std::vector<std::string> methods;          ///< empty: those that suit the matrix
  std::vector<std::string> preconditioners;  ///< empty: none and jacobi; jacobi for whole solves
  std::string device = "cuda";
  std::string json;
  double scale = 1.0;    ///< part of the full number of rows
  int rounds = 0;        ///< 0: more for small systems
  int iterations = 24;   ///< that the long solve does beyond the short one
  double seconds = 3.0;  ///< for the whole solves of one problem, beyond the least
};

/// Whether a name was asked for, where no names mean all.
[[nodiscard]] inline bool is_wanted(const std::vector<std::string>& wanted, const std::string& name) {
  if (wanted.empty()) return true;
  for (const std::string& each : wanted) {
    if (each == name) return true;
  }
  return false;
}

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
