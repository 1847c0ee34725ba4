/// \file
/// PageRank's fused product by row patterns: launches.
#include "spmv/patterns/pattern_ranks.hpp"

#include "spmv/merbit/rank_ending.cuh"
#include "spmv/patterns/pattern_launch.cuh"
#include "spmv/patterns/pattern_ranks.cuh"

namespace tessera::cuda {

namespace {

/// function(chunk) of one vector: fewer kernels than products have, since next to nothing is loaded in vain.
template <class Function>
void with_rank_chunk(int width, Function&& function) {
  if (width <= 5) return function(PatternChunk<5, false, false>{});
  function(PatternChunk<most_terms_at_once, false, true>{});
}

/// \tparam K vectors
template <class T, int K>
class PatternRankProduct final : public RecordedRankProduct<T> {
 public:
  PatternRankProduct(const Device& device, const PatternOperand<T>& operand, const CsrView<T>& a)
      : RecordedRankProduct<T>(device),
        context_(&Context::of(device)),
        operand_(operand),
        links_{a.row_offsets.data(), a.columns.data()},
        blocks_(static_cast<unsigned>(pattern_blocks(operand))),
        ending_(device, {}, 0, std::int64_t{blocks_} * (K == 1 ? 1 : pattern_rank_warps)) {}

  void enqueue_iteration(const detail::RankRules& rules, const detail::RankVectors<T>& vectors) override {
    const DeviceGuard current(this->device());
    const RankOutput<T> out = ending_.output(rules, vectors);
    start(out);
    ending_.enqueue(*context_, rules, out, this->exchange());
  }

  [[nodiscard]] std::uint64_t bytes() const noexcept override { return ending_.bytes(); }

 private:
  void start(const RankOutput<T>& out) const {
    const PatternRows rows = pattern_rows(operand_);
    const Grid grid{blocks_, pattern_threads, shared_columns_bytes(rows.places())};
    if constexpr (K == 1) {
      with_rank_chunk(operand_.width, [&](auto chunk) {
        launch("PageRank product by row patterns", *context_, grid, pattern_ranks_kernel<decltype(chunk), T>, rows,
               links_, out);
      });
    } else if (operand_.shape.rows_per_lane == 4) {
      launch("PageRank product of several vectors by row patterns", *context_, grid,
             pattern_multi_ranks_kernel<4, K, T>, rows, links_, out);
    } else {
      launch("PageRank product of several vectors by row patterns", *context_, grid,
             pattern_multi_ranks_kernel<2, K, T>, rows, links_, out);
    }
  }

  const Context* context_;
  PatternOperand<T> operand_;
  PatternRankLinks links_;
  unsigned blocks_;
  RankEnding<T, K> ending_;
};

}  // namespace

template <class T>
std::unique_ptr<detail::RankProduct<T>> make_pattern_rank_product(const Device& device,
                                                                  const PatternOperand<T>& operand, const CsrView<T>& a,
                                                                  int vectors) {
  switch (vectors) {
    case 1:
      return std::make_unique<PatternRankProduct<T, 1>>(device, operand, a);
    case 2:
      return std::make_unique<PatternRankProduct<T, 2>>(device, operand, a);
    case 4:
      return std::make_unique<PatternRankProduct<T, 4>>(device, operand, a);
    case 8:
      return std::make_unique<PatternRankProduct<T, 8>>(device, operand, a);
    default:
      return nullptr;
  }
}

template std::unique_ptr<detail::RankProduct<float>> make_pattern_rank_product(const Device&,
                                                                               const PatternOperand<float>&,
                                                                               const CsrView<float>&, int);
template std::unique_ptr<detail::RankProduct<double>> make_pattern_rank_product(const Device&,
                                                                                const PatternOperand<double>&,
                                                                                const CsrView<double>&, int);

}  // namespace tessera::cuda
