/// The loops of PageRank.
///
/// ProductRankLoop, memory movement per iteration, n elements each, besides the columns of the matrix: the product
/// reads y and writes q (2n); one operation reads q, x and the inverse out weights and writes x and y (5n; 1n more with
/// a personalization).
///
/// FusedRankLoop, the same besides the columns and descriptors of the matrix (for several vectors: columns and row
/// offsets, once for all) and the gathers from y: the degrees (n numbers of 4 bytes), and per vector the row's own y
/// (n, mostly cached by then), v with a personalization (n), and the new y (n). The host reads the states every few
/// iterations.
#include "core/stopwatch.hpp"
#include "solvers/fused/transform_reduce.hpp"
#include "solvers/pagerank.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace tessera::detail {

namespace {

/// x and the source of its next product, y = x / out weight. x sums to 1 only to rounding: the weights of each
/// iteration divide by the sum that the one before found.
template <class T>
class ProductRankLoop final : public RankLoop<T> {
 public:
  ProductRankLoop(const SpmvPlan<T>& plan, const TransitionMatrix<T>& transition, const RankRules& rules,
                  Array<T> teleport)
      : plan_(plan),
        rules_(rules),
        device_(plan.device()),
        product_(plan.make_output()),
        copy_(device_.is_host() ? Array<T>{} : Array<T>::copy_of(transition.inverse_out_weight(), device_)),
        out_inverse_(device_.is_host() ? transition.inverse_out_weight() : std::as_const(copy_).span()),
        teleport_(std::move(teleport)),
        x_(static_cast<std::int64_t>(out_inverse_.size()), Init::none, device_),
        y_(x_.size(), Init::none, device_) {
    const PagerankStart<T> start{.uniform = 1.0 / static_cast<double>(x_.size()),
                                 .teleport = teleport_.empty() ? nullptr : teleport_.data(),
                                 .out_inverse = out_inverse_.data(),
                                 .x = x_.data(),
                                 .y = y_.data()};
    state_ = first_rank_state(rules, fused::transform_reduce(device_, x_.size(), start));
  }

  [[nodiscard]] const RankState& state(int /*vector*/) const noexcept override { return state_; }

  void run(int iterations) override {
    for (int k = 0; k < iterations && state_.halt == 0; ++k) {
      // q = Wᵀ y
      plan_.apply(std::as_const(y_).span(), product_);
      // x = d (q + dangling(x)) + (1 - d) v,  y = D⁻¹ x
      const PagerankUpdate<T> update{.weight = state_.weights,
                                     .product = product_.current().data(),
                                     .teleport = teleport_.empty() ? out_inverse_.data() : teleport_.data(),
                                     .out_inverse = out_inverse_.data(),
                                     .x = x_.data(),
                                     .y = y_.data()};
      finish_iteration(rules_, state_, fused::transform_reduce(device_, x_.size(), update));
    }
  }

  [[nodiscard]] FinalRanks<T> take_ranks(int /*vector*/) override {
    const PagerankScale<T> scale{.scale = 1.0 / state_.sums.total.value(), .x = x_.data()};
    const double sum = fused::transform_reduce(device_, x_.size(), scale).value();
    return {std::move(x_), sum};
  }

 private:
  const SpmvPlan<T>& plan_;
  RankRules rules_;
  Device device_;
  DualBuffer<T> product_;
  Array<T> copy_;  ///< of the inverse out weights, on a GPU; empty on the host
  std::span<const T> out_inverse_;
  Array<T> teleport_;
  Array<T> x_;
  Array<T> y_;
  RankState state_;
};

/// Iterations in flight before the host reads the states: few at first, then as many as take report_seconds.
constexpr int least_chunk = 8;
constexpr int most_chunk = remembered_changes;
constexpr double report_seconds = 0.005;
constexpr double most_share = 0.25;  ///< of the iterations so far
static_assert(most_chunk % least_chunk == 0);

template <class T>
class FusedRankLoop final : public RankLoop<T> {
 public:
  FusedRankLoop(std::unique_ptr<RankProduct<T>> product, std::span<const index_t> degrees, const RankRules& rules,
                Array<T> teleport, int vectors, const Device& device)
      : device_(device),
        product_(std::move(product)),
        rules_(rules),
        degrees_(Array<index_t>::copy_of(degrees, device)),
        teleport_(std::move(teleport)),
        scaled_{Array<T>(degrees_.size() * vectors, Init::none, device),
                Array<T>(degrees_.size() * vectors, Init::none, device)},
        on_device_(vectors, Init::none, device),
        states_(static_cast<std::size_t>(vectors)) {
    vectors_ = {.scaled = {scaled_[0].data(), scaled_[1].data()},
                .degrees = degrees_.data(),
                .teleport = teleport_.empty() ? nullptr : teleport_.data(),
                .state = on_device_.data()};
    for (int k = 0; k < vectors; ++k) states_[static_cast<std::size_t>(k)] = first_state(k);
    copy_bytes(device_, on_device_.data(), Device{}, states_.data(), on_device_.bytes());
  }

  [[nodiscard]] int vectors() const noexcept override { return static_cast<int>(states_.size()); }
  [[nodiscard]] const RankState& state(int vector) const noexcept override {
    return states_[static_cast<std::size_t>(vector)];
  }
  [[nodiscard]] int iterations_per_check() const noexcept override { return chunk_; }

  void run(int iterations) override {
    if (std::all_of(states_.begin(), states_.end(), [](const RankState& state) { return state.halt != 0; })) return;
    const Stopwatch watch;
    product_->enqueue_iterations(rules_, vectors_, iterations);
    copy_bytes(Device{}, states_.data(), device_, on_device_.data(), on_device_.bytes());
    choose_chunk(watch.seconds() / iterations);
  }

  [[nodiscard]] FinalRanks<T> take_ranks(int vector) override {
    const RankState& last = state(vector);
    // The other vector of the pair is free, unless it holds the ranks of others.
    Array<T> ranks =
        vectors() == 1 ? std::move(scaled_[(last.iteration + 1) % 2]) : Array<T>(degrees_.size(), Init::none, device_);
    const PagerankUnscale<T> unscale{.scale = 1.0 / last.sums.total.value(),
                                     .y = scaled_[last.iteration % 2].data() + vector,
                                     .degrees = degrees_.data(),
                                     .x = ranks.data(),
                                     .stride = vectors()};
    const double sum = fused::transform_reduce(device_, degrees_.size(), unscale).value();
    return {std::move(ranks), sum};
  }

 private:
  /// More at a time where iterations are short, but few compared with those made: what is in flight after the last one
  /// is wasted.
  void choose_chunk(double seconds_per_iteration) {
    std::int64_t made = 0;
    for (const RankState& state : states_) made = std::max(made, state.iteration);
    const double fitting = std::min(report_seconds / seconds_per_iteration, static_cast<double>(made) * most_share);
    const int chunks = static_cast<int>(std::min<double>(fitting, most_chunk)) / least_chunk;
    chunk_ = std::max(chunks, 1) * least_chunk;
  }

  [[nodiscard]] RankState first_state(int vector) {
    const PagerankStartScaled<T> start{.uniform = 1.0 / rules_.vertices,
                                       .teleport = teleport_.empty() ? nullptr : teleport_.data() + vector,
                                       .degrees = degrees_.data(),
                                       .y = scaled_[0].data() + vector,
                                       .stride = vectors()};
    return first_rank_state(rules_, fused::transform_reduce(device_, degrees_.size(), start));
  }

  Device device_;
  std::unique_ptr<RankProduct<T>> product_;
  RankRules rules_;
  Array<index_t> degrees_;
  Array<T> teleport_;
  Array<T> scaled_[2];
  Array<RankState> on_device_;
  std::vector<RankState> states_;
  RankVectors<T> vectors_;
  int chunk_ = least_chunk;
};

}  // namespace

template <class T>
std::unique_ptr<RankLoop<T>> make_product_rank_loop(const SpmvPlan<T>& plan, const TransitionMatrix<T>& transition,
                                                    const RankRules& rules, Array<T> teleport) {
  return std::make_unique<ProductRankLoop<T>>(plan, transition, rules, std::move(teleport));
}

template <class T>
std::unique_ptr<RankLoop<T>> make_fused_rank_loop(std::unique_ptr<RankProduct<T>> product,
                                                  std::span<const index_t> degrees, const RankRules& rules,
                                                  Array<T> teleport, int vectors, const Device& device) {
  return std::make_unique<FusedRankLoop<T>>(std::move(product), degrees, rules, std::move(teleport), vectors, device);
}

template std::unique_ptr<RankLoop<float>> make_product_rank_loop(const SpmvPlan<float>&, const TransitionMatrix<float>&,
                                                                 const RankRules&, Array<float>);
template std::unique_ptr<RankLoop<double>> make_product_rank_loop(const SpmvPlan<double>&,
                                                                  const TransitionMatrix<double>&, const RankRules&,
                                                                  Array<double>);
template std::unique_ptr<RankLoop<float>> make_fused_rank_loop(std::unique_ptr<RankProduct<float>>,
                                                               std::span<const index_t>, const RankRules&, Array<float>,
                                                               int, const Device&);
template std::unique_ptr<RankLoop<double>> make_fused_rank_loop(std::unique_ptr<RankProduct<double>>,
                                                                std::span<const index_t>, const RankRules&,
                                                                Array<double>, int, const Device&);

}  // namespace tessera::detail
