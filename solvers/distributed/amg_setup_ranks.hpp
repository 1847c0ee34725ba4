/// \file
/// GPUs that set up one hierarchy of AMG together and reach each other's memory: who lacks rows copies them from who
/// has formed them.
#pragma once

#include "core/communicator.hpp"
#include "core/stopwatch.hpp"
#include "solvers/amg/setup_ranks.hpp"
#include "solvers/distributed/group.hpp"
#include "solvers/distributed/product.hpp"
#include "tessera/several_devices.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <utility>

namespace tessera::detail {

template <class T>
class GpuSetupRanks : public SetupRanks<T> {
 public:
  /// \param product of the rank by the finest A; it outlives the ranks \param finest partition of the rows
  GpuSetupRanks(DeviceGroup group, int rank, const DistributedProduct<T>& product, Partition finest, index_t least_rows)
      : group_(std::move(group)),
        rank_(rank),
        product_(product),
        least_rows_(least_rows),
        partitions_{std::move(finest)} {}

  [[nodiscard]] int number() const noexcept override { return rank_; }
  [[nodiscard]] Communicator& communicator() const override { return *group_.impl()->communicator; }
  void exchange(void* values, std::size_t element_bytes, const Partition& partition, index_t distance) override;
  [[nodiscard]] offset_t finest_nnz() override;
  [[nodiscard]] index_t finest_bandwidth() override;
  [[nodiscard]] Csr<T> gather_finest(const RowRange& range) override;
  [[nodiscard]] index_t least_rows() const noexcept override { return least_rows_; }
  [[nodiscard]] const Partition& partition(std::size_t level) const override { return partitions_[level]; }
  void coarsen(const Aggregates& aggregates, index_t block, index_t coarse_rows) override;
  [[nodiscard]] Csr<T> gather(const Csr<T>& own, const RowRange& range) override;
  void take_from_first(Aggregates& aggregates) override;
  /// Of these calls, without the work that was under way before.
  [[nodiscard]] double exchange_ms() const noexcept { return exchange_ms_; }

 private:
  /// Begins and ends an exchange: what others read is complete, and has been read.
  [[nodiscard]] Stopwatch begin() const;
  void end(const Stopwatch& watch);
  [[nodiscard]] int size() const noexcept { return group_.size(); }

  DeviceGroup group_;
  int rank_;
  const DistributedProduct<T>& product_;
  index_t least_rows_;
  std::deque<Partition> partitions_;  ///< levels refer to them
  double exchange_ms_ = 0.0;
};

extern template class GpuSetupRanks<float>;
extern template class GpuSetupRanks<double>;

}  // namespace tessera::detail
