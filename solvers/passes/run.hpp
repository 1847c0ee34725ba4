/// \file
/// Runs a step over whole vectors: one trip through memory that updates and sums at once. Sums run in double whatever
/// the element type, in an order that depends on the length alone: bitwise the same for every number of threads of the
/// host, and on every GPU.
#pragma once

#include "core/parallel.hpp"
#include "solvers/passes/cuda_pass.hpp"
#include "tessera/device.hpp"

#include <array>
#include <cstdint>

namespace tessera {

namespace host {

/// step(i, sums) for i in `range`. Four interleaved partial sums: a single chain of additions would wait for each other
/// longer than for memory. The step comes by value, so that its pointers stay in registers.
template <class Step>
[[nodiscard]] typename Step::Sums accumulate(Range range, const Step step) {
  std::array<typename Step::Sums, 4> lane{};
  std::int64_t i = range.begin;
  for (; i + 4 <= range.end; i += 4) {
    step(i, lane[0]);
    step(i + 1, lane[1]);
    step(i + 2, lane[2]);
    step(i + 3, lane[3]);
  }
  for (; i < range.end; ++i) step(i, lane[0]);
  lane[0] += lane[1];
  lane[2] += lane[3];
  lane[0] += lane[2];
  return lane[0];
}

template <class Step>
[[nodiscard]] typename Step::Sums run_pass(const Device& device, std::int64_t n, const Step& step) {
  return parallel_sum<typename Step::Sums>(device, n, [&](Range range) { return accumulate(range, step); });
}

}  // namespace host

/// The sums of step(i, sums) over [0, n). Vectors of the step lie on `device`.
template <class Step>
typename Step::Sums run_pass(const Device& device, std::int64_t n, const Step& step) {
  return device.is_host() ? host::run_pass(device, n, step) : cuda::Pass<Step>::run(device, n, step);
}

}  // namespace tessera
