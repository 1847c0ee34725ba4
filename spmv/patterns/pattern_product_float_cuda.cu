/// \file
/// Products by row patterns of vectors of float.
#include "spmv/patterns/pattern_launch.cuh"

namespace tessera::cuda {

template std::int64_t pattern_blocks(const PatternOperand<float>&) noexcept;
template std::int64_t most_pattern_blocks(const PatternOperand<float>&) noexcept;
template void enqueue_pattern_product(const Context&, const PatternOperand<float>&, const CsrView<float>&, float,
                                      std::span<const float>, float, std::span<float>, std::span<const float>,
                                      ProductDots*);

}  // namespace tessera::cuda
