/// \file
/// The V cycle of AMG on several devices: the part of one rank.
#pragma once

#include "core/communicator.hpp"
#include "core/enqueued_product.hpp"
#include "solvers/amg/cycle.hpp"
#include "solvers/distributed/amg_hierarchy.hpp"
#include "solvers/distributed/level_columns.hpp"
#include "tessera/amg.hpp"
#include "tessera/device.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace tessera::detail {

/// What a rank has of a level that is shared out, on the device of the hierarchy; of the first replicated level its
/// columns alone.
template <class T>
struct LevelShare {
  LevelColumns columns;
  ExchangeLists lists;
  Csr<T> a;
  Csr<T> p;  ///< own rows, in the columns of the next level; none on the coarsest
  Csr<T> r;  ///< own rows of the next level, in the columns of this one; none on the coarsest
};

/// Of all shared levels and, where there is one, of the first replicated. Collective.
/// \param hierarchy which the ranks share on the host, or of this rank on its GPU \param communicator of the ranks
/// \param all per level and rank, shared by the ranks; sized by the caller \param host its threads for this rank
template <class T>
[[nodiscard]] std::vector<LevelShare<T>> shares_of(const SharedHierarchy<T>& hierarchy, int rank,
                                                   Communicator& communicator,
                                                   std::vector<std::vector<LevelColumns>>& all, const Device& host);

/// z = M r on the rows of a rank. Collective. One product at a time.
template <class T>
class DistributedCycle {
 public:
  DistributedCycle() = default;
  DistributedCycle(const DistributedCycle&) = delete;
  DistributedCycle& operator=(const DistributedCycle&) = delete;
  virtual ~DistributedCycle() = default;

  /// Before the first of several products: a run that failed may have left the ranks at different ones.
  virtual void begin_run() const = 0;
  /// \param r,z rows of the rank, on its device, not overlapping
  virtual void apply(std::span<const T> r, std::span<T> z) const = 0;
  /// For loops on GPUs that reach each other, with inner products over all ranks; else null.
  [[nodiscard]] virtual const EnqueuedProduct<T>* enqueued() const noexcept = 0;
  /// How the levels lie on the device, with matrices, smoothers and vectors.
  [[nodiscard]] virtual std::vector<AmgLayout> layouts() const = 0;
};

}  // namespace tessera::detail

namespace tessera::host {
/// Made by all ranks at once. \param device of the rank \throws OutOfMemory
template <class T>
[[nodiscard]] std::unique_ptr<detail::DistributedCycle<T>> make_distributed_cycle(
    const detail::SharedHierarchy<T>& hierarchy, std::vector<detail::LevelShare<T>> shares, const AmgOptions& options,
    const Device& device);
}  // namespace tessera::host

namespace tessera::cuda {
/// The same on a GPU. \throws OutOfMemory, CudaError, NotSupported; DeviceUnavailable in a build without CUDA
template <class T>
[[nodiscard]] std::unique_ptr<detail::DistributedCycle<T>> make_distributed_cycle(
    const detail::SharedHierarchy<T>& hierarchy, std::vector<detail::LevelShare<T>> shares, const AmgOptions& options,
    const Device& device);
}  // namespace tessera::cuda
