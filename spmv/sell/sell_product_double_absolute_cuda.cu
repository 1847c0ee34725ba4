/// \file
/// Products by sliced ELL of vectors of double, with absolute columns.
#include "spmv/sell/sell_launch.cuh"

namespace tessera::cuda {

template void enqueue_sell_product_by(const Context&, const SellOperand<double>&, const AbsoluteColumns&,
                                      const CsrView<double>&, double, std::span<const double>, double,
                                      std::span<double>, std::span<const double>, ProductDots*);

}  // namespace tessera::cuda
