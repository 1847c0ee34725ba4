/// \file
/// The vector of ranks and one step of the power method on it, fused into one pass after the product.
#pragma once

#include "solvers/passes/rank_steps.hpp"
#include "tessera/array.hpp"

#include <span>
#include <utility>

namespace tessera {

/// x and the source of its next product, y = x / out weight. x sums to 1 only to rounding: the weights of each step
/// divide by the sum that the step before found.
template <class T>
class RankVector {
 public:
  /// Starts from the teleport distribution. Vectors lie on `device`.
  /// \param out_inverse inverse out weights, 0 for dangling vertices \param teleport sums to 1; empty when uniform
  RankVector(std::span<const T> out_inverse, Array<T> teleport, const Device& device);

  /// What the in-links are to be multiplied with.
  [[nodiscard]] std::span<const T> source() const noexcept { return source_.span(); }

  /// x' = d (Pᵀ x + dangling(x)) + (1 - d) v. \param product in-links times source() \param weights for sums()
  void step(std::span<const T> product, const detail::RankWeights& weights);

  /// Scales x to sum 1. \returns the sum it then has
  double normalise();

  /// Of the latest step.
  [[nodiscard]] const detail::RankSums& sums() const noexcept { return sums_; }
  [[nodiscard]] Array<T> take_ranks() { return std::move(ranks_); }

 private:
  Device device_;
  std::span<const T> out_inverse_;
  Array<T> teleport_;
  Array<T> ranks_;
  Array<T> source_;
  detail::RankSums sums_;
};

extern template class RankVector<float>;
extern template class RankVector<double>;

}  // namespace tessera
