/// \file
/// Chains of products: what all of them check, and predictions with names for the factors.
#pragma once

#include "core/detail_namespace.hpp"
#include "spgemm/common/association.hpp"
#include "tessera/spgemm_prediction.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tessera::detail {

/// A, B, C, ...
[[nodiscard]] std::vector<std::string> factor_names(std::size_t count);

/// \throws as predict_chain()
template <class T>
void check_chain(std::span<const Csr<T>* const> factors, const std::vector<std::string>& names, const Device& device);

/// The largest power that is predicted: sketches of higher ones would take as many passes over A.
inline constexpr int most_predicted_power = 8;

/// Steps of a chain or a power in their order, why, and what of their entries is known.
template <class Step>
struct StepChoice {
  std::vector<Step> steps;
  std::string reason;
  std::vector<std::optional<double>> nnz;  ///< of the products of the first steps; others are not predicted
};

/// The order of A B C from samples of A B and B C alone, where these are worth about as much: then the one whose
/// products lie in shorter rows is formed first, which accumulators like. None where they differ, or for more factors.
/// \param usual where rows are as long, too
template <class T>
[[nodiscard]] std::optional<StepChoice<ChainStep>> first_look(std::span<const Csr<T>* const> factors,
                                                              const std::vector<std::string>& names,
                                                              const Device& device, ChainOrder usual);

/// Squares save products unless A A fills up: none where a sample says so, and the sizes of all powers are wanted.
template <class T>
[[nodiscard]] std::optional<StepChoice<PowerProduct>> first_look(const Csr<T>& a, int k, const Device& device);

/// A prediction, and the steps of its order.
struct PlannedChain {
  ChainPrediction prediction;
  std::vector<ChainStep> steps;
};

/// \param usual the order where none gains enough: left_to_right or right_to_left
template <class T>
[[nodiscard]] PlannedChain plan_chain(std::span<const Csr<T>* const> factors, const std::vector<std::string>& names,
                                      const Device& device, ChainOrder order, ChainOrder usual);

/// A prediction, and the products that form A^k.
struct PlannedPower {
  ChainPrediction prediction;
  std::vector<PowerProduct> steps;
};
template <class T>
[[nodiscard]] PlannedPower plan_power(const Csr<T>& a, int k, const Device& device, PowerOrder order);

}  // namespace tessera::detail
