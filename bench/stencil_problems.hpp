/// \file
/// Matrices of grids made on a GPU: 10^8 rows in milliseconds, where the host takes seconds and the upload as long.
#pragma once

#include "io/jump_coefficients.hpp"
#include "io/stencil_matrix.hpp"
#include "tessera/csr.hpp"
#include "tessera/device.hpp"
#include "tessera/generators.hpp"

#include <vector>

namespace tessera::bench {

/// A stencil of at most 27 points on a grid, or diffusion in a medium of cubes.
struct StencilProblem {
  io::GridSize grid;
  std::vector<io::StencilPoint> stencil;  ///< ascending (dz, dy, dx)
  Boundary boundary = Boundary::dirichlet;
  io::JumpCoefficients medium = {};  ///< with values: they replace those of the stencil, which has 7 points
};

/// The matrix that io::stencil_matrix() or jump3d() make, bit by bit. \param device a GPU
/// \throws OutOfMemory, CudaError; DeviceUnavailable in a build without CUDA
[[nodiscard]] Csr<double> stencil_matrix_on(const Device& device, const StencilProblem& problem);

/// Values d_i a_ij d_j on the structure of A, 0.9 <= d <= 1.1: new values, as definite as the old ones. On either kind
/// of device.
[[nodiscard]] Csr<double> with_new_values(const Csr<double>& a);

/// d_i of with_new_values().
[[nodiscard]] TESSERA_HOST_DEVICE inline double scale_of_row(std::int64_t i) {
  const auto scattered = static_cast<std::uint32_t>(i) * 2654435761U >> 8;  // 24 bits
  return 0.9 + 0.2 * (static_cast<double>(scattered) * 0x1p-24);
}

/// On a GPU.
[[nodiscard]] Csr<double> with_new_values_on_gpu(const Csr<double>& a);

}  // namespace tessera::bench
