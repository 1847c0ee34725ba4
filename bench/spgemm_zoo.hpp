/// \file
/// The matrices on which SpGEMM is measured: generated families, and the products A P of Dalton, Olson & Bell, TOMS
/// 2015.
#pragma once

#include "tessera/csr.hpp"

#include <string>
#include <vector>

namespace tessera::bench {

/// Two factors and their name.
struct SpgemmProblem {
  std::string name;
  Csr<double> a;
  Csr<double> b;  ///< 0 x 0: A itself
  [[nodiscard]] const Csr<double>& right() const noexcept { return b.rows() == 0 && b.cols() == 0 ? a : b; }
};

/// "cage", ..., "small27".
[[nodiscard]] const std::vector<std::string>& spgemm_families();

/// \param name of a family; "block2", "block4", "block6": so many unknowns per node of a cube; "star3", "plane2",
/// "thin-block2", "thin-elast3": tiles of fills between those and one unknown; "grid-block", "grid-blocks": a sparse
/// grid with one dense block of 2000 rows, or with blocks of 48 in a fifth of its rows; "ap5", "ap9", "ap7", "ap27": A
/// P with Poisson's A of so many points and the interpolation P of a smoothed aggregation (Dalton, Olson & Bell, TOMS
/// 2015); "mg7-200:r0ap": a product of the set-up of multigrid on a grid of 200³ points with 7 (or 5, 27), whose
/// aggregates are boxes: "a0p0", "r0ap", "a1p1", "r1ap"; or a file: A A where A is square, else A times its transpose;
/// "FILE:t": A times its transpose \throws std::runtime_error for an unknown family; as read_matrix_market()
[[nodiscard]] SpgemmProblem make_spgemm_problem(const std::string& name);

}  // namespace tessera::bench
