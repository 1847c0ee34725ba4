/// \file
/// Part of a warp a row on a GPU (Bell & Garland, SC 2009), with long rows split off.
#pragma once

#include "spmv/kernel.hpp"

#include <memory>

namespace tessera::cuda {

/// As many lanes share a row as its mean length asks for. Rows for which they are too few are cut into parts, a warp
/// each, whose sums are added in the order of the parts. \param on_device the matrix on options.device
/// \throws as SpmvPlan's constructor
template <class T>
[[nodiscard]] std::unique_ptr<SpmvKernel<T>> make_csr_vector_kernel(const CsrView<T>& on_device,
                                                                    const SpmvOptions& options);

}  // namespace tessera::cuda
