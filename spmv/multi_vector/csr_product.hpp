/// \file
/// Products of a CSR matrix with a multivector of any layout, eight columns at a time, row by row. No set-up: what all
/// kernels take where they have no product of their own and columns are not contiguous.
#pragma once

#include "tessera/csr.hpp"
#include "tessera/device.hpp"
#include "tessera/multi_vector.hpp"

namespace tessera {

namespace detail {

/// Columns that a product takes at a time.
inline constexpr int panel_columns = 8;

/// Whether the product is one with a vector.
template <class T>
[[nodiscard]] bool is_one_vector(const MultiVectorView<const T>& x, const MultiVectorView<T>& y) noexcept {
  return y.columns() == 1 && x.has_contiguous_columns() && y.has_contiguous_columns();
}

}  // namespace detail

namespace host {

/// Y = α A X + β Y; the old Y is not read when β = 0, and A not when α = 0. Rows are distributed over threads as by the
/// kernel csr; the terms of an element are added in the order of the row: gpu_to_gpu. Sizes arrive checked.
template <class T>
void csr_product(const Device& device, const CsrView<T>& a, T alpha, const MultiVectorView<const T>& x, T beta,
                 const MultiVectorView<T>& y);

}  // namespace host

namespace cuda {

/// The same by a warp per row: its lanes share columns and, in a fixed order, the nonzeros of the row (run_to_run). A
/// row is not split, however long it is. Neither waits nor allocates. \throws CudaError; DeviceUnavailable in a build
/// without CUDA
template <class T>
void csr_product(const Device& device, const CsrView<T>& a, T alpha, const MultiVectorView<const T>& x, T beta,
                 const MultiVectorView<T>& y);

}  // namespace cuda
}  // namespace tessera
