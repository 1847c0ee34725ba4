#include "tests/solvers/poisson_stencil.hpp"

#include "core/cuda/start_kernel.cuh"

namespace tessera::testing {

namespace {

__global__ void poisson_stencil_kernel(std::int64_t nx, std::int64_t ny, const double* u, double* y) {
  const std::int64_t k = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (k >= nx * ny) return;
  const std::int64_t i = k % nx;
  double sum = 4.0 * u[k];
  if (i > 0) sum -= u[k - 1];
  if (i + 1 < nx) sum -= u[k + 1];
  if (k >= nx) sum -= u[k - nx];
  if (k + nx < nx * ny) sum -= u[k + nx];
  y[k] = sum;
}

}  // namespace

bool launch_poisson_stencil(std::int64_t nx, std::int64_t ny, const double* u, double* y, CUstream_st* stream) {
  constexpr unsigned threads = 128;
  const auto blocks = static_cast<unsigned>((nx * ny + threads - 1) / threads);
  return cuda::start_kernel(poisson_stencil_kernel, blocks, threads, 0, stream, nx, ny, u, y) == cudaSuccess;
}

}  // namespace tessera::testing
