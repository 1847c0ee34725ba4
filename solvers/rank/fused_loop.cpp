/// One fused product a step, on a GPU.
///
/// Memory movement per step, besides the columns and descriptors of the matrix and the places that the product reads y
/// in: the row's own y (n elements, mostly cached by then), the degrees (n numbers of 4 bytes), with a personalization
/// v (n), and the new y is written (n). The host reads one state in `chunk` steps.
#include "solvers/rank/fused_loop.hpp"

#include "solvers/passes/run.hpp"
#include "solvers/passes/scaled_rank_steps.hpp"

#include <utility>

namespace tessera {

namespace {

/// Steps that are under way before the host looks.
constexpr int chunk = 8;
static_assert(chunk <= remembered_changes);

template <class T>
class FusedRankLoop final : public RankLoop<T> {
 public:
  FusedRankLoop(std::unique_ptr<RankProduct<T>> product, std::span<const index_t> degrees, const RankRules& rules,
                Array<T> teleport, const Device& device)
      : device_(device),
        product_(std::move(product)),
        rules_(rules),
        degrees_(Array<index_t>::copy_of(degrees, device)),
        teleport_(std::move(teleport)),
        scaled_{Array<T>(degrees_.size(), Init::none, device), Array<T>(degrees_.size(), Init::none, device)},
        on_device_(1, Init::none, device) {
    vectors_ = {{scaled_[0].data(), scaled_[1].data()},
                degrees_.data(),
                teleport_.empty() ? nullptr : teleport_.data(),
                on_device_.data()};
    const passes::ScaledRankStart<T> start{1.0 / rules.vertices, vectors_.teleport, degrees_.data(), scaled_[0].data()};
    state_ = first_rank_state(rules, run_pass(device_, degrees_.size(), start));
    detail::copy_bytes(device_, on_device_.data(), Device{}, &state_, sizeof(state_));
  }

  [[nodiscard]] const RankState& state() const noexcept override { return state_; }
  [[nodiscard]] int steps_at_once() const noexcept override { return chunk; }

  void run(int steps) override {
    if (state_.halt != 0) return;
    for (int step = 0; step < steps; ++step) product_->enqueue_step(rules_, vectors_);
    detail::copy_bytes(Device{}, &state_, device_, on_device_.data(), sizeof(state_));
  }

  [[nodiscard]] FinalRanks<T> take_ranks() override {
    Array<T>& present = scaled_[state_.iteration % 2];
    Array<T>& ranks = scaled_[(state_.iteration + 1) % 2];
    const passes::UnscaledRank<T> step{1.0 / state_.sums.total.value(), present.data(), degrees_.data(), ranks.data()};
    const double sum = run_pass(device_, degrees_.size(), step).value();
    return {std::move(ranks), sum};
  }

 private:
  Device device_;
  std::unique_ptr<RankProduct<T>> product_;
  RankRules rules_;
  Array<index_t> degrees_;
  Array<T> teleport_;
  Array<T> scaled_[2];
  Array<RankState> on_device_;
  RankState state_;
  RankVectors<T> vectors_;
};

}  // namespace

template <class T>
std::unique_ptr<RankLoop<T>> make_fused_rank_loop(std::unique_ptr<RankProduct<T>> product,
                                                  std::span<const index_t> degrees, const RankRules& rules,
                                                  Array<T> teleport, const Device& device) {
  return std::make_unique<FusedRankLoop<T>>(std::move(product), degrees, rules, std::move(teleport), device);
}

template std::unique_ptr<RankLoop<float>> make_fused_rank_loop(std::unique_ptr<RankProduct<float>>,
                                                               std::span<const index_t>, const RankRules&, Array<float>,
                                                               const Device&);
template std::unique_ptr<RankLoop<double>> make_fused_rank_loop(std::unique_ptr<RankProduct<double>>,
                                                                std::span<const index_t>, const RankRules&,
                                                                Array<double>, const Device&);

}  // namespace tessera
