#include "spmv/merbit/policy_cuda.hpp"

namespace tessera::cuda {

namespace {

/// Up to here the lines of x that a multiprocessor's warps read stay in what the buffers leave of the first-level
/// cache.
constexpr double local_line_share = 0.16;

/// Up to here wide loads gain more than the gathers of four neighbouring nonzeros a lane lose.
constexpr double mixed_line_share = 0.28;

}  // namespace

MerbitLayout choose_layout(const GatherSample& sample, bool has_bulk_copies) noexcept {
  const double share = sample.line_share();
  if (share <= local_line_share) return has_bulk_copies ? MerbitLayout::pipelined : MerbitLayout::vector;
  return share <= mixed_line_share ? MerbitLayout::vector : MerbitLayout::scalar;
}

}  // namespace tessera::cuda
