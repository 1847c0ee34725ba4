/// \file
/// Model problems, made in memory. Grids are numbered x fastest; all matrices come sorted; every call with the same
/// arguments (and seed) gives the same matrix on every machine.
#pragma once

#include "tessera/csr.hpp"

#include <cstdint>

namespace tessera {

/// Finite differences for -Δu on an nx x ny grid with Dirichlet boundary, scaled by h²: symmetric positive definite.
/// 5 points: 4 and -1. 9 points: 8 and -1 (all neighbours).
enum class Stencil2d { five_point, nine_point };

/// \throws InvalidArgument when a size is below 1 or nx * ny exceeds 2^31 - 1; OutOfMemory
template <class T>
[[nodiscard]] Csr<T> poisson2d(std::int64_t nx, std::int64_t ny, Stencil2d stencil = Stencil2d::five_point);

/// 7 points: 6 and -1. 27 points: 26 and -1 (all neighbours).
enum class Stencil3d { seven_point, twentyseven_point };

/// \throws as poisson2d
template <class T>
[[nodiscard]] Csr<T> poisson3d(std::int64_t nx, std::int64_t ny, std::int64_t nz,
                               Stencil3d stencil = Stencil3d::seven_point);

/// -u_xx - epsilon u_yy, 5 points: diagonal 2 + 2 epsilon, -1 in x, -epsilon in y. Symmetric positive definite.
/// \param epsilon finite and > 0
/// \throws as poisson2d, and InvalidArgument for another epsilon
template <class T>
[[nodiscard]] Csr<T> anisotropic2d(std::int64_t nx, std::int64_t ny, double epsilon);

/// Cell Péclet numbers v h / D of the flow in each direction.
struct Peclet {
  double x = 0.0;
  double y = 0.0;
  double z = 0.0;
};

/// -Δu + v·∇u on an nx x ny x nz grid, first-order upwind, 7 points, scaled by h²: nonsymmetric for nonzero Péclet
/// numbers, always an M-matrix. Entry of an upwind neighbour -(1 + |p|), of a downwind one -1, diagonal 6 + Σ|p|.
/// nz = 1 gives the 5-point matrix in two dimensions (diagonal 4 + |p.x| + |p.y|; p.z plays no part).
/// \throws as poisson2d, and InvalidArgument for Péclet numbers that are not finite
template <class T>
[[nodiscard]] Csr<T> convection_diffusion(std::int64_t nx, std::int64_t ny, std::int64_t nz, const Peclet& peclet);

/// Parameters of a recursive-matrix graph (Chakrabarti, Zhan, Faloutsos, SDM 2004), defaults as in Graph500.
struct RmatOptions {
  int scale = 16;             ///< 2^scale vertices, 0 ... 30
  double edge_factor = 16.0;  ///< drawn edges per vertex, before duplicates are removed
  double a = 0.57;
  double b = 0.19;
  double c = 0.19;  ///< the fourth quadrant has 1 - a - b - c
  std::uint64_t seed = 42;
  bool scramble_ids = true;  ///< renumber the vertices by a bijection, so that hubs are spread
};

/// Directed power-law graph as a pattern matrix: row i holds the out-links of vertex i; duplicates removed.
/// \throws InvalidArgument for a scale, factor or probability out of range; OutOfMemory
template <class T>
[[nodiscard]] Csr<T> rmat(const RmatOptions& options);

}  // namespace tessera
