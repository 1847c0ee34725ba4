/// \file
/// Choice of a kernel by measurement.
#pragma once

#include "spmv/selection.hpp"

namespace tessera::detail {

/// Builds the kernels that suit the matrix, one after the other, beginning with that of `automatic`, on a GPU then in
/// the order of their predicted times without those that are predicted at twice the least, and times products of each
/// in turn with the best so far: with inner products, as iterative methods form them, where the matrix is square. The
/// one whose set-up and options.expected_applications products take the least time is kept; the reason has all times.
/// What does not suit or does not fit beside the best so far is left out. Two kernels are in memory at a time. A
/// product and a batch per kernel besides the set-ups, and 14 batches for those within a quarter of the best. Choices
/// may differ from run to run; a choice that is remembered (tessera/measured_choices.hpp) is taken without any product.
/// \param a, on_host, options as for plan_kernel() \throws as plan_kernel() for `automatic`
template <class T>
[[nodiscard]] PlannedKernel<T> measure_kernels(const CsrView<T>& a, const CsrView<T>& on_host,
                                               const SpmvOptions& options);

}  // namespace tessera::detail
