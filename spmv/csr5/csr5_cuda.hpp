/// \file
/// Products over CSR5's tiles on a GPU (Liu & Vinter, CSR5, ICS 2015; merbit-spmv.txt, §3.2).
#pragma once

#include "spmv/kernel.hpp"

#include <memory>

namespace tessera::cuda {

/// The kernel owns permuted copies of columns and values. \param on_device the matrix on options.device
/// \throws as SpmvPlan's constructor
template <class T>
[[nodiscard]] std::unique_ptr<SpmvKernel<T>> make_csr5_kernel(const CsrView<T>& on_device, const SpmvOptions& options);

}  // namespace tessera::cuda
