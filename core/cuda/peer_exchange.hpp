/// \file
/// All-reductions over GPUs that reach each other's memory: what kernels need for them, in the memory of each GPU.
#pragma once

#include "core/communicator.hpp"
#include "core/detail_namespace.hpp"

#include <cstdint>

namespace tessera::cuda {

struct NumberedWord;

/// Words of a value that is summed, at most.
inline constexpr int most_exchanged_words = 8;
/// Words in the mailbox of a rank: one value of every rank, for two sums in turn, since a rank may be one sum ahead.
inline constexpr int mailbox_words = 2 * detail::most_ranks * most_exchanged_words;

/// Reason why a kernel has waited in vain, in PeerExchange::lost.
inline constexpr std::uint32_t stopped_by_host = 0xffffffffu;

/// Of one rank, in the memory of its GPU. Kernels of all ranks make the same sums in the same order.
struct PeerExchange {
  int rank = 0;
  int size = 1;
  std::uint64_t number = 0;    ///< of the latest sum
  std::uint64_t patience = 0;  ///< nanoseconds that a kernel waits for another rank
  /// 1 + the rank that did not answer, or stopped_by_host; then no kernel waits any more. 0: all well.
  std::uint32_t lost = 0;
  std::uint32_t unused = 0;
  std::uint32_t* lost_on_host = nullptr;             ///< the same, page-locked
  const std::uint32_t* stop = nullptr;               ///< page-locked: not 0 where the host wants waits to end
  NumberedWord* mailboxes[detail::most_ranks] = {};  ///< of all ranks
};

}  // namespace tessera::cuda
