/// \file
/// Products of a CSR matrix with a multivector of any layout on the host, eight columns at a time. No set-up: what all
/// kernels take for several columns where they have no product of their own.
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

/// Y = α A X + β Y; the old Y is not read when β = 0, and A not when α = 0. Panels of 8, 4, 2 and 1 columns, each along
/// equal chunks of the merge path (Merrill & Garland, SC 2016), whose carries are added in order: gpu_to_gpu. Never
/// allocates. Sizes arrive checked.
template <class T>
void csr_product(const Device& device, const CsrView<T>& a, T alpha, const MultiVectorView<const T>& x, T beta,
                 const MultiVectorView<T>& y);

}  // namespace host
}  // namespace tessera
