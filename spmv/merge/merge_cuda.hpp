/// \file
/// Equal shares of the merge path on a GPU.
#pragma once

#include "spmv/kernel.hpp"

#include <memory>

namespace tessera::cuda {

/// The kernel keeps where its tiles begin, and space for its products. \param on_device the matrix on options.device
/// \throws as SpmvPlan's constructor
template <class T>
[[nodiscard]] std::unique_ptr<SpmvKernel<T>> make_merge_kernel(const CsrView<T>& on_device, const SpmvOptions& options);

}  // namespace tessera::cuda
