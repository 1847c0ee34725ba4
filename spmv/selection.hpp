/// \file
/// From options to a kernel: checks, the choice of `automatic`, set-up.
#pragma once

#include "spmv/common/kernel.hpp"
#include "spmv/common/value_bytes.hpp"
#include "spmv/sell/sell_layout.hpp"
#include "tessera/spmv.hpp"

#include <memory>
#include <optional>
#include <string>

namespace tessera::detail {

/// A kernel and the sentence that says why.
struct SpmvSelection {
  SpmvAlgorithm algorithm = SpmvAlgorithm::csr;
  std::string reason;
  std::optional<SellLayout> promised = std::nullopt;  ///< of SELL, by a sample
};

/// Chooses by row lengths and options.expected_applications (measurements: bench/NOTES.md). On the host, PATTERNS where
/// samples of rows and values promise fewer bytes of a large matrix, MERBIT if long rows together read x several times,
/// MERGE if one row is too long for a thread, else CSR. The number of threads does
/// not matter: the choice, and with it every bit of the results, is the same on all machines. CSR5 is taken by name
/// only: on the host it reads copies as large as the matrix (1.4 times the time of csr, Poisson 1000 x 1000, double,
/// two threads). On a GPU, MERBIT for the PageRank of a pattern, PATTERNS where a sample of rows repeats, TILES where a
/// sample of 8 x 8 tiles is well filled, SELL where a sample takes half the bytes of CSR, CSR_VECTOR for long rows of
/// similar length or few nonzeros; else expected_applications decides. O(rows); on a GPU waits \param a where
/// options.device is \throws NotSupported where no kernel on the GPU keeps the class asked for
template <class T>
[[nodiscard]] SpmvSelection select_spmv_kernel(const CsrView<T>& a, const SpmvOptions& options);

/// A kernel and how it was chosen.
template <class T>
struct PlannedKernel {
  std::unique_ptr<SpmvKernel<T>> kernel;
  SpmvAlgorithm algorithm = SpmvAlgorithm::csr;  ///< never `automatic`
  std::string reason;
};

/// Checks that need no matrix.
/// \throws DeviceUnavailable, InvalidArgument for values out of range, NotSupported when options contradict each other
void check_spmv_options(const SpmvOptions& options);

/// Chooses a kernel if the options say `automatic` or `measured`, and prepares it for the structure and values of `a`.
/// \param a       the matrix on options.device
/// \param on_host the same on the host, if `automatic` has to choose for the host; else anywhere
/// \param options checked \throws NotSupported for descriptors that do not fit, OutOfMemory
template <class T>
[[nodiscard]] PlannedKernel<T> plan_kernel(const CsrView<T>& a, const CsrView<T>& on_host, const SpmvOptions& options);

}  // namespace tessera::detail
