/// \file
/// Matrices of constant-coefficient stencils on a box grid with Dirichlet boundary.
#pragma once

#include "tessera/csr.hpp"

#include <cstdint>
#include <span>

namespace tessera::io {

/// Coefficient of the neighbour at (x + dx, y + dy, z + dz).
struct StencilPoint {
  int dx = 0;
  int dy = 0;
  int dz = 0;
  double value = 0.0;
};

struct GridSize {
  std::int64_t x = 1;
  std::int64_t y = 1;
  std::int64_t z = 1;
};

/// One row per grid point, x fastest; neighbours outside the grid are left out.
/// \param stencil points in ascending order of (dz, dy, dx), offsets -1, 0 or 1, so that columns come out sorted
/// \throws InvalidArgument naming `what` when a size is below 1 or there are more than 2^31 - 1 points; OutOfMemory
template <class T>
[[nodiscard]] Csr<T> stencil_matrix(const char* what, const GridSize& grid, std::span<const StencilPoint> stencil);

extern template Csr<float> stencil_matrix(const char*, const GridSize&, std::span<const StencilPoint>);
extern template Csr<double> stencil_matrix(const char*, const GridSize&, std::span<const StencilPoint>);

}  // namespace tessera::io
