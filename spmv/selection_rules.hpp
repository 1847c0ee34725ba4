/// \file
/// The choice of `automatic`, per kind of device.
#pragma once

#include "spmv/registry.hpp"
#include "spmv/selection.hpp"

#include <utility>

namespace tessera::detail {

/// Kernels whose sample promised more than the matrix keeps, or that memory does not hold.
struct RefusedKernels {
  bool patterns = false;
  bool sell = false;
  bool blocked = false;
  bool tiles = false;

  /// \returns false for a kernel that is not chosen by a sample, or was refused before
  bool add(SpmvAlgorithm algorithm) noexcept {
    if (algorithm == SpmvAlgorithm::patterns) return !std::exchange(patterns, true);
    if (algorithm == SpmvAlgorithm::sell) return !std::exchange(sell, true);
    if (algorithm == SpmvAlgorithm::blocked) return !std::exchange(blocked, true);
    if (algorithm == SpmvAlgorithm::tiles) return !std::exchange(tiles, true);
    return false;
  }
};

/// Whether a kernel runs on GPUs and keeps the class of determinism that the options ask for.
[[nodiscard]] inline bool gpu_kernel_keeps_class(SpmvAlgorithm algorithm, const SpmvOptions& options) {
  const SpmvBackend& backend = spmv_kernel_entry(algorithm).cuda;
  return backend.offered() && backend.strongest >= options.determinism;
}

/// \param a on the host \param options their device is one of the host
template <class T>
[[nodiscard]] SpmvSelection select_for_host(const CsrView<T>& a, const SpmvOptions& options,
                                            const RefusedKernels& refused);

/// On a GPU, of the kernels that keep the required class: row patterns where rows repeat, the blocked product where
/// reads of a large x are scattered, bitmap tiles where they are well filled, sliced ELL where that takes half the
/// bytes, rows where they are balanced or few, tiles of MERBIT where they pay, else the first kernel that balances
/// without them. Full tiles come before row patterns, slices before those of long and few rows that hold floats; of
/// tiles and slices the shorter predicted time decides. Waits.
/// \param a on the GPU of the options
/// \throws NotSupported where no kernel keeps the class; OutOfMemory, CudaError
template <class T>
[[nodiscard]] SpmvSelection select_for_gpu(const CsrView<T>& a, const SpmvOptions& options,
                                           const RefusedKernels& refused);

}  // namespace tessera::detail
