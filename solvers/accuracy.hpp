/// \file
/// Row operation of the backward error: |b - A x|_i against (|A| |x| + |b|)_i.
#pragma once

#include "core/csr_pointers.hpp"
#include "core/power_of_two.hpp"
#include "core/sums.hpp"
#include "solvers/amg/row_ops.hpp"

#include <cmath>
#include <cstdint>

namespace tessera::detail {

/// Sum of squares whose terms may overflow or underflow, in three ranges (J. L. Blue, "A portable Fortran program to
/// find the Euclidean norm of a vector", ACM Trans. Math. Softw. 4(1), 1978).
struct RangedSquares {
  double large = 0.0;  ///< in units of 2^1200
  double middle = 0.0;
  double small = 0.0;  ///< in units of 2^-1200

  /// \param value not negative
  TESSERA_HOST_DEVICE void add(double value) noexcept {
    if (value > 0x1p500) {
      large += (value * 0x1p-600) * (value * 0x1p-600);
    } else if (value < 0x1p-500) {
      small += (value * 0x1p600) * (value * 0x1p600);
    } else {
      middle += value * value;
    }
  }
  TESSERA_HOST_DEVICE RangedSquares& operator+=(const RangedSquares& other) noexcept {
    large += other.large;
    middle += other.middle;
    small += other.small;
    return *this;
  }
  /// The root of the sum.
  [[nodiscard]] double norm() const {
    if (large > 0.0) return std::sqrt(large + (middle * 0x1p-600) * 0x1p-600) * 0x1p600;
    if (middle != 0.0) return std::sqrt(middle + (small * 0x1p-600) * 0x1p-600);
    return std::sqrt(small) * 0x1p-600;
  }
};

/// Over all rows.
struct BackwardErrorSums {
  Largest ratio;  ///< NaN where a row has NaN
  RangedSquares sizes;
  TESSERA_HOST_DEVICE BackwardErrorSums& operator+=(const BackwardErrorSums& other) noexcept {
    ratio += other.ratio;
    sizes += other.sizes;
    return *this;
  }
};

/// Sums in double for both element types.
template <class T>
struct BackwardErrorRow {
  struct Sums {
    double product = 0.0;
    double size = 0.0;
    TESSERA_HOST_DEVICE Sums& operator+=(const Sums& other) noexcept {
      product += other.product;
      size += other.size;
      return *this;
    }
  };
  using Total = BackwardErrorSums;
  CsrPointers<T> a;
  const T* b;
  const T* x;
  host::PowerOfTwo<double> scaled;  ///< of b and x

  [[nodiscard]] TESSERA_HOST_DEVICE const offset_t* offsets() const { return a.offsets; }
  [[nodiscard]] TESSERA_HOST_DEVICE bool visits(index_t /*row*/) const { return true; }
  TESSERA_HOST_DEVICE void visit(index_t /*row*/, offset_t k, Sums& sums) const {
    const double term = static_cast<double>(value_at(a, k)) * scaled(static_cast<double>(x[a.columns[k]]));
    sums.product += term;
    sums.size += std::abs(term);
  }
  TESSERA_HOST_DEVICE void finish(index_t row, const Sums& sums, BackwardErrorSums& total) const {
    const double right = scaled(static_cast<double>(b[row]));
    const double size = sums.size + std::abs(right);
    total.sizes.add(size);
    if (size != 0.0) total.ratio += Largest{std::abs(right - sums.product) / size};
  }
};

}  // namespace tessera::detail
