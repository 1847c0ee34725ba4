/// One product and one pass a step.
///
/// Memory movement per step, n elements each, besides the columns of the matrix: the product reads y and writes q
/// (2n); one pass reads q, x and the inverse out weights and writes x and y (5n; 1n more with a personalization).
#include "solvers/rank/rank_loop.hpp"
#include "solvers/rank_vector.hpp"

#include <utility>

namespace tessera {

namespace {

template <class T>
class ProductRankLoop final : public RankLoop<T> {
 public:
  ProductRankLoop(const SpmvPlan<T>& plan, const TransitionMatrix<T>& transition, const detail::RankRules& rules,
                  Array<T> teleport)
      : plan_(plan),
        rules_(rules),
        product_(plan.make_output()),
        out_inverse_(plan.device().is_host() ? Array<T>{}
                                             : Array<T>::copy_of(transition.inverse_out_weight(), plan.device())),
        ranks_(plan.device().is_host() ? transition.inverse_out_weight() : std::as_const(out_inverse_).span(),
               std::move(teleport), plan.device()),
        state_(detail::first_rank_state(rules, ranks_.sums())) {}

  [[nodiscard]] const detail::RankState& state(int /*vector*/) const noexcept override { return state_; }

  void run(int steps) override {
    for (int step = 0; step < steps && state_.halt == 0; ++step) {
      // q = Wᵀ D⁻¹ x,  x' = d (q + dangling(x)) + (1 - d) v
      plan_.apply(ranks_.source(), product_);
      ranks_.step(std::as_const(product_).current(), state_.weights);
      detail::finish_iteration(rules_, state_, ranks_.sums());
    }
  }

  [[nodiscard]] FinalRanks<T> take_ranks(int /*vector*/) override {
    const double sum = ranks_.normalise();
    return {ranks_.take_ranks(), sum};
  }

 private:
  const SpmvPlan<T>& plan_;
  detail::RankRules rules_;
  DualBuffer<T> product_;
  Array<T> out_inverse_;  ///< a copy on a GPU; empty on the host, where that of the transition matrix serves
  RankVector<T> ranks_;
  detail::RankState state_;
};

}  // namespace

template <class T>
std::unique_ptr<RankLoop<T>> make_product_rank_loop(const SpmvPlan<T>& plan, const TransitionMatrix<T>& transition,
                                                    const detail::RankRules& rules, Array<T> teleport) {
  return std::make_unique<ProductRankLoop<T>>(plan, transition, rules, std::move(teleport));
}

template std::unique_ptr<RankLoop<float>> make_product_rank_loop(const SpmvPlan<float>&, const TransitionMatrix<float>&,
                                                                 const detail::RankRules&, Array<float>);
template std::unique_ptr<RankLoop<double>> make_product_rank_loop(const SpmvPlan<double>&,
                                                                  const TransitionMatrix<double>&,
                                                                  const detail::RankRules&, Array<double>);

}  // namespace tessera
