#include "io/stencil_matrix.hpp"
#include "tessera/generators.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <vector>

namespace tessera {

namespace {

using io::GridSize;
using io::StencilPoint;

/// All points of a 3^dimensions box: -1 each, and their number on the diagonal.
std::vector<StencilPoint> box_stencil(int reach_z) {
  std::vector<StencilPoint> stencil;
  for (int dz = -reach_z; dz <= reach_z; ++dz) {
    for (int dy = -1; dy <= 1; ++dy) {
      for (int dx = -1; dx <= 1; ++dx) stencil.push_back({dx, dy, dz, -1.0});
    }
  }
  stencil[stencil.size() / 2].value = static_cast<double>(stencil.size() - 1);
  return stencil;
}

}  // namespace

template <class T>
Csr<T> poisson2d(std::int64_t nx, std::int64_t ny, Stencil2d stencil) {
  const GridSize grid{nx, ny, 1};
  if (stencil == Stencil2d::nine_point) return io::stencil_matrix<T>("poisson2d", grid, box_stencil(0));
  constexpr std::array<StencilPoint, 5> five{
      {{0, -1, 0, -1.0}, {-1, 0, 0, -1.0}, {0, 0, 0, 4.0}, {1, 0, 0, -1.0}, {0, 1, 0, -1.0}}};
  return io::stencil_matrix<T>("poisson2d", grid, five);
}

template <class T>
Csr<T> poisson3d(std::int64_t nx, std::int64_t ny, std::int64_t nz, Stencil3d stencil) {
  const GridSize grid{nx, ny, nz};
  if (stencil == Stencil3d::twentyseven_point) return io::stencil_matrix<T>("poisson3d", grid, box_stencil(1));
  constexpr std::array<StencilPoint, 7> seven{{{0, 0, -1, -1.0},
                                               {0, -1, 0, -1.0},
                                               {-1, 0, 0, -1.0},
                                               {0, 0, 0, 6.0},
                                               {1, 0, 0, -1.0},
                                               {0, 1, 0, -1.0},
                                               {0, 0, 1, -1.0}}};
  return io::stencil_matrix<T>("poisson3d", grid, seven);
}

template <class T>
Csr<T> anisotropic2d(std::int64_t nx, std::int64_t ny, double epsilon) {
  // The diagonal must be finite as well.
  if (!(epsilon > 0.0) || !std::isfinite(static_cast<T>(2.0 + 2.0 * epsilon))) {
    throw InvalidArgument(fmt::format("anisotropic2d: epsilon must be finite and positive, got {}", epsilon));
  }
  const std::array<StencilPoint, 5> stencil{
      {{0, -1, 0, -epsilon}, {-1, 0, 0, -1.0}, {0, 0, 0, 2.0 + 2.0 * epsilon}, {1, 0, 0, -1.0}, {0, 1, 0, -epsilon}}};
  return io::stencil_matrix<T>("anisotropic2d", {nx, ny, 1}, stencil);
}

template Csr<float> poisson2d(std::int64_t, std::int64_t, Stencil2d);
template Csr<double> poisson2d(std::int64_t, std::int64_t, Stencil2d);
template Csr<float> poisson3d(std::int64_t, std::int64_t, std::int64_t, Stencil3d);
template Csr<double> poisson3d(std::int64_t, std::int64_t, std::int64_t, Stencil3d);
template Csr<float> anisotropic2d(std::int64_t, std::int64_t, double);
template Csr<double> anisotropic2d(std::int64_t, std::int64_t, double);

}  // namespace tessera
