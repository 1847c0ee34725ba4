// Products of more than two factors: chains, Galerkin products, powers.
#include "core/stopwatch.hpp"
#include "spgemm/common/backends.hpp"
#include "spgemm/common/chain.hpp"
#include "spgemm/common/powering.hpp"
#include "tessera/error.hpp"
#include "tessera/spgemm.hpp"
#include "tessera/spgemm_prediction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace tessera {

namespace {

using detail::ChainStep;
using detail::PowerProduct;
using detail::StepChoice;

template <class T>
Csr<T> on_device(Csr<T> matrix, const Device& device) {
  return matrix.device() == device ? std::move(matrix) : matrix.to(device);
}

/// A choice, or the usual steps where a prediction does not fit into memory.
template <class Step, class Choose>
StepChoice<Step> choose_steps(const Choose& choose, std::vector<Step> usual) {
  try {
    return choose();
  } catch (const OutOfMemory&) {
    return {std::move(usual), "sizes were not predicted, for want of memory", {}};
  }
}

/// Of all products.
std::vector<std::optional<double>> entries_of(const ChainPrediction& prediction) {
  std::vector<std::optional<double>> nnz;
  for (const ProductPrediction& product : prediction.products) nnz.emplace_back(product.nnz.value);
  return nnz;
}

template <class T>
StepChoice<ChainStep> choose_chain(std::span<const Csr<T>* const> factors, const std::vector<std::string>& names,
                                   const Device& device, ChainOrder usual) {
  if (auto look = detail::first_look(factors, names, device, usual)) return std::move(*look);
  detail::PlannedChain plan = detail::plan_chain(factors, names, device, ChainOrder::automatic, usual);
  return {std::move(plan.steps), std::move(plan.prediction.reason), entries_of(plan.prediction)};
}

template <class T>
StepChoice<PowerProduct> choose_power(const Csr<T>& a, int k, const Device& device) {
  if (auto look = detail::first_look(a, k, device)) return std::move(*look);
  detail::PlannedPower plan = detail::plan_power(a, k, device, PowerOrder::automatic);
  return {std::move(plan.steps), std::move(plan.prediction.reason), entries_of(plan.prediction)};
}

void note_prediction(SpgemmReport& report, const std::vector<std::optional<double>>& nnz, std::size_t step) {
  if (step < nnz.size()) report.predicted_nnz = nnz[step];
}

/// The steps of a forced order.
std::vector<ChainStep> forced_steps(int factors, ChainOrder order) {
  std::vector<ChainStep> steps;
  for (int k = 1; k < factors; ++k) {
    steps.push_back(order == ChainOrder::right_to_left ? ChainStep{factors - 1 - k, factors - 1 - k, factors - 1}
                                                       : ChainStep{0, k - 1, k});
  }
  return steps;
}

std::string order_text(const std::vector<ChainStep>& steps, const std::vector<std::string>& names) {
  return detail::chain_text(0, static_cast<int>(names.size()) - 1, names, detail::splits_of(steps));
}

/// Products that are still factors of later steps, by their first and last factor.
template <class T>
class ChainStore {
 public:
  explicit ChainStore(std::span<const Csr<T>* const> factors) : factors_(factors) {}

  [[nodiscard]] const Csr<T>& at(int first, int last) const {
    if (first == last) return *factors_[static_cast<std::size_t>(first)];
    return find(first, last)->matrix;
  }
  [[nodiscard]] std::uint64_t bytes() const {
    std::uint64_t sum = 0;
    for (const Held& held : held_) sum += held.matrix.bytes();
    return sum;
  }
  /// Puts a product in the place of its factors.
  void replace(const ChainStep& step, Csr<T> matrix) {
    std::erase_if(held_, [&](const Held& held) { return held.first >= step.first && held.last <= step.last; });
    held_.push_back({step.first, step.last, std::move(matrix)});
  }
  [[nodiscard]] Csr<T> take_last() { return std::move(held_.back().matrix); }

 private:
  struct Held {
    int first;
    int last;
    Csr<T> matrix;
  };
  [[nodiscard]] auto find(int first, int last) const {
    return std::find_if(held_.begin(), held_.end(),
                        [&](const Held& held) { return held.first == first && held.last == last; });
  }
  std::span<const Csr<T>* const> factors_;
  std::vector<Held> held_;
};

}  // namespace

template <class T>
ChainResult<T> spgemm_chain(std::span<const Csr<T>* const> factors, const SpgemmOptions& options, ChainOrder order) {
  const std::vector<std::string> names = detail::factor_names(factors.size());
  detail::check_chain(factors, names, options.device);
  ChainResult<T> result;
  const Stopwatch choosing;
  StepChoice<ChainStep> choice{forced_steps(static_cast<int>(factors.size()), order), "the order was given", {}};
  if (order == ChainOrder::automatic && factors.size() > 2) {
    choice =
        choose_steps<ChainStep>([&] { return choose_chain(factors, names, options.device, ChainOrder::left_to_right); },
                                std::move(choice.steps));
    result.predict_ms = choosing.milliseconds();
  }
  result.reason = std::move(choice.reason);
  result.order = order_text(choice.steps, names);
  ChainStore<T> products(factors);
  for (std::size_t k = 0; k < choice.steps.size(); ++k) {
    const ChainStep& step = choice.steps[k];
    SpgemmResult<T> product = spgemm(products.at(step.first, step.split), products.at(step.split + 1, step.last),
                                     detail::beside(options, products.bytes()));
    note_prediction(product.report, choice.nnz, k);
    result.products.push_back(std::move(product.report));
    products.replace(step, std::move(product.matrix));
  }
  result.matrix = products.take_last();
  return result;
}

namespace {

/// Below so many entries of R, A and P together, products take less time than their prediction.
constexpr offset_t few_entries = offset_t{1} << 16;

template <class T>
StepChoice<ChainStep> choose_galerkin(const Csr<T>& r, const Csr<T>& a, const Csr<T>& p,
                                      const GalerkinOptions& options) {
  const std::vector<ChainStep> a_p_first = forced_steps(3, ChainOrder::right_to_left);
  if (options.order == GalerkinOrder::r_a_first) {
    return {forced_steps(3, ChainOrder::left_to_right), "the order was given", {}};
  }
  if (options.order == GalerkinOrder::a_p_first) return {a_p_first, "the order was given", {}};
  if (options.keep_a_p) return {a_p_first, "A P is kept", {}};
  if (r.nnz() + a.nnz() + p.nnz() < few_entries) return {a_p_first, "products are too small to be predicted", {}};
  const std::array<const Csr<T>*, 3> factors{&r, &a, &p};
  return choose_steps<ChainStep>(
      [&] {
        return choose_chain(std::span<const Csr<T>* const>(factors), {"R", "A", "P"}, options.first.device,
                            ChainOrder::right_to_left);
      },
      a_p_first);
}

}  // namespace

template <class T>
GalerkinResult<T> galerkin(const Csr<T>& r, const Csr<T>& a, const Csr<T>& p, const GalerkinOptions& options) {
  // Both products are checked before the first is formed; A P has the rows of A.
  detail::check_product(a, p, options.first, "A", "P");
  detail::check_product(r, a, options.second, "R", "A");
  if (!(options.first.device == options.second.device)) {
    throw NotSupported(
        fmt::format("the first product of R A P is to be formed on {}, the second on {}: both need one device",
                    options.first.device.name(), options.second.device.name()));
  }
  if (options.keep_a_p && options.order == GalerkinOrder::r_a_first) {
    throw InvalidArgument("A P is to be kept, but R A is to be formed first");
  }
  StepChoice<ChainStep> choice = choose_galerkin(r, a, p, options);
  const bool a_p_first = choice.steps.front().first == 1;
  SpgemmResult<T> first = a_p_first ? spgemm(a, p, options.first) : spgemm(r, a, options.first);
  SpgemmResult<T> second =
      a_p_first ? spgemm(r, first.matrix, options.second) : spgemm(first.matrix, p, options.second);
  note_prediction(first.report, choice.nnz, 0);
  note_prediction(second.report, choice.nnz, 1);
  GalerkinResult<T> result{std::move(second.matrix), std::move(first.report),
                           std::move(second.report), a_p_first ? GalerkinOrder::a_p_first : GalerkinOrder::r_a_first,
                           std::move(choice.reason), Csr<T>{}};
  if (options.keep_a_p) result.a_p_matrix = std::move(first.matrix);
  return result;
}

template <class T>
GalerkinResult<T> galerkin(const Csr<T>& r, const Csr<T>& a, const Csr<T>& p, const SpgemmOptions& options) {
  return galerkin(r, a, p, GalerkinOptions{options, options, false, GalerkinOrder::automatic});
}

namespace {

/// Fills in the order of A^k, and forms it. \param k at least 2
template <class T>
void form_power(const Csr<T>& a, int k, const SpgemmOptions& options, PowerOrder order, MatrixPower<T>& result) {
  const Stopwatch choosing;
  StepChoice<PowerProduct> choice{detail::binary_steps(k), "the order was given", {}};
  if (order == PowerOrder::one_by_one) {
    choice.steps = detail::one_by_one(k, [](const PowerProduct& /*step*/) { return 0.0; }).steps;
  } else if (order == PowerOrder::automatic && k > detail::most_predicted_power) {
    choice.reason = fmt::format("powers beyond A^{} are not predicted", detail::most_predicted_power);
  } else if (order == PowerOrder::automatic) {
    choice = choose_steps<PowerProduct>([&] { return choose_power(a, k, options.device); }, std::move(choice.steps));
    result.predict_ms = choosing.milliseconds();
  }
  result.order = detail::powering_text(choice.steps);
  result.reason = std::move(choice.reason);
  result.matrix = detail::form_power<SpgemmResult<T>>(a, choice.steps, options, result.products);
  for (std::size_t s = 0; s < result.products.size(); ++s) note_prediction(result.products[s], choice.nnz, s);
}

}  // namespace

template <class T>
MatrixPower<T> matrix_power(const Csr<T>& a, int k, const SpgemmOptions& options, PowerOrder order) {
  detail::check_power(a, k);
  detail::check_product(a, a, options);
  MatrixPower<T> result;
  if (k == 0) {
    result.matrix = on_device(detail::identity<T>(a.rows(), a.is_pattern()), options.device);
  } else if (k == 1) {
    result.matrix = a.to(options.device);
  } else {
    form_power(a, k, options, order, result);
  }
  return result;
}

template ChainResult<float> spgemm_chain(std::span<const Csr<float>* const>, const SpgemmOptions&, ChainOrder);
template ChainResult<double> spgemm_chain(std::span<const Csr<double>* const>, const SpgemmOptions&, ChainOrder);
template GalerkinResult<float> galerkin(const Csr<float>&, const Csr<float>&, const Csr<float>&, const SpgemmOptions&);
template GalerkinResult<double> galerkin(const Csr<double>&, const Csr<double>&, const Csr<double>&,
                                         const SpgemmOptions&);
template GalerkinResult<float> galerkin(const Csr<float>&, const Csr<float>&, const Csr<float>&,
                                        const GalerkinOptions&);
template GalerkinResult<double> galerkin(const Csr<double>&, const Csr<double>&, const Csr<double>&,
                                         const GalerkinOptions&);
template MatrixPower<float> matrix_power(const Csr<float>&, int, const SpgemmOptions&, PowerOrder);
template MatrixPower<double> matrix_power(const Csr<double>&, int, const SpgemmOptions&, PowerOrder);

}  // namespace tessera
