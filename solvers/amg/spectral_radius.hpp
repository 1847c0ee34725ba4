/// \file
/// Power method for ρ(D⁻¹ A). Squares are summed as integers, so that the order of additions does not matter.
#pragma once

#include "core/csr_pointers.hpp"
#include "solvers/amg/aggregation.hpp"
#include "solvers/amg/level_rows.hpp"
#include "solvers/amg/row_ops.hpp"
#include "solvers/fused/preconditioner.hpp"

#include <cmath>
#include <cstdint>

namespace tessera::detail {

/// Σ y_i² in units of 2⁻²⁰, at most 2⁴³ - 2⁻²⁰, which counts as infinity. Vectors have mean squares near 1, but one
/// element may hold all of it, where an eigenvector lives on few rows.
struct SumOfSquares {
  static constexpr std::int64_t most = 0x7fffffffffffffff;
  std::int64_t units = 0;
  TESSERA_HOST_DEVICE SumOfSquares& operator+=(const SumOfSquares& other) noexcept {
    units = other.units > most - units ? most : units + other.units;
    return *this;
  }
  TESSERA_HOST_DEVICE void add(double value) noexcept {
    const double in_units = value * value * 0x1p20;
    *this += SumOfSquares{in_units < 0x1p63 ? static_cast<std::int64_t>(in_units) : most};
  }
  /// Of n elements with mean square 1.
  [[nodiscard]] static SumOfSquares of_mean_one(std::int64_t n) noexcept { return {n << 20}; }
  [[nodiscard]] TESSERA_HOST_DEVICE double mean(std::int64_t n) const noexcept {
    if (units == most) return INFINITY;
    return static_cast<double>(units) * 0x1p-20 / static_cast<double>(n);
  }
};

/// Uniform in [-√3, √3): mean square 1.
template <class T>
struct PowerStart {
  using Sums = NoSum;
  T* x;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, NoSum& /*sum*/) const {
    const double unit = static_cast<double>(mis_key(static_cast<std::uint32_t>(i), 0x5bd1U)) / (1 << 29) - 1.0;
    x[i] = static_cast<T>(unit * 1.7320508075688772);
  }
};

/// y = D⁻¹ A x / ‖x‖, in the sense of mean squares.
template <class T>
struct PowerStep {
  struct Sums {
    T value{};
    TESSERA_HOST_DEVICE Sums& operator+=(const Sums& other) noexcept {
      value += other.value;
      return *this;
    }
  };
  using Total = SumOfSquares;
  CsrPointers<T> a;
  const T* diagonal;
  const T* x;
  const SumOfSquares* x_squares;  ///< null: known_squares
  SumOfSquares known_squares;
  std::int64_t n;
  T* y;
  RowRange counted;  ///< rows of the total

  [[nodiscard]] TESSERA_HOST_DEVICE const offset_t* offsets() const { return a.offsets; }
  [[nodiscard]] TESSERA_HOST_DEVICE bool visits(index_t /*row*/) const { return true; }
  TESSERA_HOST_DEVICE void visit(index_t /*row*/, offset_t k, Sums& sums) const {
    sums.value += fused::rounded_product(value_at(a, k), x[a.columns[k]]);
  }
  TESSERA_HOST_DEVICE void finish(index_t row, const Sums& sums, SumOfSquares& total) const {
    const double mean = x_squares == nullptr ? known_squares.mean(n) : x_squares->mean(n);
    const T d = diagonal[row];
    const T scaled = d > T{0} && mean > 0.0 ? sums.value / d * static_cast<T>(1.0 / std::sqrt(mean)) : T{0};
    y[row] = scaled;
    if (counted.contains(row)) total.add(static_cast<double>(scaled));
  }
};

/// The power method on matrices of one size. A later matrix begins with the vector that the one before ended with: A
/// and its strong part have nearly the same dominant eigenvectors.
template <class T>
class PowerMethod {
 public:
  PowerMethod(const Device& device, index_t rows);

  /// An estimate of ρ(D⁻¹ A) from below: ‖D⁻¹ A x‖ / ‖x‖ after `steps` >= 1 steps. O(steps nnz); waits. Collective, if
  /// shared \param entries of `a`, over all ranks
  [[nodiscard]] double estimate(const CsrView<T>& a, const LevelRows& rows, offset_t entries, const T* diagonal,
                                int steps);
  /// Whether estimate() was called.
  [[nodiscard]] bool is_warm() const noexcept { return is_warm_; }

 private:
  [[nodiscard]] SumOfSquares fetched(const SumOfSquares* squares) const;

  Device device_;
  bool is_warm_ = false;
  int steps_left_ = LevelRows::steps_of_exchange;  ///< before an exchange
  Array<T> x_;
  Array<T> y_;
  Array<SumOfSquares> squares_;  ///< of x and of y; where ranks share rows, those of a rank
  SumOfSquares known_;           ///< of x, over all ranks or at the start
};

}  // namespace tessera::detail
