/// \file
/// Generated matrices. Grids are numbered x fastest; columns are sorted; the same arguments (and seed) give the same
/// matrix on every machine.
#pragma once

#include "tessera/csr.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

/// Finite differences for -Δu on an nx x ny grid with Dirichlet boundary, scaled by h²: symmetric positive definite.
/// 5 points: 4 and -1. 9 points: 8 and -1 (all neighbours; that is scaled by 3h²).
enum class Stencil2d { five_point, nine_point };

/// Beyond the grid u is 0 (dirichlet), or nothing flows across its edge (neumann): a neighbour that is not there is
/// missing in the diagonal too, every row sums to 0, and the constants span the null space.
enum class Boundary { dirichlet, neumann };

/// \throws InvalidArgument when a size is below 1 or nx * ny exceeds 2^31 - 1; OutOfMemory
template <class T>
[[nodiscard]] Csr<T> poisson2d(std::int64_t nx, std::int64_t ny, Stencil2d stencil = Stencil2d::five_point,
                               Boundary boundary = Boundary::dirichlet);

/// 7 points: 6 and -1. 27 points: 26 and -1 (all neighbours; that is scaled by 9h²).
enum class Stencil3d { seven_point, twentyseven_point };

/// \throws as poisson2d
template <class T>
[[nodiscard]] Csr<T> poisson3d(std::int64_t nx, std::int64_t ny, std::int64_t nz,
                               Stencil3d stencil = Stencil3d::seven_point, Boundary boundary = Boundary::dirichlet);

/// -u_xx - epsilon u_yy, 5 points: diagonal 2 + 2 epsilon, -1 in x, -epsilon in y. Symmetric positive definite.
/// \param epsilon finite and > 0
/// \throws as poisson2d, and InvalidArgument for another epsilon
template <class T>
[[nodiscard]] Csr<T> anisotropic2d(std::int64_t nx, std::int64_t ny, double epsilon);

/// -u_xx - epsilon_y u_yy - epsilon_z u_zz, 7 points: diagonal 2 (1 + epsilon_y + epsilon_z), -1 in x, -epsilon_y in y,
/// -epsilon_z in z. Symmetric positive definite.
/// \param epsilon_y, epsilon_z finite and > 0
/// \throws as anisotropic2d
template <class T>
[[nodiscard]] Csr<T> anisotropic3d(std::int64_t nx, std::int64_t ny, std::int64_t nz, double epsilon_y,
                                   double epsilon_z);

/// Parameters of jump3d().
struct JumpOptions {
  std::int64_t block = 8;   ///< points a side of the cubes in which the coefficient is constant, at least 1
  double contrast = 1e4;    ///< the coefficients are contrast^(u - 1/2), u uniform in [0, 1); 1 to 1e100
  std::uint64_t seed = 42;  ///< of u
};

/// -div(k grad u) on an nx x ny x nz grid with Dirichlet boundary, 7 points, scaled by h²; k jumps between cubes of
/// points. The entry between two points is the harmonic mean of their coefficients, that to the boundary the
/// coefficient of the point. Symmetric positive definite.
/// \throws as poisson2d, and InvalidArgument for options out of range
template <class T>
[[nodiscard]] Csr<T> jump3d(std::int64_t nx, std::int64_t ny, std::int64_t nz, const JumpOptions& options = {});

/// Linear elasticity of a cube of `side` x `side` x `side` nodes, E = 1: trilinear bricks of edge 1 (8 nodes), exact
/// integrals (those of 2 x 2 x 2 Gauss points). The face x = 0 is clamped and its nodes are left out: node
/// (x, y, z) with x in [1, side) has number x - 1 + (side - 1) (y + side z), and its displacements along x, y and z are
/// the rows 3 node, 3 node + 1, 3 node + 2. Symmetric positive definite; at most 81 entries per row.
/// \param side 2 to 894
/// \param nu Poisson's ratio, in [0, 0.5)
/// \throws InvalidArgument for arguments out of range; OutOfMemory
template <class T>
[[nodiscard]] Csr<T> elasticity3d(std::int64_t side, double nu = 0.3);

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

/// A parameter of a family of generated matrices, besides its size.
struct GeneratorParameter {
  std::string_view name;
  std::string_view description;
  double standard = 0.0;  ///< value when none is given; NaN: it follows from the size
  double least = 0.0;
  double most = 0.0;
  bool whole = false;  ///< must be an integer
};

/// One family of matrices, each at any size. docs/generators.md has their recipes.
struct GeneratorFamily {
  std::string_view name;
  std::string_view description;
  std::string_view size_means;  ///< "rows", "vertices" or "points a side"
  std::int64_t default_size = 0;
  std::int64_t max_size = 0;
  std::int64_t min_size = 1;
  int block_size = 1;                             ///< unknowns per node, which are consecutive rows
  ValueStorage storage = ValueStorage::weighted;  ///< what generate() makes unless told otherwise
  bool symmetric = false;                         ///< positions and values, with the standard parameters
  std::span<const GeneratorParameter> parameters = {};
};

/// All families, in the order of docs/generators.md.
[[nodiscard]] std::span<const GeneratorFamily> generator_families();

/// Description of a generated matrix. Equal specs give bitwise the same matrix on every machine, with any number of
/// threads.
struct GeneratorSpec {
  std::string family;
  std::optional<std::int64_t> size = {};  ///< nothing: the default of the family
  std::uint64_t seed = 42;                ///< families without randomness ignore it
  std::map<std::string, double, std::less<>> parameters = {};
};

/// Reads FAMILY[:SIZE][,NAME=NUMBER]..., for instance "kmer:55e6,seed=3", "rmat:scale=22,edge_factor=8", "web". The
/// parts after the colon may come in any order; `seed` is the default of the seed.
/// \throws InvalidArgument naming the offending part and, for names, the nearest known one
[[nodiscard]] GeneratorSpec parse_generator(std::string_view text, std::uint64_t seed = 42);

/// The spec as text for parse_generator(), always with size and seed.
/// \throws InvalidArgument for a spec that generate() would refuse
[[nodiscard]] std::string to_string(const GeneratorSpec& spec);

/// Peak memory of generate() in bytes, matrix included. Exact for families without randomness; for the others from the
/// expected number of entries (within a few per cent from 10 000 rows on).
/// \throws InvalidArgument for an unknown family, a size or a parameter out of range
template <class T>
[[nodiscard]] std::uint64_t generated_bytes(const GeneratorSpec& spec, std::optional<ValueStorage> storage = {});

/// Coordinates of the nodes of a matrix with several unknowns per node: node after node, block_size for each, in units
/// of the mesh width. AmgOptions::coordinates takes them.
/// \throws InvalidArgument for a family without coordinates, and as generate(); OutOfMemory
[[nodiscard]] std::vector<double> generator_coordinates(const GeneratorSpec& spec);

/// Makes the matrix.
/// \param storage default: GeneratorFamily::storage; pattern leaves the values out
/// \throws InvalidArgument for an unknown family, a size or a parameter out of range; OutOfMemory
/// Complexity: O(rows + nnz) and sorting inside rows; parallel.
template <class T>
[[nodiscard]] Csr<T> generate(const GeneratorSpec& spec, std::optional<ValueStorage> storage = {});

}  // namespace tessera
