/// \file
/// CSR: rows in parallel, without set-up.
#pragma once

#include "spmv/common/kernel.hpp"

#include <memory>

namespace tessera::host {

/// Each thread takes a range of rows with a similar number of rows and nonzeros; every row is summed by one thread in
/// one order. \throws as SpmvPlan's constructor
template <class T>
[[nodiscard]] std::unique_ptr<SpmvKernel<T>> make_csr_kernel(const CsrView<T>& a, const SpmvOptions& options);

}  // namespace tessera::host
