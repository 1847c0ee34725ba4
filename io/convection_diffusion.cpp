#include "io/stencil_matrix.hpp"
#include "tessera/generators.hpp"

#include <fmt/format.h>

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

}  // namespace tessera
