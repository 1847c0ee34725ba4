// Prediction of chains and powers: sketches go from factor to factor, and times of products choose the order.
#include "spgemm/common/association.hpp"
#include "spgemm/common/backends.hpp"
#include "spgemm/common/chain.hpp"
#include "spgemm/common/prediction.hpp"
#include "tessera/error.hpp"
#include "tessera/spgemm_prediction.hpp"
#include "tessera/statistics.hpp"

#include "core/stopwatch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <deque>
#include <utility>

namespace tessera {

namespace {

using detail::ChainPlan;
using detail::ChainStep;
using detail::error_of_groups;
using detail::LocalFactor;
using detail::PowerPlan;
using detail::PowerProduct;
using detail::RowSketches;

/// A gain below this share does not change the order that would be taken without a prediction.
constexpr double least_gain = 0.1;

template <class T>
RowSketches sketch(const CsrView<T>& a, int registers, const Device& device) {
  return device.is_host() ? host::sketch_rows(a, registers, device) : cuda::sketch_rows(a, registers, device);
}

template <class T>
RowSketches merge(const CsrView<T>& a, const RowSketches& b, index_t most, int registers, const Device& device) {
  return device.is_host() ? host::merge_sketches(a, b, most, registers, device)
                          : cuda::merge_sketches(a, b, most, registers, device);
}

double products_of_sizes(const Array<float>& u, const Array<float>& v, const Device& device) {
  return device.is_host() ? host::products_of_sizes(u, v, device) : cuda::products_of_sizes(u, v, device);
}

/// Registers of the sketches of a chain: as many as 64 MiB allow for the sketches of one factor, at least 32.
int chain_registers(std::int64_t rows) {
  if (rows <= std::int64_t{1} << 19) return 128;
  return rows <= std::int64_t{1} << 22 ? 64 : 32;
}

/// Sizes of all products F_i ... F_j of a chain, factors counted from 0.
template <class T>
class ChainSizes {
 public:
  ChainSizes(std::span<const Csr<T>* const> factors, const Device& device)
      : count_(static_cast<int>(factors.size())),
        device_(device),
        nnz_(square()),
        products_(factors.size() * square()) {
    std::int64_t rows = 0;
    for (const Csr<T>* factor : factors) {
      const auto same = std::find(owners_.begin(), owners_.end(), factor);
      views_.push_back(same == owners_.end() ? local_.emplace_back(*factor, device).view()
                                             : views_[static_cast<std::size_t>(same - owners_.begin())]);
      owners_.push_back(factor);
      rows = std::max<std::int64_t>({rows, factor->rows(), factor->cols()});
    }
    registers_ = chain_registers(rows);
    sketch_suffixes();
    sketch_prefixes();
  }

  [[nodiscard]] int registers() const noexcept { return registers_; }
  [[nodiscard]] const Predicted& nnz(int first, int last) const { return nnz_[at(first, last)]; }
  /// Scalar products of (F_first ... F_split) (F_(split + 1) ... F_last).
  [[nodiscard]] const Predicted& products(const ChainStep& step) const {
    return products_[static_cast<std::size_t>(step.split) * square() + at(step.first, step.last)];
  }

 private:
  [[nodiscard]] std::size_t square() const noexcept {
    return static_cast<std::size_t>(count_) * static_cast<std::size_t>(count_);
  }
  [[nodiscard]] std::size_t at(int first, int last) const noexcept {
    return static_cast<std::size_t>(first) * static_cast<std::size_t>(count_) + static_cast<std::size_t>(last);
  }
  [[nodiscard]] const CsrView<T>& view(int factor) const { return views_[static_cast<std::size_t>(factor)]; }

  /// Rows of F_i ... F_j for every last factor j.
  void sketch_suffixes() {
    row_sizes_.resize(square());
    for (int last = 0; last < count_; ++last) {
      RowSketches rows = sketch(view(last), registers_, device_);
      nnz_[at(last, last)] = {rows.entries, 0.0};
      row_sizes_[at(last, last)] = std::move(rows.sizes);
      for (int first = last - 1; first >= 0; --first) {
        rows = merge(view(first), rows, view(last).cols, registers_, device_);
        nnz_[at(first, last)] = {rows.entries, error_of_groups(rows.groups)};
        row_sizes_[at(first, last)] = std::move(rows.sizes);
      }
    }
  }

  /// Columns of F_i ... F_j: rows of the transposed product, which begins with F_j^T. The last factor is never a left
  /// one.
  void sketch_prefixes() {
    std::vector<Csr<T>> transposes;
    for (int k = 0; k + 1 < count_; ++k) transposes.push_back(transpose(structure_of(k), device_));
    for (int first = 0; first + 1 < count_; ++first) {
      RowSketches columns = sketch(transposes[static_cast<std::size_t>(first)].view(), registers_, device_);
      for (int last = first;; ++last) {
        for (int end = last + 1; end < count_; ++end) note_products({first, last, end}, columns.sizes);
        if (last + 2 >= count_) break;
        columns = merge(transposes[static_cast<std::size_t>(last) + 1].view(), columns, view(first).rows, registers_,
                        device_);
      }
    }
  }

  [[nodiscard]] CsrView<T> structure_of(int factor) const {
    CsrView<T> structure = view(factor);
    structure.storage = ValueStorage::pattern;
    structure.values = {};
    return structure;
  }

  void note_products(const ChainStep& step, const Array<float>& column_sizes) {
    const double products = products_of_sizes(column_sizes, row_sizes_[at(step.split + 1, step.last)], device_);
    const double left = nnz(step.first, step.split).error;
    const double right = nnz(step.split + 1, step.last).error;
    products_[static_cast<std::size_t>(step.split) * square() + at(step.first, step.last)] = {products,
                                                                                              std::hypot(left, right)};
  }

  int count_;
  Device device_;
  int registers_ = 0;
  std::deque<LocalFactor<T>> local_;
  std::vector<const Csr<T>*> owners_;
  std::vector<CsrView<T>> views_;
  std::vector<Predicted> nnz_;
  std::vector<Predicted> products_;
  std::vector<Array<float>> row_sizes_;
};

/// Times of the products of a chain, from its sizes.
template <class T>
class ChainCosts {
 public:
  ChainCosts(std::span<const Csr<T>* const> factors, const Device& device)
      : factors_(factors), sizes_(factors, device), model_(detail::model_of(device)) {}

  [[nodiscard]] int registers() const noexcept { return sizes_.registers(); }

  [[nodiscard]] ProductPrediction product(const ChainStep& step) const {
    ProductPrediction result;
    result.rows = factors_[static_cast<std::size_t>(step.first)]->rows();
    result.cols = factors_[static_cast<std::size_t>(step.last)]->cols();
    result.products = sizes_.products(step);
    result.nnz = sizes_.nnz(step.first, step.last);
    result.nnz.value = std::min(result.nnz.value, result.products.value);
    detail::add_costs(result, sizes_.nnz(step.first, step.split).value, sizeof(T), model_);
    return result;
  }

  [[nodiscard]] double work(const ChainStep& step) const {
    const ProductPrediction of = product(step);
    return detail::product_work(of.products.value, of.nnz.value);
  }

 private:
  std::span<const Csr<T>* const> factors_;
  ChainSizes<T> sizes_;
  detail::DeviceModel model_;
};

const auto left_first = [](int /*first*/, int last) { return last - 1; };
const auto right_first = [](int first, int /*last*/) { return first; };

/// "1.2e+06 products"
std::string work_text(double work) { return fmt::format("{:.2g} products", work); }

/// The plan to take, and why. \param usual what is taken without a gain
struct ChainChoice {
  ChainPlan plan;
  std::string reason;
};

template <class Cost, class SplitOf>
ChainChoice choose_chain(const std::vector<std::string>& names, const Cost& cost, const SplitOf& usual_split) {
  const int last = static_cast<int>(names.size()) - 1;
  ChainPlan usual = detail::chain_plan(0, last, usual_split, cost);
  ChainPlan best = detail::best_chain(last + 1, cost);
  const std::string usual_text = detail::chain_text(0, last, names, usual_split);
  const std::string best_text = detail::chain_text(0, last, names, detail::splits_of(best.steps));
  if (names.size() == 2) return {std::move(usual), "two factors have one order"};
  if (best.cost > (1.0 - least_gain) * usual.cost) {
    const std::string beside =
        best_text == usual_text ? std::string("no order less") : fmt::format("{} {}", best_text, work_text(best.cost));
    return {usual, fmt::format("{} is predicted to be worth {}, {}", usual_text, work_text(usual.cost), beside)};
  }
  return {best, fmt::format("{} is predicted to be worth {}, {} {}", best_text, work_text(best.cost), usual_text,
                            work_text(usual.cost))};
}

template <class T>
ChainPrediction describe_chain(const ChainPlan& plan, const ChainCosts<T>& costs,
                               const std::vector<std::string>& names) {
  ChainPrediction result;
  const auto split_of = detail::splits_of(plan.steps);
  for (const ChainStep& step : plan.steps) {
    result.products.push_back(costs.product(step));
    result.products.back().name = detail::chain_text(step.first, step.last, names, split_of);
  }
  result.order = detail::chain_text(0, static_cast<int>(names.size()) - 1, names, split_of);
  result.registers = costs.registers();
  return result;
}

/// Sizes of A, A^2, ..., A^(k - 1) by rows and by columns, and entries up to A^k.
template <class T>
class PowerCosts {
 public:
  PowerCosts(const Csr<T>& a, int k, const Device& device)
      : rows_(a.rows()),
        device_(device),
        local_(a, device),
        registers_(chain_registers(a.rows())),
        model_(detail::model_of(device)) {
    const CsrView<T> view = local_.view();
    note_sizes(view, k, row_sizes_, true);
    CsrView<T> structure = view;
    structure.storage = ValueStorage::pattern;
    structure.values = {};
    note_sizes(transpose(structure, device).view(), k - 1, column_sizes_, false);
  }

  [[nodiscard]] int registers() const noexcept { return registers_; }

  [[nodiscard]] ProductPrediction product(const PowerProduct& step) const {
    ProductPrediction result;
    result.name = detail::power_text(step);
    result.rows = result.cols = rows_;
    const auto left = static_cast<std::size_t>(step.left - 1);
    const auto right = static_cast<std::size_t>(step.right - 1);
    result.products = {products_of_sizes(column_sizes_[left], row_sizes_[right], device_),
                       std::hypot(nnz_[left].error, nnz_[right].error)};
    result.nnz = nnz_[static_cast<std::size_t>(step.exponent() - 1)];
    result.nnz.value = std::min(result.nnz.value, result.products.value);
    detail::add_costs(result, nnz_[left].value, sizeof(T), model_);
    return result;
  }

  [[nodiscard]] double work(const PowerProduct& step) const {
    const ProductPrediction of = product(step);
    return detail::product_work(of.products.value, of.nnz.value);
  }

 private:
  /// Sizes of the rows of the first `count` powers.
  void note_sizes(const CsrView<T>& a, int count, std::vector<Array<float>>& sizes, bool are_rows) {
    RowSketches sketches = sketch(a, registers_, device_);
    for (int power = 1;; ++power) {
      if (are_rows) nnz_.push_back({sketches.entries, power == 1 ? 0.0 : error_of_groups(sketches.groups)});
      sizes.push_back(std::move(sketches.sizes));
      if (power == count) return;
      sketches = merge(a, sketches, rows_, registers_, device_);
    }
  }

  index_t rows_;
  Device device_;
  LocalFactor<T> local_;
  int registers_;
  detail::DeviceModel model_;
  std::vector<Predicted> nnz_;
  std::vector<Array<float>> row_sizes_;
  std::vector<Array<float>> column_sizes_;
};

/// The order to take, and why.
struct PowerChoice {
  PowerPlan plan;
  std::string reason;
};

template <class Cost>
PowerChoice choose_powering(int k, PowerOrder order, const Cost& cost) {
  PowerPlan binary = detail::binary_powering(k, cost);
  if (order == PowerOrder::binary) return {std::move(binary), "the order was given"};
  if (order == PowerOrder::one_by_one) return {detail::one_by_one(k, cost), "the order was given"};
  PowerPlan best = detail::best_powering(k, cost);
  const std::string text = detail::powering_text(binary.steps);
  const std::string best_text = detail::powering_text(best.steps);
  if (best.cost > (1.0 - least_gain) * binary.cost) {
    return {binary, fmt::format("{} is predicted to be worth {}, no order a tenth less", text, work_text(binary.cost))};
  }
  return {best, fmt::format("{} is predicted to be worth {}, {} {}", best_text, work_text(best.cost), text,
                            work_text(binary.cost))};
}

}  // namespace

namespace detail {

template <class T>
PlannedChain plan_chain(std::span<const Csr<T>* const> factors, const std::vector<std::string>& names,
                        const Device& device, ChainOrder order, ChainOrder usual) {
  const Stopwatch watch;
  check_chain(factors, names, device);
  const ChainCosts<T> costs(factors, device);
  const auto cost = [&](const ChainStep& step) { return costs.work(step); };
  const int last = static_cast<int>(factors.size()) - 1;
  ChainChoice choice;
  if (order == ChainOrder::automatic) {
    if (auto look = first_look(factors, names, device, usual)) {
      choice = {{std::move(look->steps), 0.0}, std::move(look->reason)};
    } else {
      choice = usual == ChainOrder::right_to_left ? choose_chain(names, cost, right_first)
                                                  : choose_chain(names, cost, left_first);
    }
  } else {
    choice = {order == ChainOrder::left_to_right ? chain_plan(0, last, left_first, cost)
                                                 : chain_plan(0, last, right_first, cost),
              "the order was given"};
  }
  PlannedChain result{describe_chain(choice.plan, costs, names), choice.plan.steps};
  result.prediction.reason = std::move(choice.reason);
  result.prediction.predict_ms = watch.milliseconds();
  return result;
}

template <class T>
PlannedPower plan_power(const Csr<T>& a, int k, const Device& device, PowerOrder order) {
  const Stopwatch watch;
  if (k < 2) throw InvalidArgument(fmt::format("a power that is predicted must be at least 2, got {}", k));
  SpgemmOptions options;
  options.device = device;
  check_product(a, a, options);
  if (k > most_predicted_power) {
    throw InvalidArgument(fmt::format("powers up to {} are predicted, got {}", most_predicted_power, k));
  }
  const PowerCosts<T> costs(a, k, device);
  auto look = order == PowerOrder::automatic ? first_look(a, k, device) : std::nullopt;
  PowerChoice choice = look ? PowerChoice{{std::move(look->steps), 0.0}, std::move(look->reason)}
                            : choose_powering(k, order, [&](const PowerProduct& step) { return costs.work(step); });
  PlannedPower result{{}, std::move(choice.plan.steps)};
  ChainPrediction& prediction = result.prediction;
  for (const PowerProduct& step : result.steps) prediction.products.push_back(costs.product(step));
  prediction.order = powering_text(result.steps);
  prediction.reason = std::move(choice.reason);
  prediction.registers = costs.registers();
  prediction.predict_ms = watch.milliseconds();
  return result;
}

template PlannedChain plan_chain(std::span<const Csr<float>* const>, const std::vector<std::string>&, const Device&,
                                 ChainOrder, ChainOrder);
template PlannedChain plan_chain(std::span<const Csr<double>* const>, const std::vector<std::string>&, const Device&,
                                 ChainOrder, ChainOrder);
template PlannedPower plan_power(const Csr<float>&, int, const Device&, PowerOrder);
template PlannedPower plan_power(const Csr<double>&, int, const Device&, PowerOrder);

}  // namespace detail

template <class T>
ChainPrediction predict_chain(std::span<const Csr<T>* const> factors, const Device& device, ChainOrder order) {
  return detail::plan_chain(factors, detail::factor_names(factors.size()), device, order, ChainOrder::left_to_right)
      .prediction;
}

template <class T>
ChainPrediction predict_power(const Csr<T>& a, int k, const Device& device, PowerOrder order) {
  return detail::plan_power(a, k, device, order).prediction;
}

template ChainPrediction predict_chain(std::span<const Csr<float>* const>, const Device&, ChainOrder);
template ChainPrediction predict_chain(std::span<const Csr<double>* const>, const Device&, ChainOrder);
template ChainPrediction predict_power(const Csr<float>&, int, const Device&, PowerOrder);
template ChainPrediction predict_power(const Csr<double>&, int, const Device&, PowerOrder);

}  // namespace tessera
