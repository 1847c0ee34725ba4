/// \file
/// Systems drawn by seeds that try the claims beside a solution: classes that hide errors from the residual, and
/// ordinary ones of condition 1e2 to 1e8. The solution is known.
#pragma once

#include "tessera/csr.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::compare {

enum class SystemClass : std::uint8_t {
  // hard
  singular,   ///< symmetric positive definite on paper, singular to rounding: Hilbert, Cauchy, Gaussian kernels, Gram
  penalty,    ///< diffusion with penalties of 1e4 to 1e13 on its boundary, and with boundary rows of another scale
  scaled,     ///< D1 A D2 with D of 1e-6 to 1e6, drawn or graded; rows alone, columns alone, both, symmetric
  shift,      ///< an eigenvalue within 1e-3 to 1e-12 of zero: grids, graphs, with a known eigenvector
  nonnormal,  ///< Grcar, Kahan, bidiagonal, convection without diffusion
  damaged,    ///< elements of stiffness 1e-10 to 1e10, parts that nearly float
  // ordinary
  diffusion,
  convection,
  dominant,
  random_spd,
  indefinite,
  elastic,
};

[[nodiscard]] std::string_view to_string(SystemClass kind);

struct KnownSystem {
  SystemClass kind = SystemClass::diffusion;
  std::uint64_t seed = 0;
  std::string name;  ///< "shift/17: grid 12 x 31, 1e-9"
  Csr<double> matrix;
  std::vector<double> exact;
  std::vector<double> b;  ///< A exact, summed in long double and rounded
  bool symmetric = false;
  bool definite = false;  ///< positive, on paper
};

/// \param kind seed draws everything: its structure, its size and its values
[[nodiscard]] KnownSystem known_system(SystemClass kind, std::uint64_t seed);

/// Systems of the six hard classes, or of the six ordinary ones, `per_class` each.
[[nodiscard]] std::vector<KnownSystem> hard_systems(std::uint64_t per_class, std::uint64_t first_seed = 1);
[[nodiscard]] std::vector<KnownSystem> ordinary_systems(std::uint64_t per_class, std::uint64_t first_seed = 1);

}  // namespace tessera::compare
