/// \file
/// Products of few rows on a GPU.
#pragma once

#include "spgemm/cuda/job.hpp"
#include "tessera/csr.hpp"
#include "tessera/spgemm.hpp"

#include <optional>

namespace tessera::cuda {

/// C, if the product has few rows and none is long, and the options leave the choice; notes all but the times before in
/// the report. Else nothing, after at most one wait. \param a, b on the device of the options
/// \throws OutOfMemory, CudaError
template <class V, class T>
[[nodiscard]] std::optional<CsrArrays<V>> small_product(const CsrView<T>& a, const CsrView<T>& b,
                                                        const SpgemmOptions& options, SpgemmReport& report);

}  // namespace tessera::cuda
