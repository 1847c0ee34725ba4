/// \file
/// The streamed product in double.
#include "spmv/streamed/streamed_launch.cuh"

namespace tessera::cuda {

template void enqueue_slice_product(const Device&, const Slice&, const SliceRule&, const std::byte*,
                                    const SliceOperands<double>&, const SliceSums<double>&);

}  // namespace tessera::cuda
