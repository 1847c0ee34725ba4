/// \file
/// GPUs that set up one hierarchy of AMG together and reach each other's memory: who lacks rows copies them from who
/// has formed them.
#pragma once

#include "core/communicator.hpp"
#include "core/stopwatch.hpp"
#include "solvers/amg/setup_ranks.hpp"
#include "solvers/distributed/group.hpp"
#include "tessera/several_devices.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace tessera::detail {

template <class T>
class GpuSetupRanks final : public SetupRanks<T> {
 public:
  /// \param finest partition of the rows
  GpuSetupRanks(DeviceGroup group, int rank, Partition finest, index_t least_rows)
      : group_(std::move(group)), rank_(rank), least_rows_(least_rows), partitions_{std::move(finest)} {}

  [[nodiscard]] int number() const noexcept override { return rank_; }
  [[nodiscard]] index_t least_rows() const noexcept override { return least_rows_; }
  [[nodiscard]] const Partition& partition(std::size_t level) const override { return partitions_[level]; }
  void coarsen(const Aggregates& aggregates, index_t block, index_t coarse_rows) override;
  [[nodiscard]] Csr<T> gather(Csr<T> own) override;
  void complete(std::span<T> values, const Partition& partition) override;
  void take_from_first(Aggregates& aggregates) override;
  /// Of these calls, without the work that was under way before.
  [[nodiscard]] double exchange_ms() const noexcept { return exchange_ms_; }

 private:
  /// Begins and ends an exchange: what others read is complete, and has been read.
  [[nodiscard]] Stopwatch begin() const;
  void end(const Stopwatch& watch);
  [[nodiscard]] int size() const noexcept { return group_.size(); }
  [[nodiscard]] Communicator& communicator() const { return *group_.impl()->communicator; }

  DeviceGroup group_;
  int rank_;
  index_t least_rows_;
  std::vector<Partition> partitions_;
  double exchange_ms_ = 0.0;
};

extern template class GpuSetupRanks<float>;
extern template class GpuSetupRanks<double>;

}  // namespace tessera::detail
