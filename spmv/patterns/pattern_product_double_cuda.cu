/// \file
/// Products by row patterns of vectors of double.
#include "spmv/patterns/pattern_launch.cuh"

namespace tessera::cuda {

template std::int64_t pattern_blocks(const PatternOperand<double>&) noexcept;
template std::int64_t most_pattern_blocks(const PatternOperand<double>&) noexcept;
template void enqueue_pattern_product(const Context&, const PatternOperand<double>&, const CsrView<double>&, double,
                                      std::span<const double>, double, std::span<double>, std::span<const double>,
                                      ProductDots*);

}  // namespace tessera::cuda
