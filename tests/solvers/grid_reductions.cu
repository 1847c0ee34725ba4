#include "tests/solvers/grid_reductions.hpp"

#include "core/cuda/check.hpp"
#include "core/cuda/context.hpp"
#include "core/cuda/cooperative_launch.cuh"
#include "core/cuda/shared_memory.cuh"
#include "solvers/persistent/grid_reduction.cuh"
#include "tessera/array.hpp"

#include <cstddef>

namespace tessera::testing {

namespace {

using cuda::GridReduction;

struct Buffers {
  const double* own;
  cuda::SumLine* lines;
  double* sums;
  std::int32_t* shares;
};

template <int N>
__global__ void reductions_kernel(GridReductions shape, Buffers buffers) {
  auto& storage = *reinterpret_cast<GridReduction::TempStorage*>(cuda::dynamic_shared_memory());
  GridReduction reduction(buffers.lines, shape.number, storage);
  const auto block = static_cast<int>(blockIdx.x);
  const auto thread = static_cast<int>(threadIdx.x);
  for (int round = 0; round < shape.rounds; ++round) {
    double own[N];
    for (int k = 0; k < N; ++k) {
      own[k] = buffers.own[((round * N + k) * shape.blocks + block) * shape.threads + thread];
    }
    reduction.all_reduce(
        own,
        [&](std::uint64_t number, const cuda::Share& share) {
          const bool is_next = number == shape.number + static_cast<std::uint64_t>(round) + 1;
          if (is_next && share.threads == shape.threads / 2) {
            ++buffers.shares[block * shape.threads + share.thread];
          }
        },
        [&](const double(&sum)[N]) {
          for (int k = 0; k < N; ++k) buffers.sums[(round * shape.blocks + block) * N + k] = sum[k];
        });
  }
}

template <int N>
cudaError_t start(const GridReductions& shape, const Buffers& buffers, cudaStream_t stream) {
  return cuda::start_cooperative_kernel(reductions_kernel<N>, static_cast<unsigned>(shape.blocks),
                                        static_cast<unsigned>(shape.threads), sizeof(GridReduction::TempStorage),
                                        stream, shape, buffers);
}

cudaError_t start_any(const GridReductions& shape, const Buffers& buffers, cudaStream_t stream) {
  if (shape.sums == 1) return start<1>(shape, buffers, stream);
  if (shape.sums == 2) return start<2>(shape, buffers, stream);
  if (shape.sums == 3) return start<3>(shape, buffers, stream);
  return start<4>(shape, buffers, stream);
}

}  // namespace

ReducedSums run_reductions(const Device& gpu, const GridReductions& shape, std::span<const double> own) {
  const auto given = Array<double>::copy_of(own, gpu);
  Array<cuda::SumLine> lines(cuda::reduction_lines(shape.blocks), Init::zero, gpu);
  Array<double> sums(std::int64_t{shape.rounds} * shape.blocks * shape.sums, Init::zero, gpu);
  Array<std::int32_t> shares(std::int64_t{shape.blocks} * shape.threads, Init::zero, gpu);
  synchronize(gpu);
  const Buffers buffers{given.data(), lines.data(), sums.data(), shares.data()};
  cuda::check(start_any(shape, buffers, cuda::Context::of(gpu).stream()), "all-reductions of a test");
  synchronize(gpu);
  const Array<double> found = sums.to(Device{});
  const Array<std::int32_t> counted = shares.to(Device{});
  return {{found.begin(), found.end()}, {counted.begin(), counted.end()}};
}

}  // namespace tessera::testing
