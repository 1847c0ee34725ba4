// Linear elasticity of a clamped cube, trilinear bricks. Compiled without contraction of a * b + c.
//
// The stiffness of a brick of edge 1 by its definition (T. J. R. Hughes, The Finite Element Method, 1987, chapters 2
// and 3):
//   K(a c, b d) = λ ∫ N_a,c N_b,d + μ ∫ N_a,d N_b,c + μ δ_cd Σ_e ∫ N_a,e N_b,e
// where N_a is a product of three hat functions, so that each integral is a product of three integrals over [0, 1].
#include "core/parallel.hpp"
#include "io/recipe.hpp"
#include "io/stencil_matrix.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <utility>

namespace tessera {

namespace io {

namespace {

/// 3 x 3, between the displacements of two nodes.
using Block = std::array<std::array<double, 3>, 3>;

/// Corner a of a brick is (a & 1, a >> 1 & 1, a >> 2).
using BrickStiffness = std::array<std::array<Block, 8>, 8>;

/// Between corners a and b.
template <class Stiffness>
auto& entry(Stiffness& k, int a, int b) {
  return k[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)];
}

int along(int corner, int axis) { return corner >> axis & 1; }

/// ∫ f g over [0, 1] for the hat functions of the ends i and j; each is replaced by its derivative if asked.
double integral(int i, bool derive_i, int j, bool derive_j) {
  const double slope_i = i == 1 ? 1.0 : -1.0;
  const double slope_j = j == 1 ? 1.0 : -1.0;
  if (derive_i && derive_j) return slope_i * slope_j;
  if (derive_i) return slope_i / 2;
  if (derive_j) return slope_j / 2;
  return i == j ? 1.0 / 3 : 1.0 / 6;
}

/// ∫ N_a,c N_b,d over the brick.
double integral_of_derivatives(int a, int c, int b, int d) {
  double product = 1.0;
  for (int axis = 0; axis < 3; ++axis) product *= integral(along(a, axis), axis == c, along(b, axis), axis == d);
  return product;
}

BrickStiffness brick_stiffness(double nu) {
  const double lambda = nu / ((1 + nu) * (1 - 2 * nu));
  const double mu = 1 / (2 * (1 + nu));
  BrickStiffness k{};
  for (int a = 0; a < 8; ++a) {
    for (int b = 0; b < 8; ++b) {
      double laplacian = 0.0;
      for (int e = 0; e < 3; ++e) laplacian += integral_of_derivatives(a, e, b, e);
      for (int c = 0; c < 3; ++c) {
        for (int d = 0; d < 3; ++d) {
          const double cross = lambda * integral_of_derivatives(a, c, b, d) + mu * integral_of_derivatives(a, d, b, c);
          entry(k, a, b)[static_cast<std::size_t>(c)][static_cast<std::size_t>(d)] =
              cross + (c == d ? mu * laplacian : 0.0);
        }
      }
    }
  }
  return k;
}

/// Grid of the free nodes, and the bricks around them.
class ClampedCube {
 public:
  explicit ClampedCube(std::int64_t side) : side_(side) {}

  [[nodiscard]] std::int64_t nodes() const { return (side_ - 1) * side_ * side_; }
  [[nodiscard]] GridSize free_grid() const { return {side_ - 1, side_, side_}; }
  /// Position in the mesh, the clamped face being x = 0.
  [[nodiscard]] std::array<std::int64_t, 3> position(std::int64_t node) const {
    return {node % (side_ - 1) + 1, node / (side_ - 1) % side_, node / ((side_ - 1) * side_)};
  }
  [[nodiscard]] bool has_brick(const std::array<std::int64_t, 3>& low_corner) const {
    for (const std::int64_t at : low_corner) {
      if (at < 0 || at + 1 >= side_) return false;
    }
    return true;
  }

 private:
  std::int64_t side_;
};

/// Blocks between a node and its 27 neighbours, itself included, x fastest.
std::array<Block, 27> node_blocks(const ClampedCube& cube, const BrickStiffness& k, std::int64_t node) {
  std::array<Block, 27> blocks{};
  const auto position = cube.position(node);
  for (int a = 0; a < 8; ++a) {  // the node's corner in the brick
    if (!cube.has_brick({position[0] - along(a, 0), position[1] - along(a, 1), position[2] - along(a, 2)})) continue;
    for (int b = 0; b < 8; ++b) {
      const auto step = [&](int axis) {
        return static_cast<std::size_t>(along(b, axis)) + 1 - static_cast<std::size_t>(along(a, axis));
      };
      Block& block = blocks[step(0) + 3 * (step(1) + 3 * step(2))];
      for (std::size_t c = 0; c < 3; ++c) {
        for (std::size_t d = 0; d < 3; ++d) block[c][d] += entry(k, a, b)[c][d];
      }
    }
  }
  return blocks;
}

/// The three rows of a node. \param neighbours its row of the structure of nodes, `reach` where they lie among the 27
template <class T>
void fill_rows(const std::array<Block, 27>& blocks, std::span<const index_t> neighbours,
               std::span<const std::size_t> reach, index_t* columns, T* values) {
  const std::size_t length = 3 * neighbours.size();
  for (std::size_t c = 0; c < 3; ++c) {
    for (std::size_t k = 0; k < neighbours.size(); ++k) {
      for (std::size_t d = 0; d < 3; ++d) {
        columns[c * length + 3 * k + d] = 3 * neighbours[k] + static_cast<index_t>(d);
        values[c * length + 3 * k + d] = static_cast<T>(blocks[reach[k]][c][d]);
      }
    }
  }
}

/// Which of its 27 neighbours a node has, in order.
class Reach {
 public:
  Reach(const ClampedCube& cube, std::int64_t node) {
    const GridSize grid = cube.free_grid();
    const auto [x, y, z] = cube.position(node);
    const auto inside = [](std::int64_t i, std::int64_t n) { return i >= 0 && i < n; };
    for (std::size_t k = 0; k < 27; ++k) {
      const auto step = static_cast<std::int64_t>(k);
      if (inside(x - 1 + step % 3 - 1, grid.x) && inside(y + step / 3 % 3 - 1, grid.y) &&
          inside(z + step / 9 - 1, grid.z)) {
        which_[count_++] = k;
      }
    }
  }
  [[nodiscard]] std::span<const std::size_t> span() const { return {which_.data(), count_}; }

 private:
  std::array<std::size_t, 27> which_{};
  std::size_t count_ = 0;
};

/// As many nodes a side as an index can count rows.
constexpr std::int64_t max_elastic_side = 894;

void check(std::int64_t side, double nu) {
  if (side < 2 || side > max_elastic_side) {
    throw InvalidArgument(fmt::format("elasticity3d: nodes a side must be in [2, {}], got {}", max_elastic_side, side));
  }
  if (!(nu >= 0.0 && nu < 0.5)) {
    throw InvalidArgument(fmt::format("elasticity3d: nu must be in [0, 0.5), got {}", nu));
  }
}

}  // namespace

}  // namespace io

template <class T>
Csr<T> elasticity3d(std::int64_t side, double nu) {
  io::check(side, nu);
  const io::ClampedCube cube(side);
  const io::BrickStiffness stiffness = io::brick_stiffness(nu);
  const io::Structure nodes = io::stencil_structure("elasticity3d", cube.free_grid(), io::box_stencil(3));
  const std::int64_t rows = 3 * cube.nodes();
  Array<offset_t> offsets(rows + 1, Init::none);
  Array<index_t> columns(9 * nodes.columns.size(), Init::none);
  Array<T> values(9 * nodes.columns.size(), Init::none);
  offsets[rows] = 9 * nodes.columns.size();
  host::parallel_for(Device{}, cube.nodes(), [&](host::Range range) {
    for (std::int64_t node = range.begin; node < range.end; ++node) {
      const offset_t begin = nodes.offsets[node];
      const offset_t length = nodes.offsets[node + 1] - begin;
      for (std::int64_t c = 0; c < 3; ++c) offsets[3 * node + c] = 9 * begin + 3 * c * length;
      io::fill_rows(io::node_blocks(cube, stiffness, node),
                    {nodes.columns.data() + begin, static_cast<std::size_t>(length)}, io::Reach(cube, node).span(),
                    columns.data() + 9 * begin, values.data() + 9 * begin);
    }
  });
  return Csr<T>(rows, rows, std::move(offsets), std::move(columns), std::move(values), Check::trusted);
}

template Csr<float> elasticity3d(std::int64_t, double);
template Csr<double> elasticity3d(std::int64_t, double);

namespace io {

namespace {

template <class T>
Csr<T> make_elasticity3d(const Recipe& recipe) {
  return elasticity3d<T>(recipe.size(), recipe["nu"]);
}

std::vector<double> elasticity3d_coordinates(const Recipe& recipe) {
  const ClampedCube cube(recipe.size());
  std::vector<double> coordinates;
  coordinates.reserve(static_cast<std::size_t>(3 * cube.nodes()));
  for (std::int64_t node = 0; node < cube.nodes(); ++node) {
    for (const std::int64_t at : cube.position(node)) coordinates.push_back(static_cast<double>(at));
  }
  return coordinates;
}

/// While the matrix is made, the positions of its nodes are there too: a ninth of its columns.
Expected expected_elasticity3d(const Recipe& recipe) {
  const ClampedCube cube(recipe.size());
  const double nodes = stencil_entries(cube.free_grid(), box_stencil(3));
  const auto rows = static_cast<double>(cube.nodes());
  return {
      .rows = 3 * rows, .drawn = 9 * nodes, .scratch_bytes = sizeof(offset_t) * (rows + 1) + sizeof(index_t) * nodes};
}

constexpr std::array<GeneratorParameter, 1> elasticity3d_parameters{
    {{"nu", "Poisson's ratio, below 0.5", 0.3, 0.0, 0.4999}}};

}  // namespace

GeneratorEntry elasticity3d_family() {
  return {.family = {.name = "elasticity3d",
                     .description = "linear elasticity of a clamped cube, trilinear bricks, positive definite",
                     .size_means = "nodes a side",
                     .default_size = 40,
                     .max_size = max_elastic_side,
                     .min_size = 2,
                     .block_size = 3,
                     .symmetric = true,
                     .parameters = elasticity3d_parameters},
          .expected = expected_elasticity3d,
          .matrix_float = make_elasticity3d<float>,
          .matrix_double = make_elasticity3d<double>,
          .coordinates = elasticity3d_coordinates};
}

}  // namespace io

}  // namespace tessera
