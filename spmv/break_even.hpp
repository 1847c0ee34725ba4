/// \file
/// When the set-up of a kernel has paid.
#pragma once

#include "spmv/common/kernel.hpp"

#include <vector>

namespace tessera::detail {

/// Of at least one time.
[[nodiscard]] double median(std::vector<double> samples);

/// Times products of `kernel` and in turn of the csr kernel, or of csr-vector for a matrix on a GPU.
/// \param device      of the vectors of `kernel` \param place of the matrix
/// \param info        of the kernel: what its set-up took, if it has one
/// \param repetitions in [1, 1000]
/// \throws InvalidArgument for other numbers, OutOfMemory
template <class T>
[[nodiscard]] BreakEven measure_break_even(const Device& device, const Device& place, const SpmvKernel<T>& kernel,
                                           const CsrView<T>& a, const PlanInfo& info, int repetitions);

}  // namespace tessera::detail
