/// \file
/// The cycle of AMG on the ranks of a group, on hierarchies that tests make.
#pragma once

#include "solvers/distributed/amg_cycle.hpp"
#include "solvers/distributed/group.hpp"
#include "solvers/distributed/local_vector.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace tessera::testing {

/// Rows in parts whose sizes grow: 1 : 2 : 3 ...
[[nodiscard]] inline Partition uneven(index_t rows, int parts) {
  std::vector<index_t> first_rows{0};
  for (int part = 1; part < parts; ++part) {
    const auto begin = static_cast<index_t>(std::int64_t{rows} * part * (part + 1) / (parts * (parts + 1)));
    first_rows.push_back(std::max(begin, first_rows.back() + 1));
  }
  first_rows.push_back(rows);
  return Partition(std::move(first_rows));
}

/// Whether so many levels can be shared out.
template <class T>
[[nodiscard]] bool can_share(const detail::AmgHierarchy<T>& whole, std::size_t levels, int parts) {
  const std::size_t last = std::min(levels + 1, whole.levels.size());
  if (levels > whole.levels.size() || (levels == whole.levels.size() && !whole.coarsest_inverse.empty())) return false;
  for (std::size_t l = 0; l < last; ++l) {
    if (whole.levels[l].a->rows() < parts) return false;
  }
  return true;
}

/// \param whole on the host
template <class T>
[[nodiscard]] detail::SharedHierarchy<T> shared_out(detail::AmgHierarchy<T> whole, std::size_t levels, int parts) {
  detail::SharedHierarchy<T> result;
  for (std::size_t l = 0; l <= levels && l < whole.levels.size(); ++l) {
    result.partitions.push_back(uneven(whole.levels[l].a->rows(), parts));
  }
  result.whole = std::move(whole);
  result.shared_levels = levels;
  return result;
}

/// M of a group, by its internals.
template <class T>
class CycleOnRanks {
 public:
  CycleOnRanks(DeviceGroup group, const detail::SharedHierarchy<T>& hierarchy, const AmgOptions& options)
      : group_(std::move(group)), partition_(hierarchy.partitions.front()) {
    const auto size = static_cast<std::size_t>(group_.size());
    std::vector<std::vector<detail::LevelColumns>> all(hierarchy.partitions.size(),
                                                       std::vector<detail::LevelColumns>(size));
    cycles_.resize(size);
    const DeviceGroup::Impl& devices = *group_.impl();
    devices.run([&](int rank) {
      auto shares = detail::shares_of(hierarchy, rank, *devices.communicator, all, Device::host(1));
      const Device device = device_of(rank);
      cycles_[static_cast<std::size_t>(rank)] =
          device.is_host() ? host::make_distributed_cycle(hierarchy, std::move(shares), options, device)
                           : cuda::make_distributed_cycle(hierarchy, std::move(shares), options, device);
    });
  }

  /// \param times applied in a row, without the host between them; the last result counts
  [[nodiscard]] std::vector<T> image(std::vector<T> r, int times = 1) const {
    std::vector<T> z(r.size(), std::numeric_limits<T>::quiet_NaN());
    group_.impl()->run([&](int rank) {
      const auto first = static_cast<std::size_t>(partition_.first_row(rank));
      const auto count = static_cast<std::size_t>(partition_.rows_of(rank));
      const Device device = device_of(rank);
      detail::LocalVector<T> from(std::span<T>(r).subspan(first, count), device);
      detail::LocalVector<T> to(std::span<T>(z).subspan(first, count), device);
      const detail::DistributedCycle<T>& cycle = *cycles_[static_cast<std::size_t>(rank)];
      cycle.begin_run();
      for (int time = 0; time < times; ++time) cycle.apply(from.span(), to.span());
      to.bring_back();
    });
    return z;
  }

 private:
  [[nodiscard]] Device device_of(int rank) const {
    return group_.impl()->rank(rank, partition_.first_row(rank), partition_.rows());
  }

  DeviceGroup group_;
  Partition partition_;
  std::vector<std::unique_ptr<detail::DistributedCycle<T>>> cycles_;
};

}  // namespace tessera::testing
