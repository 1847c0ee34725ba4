/// \file
/// Equal shares of the merge path, found anew in every product (Merrill & Garland, SC 2016; merbit-spmv.txt, §3.3).
#pragma once

#include "spmv/common/gather_access.hpp"
#include "spmv/kernel.hpp"

#include <memory>

namespace tessera {

/// \throws as SpmvPlan's constructor
template <class T>
[[nodiscard]] std::unique_ptr<SpmvKernel<T>> make_merge_kernel(const CsrView<T>& a, const SpmvOptions& options);

namespace host {

/// y = α A x + β y. A row may be cut between threads: what a segment holds of its last, open row is added to that row
/// in a pass at the end, in the order of the segments.
template <class T>
void merge_apply(const Device& device, const CsrView<T>& a, GatherAccess access, T alpha, std::span<const T> x, T beta,
                 std::span<T> y);

/// y = A x with <w, y> and <y, y>.
template <class T>
[[nodiscard]] ProductDots merge_apply_and_dot(const Device& device, const CsrView<T>& a, GatherAccess access,
                                              std::span<const T> x, std::span<T> y, std::span<const T> w);

}  // namespace host
}  // namespace tessera
