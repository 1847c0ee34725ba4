/// \file
/// The scalars of two-kernel CG from the parts of its sums.
#include "solvers/two_kernel_cg.hpp"

#include "solvers/fused/kernels.cuh"

namespace tessera::cuda {

using namespace detail;

namespace {

template <class Op>
__global__ void __launch_bounds__(sum_threads)
    cg_scalars_kernel(Op op, TwoKernelCgState* state, LoopControlBlock* block, CgSums* partial, const CgSums* parts,
                      std::int64_t count, PeerExchange* peers) {
  run_operation(
      op, BlockRank::of_kernel(), state, &block->finished, partial, nullptr, 0, peers,
      [&](const TwoKernelCgState& /*scalars*/) {
        CgSums sums;
        const std::int64_t stride = std::int64_t{gridDim.x} * sum_threads;
        for (std::int64_t k = std::int64_t{blockIdx.x} * sum_threads + threadIdx.x; k < count; k += stride) {
          sums += parts[k];
        }
        return sums;
      },
      [](const TwoKernelCgState& /*scalars*/) {}, closing(block));
}

}  // namespace

template <class Op>
void record_cg_scalars(const Device& device, const LoopFrame& frame, std::span<const CgSums> parts, const Op& op) {
  static_assert(sizeof(CgSums) <= SumSpace::value_bytes);
  const Context& context = Context::of(device);
  const DeviceGuard current(device);
  const auto count = static_cast<std::int64_t>(parts.size());
  launch("scalars of two-kernel CG", context, Grid{blocks_of_sum(count), sum_threads}, cg_scalars_kernel<Op>, op,
         static_cast<TwoKernelCgState*>(frame.state), static_cast<LoopControlBlock*>(frame.control_block),
         static_cast<CgSums*>(context.sum_space().on_device), parts.data(), count, frame.peers);
}

template void record_cg_scalars(const Device&, const LoopFrame&, std::span<const CgSums>,
                                const CgScalarsAfterDirection&);
template void record_cg_scalars(const Device&, const LoopFrame&, std::span<const CgSums>,
                                const CgScalarsAfterResidual&);

}  // namespace tessera::cuda
