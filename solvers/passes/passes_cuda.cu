#include "core/cuda/reduce.cuh"
#include "solvers/passes/cuda_pass.hpp"

#include <type_traits>

namespace tessera::cuda {

namespace {

/// A step without sums, as a loop body.
template <class Step>
struct WriteOnly {
  Step step;
  __device__ void operator()(std::int64_t i) const {
    typename Step::Sums none;
    step(i, none);
  }
};

}  // namespace

template <class Step>
typename Step::Sums Pass<Step>::run(const Device& device, std::int64_t n, const Step& step) {
  using Sums = typename Step::Sums;
  if constexpr (std::is_empty_v<Sums>) {
    for_each(device, n, WriteOnly<Step>{step});
    return Sums{};
  } else {
    return fused_values<Sums>(device, n, step);
  }
}

}  // namespace tessera::cuda

#include "solvers/passes/cuda_steps.hpp"
