/// \file
/// Random vectors that probe the cycle and the symmetry of a matrix.
#pragma once

#include "solvers/amg/aggregation.hpp"
#include "solvers/amg/row_ops.hpp"
#include "solvers/fused/ops.hpp"

#include <cmath>
#include <cstdint>

namespace tessera::detail {

/// Element i of a random vector, uniform in [-1, 1).
[[nodiscard]] TESSERA_HOST_DEVICE inline double probe_element(std::int64_t i, std::uint32_t vector) noexcept {
  return static_cast<double>(mis_key(static_cast<std::uint32_t>(i), vector)) / (1 << 29) - 1.0;
}

/// x: rows of a random vector, from `first` on.
template <class T>
struct ProbeVector {
  using Sums = NoSum;
  T* x;
  std::int64_t first = 0;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, NoSum& /*sum*/) const {
    x[i] = static_cast<T>(probe_element(first + i, 0x1001U));
  }
};

/// \param product <M u, u> for a random u \throws InvalidMatrix where it is not finite, or not positive though M is
/// symmetric
void require_sound_cycle(double product, bool is_symmetric);

struct AsymmetrySums {
  double difference = 0.0;  ///< <A u, v> - <u, A v>
  double squares = 0.0;     ///< of its terms
  TESSERA_HOST_DEVICE AsymmetrySums& operator+=(const AsymmetrySums& other) noexcept {
    difference += other.difference;
    squares += other.squares;
    return *this;
  }
  /// Whether the difference is no more than rounding. \param epsilon of the element type
  [[nodiscard]] bool is_rounding(double epsilon) const {
    return std::abs(difference) <= 1e4 * epsilon * std::sqrt(squares);
  }
};

/// How far <A u, v> is from <u, A v> for two random vectors.
template <class T>
struct AsymmetryProbe {
  struct Sums {
    double au = 0.0;
    double av = 0.0;
    TESSERA_HOST_DEVICE Sums& operator+=(const Sums& other) noexcept {
      au += other.au;
      av += other.av;
      return *this;
    }
  };
  using Total = AsymmetrySums;
  CsrPointers<T> a;

  [[nodiscard]] TESSERA_HOST_DEVICE const offset_t* offsets() const { return a.offsets; }
  [[nodiscard]] TESSERA_HOST_DEVICE bool visits(index_t /*row*/) const { return true; }
  TESSERA_HOST_DEVICE void visit(index_t /*row*/, offset_t k, Sums& sums) const {
    const auto value = static_cast<double>(value_at(a, k));
    sums.au += value * probe_element(a.columns[k], 0x1001U);
    sums.av += value * probe_element(a.columns[k], 0x2002U);
  }
  TESSERA_HOST_DEVICE void finish(index_t row, const Sums& sums, AsymmetrySums& total) const {
    const double one = sums.au * probe_element(row, 0x2002U);
    const double other = sums.av * probe_element(row, 0x1001U);
    total += AsymmetrySums{one - other, one * one + other * other};
  }
};

}  // namespace tessera::detail
