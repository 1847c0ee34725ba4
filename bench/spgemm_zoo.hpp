/// \file
/// The matrices on which SpGEMM is measured: the families of performance.md, section SpGEMM, from seeds of our own, and
/// the setting A P of optimized-esc-spgemm.txt.
#pragma once

#include "tessera/csr.hpp"

#include <string>
#include <vector>

namespace tessera::bench {

/// Two factors and how they are called.
struct SpgemmProblem {
  std::string name;
  Csr<double> a;
  Csr<double> b;  ///< 0 x 0: A itself
  [[nodiscard]] const Csr<double>& right() const noexcept { return b.rows() == 0 && b.cols() == 0 ? a : b; }
};

/// "cage", ..., "small27".
[[nodiscard]] const std::vector<std::string>& spgemm_families();

/// \param name of a family; "ap5", "ap9", "ap7", "ap27": A P with Poisson's A of so many points and the interpolation P
/// of a smoothed aggregation (the tables of optimized-esc-spgemm.txt); or a file: A A where A is square, else A times
/// its transpose; "FILE:t": A times its transpose \throws std::runtime_error for an unknown family; as
/// read_matrix_market()
[[nodiscard]] SpgemmProblem make_spgemm_problem(const std::string& name);

}  // namespace tessera::bench
