#include "io/recipe.hpp"
#include "io/stencil_matrix.hpp"
#include "tessera/generators.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <vector>

namespace tessera {

namespace {

using io::Recipe;
using io::StencilPoint;

/// Standard points of a stencil are those of a star, the others those of a box.
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

/// The value of `points`, of which only two are known.
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

}  // namespace

template <class T>
Csr<T> poisson2d(std::int64_t nx, std::int64_t ny, Stencil2d stencil) {
  return io::stencil_matrix<T>("poisson2d", {nx, ny, 1}, points_2d(stencil));
}

template <class T>
Csr<T> poisson3d(std::int64_t nx, std::int64_t ny, std::int64_t nz, Stencil3d stencil) {
  return io::stencil_matrix<T>("poisson3d", {nx, ny, nz}, points_3d(stencil));
}

template <class T>
Csr<T> anisotropic2d(std::int64_t nx, std::int64_t ny, double epsilon) {
  // The diagonal must be finite as well.
  if (!(epsilon > 0.0) || !std::isfinite(static_cast<T>(2.0 + 2.0 * epsilon))) {
    throw InvalidArgument(fmt::format("anisotropic2d: epsilon must be finite and positive, got {}", epsilon));
  }
  return io::stencil_matrix<T>("anisotropic2d", {nx, ny, 1}, anisotropic_points(epsilon));
}

template Csr<float> poisson2d(std::int64_t, std::int64_t, Stencil2d);
template Csr<double> poisson2d(std::int64_t, std::int64_t, Stencil2d);
template Csr<float> poisson3d(std::int64_t, std::int64_t, std::int64_t, Stencil3d);
template Csr<double> poisson3d(std::int64_t, std::int64_t, std::int64_t, Stencil3d);
template Csr<float> anisotropic2d(std::int64_t, std::int64_t, double);
template Csr<double> anisotropic2d(std::int64_t, std::int64_t, double);

namespace io {

namespace {

template <class T>
Csr<T> make_poisson2d(const Recipe& recipe) {
  return poisson2d<T>(recipe.size(), recipe.size(), stencil_2d(recipe));
}

template <class T>
Csr<T> make_poisson3d(const Recipe& recipe) {
  return poisson3d<T>(recipe.size(), recipe.size(), recipe.size(), stencil_3d(recipe));
}

template <class T>
Csr<T> make_anisotropic2d(const Recipe& recipe) {
  return anisotropic2d<T>(recipe.size(), recipe.size(), recipe["epsilon"]);
}

Expected expected_poisson2d(const Recipe& recipe) {
  const std::int64_t n = recipe.size();
  return {points(n, 2), stencil_entries({n, n, 1}, points_2d(stencil_2d(recipe)))};
}

Expected expected_poisson3d(const Recipe& recipe) {
  const std::int64_t n = recipe.size();
  return {points(n, 3), stencil_entries({n, n, n}, points_3d(stencil_3d(recipe)))};
}

Expected expected_anisotropic2d(const Recipe& recipe) {
  const std::int64_t n = recipe.size();
  return {points(n, 2), stencil_entries({n, n, 1}, star_stencil(2))};
}

constexpr std::array<GeneratorParameter, 1> parameters_2d{{{"points", "of the stencil: 5 or 9", 5, 5, 9, true}}};
constexpr std::array<GeneratorParameter, 1> parameters_3d{{{"points", "of the stencil: 7 or 27", 7, 7, 27, true}}};
constexpr std::array<GeneratorParameter, 1> parameters_anisotropic{
    {{"epsilon", "diffusion along y, that along x being 1", 0.01, 1e-30, 1e30}}};

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

}  // namespace io

}  // namespace tessera
