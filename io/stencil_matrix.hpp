/// \file
/// Matrices of constant-coefficient stencils on a box grid with Dirichlet boundary.
#pragma once

#include "io/structure.hpp"
#include "tessera/csr.hpp"
#include "tessera/generators.hpp"

#include <cstdint>
#include <span>
#include <vector>

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

/// Longest sides of grids whose points an index can count.
inline constexpr std::int64_t max_square_side = 46340;
inline constexpr std::int64_t max_cube_side = 1290;

/// One row per grid point, x fastest; neighbours outside the grid are left out.
/// \param stencil points in ascending order of (dz, dy, dx), offsets -1, 0 or 1, so that columns come out sorted
/// \param boundary neumann: the diagonal is minus the sum of the other entries that are there
/// \throws InvalidArgument naming `what` when a size is below 1 or there are more than 2^31 - 1 points; OutOfMemory
template <class T>
[[nodiscard]] Csr<T> stencil_matrix(const char* what, const GridSize& grid, std::span<const StencilPoint> stencil,
                                    Boundary boundary = Boundary::dirichlet);

/// Its positions only.
[[nodiscard]] Structure stencil_structure(const char* what, const GridSize& grid,
                                          std::span<const StencilPoint> stencil);

/// All points within one step along each of the first `dimensions` axes, in order, with the value -1 and their number
/// in the middle.
[[nodiscard]] std::vector<StencilPoint> box_stencil(int dimensions);

/// The middle and its neighbours along each of the first `dimensions` axes, in order; values as above.
[[nodiscard]] std::vector<StencilPoint> star_stencil(int dimensions);

/// Entries of the matrix. Exact in double up to 2^53.
[[nodiscard]] double stencil_entries(const GridSize& grid, std::span<const StencilPoint> stencil);

extern template Csr<float> stencil_matrix(const char*, const GridSize&, std::span<const StencilPoint>, Boundary);
extern template Csr<double> stencil_matrix(const char*, const GridSize&, std::span<const StencilPoint>, Boundary);

}  // namespace tessera::io
