/// \file
/// The product of one slice on a GPU.
#pragma once

#include "core/detail_namespace.hpp"
#include "spmv/streamed/streamed_slices.hpp"
#include "tessera/device.hpp"

#include <cstddef>
#include <cstdint>

namespace tessera::cuda {

/// A vector whose elements lie `stride` apart.
template <class E>
struct StridedVector {
  E* data = nullptr;
  std::int64_t stride = 1;
};

/// y = α A x + β y.
template <class T>
struct SliceOperands {
  T alpha;
  T beta;
  StridedVector<const T> x;
  StridedVector<T> y;
};

/// Sums of long rows that are not complete, on the device.
template <class T>
struct SliceSums {
  T* parts;          ///< one per part of the slice
  const T* brought;  ///< of the row that began in the slice before
  T* carried;        ///< of the row that goes on; another place
};

/// How rows are summed.
struct SliceRule {
  SliceFormat format;
  int lanes = 1;
  offset_t long_row = 0;  ///< rows of more entries are summed by parts
};

/// Puts the product of a slice into the stream of the context. \param packed on the device, aligned to
/// slice_section_bytes \throws CudaError
template <class T>
void enqueue_slice_product(const Device& device, const Slice& slice, const SliceRule& rule, const std::byte* packed,
                           const SliceOperands<T>& operands, const SliceSums<T>& sums);

extern template void enqueue_slice_product(const Device&, const Slice&, const SliceRule&, const std::byte*,
                                           const SliceOperands<float>&, const SliceSums<float>&);
extern template void enqueue_slice_product(const Device&, const Slice&, const SliceRule&, const std::byte*,
                                           const SliceOperands<double>&, const SliceSums<double>&);

}  // namespace tessera::cuda
