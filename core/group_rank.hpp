/// \file
/// The rank that a Device stands for: a solver on such a device works on the rows of its rank, and what it sums over a
/// vector is summed over all ranks.
#pragma once

#include "core/communicator.hpp"
#include "tessera/device.hpp"

#include <cstdint>
#include <memory>
#include <type_traits>

namespace tessera::cuda {
struct PeerExchange;
}

namespace tessera::detail {

struct GroupRank {
  std::shared_ptr<Communicator> communicator;
  int number = 0;
  std::int64_t first_row = 0;  ///< of the vectors of this rank
  std::int64_t rows = 0;       ///< of all ranks
  /// On a GPU: 0, or 1 + the rank that did not answer one of its kernels, or above all ranks where the host has ended
  /// their waits; in memory of the host. Else null.
  const volatile std::uint32_t* lost = nullptr;
  double patience_seconds = 0.0;
  /// On a GPU that can reach those of all other ranks: how kernels sum over ranks (core/cuda/peer_exchange.cuh), in its
  /// memory; else null.
  cuda::PeerExchange* exchange = nullptr;
};

struct RankAccess {
  /// Null where the device works alone.
  [[nodiscard]] static const GroupRank* rank_of(const Device& device) noexcept { return device.rank_.get(); }
  /// The device as a rank of a group; with null alone.
  [[nodiscard]] static Device as_rank(Device device, std::shared_ptr<const GroupRank> rank) noexcept {
    device.rank_ = std::move(rank);
    return device;
  }
};

[[nodiscard]] inline const GroupRank* rank_of(const Device& device) noexcept { return RankAccess::rank_of(device); }

/// The device without its rank, for work that other ranks take no part in.
[[nodiscard]] inline Device alone(const Device& device) noexcept { return RankAccess::as_rank(device, nullptr); }

/// After work on a GPU. \throws DeviceFailure where another rank did not answer there
void require_answers(const GroupRank& rank);
inline void require_answers(const Device& device) {
  const GroupRank* const rank = rank_of(device);
  if (rank != nullptr && rank->lost != nullptr && *rank->lost != 0) require_answers(*rank);
}

/// Collective where the device is a rank: the sum over all ranks, with equal bits in all; else `own`.
/// \throws as require_answers()
template <class Value>
[[nodiscard]] Value sum_over_ranks(const Device& device, const Value& own) {
  if constexpr (std::is_empty_v<Value>) {
    return own;
  } else {
    const GroupRank* const rank = rank_of(device);
    if (rank == nullptr) return own;
    require_answers(device);
    return rank->communicator->sum(rank->number, own);
  }
}

/// The same: what rank 0 decides on what the ranks may see differently, as the time.
template <class Value>
[[nodiscard]] Value decided_by_first(const Device& device, const Value& own) {
  const GroupRank* const rank = rank_of(device);
  if (rank == nullptr) return own;
  require_answers(device);
  return rank->communicator->of_first(rank->number, own);
}

}  // namespace tessera::detail
