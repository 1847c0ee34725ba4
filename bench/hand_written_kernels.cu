#include "bench/hand_written_kernels.hpp"

#include "core/cuda/reduce.cuh"

#include <cmath>

namespace tessera::bench {

namespace {

constexpr int threads = 256;

/// In shared memory and registers of the sum; RankStepSums outside.
using StepSums = cuda::PlainSums<2>;
static_assert(sizeof(StepSums) == sizeof(RankStepSums));

__global__ void __launch_bounds__(threads)
    rank_step_kernel(std::int64_t n, double damping, const double* __restrict__ q,
                     const double* __restrict__ out_inverse, const RankStepSums* previous, double* __restrict__ x,
                     RankStepSums* partial) {
  const double base = (1.0 - damping + damping * previous->dangling) / static_cast<double>(n);
  StepSums sums;
  const std::int64_t stride = std::int64_t{gridDim.x} * threads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * threads + threadIdx.x; i < n; i += stride) {
    const double next = damping * q[i] + base;
    sums.of[0] += fabs(next - x[i]);
    if (out_inverse[i] == 0.0) sums.of[1] += next;
    x[i] = next;
  }
  sums = cuda::add_up_block<threads>(sums);
  if (threadIdx.x == 0) partial[blockIdx.x] = {sums.of[0], sums.of[1]};
}

__global__ void __launch_bounds__(threads)
    total_sums_kernel(int count, const RankStepSums* partial, RankStepSums* total) {
  StepSums sums;
  for (int block = static_cast<int>(threadIdx.x); block < count; block += threads) {
    sums.of[0] += partial[block].change;
    sums.of[1] += partial[block].dangling;
  }
  sums = cuda::add_up_block<threads>(sums);
  if (threadIdx.x == 0) *total = {sums.of[0], sums.of[1]};
}

}  // namespace

void divide(const Device& device, const double* above, const double* below, double* quotient, double* negative) {
  cuda::for_each(device, 1, [=] __device__(std::int64_t) {
    const double value = *above / *below;
    *quotient = value;
    *negative = -value;
  });
}

void conjugate_beta(const Device& device, const double* next, double* rho, double* beta) {
  cuda::for_each(device, 1, [=] __device__(std::int64_t) {
    const double value = *next;
    *beta = value / *rho;
    *rho = value;
  });
}

void stabilised_beta(const Device& device, const double* next, const double* alpha, const double* omega, double* rho,
                     double* beta) {
  cuda::for_each(device, 1, [=] __device__(std::int64_t) {
    const double value = *next;
    *beta = value / *rho * (*alpha / *omega);
    *rho = value;
  });
}

void invert_diagonal(const Device& device, const CsrView<double>& matrix, double* inverse) {
  const offset_t* const offsets = matrix.row_offsets.data();
  const index_t* const columns = matrix.columns.data();
  const double* const values = matrix.values.data();
  const bool pattern = matrix.is_pattern();
  cuda::for_each(device, matrix.rows, [=] __device__(std::int64_t i) {
    double diagonal = 0.0;
    for (offset_t k = offsets[i]; k < offsets[i + 1] && columns[k] <= i; ++k) {
      if (columns[k] == i) diagonal = pattern ? 1.0 : values[k];
    }
    inverse[i] = 1.0 / diagonal;
  });
}

void multiply_elements(const Device& device, std::int64_t n, const double* d, const double* v, double* out) {
  cuda::for_each(device, n, [=] __device__(std::int64_t i) { out[i] = d[i] * v[i]; });
}

void gather(const Device& device, std::int64_t count, const index_t* columns, const double* weight_of, double* values) {
  cuda::for_each(device, count, [=] __device__(std::int64_t k) { values[k] = weight_of[columns[k]]; });
}

void fill(const Device& device, std::int64_t n, double value, double* out) {
  cuda::for_each(device, n, [=] __device__(std::int64_t i) { out[i] = value; });
}

void rank_step(const Device& device, std::int64_t n, double damping, const double* q, const double* out_inverse,
               double* x, RankStepSums* partial, RankStepSums* sums) {
  const cuda::Context& context = cuda::Context::of(device);
  const cuda::DeviceGuard current(device);
  const unsigned needed = cuda::blocks_for(n, threads);
  const unsigned blocks = needed < rank_step_blocks ? needed : rank_step_blocks;
  cuda::launch("a step of PageRank", context, cuda::Grid{blocks, threads}, rank_step_kernel, n, damping, q, out_inverse,
               static_cast<const RankStepSums*>(sums), x, partial);
  cuda::launch("the sums of a step", context, cuda::Grid{1, threads}, total_sums_kernel, static_cast<int>(blocks),
               static_cast<const RankStepSums*>(partial), sums);
}

}  // namespace tessera::bench
