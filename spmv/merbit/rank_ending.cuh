/// \file
/// PageRank's fused products on a GPU, what those of all kernels share: the buffers and the launch that end an
/// iteration, and graphs of several iterations.
#pragma once

#include "core/cuda/capture.hpp"
#include "spmv/common/rank_exchange.hpp"
#include "spmv/merbit/rank_kernels.cuh"
#include "tessera/array.hpp"

#include <cstdint>
#include <memory>
#include <utility>

namespace tessera::cuda {

/// Buffers of an iteration, and the launch that ends it. \tparam K vectors
template <class T, int K>
class RankEnding {
 public:
  /// \param runs carries per shared row \param tiles that may leave a carry; 0 where rows are not shared
  /// \param part_count parts of the sums that the product writes
  RankEnding(const Device& device, Array<CarryRun> runs, std::int64_t tiles, std::int64_t part_count)
      : tiles_(tiles),
        part_count_(part_count),
        runs_(std::move(runs)),
        carries_(K * tiles, Init::none, device),
        parts_(K * part_count, Init::none, device),
        largest_(K * part_count, Init::none, device),
        of_block_(K * std::int64_t{max_rank_join_blocks}, Init::none, device),
        finished_(K, Init::zero, device),
        total_(1, Init::zero, device) {}

  [[nodiscard]] RankOutput<T> output(const detail::RankRules& rules, const detail::RankVectors<T>& vectors) {
    return {vectors, carries_.data(), parts_.data(), largest_.data(),
            tiles_,  part_count_,     rules.norm,    rules.dangling == Dangling::self};
  }

  /// \param exchange ends the iteration of a single vector; null: this does
  void enqueue(const Context& context, const detail::RankRules& rules, const RankOutput<T>& out,
               detail::RankExchange* exchange) {
    const unsigned blocks = rank_join_blocks(runs_.size(), part_count_);
    const RankJoin join{runs_.data(),     runs_.size(),     blocks,
                        of_block_.data(), finished_.data(), exchange == nullptr ? nullptr : total_.data()};
    launch("end of a PageRank iteration", context, Grid{K * blocks, rank_join_threads}, rank_join_kernel<T, K>, out,
           join, rules);
    if (exchange != nullptr) exchange->enqueue_end(rules, out.vectors.state, total_.data());
  }

  [[nodiscard]] std::uint64_t bytes() const noexcept {
    return runs_.bytes() + carries_.bytes() + parts_.bytes() + largest_.bytes() + of_block_.bytes() +
           finished_.bytes() + total_.bytes();
  }

 private:
  std::int64_t tiles_;
  std::int64_t part_count_;
  Array<CarryRun> runs_;
  Array<T> carries_;
  Array<RankPart> parts_;
  Array<double> largest_;
  Array<detail::RankSums> of_block_;
  Array<unsigned> finished_;
  Array<detail::RankSums> total_;  ///< of a rank of a group
};

/// Iterations per CUDA graph.
constexpr int iterations_per_graph = 8;

/// Several iterations at once, by graphs.
template <class T>
class RecordedRankProduct : public detail::RankProduct<T>, public detail::EndsByExchange {
 public:
  explicit RecordedRankProduct(const Device& device) : device_(device) {}

  void enqueue_iterations(const detail::RankRules& rules, const detail::RankVectors<T>& vectors, int count) override {
    const DeviceGuard current(device_);
    if (!graph_ && count >= iterations_per_graph && graphs_are_usable()) {
      record(rules, vectors);
      if (this->exchange() != nullptr) this->exchange()->wait_for_recordings();
    }
    for (; graph_ && count >= iterations_per_graph; count -= iterations_per_graph) graph_->launch();
    for (; count > 0; --count) this->enqueue_iteration(rules, vectors);
  }

 protected:
  [[nodiscard]] const Device& device() const noexcept { return device_; }

 private:
  void record(const detail::RankRules& rules, const detail::RankVectors<T>& vectors) {
    auto graph = std::make_unique<LoopGraph>(device_);
    graph->record_before([&] {
      for (int i = 0; i < iterations_per_graph; ++i) this->enqueue_iteration(rules, vectors);
    });
    graph->complete();
    graph_ = std::move(graph);
  }

  Device device_;
  std::unique_ptr<LoopGraph> graph_;
};

}  // namespace tessera::cuda
