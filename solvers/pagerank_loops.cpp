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
#include "solvers/pagerank_operands.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace tessera::detail {

namespace {

/// A vector of the transition matrix on the device of a loop: copied where that is another one.
template <class U>
class OnDevice {
 public:
  OnDevice(std::span<const U> elements, const Device& from, const Device& device)
      : copy_(from == device ? Array<U>{} : Array<U>::copy_of(elements, device)),
        elements_(from == device ? elements : std::as_const(copy_).span()) {}
  [[nodiscard]] const U* data() const noexcept { return elements_.data(); }
  [[nodiscard]] std::int64_t size() const noexcept { return static_cast<std::int64_t>(elements_.size()); }

 private:
  Array<U> copy_;
  std::span<const U> elements_;
};

/// x = initial, scaled to sum 1.
template <class T>
void place_initial(std::span<const T> initial, const Device& from, std::span<T> x, const Device& device) {
  copy_bytes(device, x.data(), from, initial.data(), initial.size_bytes());
  const auto n = static_cast<std::int64_t>(x.size());
  const double sum = fused::transform_reduce(device, n, PagerankScale<T>{1.0, x.data(), x.data()}).value();
  if (!(sum > 0.0 && std::isfinite(sum) && std::isfinite(1.0 / sum))) {
    throw InvalidArgument(fmt::format("ranks to begin from must have a positive, finite sum, got {}", sum));
  }
  fused::transform_reduce(device, n, PagerankScale<T>{1.0 / sum, x.data(), x.data()});
}

/// x and the source of its next product, y = x / out weight. x sums to 1 only to rounding: the weights of each
/// iteration divide by the sum that the one before found.
template <class T>
class ProductRankLoop final : public RankLoop<T> {
 public:
  ProductRankLoop(const SpmvPlan<T>& plan, const RankOperands<T>& operands, const RankRules& rules, Array<T> teleport)
      : plan_(plan),
        rules_(rules),
        device_(operands.device),
        product_(plan.make_output()),
        home_(operands.home),
        halo_(operands.halo),
        out_inverse_(operands.inverse_out_weight, home_, device_),
        teleport_(std::move(teleport)),
        x_(out_inverse_.size(), Init::none, device_),
        y_(operands.elements, Init::none, device_) {}

  [[nodiscard]] std::span<T> teleport() noexcept override { return teleport_.span(); }

  void start(std::span<const T> initial) override {
    const T* first = teleport_.empty() ? nullptr : teleport_.data();
    if (!initial.empty()) {
      place_initial(initial, home_, x_.span(), device_);
      first = x_.data();
    }
    const PagerankStart<T> op{.uniform = 1.0 / rules_.vertices,
                              .first = first,
                              .out_inverse = out_inverse_.data(),
                              .x = x_.data(),
                              .y = y_.data()};
    state_ = first_rank_state(rules_, fused::transform_reduce(device_, x_.size(), op));
  }

  [[nodiscard]] const RankState& state(int /*vector*/) const noexcept override { return state_; }

  void run(int iterations) override {
    for (int k = 0; k < iterations && state_.halt == 0; ++k) {
      // q = Wᵀ y
      if (halo_ != nullptr) halo_->fetch(y_.span());
      plan_.apply(std::as_const(y_).span(), product_);
      if (halo_ != nullptr) halo_->release();
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

  double write_ranks(int /*vector*/, std::span<T> ranks) override {
    const PagerankScale<T> scale{.scale = 1.0 / state_.sums.total.value(), .from = x_.data(), .x = ranks.data()};
    return fused::transform_reduce(device_, x_.size(), scale).value();
  }

  [[nodiscard]] std::span<T> room() noexcept override { return x_.span(); }

  [[nodiscard]] FinalRanks<T> take_ranks(int vector) override {
    const double sum = write_ranks(vector, x_.span());
    return {std::move(x_), sum};
  }

 private:
  const SpmvPlan<T>& plan_;
  RankRules rules_;
  Device device_;
  DualBuffer<T> product_;
  Device home_;  ///< of the transition matrix
  RankHalo<T>* halo_;
  OnDevice<T> out_inverse_;
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
  FusedRankLoop(std::unique_ptr<RankProduct<T>> product, const RankOperands<T>& operands, const RankRules& rules,
                Array<T> teleport, int vectors)
      : device_(operands.device),
        home_(operands.home),
        halo_(operands.halo),
        product_(std::move(product)),
        rules_(rules),
        degrees_(operands.out_degree, home_, device_),
        teleport_(std::move(teleport)),
        scaled_{Array<T>(operands.elements * vectors, Init::none, device_),
                Array<T>(operands.elements * vectors, Init::none, device_)},
        on_device_(vectors, Init::none, device_),
        states_(static_cast<std::size_t>(vectors)),
        vectors_{.scaled = {scaled_[0].data(), scaled_[1].data()},
                 .degrees = degrees_.data(),
                 .teleport = teleport_.empty() ? nullptr : teleport_.data(),
                 .state = on_device_.data()} {}

  [[nodiscard]] std::span<T> teleport() noexcept override { return teleport_.span(); }
  [[nodiscard]] const RankVectors<T>& rank_vectors() const noexcept { return vectors_; }

  void start(std::span<const T> initial) override {
    const T* first = vectors_.teleport;
    if (!initial.empty()) {
      place_initial(initial, home_, scaled_[1].span().first(initial.size()), device_);
      first = scaled_[1].data();
    }
    for (int k = 0; k < vectors(); ++k) states_[static_cast<std::size_t>(k)] = first_state(k, first);
    copy_bytes(device_, on_device_.data(), Device{}, states_.data(), on_device_.bytes());
    chunk_ = least_chunk;
    if (halo_ == nullptr) return;
    halo_->fetch(scaled_[0].span());
    halo_->release();
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
    require_answers(device_);
    choose_chunk(decided_by_first(device_, watch.seconds() / iterations));
  }

  double write_ranks(int vector, std::span<T> ranks) override {
    const RankState& last = state(vector);
    const PagerankUnscale<T> unscale{.scale = 1.0 / last.sums.total.value(),
                                     .y = scaled_[last.iteration % 2].data() + vector,
                                     .degrees = degrees_.data(),
                                     .x = ranks.data(),
                                     .stride = vectors()};
    return fused::transform_reduce(device_, degrees_.size(), unscale).value();
  }

  /// The other vector of the pair.
  [[nodiscard]] std::span<T> room() noexcept override { return spare().span(); }

  [[nodiscard]] FinalRanks<T> take_ranks(int vector) override {
    // With several vectors, the other of the pair may hold the ranks of one of them.
    Array<T> ranks = vectors() == 1 ? std::move(spare()) : Array<T>(degrees_.size(), Init::none, device_);
    const double sum = write_ranks(vector, ranks.span());
    return {std::move(ranks), sum};
  }

 private:
  [[nodiscard]] Array<T>& spare() noexcept { return scaled_[(state(0).iteration + 1) % 2]; }

  /// More at a time where iterations are short, but few compared with those made: what is in flight after the last one
  /// is wasted.
  void choose_chunk(double seconds_per_iteration) {
    std::int64_t made = 0;
    for (const RankState& state : states_) made = std::max(made, state.iteration);
    const double fitting = std::min(report_seconds / seconds_per_iteration, static_cast<double>(made) * most_share);
    const int chunks = static_cast<int>(std::min<double>(fitting, most_chunk)) / least_chunk;
    chunk_ = std::max(chunks, 1) * least_chunk;
  }

  /// \param first iterates; null: uniform
  [[nodiscard]] RankState first_state(int vector, const T* first) {
    const PagerankStartScaled<T> op{.uniform = 1.0 / rules_.vertices,
                                    .first = first == nullptr ? nullptr : first + vector,
                                    .degrees = degrees_.data(),
                                    .y = scaled_[0].data() + vector,
                                    .stride = vectors()};
    return first_rank_state(rules_, fused::transform_reduce(device_, degrees_.size(), op));
  }

  Device device_;
  Device home_;  ///< of the transition matrix
  RankHalo<T>* halo_;
  std::unique_ptr<RankProduct<T>> product_;
  RankRules rules_;
  OnDevice<index_t> degrees_;
  Array<T> teleport_;
  Array<T> scaled_[2];
  Array<RankState> on_device_;
  std::vector<RankState> states_;
  RankVectors<T> vectors_;
  int chunk_ = least_chunk;
};

}  // namespace

template <class T>
std::unique_ptr<RankLoop<T>> make_product_rank_loop(const SpmvPlan<T>& plan, const RankOperands<T>& operands,
                                                    const RankRules& rules, Array<T> teleport) {
  return std::make_unique<ProductRankLoop<T>>(plan, operands, rules, std::move(teleport));
}

template <class T>
std::unique_ptr<RankLoop<T>> make_product_rank_loop(const SpmvPlan<T>& plan, const TransitionMatrix<T>& transition,
                                                    const RankRules& rules, Array<T> teleport) {
  return make_product_rank_loop(plan, RankOperands<T>::all_of(transition, plan.device()), rules, std::move(teleport));
}

template <class T>
std::unique_ptr<RankLoop<T>> make_fused_rank_loop(std::unique_ptr<RankProduct<T>> product,
                                                  const RankOperands<T>& operands, const RankRules& rules,
                                                  Array<T> teleport, int vectors,
                                                  const std::function<void(const RankVectors<T>&)>& connect) {
  auto loop = std::make_unique<FusedRankLoop<T>>(std::move(product), operands, rules, std::move(teleport), vectors);
  if (connect) connect(loop->rank_vectors());
  return loop;
}

template <class T>
std::unique_ptr<RankLoop<T>> make_fused_rank_loop(std::unique_ptr<RankProduct<T>> product,
                                                  const TransitionMatrix<T>& transition, const RankRules& rules,
                                                  Array<T> teleport, int vectors, const Device& device) {
  return make_fused_rank_loop(std::move(product), RankOperands<T>::all_of(transition, device), rules,
                              std::move(teleport), vectors);
}

template std::unique_ptr<RankLoop<float>> make_product_rank_loop(const SpmvPlan<float>&, const TransitionMatrix<float>&,
                                                                 const RankRules&, Array<float>);
template std::unique_ptr<RankLoop<double>> make_product_rank_loop(const SpmvPlan<double>&,
                                                                  const TransitionMatrix<double>&, const RankRules&,
                                                                  Array<double>);
template std::unique_ptr<RankLoop<float>> make_fused_rank_loop(std::unique_ptr<RankProduct<float>>,
                                                               const TransitionMatrix<float>&, const RankRules&,
                                                               Array<float>, int, const Device&);
template std::unique_ptr<RankLoop<double>> make_fused_rank_loop(std::unique_ptr<RankProduct<double>>,
                                                                const TransitionMatrix<double>&, const RankRules&,
                                                                Array<double>, int, const Device&);

template std::unique_ptr<RankLoop<float>> make_product_rank_loop(const SpmvPlan<float>&, const RankOperands<float>&,
                                                                 const RankRules&, Array<float>);
template std::unique_ptr<RankLoop<double>> make_product_rank_loop(const SpmvPlan<double>&, const RankOperands<double>&,
                                                                  const RankRules&, Array<double>);
template std::unique_ptr<RankLoop<float>> make_fused_rank_loop(std::unique_ptr<RankProduct<float>>,
                                                               const RankOperands<float>&, const RankRules&,
                                                               Array<float>, int,
                                                               const std::function<void(const RankVectors<float>&)>&);
template std::unique_ptr<RankLoop<double>> make_fused_rank_loop(std::unique_ptr<RankProduct<double>>,
                                                                const RankOperands<double>&, const RankRules&,
                                                                Array<double>, int,
                                                                const std::function<void(const RankVectors<double>&)>&);

}  // namespace tessera::detail
