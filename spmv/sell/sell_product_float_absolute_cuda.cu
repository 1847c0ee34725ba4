/// \file
/// Products by sliced ELL of vectors of float, with absolute columns.
#include "spmv/sell/sell_launch.cuh"

namespace tessera::cuda {

template void enqueue_sell_product_by(const Context&, const SellOperand<float>&, const AbsoluteColumns&,
                                      const CsrView<float>&, float, std::span<const float>, float, std::span<float>,
                                      std::span<const float>, ProductDots*);

}  // namespace tessera::cuda
