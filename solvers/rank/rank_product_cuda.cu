#include "solvers/rank/rank_join_kernel.cuh"
#include "solvers/rank/rank_product.hpp"
#include "spmv/merbit/product_launch.cuh"
#include "spmv/merbit/tile_arrays.hpp"
#include "tessera/array.hpp"

namespace tessera {

namespace cuda {

namespace {

/// The kernels of a layout.
template <class T>
struct RankLaunch {
  int (*prepare)() = nullptr;  ///< once; \returns blocks that a multiprocessor holds at a time, where that matters
  void (*start)(const Context&, int resident, const ProductInput<T, Ones>&, const RankOutput<T>&) = nullptr;
  std::int64_t (*slots)(const Context&, int resident, std::int64_t tiles) = nullptr;
};

/// One slot a warp.
template <class T, class Launcher>
[[nodiscard]] RankLaunch<T> launch_by() {
  RankLaunch<T> result;
  result.prepare = Launcher::template prepare_one<RankCommit<T>>;
  result.start = Launcher::template start<RankCommit<T>>;
  result.slots = [](const Context& context, int resident, std::int64_t tiles) {
    return std::int64_t{Launcher::blocks(context, resident, tiles)} * Launcher::warps;
  };
  return result;
}

/// One slot a tile.
template <class T>
[[nodiscard]] RankLaunch<T> launch_exact_ranks() {
  RankLaunch<T> result;
  result.prepare = [] { return 0; };
  result.start = [](const Context& context, int, const ProductInput<T, Ones>& in, const RankOutput<T>& out) {
    start_exact<T, Ones, RankCommit<T>>(context, in, out);
  };
  result.slots = [](const Context&, int, std::int64_t tiles) { return tiles; };
  return result;
}

template <class T>
[[nodiscard]] RankLaunch<T> rank_launch(MerbitLayout layout) {
  using Policy = MerbitCudaPolicy<T, Ones>;
  switch (layout) {
    case MerbitLayout::scalar:
      return launch_by<T, DirectLaunch<T, Ones, typename Policy::Scalar>>();
    case MerbitLayout::local_scalar:
      return launch_by<T, DirectLaunch<T, Ones, typename Policy::LocalScalar>>();
    case MerbitLayout::vector:
      return launch_by<T, DirectLaunch<T, Ones, typename Policy::Vector>>();
    case MerbitLayout::rows:
      return launch_by<T, RowsLaunch<T, typename Policy::Rows>>();
    case MerbitLayout::exact:
      break;
  }
  return launch_exact_ranks<T>();
}

template <class T>
class MerbitRankProduct final : public RankProduct<T> {
 public:
  MerbitRankProduct(const Device& device, const MerbitTileArrays& tiles, const CsrView<T>& a)
      : device_(device), context_(&Context::of(device)), tiles_(tiles), launch_(rank_launch<T>(tiles.layout)) {
    in_.matrix = {a.columns.data(), nullptr, a.nnz()};
    in_.snapped = tiles.snapped;
    in_.exact = tiles.exact;
    const CurrentDevice current(device_);
    resident_ = launch_.prepare();
    if (tiles.share_rows) carries_ = Array<T>(tiles.count(), Init::none, device_);
    parts_ = Array<RankParts>(launch_.slots(*context_, resident_, tiles.count()), Init::none, device_);
    of_block_ = Array<passes::RankSums>(max_join_blocks, Init::none, device_);
    finished_ = Array<unsigned>(1, Init::zero, device_);
  }

  void enqueue_step(const RankRules& rules, const RankVectors<T>& vectors) override {
    const CurrentDevice current(device_);
    const RankOutput<T> out{vectors, carries_.data(), parts_.data()};
    launch_.start(*context_, resident_, in_, out);
    const RankJoin join{parts_.size(), of_block_.data(), finished_.data()};
    tiles_.visit([&](auto tiles) {
      // Without shared rows there are carries neither written nor to be added.
      if (!tiles_.share_rows) tiles.tiles = 0;
      const std::int64_t items = tiles.tiles > join.slots ? tiles.tiles : join.slots;
      const unsigned needed = blocks_for(items, join_threads);
      const unsigned blocks = needed < max_join_blocks ? needed : max_join_blocks;
      launch("ending a step of PageRank", *context_, Grid{blocks, join_threads}, rank_join_kernel<T, decltype(tiles)>,
             tiles, out, join, rules);
    });
  }

  [[nodiscard]] std::uint64_t bytes() const noexcept override {
    return carries_.bytes() + parts_.bytes() + of_block_.bytes() + finished_.bytes();
  }

 private:
  Device device_;
  const Context* context_;
  MerbitTileArrays tiles_;
  RankLaunch<T> launch_;
  ProductInput<T, Ones> in_;
  int resident_ = 0;
  Array<T> carries_;
  Array<RankParts> parts_;
  Array<passes::RankSums> of_block_;
  Array<unsigned> finished_;
};

}  // namespace

}  // namespace cuda

template <class T>
std::unique_ptr<RankProduct<T>> make_rank_product(const Device& device, const SpmvKernel<T>& kernel,
                                                  const CsrView<T>& a) {
  const cuda::MerbitTileArrays* const tiles = kernel.merbit_tiles();
  if (device.is_host() || tiles == nullptr || !a.is_pattern()) return nullptr;
  return std::make_unique<cuda::MerbitRankProduct<T>>(device, *tiles, a);
}

template std::unique_ptr<RankProduct<float>> make_rank_product(const Device&, const SpmvKernel<float>&,
                                                               const CsrView<float>&);
template std::unique_ptr<RankProduct<double>> make_rank_product(const Device&, const SpmvKernel<double>&,
                                                                const CsrView<double>&);

}  // namespace tessera
