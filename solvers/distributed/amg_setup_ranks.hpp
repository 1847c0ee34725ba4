/// \file
/// GPUs that set up one hierarchy of AMG together and reach each other's memory: who lacks rows copies them from who
/// has formed them.
#pragma once

#include "core/communicator.hpp"
#include "solvers/amg/galerkin_rows.hpp"
#include "tessera/several_devices.hpp"

#include <utility>

namespace tessera::detail {

template <class T>
class GpuSetupRanks final : public SetupRanks<T> {
 public:
  GpuSetupRanks(DeviceGroup group, int rank, index_t least_rows)
      : group_(std::move(group)), rank_(rank), least_rows_(least_rows) {}

  [[nodiscard]] int number() const noexcept override { return rank_; }
  [[nodiscard]] int size() const noexcept override { return group_.size(); }
  [[nodiscard]] index_t least_rows() const noexcept override { return least_rows_; }
  [[nodiscard]] Csr<T> gather(Csr<T> own) override;

 private:
  DeviceGroup group_;
  int rank_;
  index_t least_rows_;
};

extern template class GpuSetupRanks<float>;
extern template class GpuSetupRanks<double>;

}  // namespace tessera::detail
