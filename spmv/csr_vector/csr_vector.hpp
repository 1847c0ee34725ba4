/// \file
/// csr-vector: part of a warp per row on a GPU (Bell & Garland, SC 2009), with long rows split off.
#pragma once

#include "spmv/common/kernel.hpp"

#include <memory>

namespace tessera::cuda {

/// The number of lanes per row follows from the mean row length. Much longer rows are cut into parts, one warp each,
/// whose sums are added in the order of the parts. \param on_device the matrix on options.device
/// \throws as SpmvPlan's constructor
template <class T>
[[nodiscard]] std::unique_ptr<SpmvKernel<T>> make_csr_vector_kernel(const CsrView<T>& on_device,
                                                                    const SpmvOptions& options);

}  // namespace tessera::cuda
