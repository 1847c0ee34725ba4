/// \file
/// PageRank's fused product by MERBIT kernels.
#include "spmv/merbit/rank_product_cuda.hpp"

#include "spmv/merbit/merbit_arrays.hpp"
#include "spmv/merbit/merbit_launch.cuh"
#include "spmv/merbit/rank_ending.cuh"

#include <memory>
#include <type_traits>
#include <utility>

namespace tessera::cuda {

namespace {

/// Launches of one layout.
template <class T>
struct RankLaunch {
  /// Called once. \returns resident blocks per multiprocessor, where that matters
  int (*prepare)(const Context&) = nullptr;
  void (*start)(const Context&, int resident, const ProductInput<T, Ones>&, const RankOutput<T>&) = nullptr;
  std::int64_t (*part_count)(const Context&, int resident, std::int64_t tiles) = nullptr;
};

/// One part per warp or block.
template <class T, class Launcher>
[[nodiscard]] RankLaunch<T> launch_by() {
  RankLaunch<T> result;
  result.prepare = Launcher::template prepare_one<RankEpilogue<T>>;
  result.start = Launcher::template start<RankEpilogue<T>>;
  result.part_count = [](const Context& context, int resident, std::int64_t tiles) {
    return std::int64_t{Launcher::blocks(context, resident, tiles)} * Launcher::parts_per_block;
  };
  return result;
}

/// One part per tile.
template <class T>
[[nodiscard]] RankLaunch<T> launch_exact_ranks() {
  RankLaunch<T> result;
  result.prepare = [](const Context&) { return 0; };
  result.start = [](const Context& context, int, const ProductInput<T, Ones>& in, const RankOutput<T>& out) {
    start_exact<T, Ones, RankEpilogue<T>>(context, in, out);
  };
  result.part_count = [](const Context&, int, std::int64_t tiles) { return tiles; };
  return result;
}

/// Of a layout for scattered reads.
template <class T, class Gather>
[[nodiscard]] RankLaunch<T> gathering_launch(MerbitLayout layout) {
  using Policy = MerbitCudaPolicy<T, Ones>;
  if (layout == MerbitLayout::columns) {
    using OfColumns =
        std::conditional_t<Gather::reads_hubs, typename Policy::ColumnsOfStagedHubs, typename Policy::Columns>;
    return launch_by<T, ColumnsLaunch<T, OfColumns, Gather>>();
  }
  if (layout == MerbitLayout::local_columns) {
    return launch_by<T, ColumnsLaunch<T, typename Policy::LocalColumns, Gather>>();
  }
  return launch_by<T, DirectLaunch<T, Ones, ScalarPolicyOf<Policy, Gather>, Gather>>();
}

template <class T>
[[nodiscard]] RankLaunch<T> rank_launch(MerbitLayout layout, HubStorage hubs) {
  using Policy = MerbitCudaPolicy<T, Ones>;
  if (layout == MerbitLayout::columns && hubs == HubStorage::staged) {
    return launch_by<T, ColumnsLaunch<T, typename Policy::ColumnsOfStagedHubs, StagedHubGather<T>>>();
  }
  if (takes_hubs(layout)) {
    return hubs != HubStorage::none ? gathering_launch<T, HubGather<T>>(layout)
                                    : gathering_launch<T, ColumnGather<T>>(layout);
  }
  if (layout == MerbitLayout::vector) {
    return launch_by<T, DirectLaunch<T, Ones, typename Policy::Vector, ColumnGather<T>>>();
  }
  if (layout == MerbitLayout::rows) return launch_by<T, RowsLaunch<T, typename Policy::Rows>>();
  return launch_exact_ranks<T>();
}

template <class T, int K>
[[nodiscard]] RankEnding<T, K> ending_of(const Device& device, const MerbitTileArrays& tiles, std::int64_t part_count) {
  return {device, find_carry_runs(device, tiles), tiles.share_rows ? tiles.count() : 0, part_count};
}

/// One vector, with the plan's kernel.
template <class T>
class SingleRankProduct final : public RecordedRankProduct<T> {
 public:
  SingleRankProduct(const Device& device, const MerbitTileArrays& tiles, const CsrView<T>& a)
      : RecordedRankProduct<T>(device),
        context_(&Context::of(device)),
        launch_(rank_launch<T>(tiles.layout, tiles.hubs.storage())),
        resident_(prepare()),
        packed_(tiles.hubs.count, Init::none, device),
        ending_(ending_of<T, 1>(device, tiles, launch_.part_count(*context_, resident_, tiles.count()))) {
    in_.matrix = {tiles.hubs.count > 0 ? tiles.hubs.codes : a.columns.data(), nullptr, a.nnz()};
    in_.hubs = tiles.hubs;
    in_.packed = packed_.data();
    in_.snapped = tiles.snapped;
    in_.exact = tiles.exact;
  }

  void enqueue_iteration(const detail::RankRules& rules, const detail::RankVectors<T>& vectors) override {
    const DeviceGuard current(this->device());
    const RankOutput<T> out = ending_.output(rules, vectors);
    launch_.start(*context_, resident_, in_, out);
    ending_.enqueue(*context_, rules, out, this->exchange());
  }

  [[nodiscard]] std::uint64_t bytes() const noexcept override { return ending_.bytes() + packed_.bytes(); }

 private:
  [[nodiscard]] int prepare() const {
    const DeviceGuard current(this->device());
    return launch_.prepare(*context_);
  }

  const Context* context_;
  RankLaunch<T> launch_;
  int resident_;
  Array<T> packed_;
  RankEnding<T, 1> ending_;
  ProductInput<T, Ones> in_;
};

/// K vectors, with one kernel for all layouts of snapped tiles.
template <class T, int K>
class MultiRankProduct final : public RecordedRankProduct<T> {
  static constexpr int warps = MultiRankPolicy::threads / warp_size;

 public:
  MultiRankProduct(const Device& device, const MerbitTileArrays& tiles, const CsrView<T>& a)
      : RecordedRankProduct<T>(device),
        context_(&Context::of(device)),
        matrix_{a.row_offsets.data(), a.columns.data()},
        tiles_(tiles.snapped),
        blocks_(count_blocks()),
        ending_(ending_of<T, K>(device, tiles, std::int64_t{blocks_} * warps)) {}

  void enqueue_iteration(const detail::RankRules& rules, const detail::RankVectors<T>& vectors) override {
    const DeviceGuard current(this->device());
    const RankOutput<T> out = ending_.output(rules, vectors);
    launch("PageRank product of several vectors", *context_, Grid{blocks_, MultiRankPolicy::threads},
           multi_rank_kernel<T, K>, matrix_, tiles_, out);
    ending_.enqueue(*context_, rules, out, this->exchange());
  }

  [[nodiscard]] std::uint64_t bytes() const noexcept override { return ending_.bytes(); }

 private:
  [[nodiscard]] unsigned count_blocks() const {
    const DeviceGuard current(this->device());
    const int resident = resident_blocks(multi_rank_kernel<T, K>, MultiRankPolicy::threads, 0);
    return persistent_blocks(*context_, resident, tiles_.tiles, warps);
  }

  const Context* context_;
  MultiRankMatrix matrix_;
  SnappedTileArrays tiles_;
  unsigned blocks_;
  RankEnding<T, K> ending_;
};

template <class T>
[[nodiscard]] std::unique_ptr<detail::RankProduct<T>> multi_rank_product(const Device& device,
                                                                         const MerbitTileArrays& tiles,
                                                                         const CsrView<T>& a, int vectors) {
  if (tiles.are_exact()) return nullptr;
  switch (vectors) {
    case 2:
      return std::make_unique<MultiRankProduct<T, 2>>(device, tiles, a);
    case 4:
      return std::make_unique<MultiRankProduct<T, 4>>(device, tiles, a);
    case 8:
      return std::make_unique<MultiRankProduct<T, 8>>(device, tiles, a);
    default:
      return nullptr;
  }
}

}  // namespace

template <class T>
std::unique_ptr<detail::RankProduct<T>> make_merbit_rank_product(const Device& device, const MerbitTileArrays& tiles,
                                                                 const CsrView<T>& a, int vectors) {
  if (!a.is_pattern()) return nullptr;
  if (vectors != 1) return multi_rank_product(device, tiles, a, vectors);
  return std::make_unique<SingleRankProduct<T>>(device, tiles, a);
}

template std::unique_ptr<detail::RankProduct<float>> make_merbit_rank_product(const Device&, const MerbitTileArrays&,
                                                                              const CsrView<float>&, int);
template std::unique_ptr<detail::RankProduct<double>> make_merbit_rank_product(const Device&, const MerbitTileArrays&,
                                                                               const CsrView<double>&, int);

}  // namespace tessera::cuda
