/// \file
/// Transposition that keeps where every entry came from, so that new values need no second one.
#pragma once

#include "tessera/array.hpp"
#include "tessera/csr.hpp"
#include "tessera/device.hpp"

#include <cstdint>
#include <span>

namespace tessera::detail {

/// The structure of Aᵀ, and the position in A of each of its entries. New values:
/// gather_values(device, map.positions.span(), a.values, values.span()) in core/value_passes.hpp, then
/// map.structure.with_values(std::move(values)).
template <class T>
struct TransposeMap {
  Csr<T> structure;  ///< a pattern
  Array<index_t> positions;
};

/// \param matrix on `device` \throws NotSupported for 2^31 entries or more; OutOfMemory, CudaError
/// Work and memory as of transpose(). On a GPU it returns before the work is done.
template <class T>
[[nodiscard]] TransposeMap<T> transpose_map(const CsrView<T>& matrix, const Device& device);

/// Where the parts of Aᵀ are written. Null: a part that is not wanted.
template <class T>
struct TransposeOutput {
  offset_t* row_offsets = nullptr;  ///< columns of A + 1
  index_t* columns = nullptr;
  T* values = nullptr;
  index_t* positions = nullptr;  ///< only below 2^31 entries
};

}  // namespace tessera::detail

namespace tessera::host {
/// O(rows + cols + nnz).
template <class T>
void transpose_into(const CsrView<T>& matrix, const Device& device, const detail::TransposeOutput<T>& out);
}  // namespace tessera::host

namespace tessera::cuda {
/// \throws NotSupported when column and position of an entry do not fit into 64 bits; OutOfMemory, CudaError
template <class T>
void transpose_into(const CsrView<T>& matrix, const Device& device, const detail::TransposeOutput<T>& out);
}  // namespace tessera::cuda
