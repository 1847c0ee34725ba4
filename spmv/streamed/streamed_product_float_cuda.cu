/// \file
/// The streamed product in float.
#include "spmv/streamed/streamed_launch.cuh"

namespace tessera::cuda {

template void enqueue_slice_product(const Device&, const Slice&, const SliceRule&, const std::byte*,
                                    const SliceOperands<float>&, const SliceSums<float>&);

}  // namespace tessera::cuda
