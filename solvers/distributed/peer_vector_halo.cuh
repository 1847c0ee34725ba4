/// \file
/// Halos of the vectors of a cycle on several GPUs that reach each other's memory. Every rank writes the elements that
/// others need into their memory, each with the number of the cycle, so that who waits for an element polls the word
/// itself. The host only launches.
///
/// Every fetch of a cycle has words of its own, for cycles with even and odd numbers, and in every cycle each rank
/// receives something from all others (the right-hand side of the replicated levels). So who writes words in cycle k +
/// 2 has received what all ranks sent in cycle k + 1, after they had read the words of cycle k.
#pragma once

#include "core/cuda/launch.cuh"
#include "core/cuda/meet_before_waiting.hpp"
#include "core/cuda/memory.hpp"
#include "core/cuda/peer_exchange.cuh"
#include "solvers/distributed/peer_halo.cuh"
#include "solvers/distributed/vector_halo.hpp"
#include "tessera/array.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace tessera::cuda {

/// The cycles of a rank, shared by the halos of its levels.
class PeerCycles {
 public:
  /// \param device of the rank
  explicit PeerCycles(const Device& device) : device_(device), number_(1, Init::zero, detail::alone(device)) {}

  /// Collective, with no cycle under way: all ranks number alike, and higher than any word. A run that failed may have
  /// left them apart.
  void agree() {
    const Device here = detail::alone(device_);
    std::uint64_t own = 0;
    copy_bytes(Device{}, &own, here, number_.data(), sizeof(own));
    const detail::GroupRank& rank = *detail::rank_of(device_);
    std::vector<std::uint64_t> all(static_cast<std::size_t>(rank.communicator->size()));
    rank.communicator->gather(rank.number, own, std::span(all));
    const std::uint64_t most = *std::max_element(all.begin(), all.end());
    if (own != most) copy_bytes(here, number_.data(), Device{}, &most, sizeof(most));
  }

  /// Numbers a cycle. The device is current. \param halted null, or on the device: where it is not 0 no kernel of the
  /// cycle does anything
  void begin(const std::int32_t* halted);

  [[nodiscard]] const std::uint64_t* number() const noexcept { return number_.data(); }
  [[nodiscard]] const std::int32_t* halted() const noexcept { return halted_; }
  [[nodiscard]] const Context& context() const { return Context::of(device_); }
  [[nodiscard]] const detail::GroupRank& rank() const noexcept { return *detail::rank_of(device_); }

 private:
  Device device_;
  Array<std::uint64_t> number_;
  const std::int32_t* halted_ = nullptr;
};

inline __global__ void begin_cycle_kernel(std::uint64_t* number, const PeerExchange* exchange,
                                          const std::int32_t* halted) {
  if (!is_over(*exchange, halted)) ++*number;
}

inline void PeerCycles::begin(const std::int32_t* halted) {
  halted_ = halted;
  launch("beginning a cycle", context(), Grid{1, 1}, begin_cycle_kernel, number_.data(),
         static_cast<const PeerExchange*>(rank().exchange), halted);
}

/// Where the elements for a rank go.
struct LevelHaloTargets {
  HaloTargets halo;                ///< words of fetch 0 and even cycles
  index_t sizes[most_ranks] = {};  ///< of the halos of the ranks: so far are the words of the next side
};

/// Which words: two sides per fetch.
[[nodiscard]] inline __device__ std::int64_t side_of(int fetch, std::uint64_t number) {
  return 2 * fetch + static_cast<int>(number & 1);
}

/// \param x own rows
template <class V>
__global__ void send_level_halo_kernel(LevelHaloTargets to, const V* x, int fetch, const std::uint64_t* number,
                                       const PeerExchange* exchange, const std::int32_t* halted) {
  if (is_over(*exchange, halted)) return;
  const std::uint64_t cycle = *number;
  const std::int64_t side = side_of(fetch, cycle);
  const index_t count = to.halo.by.offsets[to.halo.by.ranks];
  const auto stride = static_cast<index_t>(gridDim.x * blockDim.x);
  for (auto i = static_cast<index_t>(blockIdx.x * blockDim.x + threadIdx.x); i < count; i += stride) {
    const int rank = to.halo.by.rank_of(i);
    const auto value = static_cast<double>(x[to.halo.rows[i]]);
    store_relaxed_system(to.halo.words[rank] + side * to.sizes[rank] + (i - to.halo.by.offsets[rank]),
                         {static_cast<std::uint64_t>(__double_as_longlong(value)), cycle});
  }
}

/// \param x with its halo: `lower` elements, `rows` own ones, the rest
template <class V>
__global__ void receive_level_halo_kernel(HaloWords from, V* x, index_t lower, index_t rows, int fetch,
                                          const std::uint64_t* number, PeerExchange* exchange,
                                          const std::int32_t* halted) {
  if (is_over(*exchange, halted)) return;
  const std::uint64_t cycle = *number;
  const index_t count = from.by.offsets[from.by.ranks];
  const HaloWords words{from.words + side_of(fetch, cycle) * count, from.by};
  const auto stride = static_cast<index_t>(gridDim.x * blockDim.x);
  for (auto i = static_cast<index_t>(blockIdx.x * blockDim.x + threadIdx.x); i < count; i += stride) {
    x[i < lower ? i : i + rows] = words.value<V>(i, cycle, *exchange);
  }
}

template <class V>
class PeerVectorHalo final : public detail::VectorHalo<V> {
 public:
  /// Made by all ranks at once. \param rows of the rank \param fetches of a cycle, at most \param cycles outlives this
  PeerVectorHalo(const detail::ExchangeLists& lists, index_t rows, int fetches, const PeerCycles& cycles,
                 const Device& device)
      : device_(device), cycles_(cycles), own_rows_(rows) {
    const Device here = detail::alone(device);
    std::vector<index_t> all;
    for (const std::vector<index_t>& each : lists.rows_for) {
      all.insert(all.end(), each.begin(), each.end());
      to_.halo.by.offsets[++to_.halo.by.ranks] = static_cast<index_t>(all.size());
    }
    rows_ = Array<index_t>::copy_of(all, here);
    to_.halo.rows = rows_.data();
    words_ = Array<NumberedWord>(std::int64_t{2} * fetches * lists.halo_offsets.back(), Init::zero, here);
    from_.words = words_.data();
    from_.by.ranks = static_cast<int>(lists.rows_for.size());
    std::copy(lists.halo_offsets.begin(), lists.halo_offsets.end(), from_.by.offsets);
    lower_ = lists.halo_offsets[static_cast<std::size_t>(cycles.rank().number)];
    connect();
    cuda::synchronize(device);
  }

  void begin_cycle() const override { fetch_ = 0; }

  /// The device is current.
  void fetch(std::span<V> x) const override {
    const int number = fetch_++;
    const PeerExchange* const exchange = cycles_.rank().exchange;
    if (!rows_.empty()) {
      launch("sending the halo of a level", cycles_.context(), grid(rows_.size()), send_level_halo_kernel<V>, to_,
             static_cast<const V*>(x.data() + lower_), number, cycles_.number(), exchange, cycles_.halted());
    }
    meet_before_waiting(cycles_.rank());
    if (words_.empty()) return;
    launch("receiving the halo of a level", cycles_.context(), grid(from_.by.offsets[from_.by.ranks]),
           receive_level_halo_kernel<V>, from_, x.data(), lower_, own_rows_, number, cycles_.number(),
           cycles_.rank().exchange, cycles_.halted());
  }

  void release() const override {}
  [[nodiscard]] std::uint64_t bytes() const noexcept override { return words_.bytes() + rows_.bytes(); }

 private:
  /// One block per multiprocessor at the most: they may wait.
  [[nodiscard]] Grid grid(std::int64_t count) const {
    const auto most = static_cast<unsigned>(cycles_.context().multiprocessors());
    return {std::min(blocks_for(count, sum_threads), most), sum_threads};
  }

  /// Tells all ranks where the elements for them go.
  void connect() {
    struct ReceiveBuffer {
      NumberedWord* words;
      index_t size;
    };
    using Begins = std::array<index_t, most_ranks>;
    const detail::GroupRank& rank = cycles_.rank();
    const auto size = static_cast<std::size_t>(rank.communicator->size());
    std::vector<ReceiveBuffer> buffers(size);
    std::vector<Begins> begins(size);
    Begins own_begins{};
    std::copy_n(from_.by.offsets, size, own_begins.begin());
    rank.communicator->gather(rank.number, ReceiveBuffer{words_.data(), from_.by.offsets[size]}, std::span(buffers));
    rank.communicator->gather(rank.number, own_begins, std::span(begins));
    for (std::size_t other = 0; other < size; ++other) {
      to_.halo.words[other] = buffers[other].words + begins[other][static_cast<std::size_t>(rank.number)];
      to_.sizes[other] = buffers[other].size;
    }
  }

  Device device_;
  const PeerCycles& cycles_;
  index_t own_rows_;
  index_t lower_ = 0;
  Array<index_t> rows_;
  Array<NumberedWord> words_;
  LevelHaloTargets to_;
  HaloWords from_;
  mutable int fetch_ = 0;  ///< of this cycle, the next one
};

}  // namespace tessera::cuda
