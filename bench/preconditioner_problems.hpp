/// \file
/// Systems of bench_preconditioners: matrices by generator or file, on the device where they are solved, and what
/// others were recorded to take for them.
#pragma once

#include "tessera/amg.hpp"
#include "tessera/csr.hpp"
#include "tessera/device.hpp"

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::bench {

struct PreconditionerProblem {
  std::string name;  ///< a generator, or a file
  bool symmetric = true;
  bool singular = false;  ///< b has to be made consistent
  std::function<Csr<double>(const Device&)> make;
  /// What AMG is told of the problem beyond the matrix: unknowns per node, coordinates.
  std::function<void(AmgOptions&)> describe;
};

/// A system for every generator spec. "poisson3d:100,points=27", "elasticity3d:40", ...; a GPU makes stencils itself.
/// \throws InvalidArgument for a spec that generate() would refuse
[[nodiscard]] PreconditionerProblem generated_problem(const std::string& spec);

/// A Matrix Market file.
[[nodiscard]] PreconditionerProblem file_problem(const std::string& path);

/// The sets "main", "weak2d", "weak3d", "quick". \throws InvalidArgument for another name
[[nodiscard]] std::vector<std::string> problem_set(const std::string& name);

/// Makes small matrices of every kind on the GPU and on the host. \throws Error where they differ in a bit
void check_device_generators(const Device& device);

/// What another solver took, on an H200 with A on the device, warm, to the same true residual.
struct RecordedPeer {
  std::string_view problem;
  std::string_view solver;
  double setup_ms = 0.0;
  double solve_ms = 0.0;
  int iterations = 0;  ///< 0: not recorded
};

inline constexpr std::string_view recorded_on = "2026-11-22, NVIDIA H200";

/// Of one problem.
[[nodiscard]] std::vector<RecordedPeer> recorded_peers(std::string_view problem);

}  // namespace tessera::bench
