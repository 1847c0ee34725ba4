/// \file
/// Chains of products: what all of them check, and predictions with names for the factors.
#pragma once

#include "core/detail_namespace.hpp"
#include "spgemm/common/association.hpp"
#include "tessera/spgemm_prediction.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace tessera::detail {

/// A, B, C, ...
[[nodiscard]] std::vector<std::string> factor_names(std::size_t count);

/// \throws as predict_chain()
template <class T>
void check_chain(std::span<const Csr<T>* const> factors, const std::vector<std::string>& names, const Device& device);

/// A prediction, and the steps of its order.
struct PlannedChain {
  ChainPrediction prediction;
  std::vector<ChainStep> steps;
};

/// \param usual the order where none gains enough: left_to_right or right_to_left
template <class T>
[[nodiscard]] PlannedChain plan_chain(std::span<const Csr<T>* const> factors, const std::vector<std::string>& names,
                                      const Device& device, ChainOrder order, ChainOrder usual);

/// The largest power that is predicted: sketches of higher ones would take as many passes over A.
inline constexpr int most_predicted_power = 8;

/// A prediction, and the products that form A^k.
struct PlannedPower {
  ChainPrediction prediction;
  std::vector<PowerProduct> steps;
};
template <class T>
[[nodiscard]] PlannedPower plan_power(const Csr<T>& a, int k, const Device& device, PowerOrder order);

}  // namespace tessera::detail
