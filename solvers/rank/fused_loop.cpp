/// One fused product a step, on a GPU, of one vector or of several interleaved ones.
///
/// Memory movement per step, besides the columns and descriptors of the matrix (for several vectors: columns and row
/// offsets, once for all) and the places that the product reads y in: the degrees (n numbers of 4 bytes), and for each
/// vector the row's own y (n elements, mostly cached by then), with a personalization v (n), and the new y, which is
/// written (n). The host reads the states once in some steps.
#include "solvers/rank/fused_loop.hpp"

#include "core/stopwatch.hpp"
#include "solvers/passes/run.hpp"
#include "solvers/passes/scaled_rank_steps.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace tessera {

namespace {

/// Steps that are under way before the host looks: so few at first, then as many as take a while.
constexpr int least_chunk = 8;
constexpr int most_chunk = detail::remembered_changes;
constexpr double report_seconds = 0.005;
constexpr double most_share = 0.25;  ///< of the steps made so far
static_assert(most_chunk % least_chunk == 0);

template <class T>
class FusedRankLoop final : public RankLoop<T> {
 public:
  FusedRankLoop(std::unique_ptr<detail::RankProduct<T>> product, std::span<const index_t> degrees,
                const detail::RankRules& rules, Array<T> teleport, int vectors, const Device& device)
      : device_(device),
        product_(std::move(product)),
        rules_(rules),
        degrees_(Array<index_t>::copy_of(degrees, device)),
        teleport_(std::move(teleport)),
        scaled_{Array<T>(degrees_.size() * vectors, Init::none, device),
                Array<T>(degrees_.size() * vectors, Init::none, device)},
        on_device_(vectors, Init::none, device),
        states_(static_cast<std::size_t>(vectors)) {
    arguments_ = {{scaled_[0].data(), scaled_[1].data()},
                  degrees_.data(),
                  teleport_.empty() ? nullptr : teleport_.data(),
                  on_device_.data()};
    for (int k = 0; k < vectors; ++k) states_[static_cast<std::size_t>(k)] = first_state(k);
    detail::copy_bytes(device_, on_device_.data(), Device{}, states_.data(), on_device_.bytes());
  }

  [[nodiscard]] int vectors() const noexcept override { return static_cast<int>(states_.size()); }
  [[nodiscard]] const detail::RankState& state(int vector) const noexcept override {
    return states_[static_cast<std::size_t>(vector)];
  }
  [[nodiscard]] int iterations_per_check() const noexcept override { return chunk_; }

  void run(int steps) override {
    if (std::all_of(states_.begin(), states_.end(), [](const detail::RankState& state) { return state.halt != 0; }))
      return;
    const Stopwatch watch;
    product_->enqueue_iterations(rules_, arguments_, steps);
    detail::copy_bytes(Device{}, states_.data(), device_, on_device_.data(), on_device_.bytes());
    choose_chunk(watch.seconds() / steps);
  }

  [[nodiscard]] FinalRanks<T> take_ranks(int vector) override {
    const detail::RankState& last = state(vector);
    // The other vector of the pair is free, unless it holds the ranks of others.
    Array<T> ranks =
        vectors() == 1 ? std::move(scaled_[(last.iteration + 1) % 2]) : Array<T>(degrees_.size(), Init::none, device_);
    const T* const present = scaled_[last.iteration % 2].data() + vector;
    const passes::PagerankUnscale<T> step{1.0 / last.sums.total.value(), present, degrees_.data(), ranks.data(),
                                          vectors()};
    const double sum = run_pass(device_, degrees_.size(), step).value();
    return {std::move(ranks), sum};
  }

 private:
  /// More at a time where steps are short, but few against those made: what is under way after the last one is in vain.
  void choose_chunk(double seconds_a_step) {
    std::int64_t made = 0;
    for (const detail::RankState& state : states_) made = std::max(made, state.iteration);
    const double fitting = std::min(report_seconds / seconds_a_step, static_cast<double>(made) * most_share);
    const int chunks = static_cast<int>(std::min<double>(fitting, most_chunk)) / least_chunk;
    chunk_ = std::max(chunks, 1) * least_chunk;
  }

  [[nodiscard]] detail::RankState first_state(int vector) {
    const T* const v = teleport_.empty() ? nullptr : teleport_.data() + vector;
    const passes::PagerankStartScaled<T> start{1.0 / rules_.vertices, v, degrees_.data(), scaled_[0].data() + vector,
                                               vectors()};
    return detail::first_rank_state(rules_, run_pass(device_, degrees_.size(), start));
  }

  Device device_;
  std::unique_ptr<detail::RankProduct<T>> product_;
  detail::RankRules rules_;
  Array<index_t> degrees_;
  Array<T> teleport_;
  Array<T> scaled_[2];
  Array<detail::RankState> on_device_;
  std::vector<detail::RankState> states_;
  detail::RankVectors<T> arguments_;
  int chunk_ = least_chunk;
};

}  // namespace

template <class T>
std::unique_ptr<RankLoop<T>> make_fused_rank_loop(std::unique_ptr<detail::RankProduct<T>> product,
                                                  std::span<const index_t> degrees, const detail::RankRules& rules,
                                                  Array<T> teleport, int vectors, const Device& device) {
  return std::make_unique<FusedRankLoop<T>>(std::move(product), degrees, rules, std::move(teleport), vectors, device);
}

template std::unique_ptr<RankLoop<float>> make_fused_rank_loop(std::unique_ptr<detail::RankProduct<float>>,
                                                               std::span<const index_t>, const detail::RankRules&,
                                                               Array<float>, int, const Device&);
template std::unique_ptr<RankLoop<double>> make_fused_rank_loop(std::unique_ptr<detail::RankProduct<double>>,
                                                                std::span<const index_t>, const detail::RankRules&,
                                                                Array<double>, int, const Device&);

}  // namespace tessera
