/// \file
/// CSR5: equal tiles of nonzeros with bit-flag descriptors (Liu & Vinter, CSR5, ICS 2015). The kernels keep permuted
/// copies of columns and values: the caller's matrix stays as it is.
#pragma once

#include "spmv/common/kernel.hpp"

#include <memory>

namespace tessera {

namespace host {

/// Threads take ranges of tiles. The paper's calibrator, which takes the sum of the row in which a tile begins, has one
/// entry per range here: the tiles of a range follow each other and pass their open row on. The entries are added in a
/// pass at the end, in the order of the ranges, which depend on the matrix alone.
/// \throws as SpmvPlan's constructor
template <class T>
[[nodiscard]] std::unique_ptr<SpmvKernel<T>> make_csr5_kernel(const CsrView<T>& a, const SpmvOptions& options);

}  // namespace host

namespace cuda {

/// \param on_device the matrix on options.device \throws as SpmvPlan's constructor
template <class T>
[[nodiscard]] std::unique_ptr<SpmvKernel<T>> make_csr5_kernel(const CsrView<T>& on_device, const SpmvOptions& options);

}  // namespace cuda
}  // namespace tessera
