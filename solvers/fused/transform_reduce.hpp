/// \file
/// transform_reduce: one pass over memory that updates vectors and sums at once, on the host or a GPU. Sums are double
/// for every element type. Their order depends on the length alone, so the bits are the same for every number of
/// threads of the host, and on every GPU.
#pragma once

#include "core/group_rank.hpp"
#include "core/parallel.hpp"
#include "solvers/fused/ops.hpp"
#include "tessera/device.hpp"

#include <array>
#include <cstdint>

namespace tessera::fused {

/// Sums of one range on the host. Four interleaved partial sums: a single chain of additions would be bound by latency,
/// not by memory. The operation comes by value, so that its pointers stay in registers.
template <class Op>
[[nodiscard]] typename Op::Sums reduce_range(host::Range range, const Op op) {
  std::array<typename Op::Sums, 4> sums{};
  std::int64_t i = range.begin;
  for (; i + 4 <= range.end; i += 4) {
    op(i, sums[0]);
    op(i + 1, sums[1]);
    op(i + 2, sums[2]);
    op(i + 3, sums[3]);
  }
  for (; i < range.end; ++i) op(i, sums[0]);
  sums[0] += sums[1];
  sums[2] += sums[3];
  sums[0] += sums[2];
  return sums[0];
}

/// The sums of op(i, sums) over [0, n). The operation's vectors lie on `device`. Collective where that is a rank: n are
/// its own elements, the sums are those over all ranks (core/group_rank.hpp).
template <class Op>
typename Op::Sums transform_reduce(const Device& device, std::int64_t n, const Op& op) {
  using Sums = typename Op::Sums;
  if (!device.is_host()) return tessera::detail::sum_over_ranks(device, cuda::TransformReduce<Op>::run(device, n, op));
  const auto own = host::parallel_sum<Sums>(device, n, [&](host::Range range) { return reduce_range(range, op); });
  return tessera::detail::sum_over_ranks(device, own);
}

}  // namespace tessera::fused
