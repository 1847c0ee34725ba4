#include "io/recipe.hpp"
#include "io/stencil_matrix.hpp"
#include "tessera/generators.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <vector>

namespace tessera {

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
