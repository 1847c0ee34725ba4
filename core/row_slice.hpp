/// \file
/// Consecutive rows of a matrix in the place where they lie: offsets of their own, columns and values of the matrix.
#pragma once

#include "tessera/array.hpp"
#include "tessera/csr.hpp"
#include "tessera/device.hpp"
#include "tessera/types.hpp"

#include <span>

namespace tessera::detail {

template <class T>
struct RowSlice {
  Array<offset_t> offsets;
  offset_t first = 0;  ///< the nonzero of the matrix that the slice begins with
  CsrView<T> view;
};

/// Rows [begin, begin + rows) of a matrix on `device`, which must outlive the slice. O(rows); waits for a GPU.
/// \throws OutOfMemory, CudaError
template <class T>
[[nodiscard]] RowSlice<T> slice_rows(const CsrView<T>& a, const Device& device, index_t begin, index_t rows);

}  // namespace tessera::detail

namespace tessera::cuda {
/// to[i] = from[i] - from[0]. \param to as long as `from`
void rebase_offsets(const Device& device, std::span<const offset_t> from, std::span<offset_t> to);
}  // namespace tessera::cuda
