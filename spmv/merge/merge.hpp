/// \file
/// MERGE: equal shares of the merge path, found by searches in every product (Merrill & Garland, SC 2016).
#pragma once

#include "spmv/common/kernel.hpp"

#include <memory>

namespace tessera {

namespace host {

/// A row may be cut between threads: the part of a segment's last, open row is added to that row in a pass at the end,
/// in the order of the segments. \throws as SpmvPlan's constructor
template <class T>
[[nodiscard]] std::unique_ptr<SpmvKernel<T>> make_merge_kernel(const CsrView<T>& a, const SpmvOptions& options);

}  // namespace host

namespace cuda {

/// The kernel keeps the starts of its tiles, and scratch memory for its products. \param on_device the matrix on
/// options.device \throws as SpmvPlan's constructor
template <class T>
[[nodiscard]] std::unique_ptr<SpmvKernel<T>> make_merge_kernel(const CsrView<T>& on_device, const SpmvOptions& options);

}  // namespace cuda
}  // namespace tessera
