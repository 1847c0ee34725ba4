/// \file
/// Products of the set-up of algebraic multigrid: A P and R (A P).
#pragma once

#include "bench/spgemm_zoo.hpp"
#include "tessera/csr.hpp"

#include <string>

namespace tessera::bench {

/// Interpolation of a smoothed aggregation whose roots are a maximal set of points more than two edges apart (MIS-2).
[[nodiscard]] Csr<double> aggregated_interpolation(const Csr<double>& a);

/// Whether a name has the form "mg7-200:r0ap".
[[nodiscard]] bool is_galerkin_problem(const std::string& name);

/// \param name see make_spgemm_problem() \throws std::runtime_error for an unknown step
[[nodiscard]] SpgemmProblem make_galerkin_problem(const std::string& name);

}  // namespace tessera::bench
