/// \file
/// PageRank's fused iteration by the blocked product: the epilogue of MERBIT's, in the second phase.
#include "spmv/blocked/blocked_ranks.hpp"

#include "spmv/blocked/blocked_launch.cuh"
#include "spmv/merbit/rank_ending.cuh"

namespace tessera::cuda {

namespace {

template <class T>
class BlockedRankProduct final : public RecordedRankProduct<T> {
  using Launch = BlockedLaunch<T, Ones, RankEpilogue<T>>;

 public:
  BlockedRankProduct(const Device& device, const MerbitTileArrays& tiles, const HaloLists& halos, offset_t nnz)
      : RecordedRankProduct<T>(device),
        context_(&Context::of(device)),
        slots_(halos.slots(), Init::none, device),
        ending_(device, find_carry_runs(device, tiles), tiles.share_rows ? tiles.count() : 0, halos.segments()),
        in_{{halos.positions.data(), nullptr, nnz},
            tiles.snapped,
            halos.arrays(),
            halos.items.size(),
            halos.shape.capacity,
            slots_.data()} {
    const DeviceGuard current(device);
    Launch::prepare(in_);
  }

  void enqueue_iteration(const detail::RankRules& rules, const detail::RankVectors<T>& vectors) override {
    const DeviceGuard current(this->device());
    const RankOutput<T> out = ending_.output(rules, vectors);
    Launch::start(*context_, in_, nullptr, out);
    ending_.enqueue(*context_, rules, out, this->exchange());
  }

  [[nodiscard]] std::uint64_t bytes() const noexcept override { return ending_.bytes() + slots_.bytes(); }

 private:
  const Context* context_;
  Array<T> slots_;
  RankEnding<T, 1> ending_;
  BlockedInput<T, Ones> in_;
};

}  // namespace

template <class T>
std::unique_ptr<detail::RankProduct<T>> make_blocked_rank_product(const Device& device, const MerbitTileArrays& tiles,
                                                                  const HaloLists& halos, offset_t nnz) {
  return std::make_unique<BlockedRankProduct<T>>(device, tiles, halos, nnz);
}

template std::unique_ptr<detail::RankProduct<float>> make_blocked_rank_product(const Device&, const MerbitTileArrays&,
                                                                               const HaloLists&, offset_t);
template std::unique_ptr<detail::RankProduct<double>> make_blocked_rank_product(const Device&, const MerbitTileArrays&,
                                                                                const HaloLists&, offset_t);

}  // namespace tessera::cuda
