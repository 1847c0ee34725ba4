/// \file
/// The cycle of AMG: z = M r from the guess 0, with the matrices of a hierarchy in the layout and precision that are
/// fast for it.
#pragma once

#include "core/enqueued_product.hpp"
#include "solvers/amg/cycle_layout.hpp"
#include "solvers/amg/hierarchy.hpp"
#include "tessera/amg.hpp"
#include "tessera/error.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tessera::detail {

/// How a level lies in the cycle.
struct AmgLayout {
  std::string name;         ///< "row-templates", "row-patterns", "sliced-ell", "csr", "dense"
  std::uint64_t bytes = 0;  ///< A, P, R, smoother, vectors
  bool is_raked = false;    ///< on a GPU: whether blocks of some kernels take several tiles of rows side by side
};

/// A cycle on one device. Owns copies of what it needs of the hierarchy, and one set of vectors: products of several
/// threads take turns.
template <class T>
class AmgCycleOperator {
 public:
  AmgCycleOperator() = default;
  AmgCycleOperator(const AmgCycleOperator&) = delete;
  AmgCycleOperator& operator=(const AmgCycleOperator&) = delete;
  virtual ~AmgCycleOperator() = default;

  /// z = M r. Returns before the work is done on a GPU. Never allocates. \param r, z rows of the finest level, on the
  /// device, not overlapping
  virtual void apply(std::span<const T> r, std::span<T> z) const = 0;
  /// z = Mᵀ r of the cycles V and W, on the host alone: the cycle of Aᵀ with the same P, R = Pᵀ and smoothers, since
  /// the sweeps after the coarser level mirror those before it. The first call forms the transposes of all levels.
  virtual void apply_transposed(std::span<const T> /*r*/, std::span<T> /*z*/) const {
    throw NotSupported("this cycle has no transposed product");
  }
  /// For loops on a GPU; null on the host.
  [[nodiscard]] virtual const EnqueuedProduct<T>* enqueued() const noexcept = 0;
  [[nodiscard]] virtual const std::vector<AmgLayout>& layouts() const noexcept = 0;
  /// Takes the values of a hierarchy of the same structure, into the memory that is there; values that rows shared and
  /// no longer share take their own. \throws OutOfMemory, CudaError
  virtual void refresh(const AmgHierarchy<T>& hierarchy) = 0;
};

/// Factors ω of the sweeps before the coarser level; after it they are used in reverse order.
[[nodiscard]] std::vector<double> sweep_weights(const AmgOptions& options, double rho);

}  // namespace tessera::detail

namespace tessera::host {
/// \throws OutOfMemory
template <class T>
[[nodiscard]] std::unique_ptr<detail::AmgCycleOperator<T>> make_amg_cycle(const detail::AmgHierarchy<T>& hierarchy,
                                                                          const AmgOptions& options);
/// The same, looking for row templates in matrices of at least `least_templated` nonzeros.
template <class T>
[[nodiscard]] std::unique_ptr<detail::AmgCycleOperator<T>> make_amg_cycle(const detail::AmgHierarchy<T>& hierarchy,
                                                                          const AmgOptions& options,
                                                                          offset_t least_templated);
}  // namespace tessera::host

namespace tessera::cuda {
/// \throws OutOfMemory, CudaError, NotSupported; DeviceUnavailable in a build without CUDA
template <class T>
[[nodiscard]] std::unique_ptr<detail::AmgCycleOperator<T>> make_amg_cycle(const detail::AmgHierarchy<T>& hierarchy,
                                                                          const AmgOptions& options);
/// The same with other thresholds between the layouts.
template <class T>
[[nodiscard]] std::unique_ptr<detail::AmgCycleOperator<T>> make_amg_cycle(const detail::AmgHierarchy<T>& hierarchy,
                                                                          const AmgOptions& options,
                                                                          const AmgLayoutTuning& tuning);
}  // namespace tessera::cuda
