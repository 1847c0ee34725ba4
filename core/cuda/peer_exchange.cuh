/// \file
/// All-reductions over GPUs inside kernels: every rank writes its value, with the number of the sum, into the mailboxes
/// of all ranks, and polls its own: one way over NVLink, no fence. Values are added in the order of ranks, so that all
/// ranks get the same bits.
#pragma once

#include "core/cuda/device_clock.cuh"
#include "core/cuda/peer_exchange.hpp"
#include "core/cuda/reduce.cuh"
#include "core/cuda/relaxed.cuh"

#include <cstdint>
#include <type_traits>

namespace tessera::cuda {

/// Polls between two looks at the clock and at the host's wish.
inline constexpr int polls_per_look = 1024;

/// Waits for the value with this number. Gives up where `from` does not answer within the patience, or the host wants
/// it: then `lost` is set, and the value is NaN.
[[nodiscard]] inline __device__ std::uint64_t await_peer(const NumberedWord* word, std::uint64_t number, int from,
                                                         PeerExchange& exchange) {
  constexpr std::uint64_t nan = 0x7ff8000000000000u;
  NumberedWord seen = load_relaxed_system(word);
  std::uint64_t began = 0;
  for (int polls = 1; seen.number != number; ++polls) {
    if (polls % polls_per_look == 0) {
      if (load_relaxed(&exchange.lost) != 0) return nan;
      const std::uint64_t now = device_nanoseconds();
      if (began == 0) began = now;
      const bool is_stopped = load_relaxed_system(exchange.stop) != 0;
      if (is_stopped || now - began > exchange.patience) {
        const std::uint32_t why = is_stopped ? stopped_by_host : static_cast<std::uint32_t>(from) + 1;
        store_relaxed(&exchange.lost, why);
        store_relaxed_system(exchange.lost_on_host, why);
        return nan;
      }
    }
    let_others_run();
    seen = load_relaxed_system(word);
  }
  return seen.value;
}

/// The words of lane `from` in every lane of the warp.
template <class Value>
__device__ Value value_of_lane(const Value& value, int from) {
  constexpr int words = sizeof(Value) / sizeof(int);
  int word[words];
  memcpy(word, &value, sizeof(Value));
  for (int k = 0; k < words; ++k) word[k] = __shfl_sync(full_warp, word[k], from);
  Value result;
  memcpy(&result, word, sizeof(Value));
  return result;
}

/// One warp of one block per rank, all lanes. \param own of lane 0 \param total in every lane
/// \returns false where another rank was lost
template <class Value>
__device__ bool sum_over_peers(PeerExchange& exchange, const Value& own, Value& total) {
  static_assert(std::is_trivially_copyable_v<Value> && sizeof(Value) % sizeof(std::uint64_t) == 0);
  constexpr int words = sizeof(Value) / sizeof(std::uint64_t);
  static_assert(words <= most_exchanged_words);
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  const std::uint64_t number = exchange.number + 1;
  const int size = exchange.size;
  const Value sent = value_of_lane(own, 0);
  Value received{};
  if (lane < size && load_relaxed(&exchange.lost) == 0) {
    const int side = static_cast<int>(number & 1) * detail::most_ranks;
    std::uint64_t word[words];
    memcpy(word, &sent, sizeof(Value));
    NumberedWord* const theirs = exchange.mailboxes[lane] + (side + exchange.rank) * most_exchanged_words;
    for (int k = 0; k < words; ++k) store_relaxed_system(theirs + k, {word[k], number});
    const NumberedWord* const mine = exchange.mailboxes[exchange.rank] + (side + lane) * most_exchanged_words;
    for (int k = 0; k < words; ++k) word[k] = await_peer(mine + k, number, lane, exchange);
    memcpy(&received, word, sizeof(Value));
  }
  __syncwarp();
  total = value_of_lane(received, 0);
  for (int rank = 1; rank < size; ++rank) total += value_of_lane(received, rank);
  const bool is_whole = load_relaxed(&exchange.lost) == 0;
  __syncwarp();
  if (lane == 0) exchange.number = number;
  return is_whole;
}

}  // namespace tessera::cuda
