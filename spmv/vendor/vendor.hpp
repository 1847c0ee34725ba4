/// \file
/// cuSPARSE's products, the baselines to compare with.
#pragma once

#include "spmv/common/kernel.hpp"

#include <memory>

namespace tessera::cuda {

/// cusparseSpMV on CSR, algorithm 1, after cusparseSpMV_preprocess. Offsets are copied to 32 bits, as users of cuSPARSE
/// have them: it takes offsets and columns of one width only. cuSPARSE has no pattern matrices: an array of ones is
/// made for them. With fp32_values the numbers are the rounded ones, in double. \param on_device the matrix on
/// options.device \throws as SpmvPlan's constructor; NotSupported when the library cannot be loaded, for what it does
/// not offer, and from 2^31 nonzeros on; CudaError when it fails
template <class T>
[[nodiscard]] std::unique_ptr<SpmvKernel<T>> make_vendor_csr_kernel(const CsrView<T>& on_device,
                                                                    const SpmvOptions& options);

/// cusparseSpMV on COO, algorithm 1. Keeps the row of every nonzero; otherwise as above.
template <class T>
[[nodiscard]] std::unique_ptr<SpmvKernel<T>> make_vendor_coo_kernel(const CsrView<T>& on_device,
                                                                    const SpmvOptions& options);

}  // namespace tessera::cuda
