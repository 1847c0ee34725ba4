/// \file
/// From options to a kernel: checks, choice, set-up.
#pragma once

#include "spmv/kernel.hpp"
#include "tessera/spmv.hpp"

#include <memory>
#include <string>

namespace tessera {

/// A kernel with what is known of its making.
template <class T>
struct PlannedKernel {
  std::unique_ptr<SpmvKernel<T>> kernel;
  SpmvAlgorithm algorithm = SpmvAlgorithm::csr;  ///< never `automatic`
  std::string reason;
};

/// What is wrong with options whatever the matrix.
/// \throws DeviceUnavailable, InvalidArgument for values out of range, NotSupported when options contradict each other
void check_spmv_options(const SpmvOptions& options);

/// Chooses a kernel where that is left to us, and prepares it for the structure and values of `a`.
/// \param a       the matrix on options.device
/// \param on_host the same on the host where that is to choose a kernel for itself; else anywhere
/// \param options checked \throws NotSupported for descriptors that do not fit, OutOfMemory
template <class T>
[[nodiscard]] PlannedKernel<T> plan_kernel(const CsrView<T>& a, const CsrView<T>& on_host, const SpmvOptions& options);

}  // namespace tessera
