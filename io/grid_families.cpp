// Matrices of grids: Poisson, anisotropic diffusion, convection and diffusion; their positions with random values
// (lap2d, fem3d).
#include "io/recipe.hpp"
#include "io/renumber.hpp"
#include "io/stencil_matrix.hpp"
#include "tessera/generators.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

namespace tessera {

namespace {

using io::Recipe;
using io::StencilPoint;

/// 5 and 7 points form a star, 9 and 27 points a box.
std::vector<StencilPoint> points_2d(Stencil2d stencil) {
  return stencil == Stencil2d::nine_point ? io::box_stencil(2) : io::star_stencil(2);
}

std::vector<StencilPoint> points_3d(Stencil3d stencil) {
  return stencil == Stencil3d::twentyseven_point ? io::box_stencil(3) : io::star_stencil(3);
}

double points(std::int64_t side, int dimensions) {
  const auto n = static_cast<double>(side);
  return dimensions == 2 ? n * n : n * n * n;
}

std::vector<StencilPoint> anisotropic_points(double epsilon) {
  return {{0, -1, 0, -epsilon}, {-1, 0, 0, -1.0}, {0, 0, 0, 2.0 + 2.0 * epsilon}, {1, 0, 0, -1.0}, {0, 1, 0, -epsilon}};
}

std::vector<StencilPoint> anisotropic_points(double epsilon_y, double epsilon_z) {
  std::vector<StencilPoint> stencil = io::star_stencil(3);
  for (StencilPoint& p : stencil) {
    p.value = p.dz != 0 ? -epsilon_z : p.dy != 0 ? -epsilon_y : p.dx != 0 ? -1.0 : 2.0 * (1.0 + epsilon_y + epsilon_z);
  }
  return stencil;
}

/// Whether `points` asks for the box; only two values are valid.
bool takes_box(const Recipe& recipe, std::int64_t star, std::int64_t box) {
  const std::int64_t given = recipe.whole("points");
  if (given == star || given == box) return given == box;
  throw InvalidArgument(
      fmt::format("{}: parameter 'points' must be {} or {}, got {}", recipe.family().name, star, box, given));
}

Stencil2d stencil_2d(const Recipe& recipe) {
  return takes_box(recipe, 5, 9) ? Stencil2d::nine_point : Stencil2d::five_point;
}

Stencil3d stencil_3d(const Recipe& recipe) {
  return takes_box(recipe, 7, 27) ? Stencil3d::twentyseven_point : Stencil3d::seven_point;
}

Boundary boundary(const Recipe& recipe) {
  return recipe.whole("neumann") != 0 ? Boundary::neumann : Boundary::dirichlet;
}

/// Renumbers its points at random if the recipe says so.
template <class T>
Csr<T> numbered(const Recipe& recipe, Csr<T> matrix) {
  return recipe.whole("shuffle") != 0 ? io::renumbered(matrix, recipe.seed()) : std::move(matrix);
}

}  // namespace

template <class T>
Csr<T> poisson2d(std::int64_t nx, std::int64_t ny, Stencil2d stencil, Boundary boundary) {
  return io::stencil_matrix<T>("poisson2d", {nx, ny, 1}, points_2d(stencil), boundary);
}

template <class T>
Csr<T> poisson3d(std::int64_t nx, std::int64_t ny, std::int64_t nz, Stencil3d stencil, Boundary boundary) {
  return io::stencil_matrix<T>("poisson3d", {nx, ny, nz}, points_3d(stencil), boundary);
}

template <class T>
Csr<T> anisotropic2d(std::int64_t nx, std::int64_t ny, double epsilon) {
  // The diagonal must be finite as well.
  if (!(epsilon > 0.0) || !std::isfinite(static_cast<T>(2.0 + 2.0 * epsilon))) {
    throw InvalidArgument(fmt::format("anisotropic2d: epsilon must be finite and positive, got {}", epsilon));
  }
  return io::stencil_matrix<T>("anisotropic2d", {nx, ny, 1}, anisotropic_points(epsilon));
}

template <class T>
Csr<T> anisotropic3d(std::int64_t nx, std::int64_t ny, std::int64_t nz, double epsilon_y, double epsilon_z) {
  if (!(epsilon_y > 0.0 && epsilon_z > 0.0) || !std::isfinite(static_cast<T>(2.0 * (1.0 + epsilon_y + epsilon_z)))) {
    throw InvalidArgument(fmt::format("anisotropic3d: epsilon_y and epsilon_z must be finite and positive, got {}, {}",
                                      epsilon_y, epsilon_z));
  }
  return io::stencil_matrix<T>("anisotropic3d", {nx, ny, nz}, anisotropic_points(epsilon_y, epsilon_z));
}

template Csr<float> poisson2d(std::int64_t, std::int64_t, Stencil2d, Boundary);
template Csr<double> poisson2d(std::int64_t, std::int64_t, Stencil2d, Boundary);
template Csr<float> poisson3d(std::int64_t, std::int64_t, std::int64_t, Stencil3d, Boundary);
template Csr<double> poisson3d(std::int64_t, std::int64_t, std::int64_t, Stencil3d, Boundary);
template Csr<float> anisotropic2d(std::int64_t, std::int64_t, double);
template Csr<double> anisotropic2d(std::int64_t, std::int64_t, double);
template Csr<float> anisotropic3d(std::int64_t, std::int64_t, std::int64_t, double, double);
template Csr<double> anisotropic3d(std::int64_t, std::int64_t, std::int64_t, double, double);

namespace io {

namespace {

template <class T>
Csr<T> make_poisson2d(const Recipe& recipe) {
  const std::int64_t n = recipe.size();
  return numbered(recipe, poisson2d<T>(n, n, stencil_2d(recipe), boundary(recipe)));
}

template <class T>
Csr<T> make_poisson3d(const Recipe& recipe) {
  const std::int64_t n = recipe.size();
  return numbered(recipe, poisson3d<T>(n, n, n, stencil_3d(recipe), boundary(recipe)));
}

template <class T>
Csr<T> make_anisotropic2d(const Recipe& recipe) {
  return anisotropic2d<T>(recipe.size(), recipe.size(), recipe["epsilon"]);
}

template <class T>
Csr<T> make_anisotropic3d(const Recipe& recipe) {
  const std::int64_t n = recipe.size();
  return anisotropic3d<T>(n, n, n, recipe["ey"], recipe["ez"]);
}

Expected expected_poisson2d(const Recipe& recipe) {
  const std::int64_t n = recipe.size();
  return {.rows = points(n, 2),
          .drawn = stencil_entries({n, n, 1}, points_2d(stencil_2d(recipe))),
          .renumbered = recipe.whole("shuffle") != 0};
}

Expected expected_poisson3d(const Recipe& recipe) {
  const std::int64_t n = recipe.size();
  return {.rows = points(n, 3),
          .drawn = stencil_entries({n, n, n}, points_3d(stencil_3d(recipe))),
          .renumbered = recipe.whole("shuffle") != 0};
}

Expected expected_anisotropic2d(const Recipe& recipe) {
  const std::int64_t n = recipe.size();
  return {points(n, 2), stencil_entries({n, n, 1}, star_stencil(2))};
}

Expected expected_anisotropic3d(const Recipe& recipe) {
  const std::int64_t n = recipe.size();
  return {points(n, 3), stencil_entries({n, n, n}, star_stencil(3))};
}

constexpr GeneratorParameter neumann_parameter{
    "neumann", "1: nothing flows across the boundary, and the matrix is singular", 0, 0, 1, true};
constexpr GeneratorParameter shuffle_parameter{"shuffle", "1: points numbered at random by the seed", 0, 0, 1, true};
constexpr std::array<GeneratorParameter, 3> parameters_2d{
    {{"points", "of the stencil: 5 or 9", 5, 5, 9, true}, neumann_parameter, shuffle_parameter}};
constexpr std::array<GeneratorParameter, 3> parameters_3d{
    {{"points", "of the stencil: 7 or 27", 7, 7, 27, true}, neumann_parameter, shuffle_parameter}};
constexpr std::array<GeneratorParameter, 1> parameters_anisotropic{
    {{"epsilon", "diffusion along y, that along x being 1", 0.01, 1e-30, 1e30}}};
constexpr std::array<GeneratorParameter, 2> parameters_anisotropic3d{
    {{"ey", "diffusion along y, that along x being 1", 1.0, 1e-30, 1e30},
     {"ez", "diffusion along z", 0.001, 1e-30, 1e30}}};

}  // namespace

GeneratorEntry poisson2d_family() {
  return {.family = {.name = "poisson2d",
                     .description = "-Laplace u on a square grid, positive definite",
                     .size_means = "points a side",
                     .default_size = 1000,
                     .max_size = max_square_side,
                     .symmetric = true,
                     .parameters = parameters_2d},
          .expected = expected_poisson2d,
          .matrix_float = make_poisson2d<float>,
          .matrix_double = make_poisson2d<double>};
}

GeneratorEntry poisson3d_family() {
  return {.family = {.name = "poisson3d",
                     .description = "-Laplace u on a cubic grid, positive definite",
                     .size_means = "points a side",
                     .default_size = 100,
                     .max_size = max_cube_side,
                     .symmetric = true,
                     .parameters = parameters_3d},
          .expected = expected_poisson3d,
          .matrix_float = make_poisson3d<float>,
          .matrix_double = make_poisson3d<double>};
}

GeneratorEntry anisotropic2d_family() {
  return {.family = {.name = "anisotropic2d",
                     .description = "-u_xx - epsilon u_yy on a square grid, positive definite",
                     .size_means = "points a side",
                     .default_size = 1000,
                     .max_size = max_square_side,
                     .symmetric = true,
                     .parameters = parameters_anisotropic},
          .expected = expected_anisotropic2d,
          .matrix_float = make_anisotropic2d<float>,
          .matrix_double = make_anisotropic2d<double>};
}

GeneratorEntry anisotropic3d_family() {
  return {.family = {.name = "anisotropic3d",
                     .description = "-u_xx - ey u_yy - ez u_zz on a cubic grid, positive definite",
                     .size_means = "points a side",
                     .default_size = 100,
                     .max_size = max_cube_side,
                     .symmetric = true,
                     .parameters = parameters_anisotropic3d},
          .expected = expected_anisotropic3d,
          .matrix_float = make_anisotropic3d<float>,
          .matrix_double = make_anisotropic3d<double>};
}

namespace {

/// The square grid whose number of points is nearest to the size.
GridSize square_grid(const Recipe& recipe) {
  const std::int64_t side = std::llround(std::sqrt(static_cast<double>(recipe.size())));
  return {std::min(side, max_square_side), std::min(side, max_square_side), 1};
}

Structure make_lap2d(const Recipe& recipe) { return stencil_structure("lap2d", square_grid(recipe), star_stencil(2)); }

Expected expected_lap2d(const Recipe& recipe) {
  const GridSize grid = square_grid(recipe);
  return {static_cast<double>(grid.x * grid.y), stencil_entries(grid, star_stencil(2))};
}

}  // namespace

GeneratorEntry lap2d_family() {
  return {.family = {.name = "lap2d",
                     .description = "positions of the 5-point stencil on a square grid, random values",
                     .size_means = "rows",
                     .default_size = 25'000'000,
                     .max_size = max_rows,
                     .symmetric = true},
          .expected = expected_lap2d,
          .structure = make_lap2d};
}

namespace {

/// The cubic grid whose side is nearest to the cube root of the size.
GridSize cubic_grid(const Recipe& recipe) {
  const std::int64_t nearest = std::llround(std::cbrt(static_cast<double>(recipe.size())));
  const std::int64_t side = std::min(nearest, max_cube_side);
  return {side, side, side};
}

Structure make_fem3d(const Recipe& recipe) { return stencil_structure("fem3d", cubic_grid(recipe), box_stencil(3)); }

Expected expected_fem3d(const Recipe& recipe) {
  const GridSize grid = cubic_grid(recipe);
  return {static_cast<double>(grid.x * grid.y * grid.z), stencil_entries(grid, box_stencil(3))};
}

}  // namespace

GeneratorEntry fem3d_family() {
  return {.family = {.name = "fem3d",
                     .description = "positions of the 27-point stencil on a cubic grid, random values",
                     .size_means = "rows",
                     .default_size = 2'744'000,
                     .max_size = max_rows,
                     .symmetric = true},
          .expected = expected_fem3d,
          .structure = make_fem3d};
}

}  // namespace io

namespace {

/// Entry of the neighbour on the low side: upwind when the flow runs towards larger coordinates.
double low_side(double p) { return -1.0 - (p > 0.0 ? p : 0.0); }
double high_side(double p) { return -1.0 - (p < 0.0 ? -p : 0.0); }

}  // namespace

template <class T>
Csr<T> convection_diffusion(std::int64_t nx, std::int64_t ny, std::int64_t nz, const Peclet& peclet) {
  const bool flat = nz == 1;
  const double flow = std::fabs(peclet.x) + std::fabs(peclet.y) + (flat ? 0.0 : std::fabs(peclet.z));
  if (!std::isfinite(peclet.z) || !std::isfinite(static_cast<T>(6.0 + flow))) {
    throw InvalidArgument(fmt::format("convection_diffusion: Peclet numbers must be finite, got ({}, {}, {})", peclet.x,
                                      peclet.y, peclet.z));
  }
  std::vector<io::StencilPoint> stencil{{0, -1, 0, low_side(peclet.y)},
                                        {-1, 0, 0, low_side(peclet.x)},
                                        {0, 0, 0, (flat ? 4.0 : 6.0) + flow},
                                        {1, 0, 0, high_side(peclet.x)},
                                        {0, 1, 0, high_side(peclet.y)}};
  if (!flat) {
    stencil.insert(stencil.begin(), {0, 0, -1, low_side(peclet.z)});
    stencil.push_back({0, 0, 1, high_side(peclet.z)});
  }
  return io::stencil_matrix<T>("convection_diffusion", {nx, ny, nz}, stencil);
}

template Csr<float> convection_diffusion(std::int64_t, std::int64_t, std::int64_t, const Peclet&);
template Csr<double> convection_diffusion(std::int64_t, std::int64_t, std::int64_t, const Peclet&);

namespace io {

namespace {

template <class T>
Csr<T> make_convdiff(const Recipe& recipe) {
  const std::int64_t n = recipe.size();
  return convection_diffusion<T>(n, n, n, {recipe["px"], recipe["py"], recipe["pz"]});
}

Expected expected_convdiff(const Recipe& recipe) {
  const std::int64_t n = recipe.size();
  const auto side = static_cast<double>(n);
  return {side * side * side, stencil_entries({n, n, n}, star_stencil(3))};
}

/// No two directions alike, moderate enough for every method.
constexpr std::array<GeneratorParameter, 3> convdiff_parameters{
    {{"px", "cell Peclet number along x", 1.0, -1e30, 1e30},
     {"py", "cell Peclet number along y", 0.5, -1e30, 1e30},
     {"pz", "cell Peclet number along z", 0.25, -1e30, 1e30}}};

}  // namespace

GeneratorEntry convdiff_family() {
  return {.family = {.name = "convdiff",
                     .description = "-Laplace u + v grad u on a cubic grid, upwind: nonsymmetric",
                     .size_means = "points a side",
                     .default_size = 100,
                     .max_size = max_cube_side,
                     .parameters = convdiff_parameters},
          .expected = expected_convdiff,
          .matrix_float = make_convdiff<float>,
          .matrix_double = make_convdiff<double>};
}

}  // namespace io

}  // namespace tessera
