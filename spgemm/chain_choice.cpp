// Order of association of a chain from samples of single products, where these tell enough; and what chains check.
#include "spgemm/common/association.hpp"
#include "spgemm/common/backends.hpp"
#include "spgemm/common/chain.hpp"
#include "spgemm/common/phase_times.hpp"
#include "tessera/error.hpp"
#include "tessera/spgemm_prediction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tessera::detail {

namespace {

/// Products that differ by this factor at most are worth about as much: C is formed from either.
constexpr double alike = 1.5;
/// Rows are shorter if they have this share of the products.
constexpr double clearly_shorter = 0.9;
/// A power with more of all n^2 entries fills up.
constexpr double filling = 0.125;

/// A sampled product, in products that it is worth, and of a row.
struct SampledPair {
  ProductPrediction size;
  double work;
  double row_products;
};

template <class T>
SampledPair sample_pair(const Csr<T>& left, const Csr<T>& right, const Device& device) {
  SampledPair result{predict(left, right, device), 0.0, 0.0};
  result.work = product_work(result.size.products.value, result.size.nnz.value);
  result.row_products = result.size.products.value / std::max(1.0, static_cast<double>(left.rows()));
  return result;
}

bool are_alike(const SampledPair& one, const SampledPair& other) {
  return one.work <= alike * other.work && other.work <= alike * one.work;
}

template <class T>
void require_factors(std::span<const Csr<T>* const> factors) {
  constexpr std::size_t most = 16;
  if (factors.size() < 2 || factors.size() > most) {
    throw InvalidArgument(fmt::format("a chain has 2 to {} factors, got {}", most, factors.size()));
  }
  const auto null = std::find(factors.begin(), factors.end(), nullptr);
  if (null != factors.end()) {
    throw InvalidArgument(fmt::format("factor {} of the chain is a null pointer", null - factors.begin() + 1));
  }
}

}  // namespace

std::vector<std::string> factor_names(std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t k = 0; k < count; ++k) names.emplace_back(1, static_cast<char>('A' + static_cast<int>(k)));
  return names;
}

template <class T>
void check_chain(std::span<const Csr<T>* const> factors, const std::vector<std::string>& names, const Device& device) {
  require_factors(factors);
  SpgemmOptions options;
  options.device = device;
  for (std::size_t k = 0; k + 1 < factors.size(); ++k) {
    check_product(*factors[k], *factors[k + 1], options, names[k].c_str(), names[k + 1].c_str());
  }
}

template <class T>
std::optional<StepChoice<ChainStep>> first_look(std::span<const Csr<T>* const> factors,
                                                const std::vector<std::string>& names, const Device& device,
                                                ChainOrder usual) {
  constexpr std::size_t three = 3;
  if (factors.size() != three) return std::nullopt;
  const SampledPair left = sample_pair(*factors[0], *factors[1], device);
  const SampledPair right = sample_pair(*factors[1], *factors[2], device);
  if (!are_alike(left, right)) return std::nullopt;
  bool right_first = usual == ChainOrder::right_to_left;
  std::string why = "rows are as long, too";
  const auto shorter = [&](std::size_t first) {
    return fmt::format("rows of {} {} are shorter", names[first], names[first + 1]);
  };
  if (right.row_products < clearly_shorter * left.row_products) {
    right_first = true;
    why = shorter(1);
  } else if (left.row_products < clearly_shorter * right.row_products) {
    right_first = false;
    why = shorter(0);
  }
  StepChoice<ChainStep> choice;
  choice.steps =
      right_first ? std::vector<ChainStep>{{1, 1, 2}, {0, 0, 2}} : std::vector<ChainStep>{{0, 0, 1}, {0, 1, 2}};
  choice.nnz = {right_first ? right.size.nnz.value : left.size.nnz.value};
  choice.reason =
      fmt::format("{0} {1} and {1} {2} are predicted to be worth {3:.2g} and {4:.2g} products, about as much; {5}",
                  names[0], names[1], names[2], left.work, right.work, why);
  return choice;
}

template <class T>
std::optional<StepChoice<PowerProduct>> first_look(const Csr<T>& a, int k, const Device& device) {
  constexpr int cube = 3;
  StepChoice<PowerProduct> choice;
  choice.steps = binary_powering(k, [](const PowerProduct& /*step*/) { return 0.0; }).steps;
  if (k <= cube) {
    choice.reason = k < cube ? "a square has one order" : "the products of a cube are worth as much in either order";
    return choice;
  }
  const SampledPair square = sample_pair(a, a, device);
  const double all = std::max(1.0, static_cast<double>(a.rows()) * static_cast<double>(a.rows()));
  if (square.size.nnz.value > filling * all) return std::nullopt;
  choice.nnz = {square.size.nnz.value};
  choice.reason =
      fmt::format("A A is predicted to have {:.2g} % of all entries; squares save products until powers fill up",
                  100.0 * square.size.nnz.value / all);
  return choice;
}

template void check_chain(std::span<const Csr<float>* const>, const std::vector<std::string>&, const Device&);
template void check_chain(std::span<const Csr<double>* const>, const std::vector<std::string>&, const Device&);
template std::optional<StepChoice<ChainStep>> first_look(std::span<const Csr<float>* const>,
                                                         const std::vector<std::string>&, const Device&, ChainOrder);
template std::optional<StepChoice<ChainStep>> first_look(std::span<const Csr<double>* const>,
                                                         const std::vector<std::string>&, const Device&, ChainOrder);
template std::optional<StepChoice<PowerProduct>> first_look(const Csr<float>&, int, const Device&);
template std::optional<StepChoice<PowerProduct>> first_look(const Csr<double>&, int, const Device&);

}  // namespace tessera::detail
