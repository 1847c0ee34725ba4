/// \file
/// What the product and its plan share.
#pragma once

#include "spgemm/job.hpp"

namespace tessera::host {

/// Analyses the product and begins to count its memory. \throws OutOfMemory, InvalidArgument
template <class T>
[[nodiscard]] ProductJob<T> start_job(const CsrView<T>& a, const CsrView<T>& b, const SpgemmOptions& options);

}  // namespace tessera::host
