/// \file
/// The vector of ranks and one step of the power method on it, fused into one pass after the product.
#pragma once

#include "solvers/vector_ops.hpp"
#include "tessera/array.hpp"
#include "tessera/pagerank.hpp"

#include <cmath>
#include <cstdint>
#include <span>

namespace tessera::host {

/// A sum whose rounding errors are added up beside it (Knuth's exact addition): the ranks of 10^8 vertices sum to 1 as
/// well as those of ten.
struct CompensatedSum {
  double sum = 0.0;
  double error = 0.0;

  void add(double value) noexcept {
    const double total = sum + value;
    const double part = total - sum;
    error += (sum - (total - part)) + (value - part);
    sum = total;
  }
  CompensatedSum& operator+=(const CompensatedSum& other) noexcept {
    add(other.sum);
    error += other.error;
    return *this;
  }
  [[nodiscard]] double value() const noexcept { return sum + error; }
};

/// What one pass over the ranks finds.
struct RankSums {
  CompensatedSum total;     ///< Σ x'
  CompensatedSum dangling;  ///< Σ x' over vertices without out-links
  double l1 = 0.0;          ///< Σ |x' - x|
  double squares = 0.0;     ///< Σ (x' - x)²
  Largest largest;          ///< max |x' - x|

  RankSums& operator+=(const RankSums& other) noexcept {
    total += other.total;
    dangling += other.dangling;
    l1 += other.l1;
    squares += other.squares;
    largest += other.largest;
    return *this;
  }
  [[nodiscard]] double change(RankNorm norm) const noexcept {
    return norm == RankNorm::l1 ? l1 : norm == RankNorm::l2 ? std::sqrt(squares) : largest.value;
  }
};

/// x and the source of its next product, y = x / out weight. x sums to 1 only to rounding: each step divides by the
/// sum that the step before found, so that errors never add up.
template <class T>
class RankVector {
 public:
  /// Starts from the teleport distribution. \param out_inverse inverse out weights, 0 for dangling vertices
  /// \param teleport sums to 1; empty when uniform
  RankVector(std::span<const T> out_inverse, Array<T> teleport, const Device& device);

  /// What the in-links are to be multiplied with.
  [[nodiscard]] std::span<const T> source() const noexcept { return source_.span(); }

  /// x' = d (Pᵀ x + dangling(x)) + (1 - d) v. \param product in-links times source()
  void step(std::span<const T> product, double damping, Dangling policy);

  /// Scales x to sum 1. \returns the sum it then has
  double normalise();

  /// Of the latest step.
  [[nodiscard]] const RankSums& sums() const noexcept { return sums_; }
  [[nodiscard]] Array<T> take_ranks() { return std::move(ranks_); }

 private:
  /// x' = links * product + teleport * v + constant (+ self * x for a dangling vertex)
  struct Weights {
    double links = 0.0;
    double teleport = 0.0;
    double constant = 0.0;
    double self = 0.0;
  };
  [[nodiscard]] Weights weights(double damping, Dangling policy) const;

  Device device_;
  std::span<const T> out_inverse_;
  Array<T> teleport_;
  Array<T> ranks_;
  Array<T> source_;
  RankSums sums_;
};

extern template class RankVector<float>;
extern template class RankVector<double>;

}  // namespace tessera::host
