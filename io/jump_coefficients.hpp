/// \file
/// Coefficients of a medium that is constant in cubes of grid points.
#pragma once

#include "io/stencil_matrix.hpp"
#include "tessera/generators.hpp"

#include <cstdint>
#include <vector>

namespace tessera::io {

/// One coefficient per cube, cubes numbered x fastest. The same numbers on every machine.
struct JumpCoefficients {
  GridSize cubes;
  std::int64_t block = 8;  ///< points a side of a cube
  std::vector<double> values;

  [[nodiscard]] double at(std::int64_t x, std::int64_t y, std::int64_t z) const {
    return values[static_cast<std::size_t>(x / block + cubes.x * (y / block + cubes.y * (z / block)))];
  }
};

[[nodiscard]] JumpCoefficients jump_coefficients(const GridSize& grid, const JumpOptions& options);

}  // namespace tessera::io
