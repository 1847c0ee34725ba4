// Discretised systems on grids: rotated anisotropy, Helmholtz, Stokes, convection by a recirculating flow. Compiled
// without contraction of a * b + c.
#include "core/portable_math.hpp"
#include "io/recipe.hpp"
#include "io/stencil_matrix.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

namespace tessera::io {

namespace {

/// Bilinear elements for -div(K grad u), K = R diag(1, eps) R^T with a rotation R by 45 degrees, so that
/// K = [k c; c k]. All interior points have four elements, and the rest is Dirichlet boundary.
std::vector<StencilPoint> rotated_points(double eps) {
  const double k = 0.5 * (1.0 + eps);
  const double c = 0.5 * (1.0 - eps);
  std::vector<StencilPoint> stencil = box_stencil(2);
  for (StencilPoint& p : stencil) p.value = -k / 3 - 0.5 * c * p.dx * p.dy;
  stencil[4].value = 8 * k / 3;
  return stencil;
}

template <class T>
Csr<T> make_rotaniso2d(const Recipe& recipe) {
  return stencil_matrix<T>("rotaniso2d", {recipe.size(), recipe.size(), 1}, rotated_points(recipe["eps"]));
}

Expected expected_rotaniso2d(const Recipe& recipe) {
  const auto side = static_cast<double>(recipe.size());
  return {side * side, stencil_entries({recipe.size(), recipe.size(), 1}, box_stencil(2))};
}

constexpr std::array<GeneratorParameter, 1> rotaniso2d_parameters{
    {{"eps", "diffusion across the direction of the strong one, which is 1", 1e-3, 1e-30, 1e30}}};

}  // namespace

GeneratorEntry rotaniso2d_family() {
  return {.family = {.name = "rotaniso2d",
                     .description = "anisotropic diffusion along the diagonal of a square grid, bilinear elements, "
                                    "positive definite",
                     .size_means = "points a side",
                     .default_size = 1000,
                     .max_size = max_square_side,
                     .symmetric = true,
                     .parameters = rotaniso2d_parameters},
          .expected = expected_rotaniso2d,
          .matrix_float = make_rotaniso2d<float>,
          .matrix_double = make_rotaniso2d<double>};
}

namespace {

template <class T>
Csr<T> make_helmholtz2d(const Recipe& recipe) {
  std::vector<StencilPoint> stencil = star_stencil(2);
  stencil[2].value = 4.0 - recipe["kh"] * recipe["kh"];
  return stencil_matrix<T>("helmholtz2d", {recipe.size(), recipe.size(), 1}, stencil);
}

Expected expected_helmholtz2d(const Recipe& recipe) {
  const auto side = static_cast<double>(recipe.size());
  return {side * side, stencil_entries({recipe.size(), recipe.size(), 1}, star_stencil(2))};
}

constexpr std::array<GeneratorParameter, 1> helmholtz2d_parameters{
    {{"kh", "wave number times mesh width", 0.6, 0.0, 1e10}}};

}  // namespace

GeneratorEntry helmholtz2d_family() {
  return {.family = {.name = "helmholtz2d",
                     .description = "-Laplace u - k^2 u on a square grid, symmetric and indefinite",
                     .size_means = "points a side",
                     .default_size = 400,
                     .max_size = max_square_side,
                     .symmetric = true,
                     .parameters = helmholtz2d_parameters},
          .expected = expected_helmholtz2d,
          .matrix_float = make_helmholtz2d<float>,
          .matrix_double = make_helmholtz2d<double>};
}

namespace {

/// `entries_of(row, put)` calls put(column, value) for the entries of a row, columns ascending; it is called twice.
template <class T, class EntriesOf>
Csr<T> matrix_by_rows(std::int64_t rows, const EntriesOf& entries_of) {
  Array<offset_t> offsets(rows + 1);
  host::parallel_for(Device{}, rows, [&](host::Range range) {
    for (std::int64_t row = range.begin; row < range.end; ++row) {
      entries_of(row, [&](std::int64_t, double) { ++offsets[row + 1]; });
    }
  });
  accumulate_counts(offsets);
  Array<index_t> columns(offsets[rows], Init::none);
  Array<T> values(offsets[rows], Init::none);
  host::parallel_for(Device{}, rows, [&](host::Range range) {
    for (std::int64_t row = range.begin; row < range.end; ++row) {
      offset_t k = offsets[row];
      entries_of(row, [&](std::int64_t column, double value) {
        columns[k] = static_cast<index_t>(column);
        values[k++] = static_cast<T>(value);
      });
    }
  });
  return Csr<T>(rows, rows, std::move(offsets), std::move(columns), std::move(values), Check::trusted);
}

/// Stokes flow on a square grid, u, v and p in every point: [L 0 Gx; 0 L Gy; Gx^T Gy^T -beta Ln]. L is the 5-point
/// Laplacian with Dirichlet boundary, Ln the one across whose boundary nothing flows. The first p has -1 more on the
/// diagonal, which pins the pressure.
class StokesRows {
 public:
  StokesRows(std::int64_t side, double beta) : side_(side), beta_(beta) {}

  template <class Put>
  void operator()(std::int64_t row, const Put& put) const {
    const std::int64_t node = row / 3;
    const auto component = static_cast<int>(row % 3);
    const std::int64_t x = node % side_;
    const std::int64_t y = node / side_;
    if (y > 0) neighbour(node - side_, component, 1, -0.5, put);
    if (x > 0) neighbour(node - 1, component, 0, -0.5, put);
    put(row, component < 2 ? 4.0 : pressure_diagonal(x, y));
    if (x + 1 < side_) neighbour(node + 1, component, 0, 0.5, put);
    if (y + 1 < side_) neighbour(node + side_, component, 1, 0.5, put);
  }

 private:
  /// Entries of a row of `component` in the neighbour `to` along `axis`; `slope` is that of the central difference.
  template <class Put>
  void neighbour(std::int64_t to, int component, int axis, double slope, const Put& put) const {
    if (component < 2) {
      put(3 * to + component, -1.0);
      if (component == axis) put(3 * to + 2, slope);
    } else {
      put(3 * to + axis, -slope);  // the transpose: this point as seen from its neighbour
      put(3 * to + 2, beta_);
    }
  }

  [[nodiscard]] double pressure_diagonal(std::int64_t x, std::int64_t y) const {
    const int neighbours = (x > 0 ? 1 : 0) + (x + 1 < side_ ? 1 : 0) + (y > 0 ? 1 : 0) + (y + 1 < side_ ? 1 : 0);
    return -beta_ * neighbours - (x == 0 && y == 0 ? 1.0 : 0.0);
  }

  std::int64_t side_;
  double beta_;
};

template <class T>
Csr<T> make_stokes2d(const Recipe& recipe) {
  return matrix_by_rows<T>(3 * recipe.size() * recipe.size(), StokesRows(recipe.size(), recipe["beta"]));
}

/// Three times the 5-point stencil; every link of two points couples a velocity with the pressure, four times.
Expected expected_stokes2d(const Recipe& recipe) {
  const std::int64_t n = recipe.size();
  const auto side = static_cast<double>(n);
  return {3 * side * side, 3 * stencil_entries({n, n, 1}, star_stencil(2)) + 8 * side * (side - 1)};
}

/// As many points a side as an index can count rows.
constexpr std::int64_t max_stokes_side = 26754;

constexpr std::array<GeneratorParameter, 1> stokes2d_parameters{
    {{"beta", "stabilisation: the factor of the Laplacian of the pressure", 0.1, 0.0, 1e30}}};

}  // namespace

GeneratorEntry stokes2d_family() {
  return {.family = {.name = "stokes2d",
                     .description = "Stokes flow on a square grid, u, v and p in every point, symmetric and indefinite",
                     .size_means = "points a side",
                     .default_size = 200,
                     .max_size = max_stokes_side,
                     .block_size = 3,
                     .symmetric = true,
                     .parameters = stokes2d_parameters},
          .expected = expected_stokes2d,
          .matrix_float = make_stokes2d<float>,
          .matrix_double = make_stokes2d<double>};
}

namespace {

/// sin(π x) and sin(2 π x) at n places (start + i) h of the unit interval, h = 1 / (N + 1).
struct Sines {
  Sines(std::int64_t n, double start, std::int64_t side) {
    once.reserve(static_cast<std::size_t>(n));
    twice.reserve(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i) {
      const double x = (static_cast<double>(i) + start) / static_cast<double>(side + 1);
      once.push_back(portable_sin_pi(x));
      twice.push_back(portable_sin_pi(2 * x));
    }
  }
  std::vector<double> once;
  std::vector<double> twice;
};

/// -Laplace u + pe w . grad u on the unit cube with Dirichlet boundary, times h^2: first-order upwind, the flow w taken
/// at the faces between points. A row sums to the number of its links to the boundary, through which nothing flows.
class RecirculationRows {
 public:
  RecirculationRows(std::int64_t side, double pe)
      : side_(side),
        scale_(pe / static_cast<double>(side + 1)),
        points_(side, 1.0, side),
        faces_(side - 1, 1.5, side) {}

  template <class Put>
  void operator()(std::int64_t row, const Put& put) const {
    const std::array<std::int64_t, 3> at{row % side_, row / side_ % side_, row / (side_ * side_)};
    const std::array<std::int64_t, 3> stride{1, side_, side_ * side_};
    std::array<double, 6> links{1.0, 1.0, 1.0, 1.0, 1.0, 1.0};  // down along x, y, z, then up
    double diagonal = 0.0;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      if (at[axis] > 0) links[axis] += std::max(peclet(axis, at, at[axis] - 1), 0.0);
      if (at[axis] + 1 < side_) links[axis + 3] += std::max(-peclet(axis, at, at[axis]), 0.0);
      diagonal += links[axis] + links[axis + 3];
    }
    for (std::size_t axis = 3; axis-- > 0;) {
      if (at[axis] > 0) put(row - stride[axis], -links[axis]);
    }
    put(row, diagonal);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      if (at[axis] + 1 < side_) put(row + stride[axis], -links[axis + 3]);
    }
  }

 private:
  /// Cell Péclet number at the face number `face` on the line along `axis` through a point.
  [[nodiscard]] double peclet(std::size_t axis, const std::array<std::int64_t, 3>& at, std::int64_t face) const {
    const auto of = [&](std::size_t which) { return static_cast<std::size_t>(which == axis ? face : at[which]); };
    const auto once = [&](std::size_t which) { return (which == axis ? faces_ : points_).once[of(which)]; };
    const auto twice = [&](std::size_t which) { return (which == axis ? faces_ : points_).twice[of(which)]; };
    const double square = once(axis) * once(axis);
    if (axis == 0) return scale_ * (0.3 * square * twice(1) * twice(2));
    if (axis == 1) return scale_ * -(once(0) * (1.0 - 0.5 * twice(0)) * square * twice(2));
    return scale_ * (once(0) * twice(1) * square);
  }

  std::int64_t side_;
  double scale_;  ///< pe h
  Sines points_;
  Sines faces_;
};

template <class T>
Csr<T> make_recirc3d(const Recipe& recipe) {
  const std::int64_t n = recipe.size();
  return matrix_by_rows<T>(n * n * n, RecirculationRows(n, recipe["pe"]));
}

Expected expected_recirc3d(const Recipe& recipe) {
  const std::int64_t n = recipe.size();
  const auto side = static_cast<double>(n);
  return {.rows = side * side * side,
          .drawn = stencil_entries({n, n, n}, star_stencil(3)),
          .scratch_bytes = sizeof(double) * (4 * side - 2)};
}

constexpr std::array<GeneratorParameter, 1> recirc3d_parameters{{{"pe", "Peclet number of the cube", 1000, 0.0, 1e30}}};

}  // namespace

GeneratorEntry recirc3d_family() {
  return {.family = {.name = "recirc3d",
                     .description = "-Laplace u + pe w grad u on a cubic grid, a flow w of vortices, upwind: "
                                    "nonsymmetric",
                     .size_means = "points a side",
                     .default_size = 60,
                     .max_size = max_cube_side,
                     .parameters = recirc3d_parameters},
          .expected = expected_recirc3d,
          .matrix_float = make_recirc3d<float>,
          .matrix_double = make_recirc3d<double>};
}

}  // namespace tessera::io
