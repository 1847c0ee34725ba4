/// \file
/// Device groups inside: the devices, the communicator of their host threads, and the links between GPUs.
#pragma once

#include "core/communicator.hpp"
#include "core/exclusive_calls.hpp"
#include "core/group_rank.hpp"
#include "solvers/distributed/peer_links.hpp"
#include "tessera/several_devices.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

namespace tessera {

namespace detail {

/// Threads of the host for each of the ranks.
[[nodiscard]] inline Device share_of_host(int ranks) { return Device::host(std::max(1, Device{}.threads() / ranks)); }

}  // namespace detail

struct DeviceGroup::Impl {
  std::vector<Device> devices;  ///< GPUs have contexts of their own
  DeviceGroupOptions options;
  std::unique_ptr<cuda::PeerLinks> links;  ///< of GPUs that reach each other, else null
  std::shared_ptr<detail::Communicator> communicator;
  mutable detail::ExclusiveCalls calls;

  /// The device as rank `number` of a system, whose rows from `first_row` on it has.
  [[nodiscard]] Device rank(int number, index_t first_row, index_t rows) const;
  /// body(rank) on all ranks (Communicator::run()).
  void run(const std::function<void(int rank)>& body) const;
};

}  // namespace tessera
