/// PageRank on GPUs that reach each other's memory: who sends what where, and the launch.
#include "solvers/distributed/peer_ranks.hpp"

#include "core/cuda/context.hpp"
#include "core/cuda/launch.cuh"
#include "core/cuda/memory.hpp"
#include "core/group_rank.hpp"
#include "solvers/distributed/peer_ranks.cuh"
#include "tessera/array.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace tessera::cuda {

namespace {

template <class T>
class PeerRanks final : public detail::RankExchange {
 public:
  PeerRanks(const detail::ExchangeLists& lists, index_t rows, const detail::RankVectors<T>& vectors,
            const Device& device)
      : device_(device), here_(detail::alone(device)), finished_(1, Init::zero, here_) {
    sends_.ranks = static_cast<int>(lists.rows_for.size());
    for (int side = 0; side < 2; ++side) sends_.own[side] = vectors.scaled[side];
    place_rows(lists, rows);
    connect(lists, rows, vectors);
    cuda::synchronize(device_);
  }

  void enqueue_end(const detail::RankRules& rules, detail::RankState* state, const detail::RankSums* own) override {
    const DeviceGuard current(here_);
    launch("end of a PageRank iteration on several GPUs", context(), grid(), end_rank_iteration_kernel<T>, sends_,
           rules, state, own, detail::rank_of(device_)->exchange, finished_.data());
  }

  void wait_for_recordings() override {
    const detail::GroupRank& rank = *detail::rank_of(device_);
    rank.communicator->wait(rank.number);
  }

 private:
  [[nodiscard]] const Context& context() const { return Context::of(here_); }

  [[nodiscard]] Grid grid() const {
    index_t most = 0;
    for (int rank = 0; rank < sends_.ranks; ++rank) most = std::max(most, sends_.to[rank].count);
    const auto resident = static_cast<unsigned>(blocks_per_multiprocessor * context().multiprocessors());
    return {std::min(blocks_for(most, rank_sends_at_once * sum_threads), resident), sum_threads};
  }

  /// Lists of those who do not need all vertices.
  void place_rows(const detail::ExchangeLists& lists, index_t rows) {
    std::vector<index_t> all;
    std::vector<std::size_t> begins;
    for (const std::vector<index_t>& each : lists.rows_for) {
      begins.push_back(all.size());
      if (static_cast<index_t>(each.size()) != rows) all.insert(all.end(), each.begin(), each.end());
    }
    rows_ = Array<index_t>::copy_of(all, here_);
    for (std::size_t other = 0; other < lists.rows_for.size(); ++other) {
      RankSend<T>& send = sends_.to[other];
      send.count = static_cast<index_t>(lists.rows_for[other].size());
      send.rows = send.count == rows ? nullptr : rows_.data() + begins[other];
    }
  }

  /// Tells all ranks where the elements for them go.
  void connect(const detail::ExchangeLists& lists, index_t rows, const detail::RankVectors<T>& vectors) {
    struct Vectors {
      T* side[2];
    };
    using Begins = std::array<index_t, detail::most_ranks>;
    const detail::GroupRank& rank = *detail::rank_of(device_);
    std::vector<Vectors> all(lists.rows_for.size());
    std::vector<Begins> begins(all.size());
    Begins own{};
    for (std::size_t other = 0; other < all.size(); ++other) own[other] = rows + lists.halo_offsets[other];
    rank.communicator->gather(rank.number, Vectors{{vectors.scaled[0], vectors.scaled[1]}}, std::span(all));
    rank.communicator->gather(rank.number, own, std::span(begins));
    for (std::size_t other = 0; other < all.size(); ++other) {
      for (int side = 0; side < 2; ++side) {
        sends_.to[other].to[side] = all[other].side[side] + begins[other][static_cast<std::size_t>(rank.number)];
      }
    }
  }

  static constexpr int blocks_per_multiprocessor = 4;

  Device device_;
  Device here_;
  Array<unsigned> finished_;
  Array<index_t> rows_;
  RankSends<T> sends_;
};

}  // namespace

template <class T>
std::unique_ptr<detail::RankExchange> make_peer_ranks(const detail::ExchangeLists& lists, index_t rows,
                                                      const detail::RankVectors<T>& vectors, const Device& device) {
  return std::make_unique<PeerRanks<T>>(lists, rows, vectors, device);
}

template std::unique_ptr<detail::RankExchange> make_peer_ranks(const detail::ExchangeLists&, index_t,
                                                               const detail::RankVectors<float>&, const Device&);
template std::unique_ptr<detail::RankExchange> make_peer_ranks(const detail::ExchangeLists&, index_t,
                                                               const detail::RankVectors<double>&, const Device&);

}  // namespace tessera::cuda
