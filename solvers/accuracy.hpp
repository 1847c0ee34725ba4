/// \file
/// Row operation of backward errors and of the bound for strictly dominant rows: |b - A x|_i against (|A| |x| + |b|)_i,
/// ‖a_i‖₁ ‖x‖∞ + |b_i|, and |a_ii| - Σ |a_ij|.
#pragma once

#include "core/csr_pointers.hpp"
#include "core/power_of_two.hpp"
#include "core/sums.hpp"
#include "solvers/amg/row_ops.hpp"
#include "tessera/accuracy.hpp"

#include <cmath>
#include <cstdint>
#include <limits>

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
  Largest ratio;        ///< NaN where a row has NaN
  Largest rowwise;      ///< likewise
  Largest bound;        ///< infinity where a row is not strictly dominant
  Largest spread;       ///< |a_ii| over the smallest |a_ij|
  Largest wrong_signs;  ///< 1 where an a_ij / a_ii is positive or a_ii is 0
  TwoSums of_ones;      ///< Σ a_ij and Σ a_ii
  RangedSquares sizes;
  TESSERA_HOST_DEVICE BackwardErrorSums& operator+=(const BackwardErrorSums& other) noexcept {
    ratio += other.ratio;
    rowwise += other.rowwise;
    bound += other.bound;
    spread += other.spread;
    wrong_signs += other.wrong_signs;
    of_ones += other.of_ones;
    sizes += other.sizes;
    return *this;
  }
};

/// 1 or -1 by the bits of a row's number (splitmix64: G. L. Steele, D. Lea, C. H. Flood, OOPSLA 2014).
[[nodiscard]] TESSERA_HOST_DEVICE inline double noise_of_row(std::uint64_t row, std::uint64_t draw) noexcept {
  std::uint64_t bits = (row + 1 + (draw << 32U)) * 0x9e3779b97f4a7c15U;
  bits = (bits ^ (bits >> 30U)) * 0xbf58476d1ce4e5b9U;
  bits = (bits ^ (bits >> 27U)) * 0x94d049bb133111ebU;
  return (bits >> 63U) != 0 ? 1.0 : -1.0;
}

/// Sums in double for both element types.
template <class T>
struct BackwardErrorRow {
  static constexpr double infinity = std::numeric_limits<double>::infinity();
  static constexpr double rounding = std::numeric_limits<double>::epsilon();
  struct Sums {
    double product = 0.0;
    double size = 0.0;
    double diagonal = 0.0;
    double off_diagonal = 0.0;
    double off_sum = 0.0;
    double weakest = infinity;  ///< smallest |a_ij|
    double highest = -infinity;
    double lowest = infinity;
    TESSERA_HOST_DEVICE Sums& operator+=(const Sums& other) noexcept {
      product += other.product;
      size += other.size;
      diagonal += other.diagonal;
      off_diagonal += other.off_diagonal;
      off_sum += other.off_sum;
      weakest = weakest < other.weakest ? weakest : other.weakest;
      highest = highest > other.highest ? highest : other.highest;
      lowest = lowest < other.lowest ? lowest : other.lowest;
      return *this;
    }
  };
  using Total = BackwardErrorSums;
  CsrPointers<T> a;
  const T* b;
  const T* x;
  host::PowerOfTwo<double> scaled;  ///< of b and x
  bool is_scaled = false;
  double x_largest = 0.0;  ///< in scaled units
  T* noise = nullptr;      ///< |A| |x| + |b| in scaled units, times mean and noise_of_row(); may be null
  double mean = 0.0;
  std::uint64_t draw = 0;

  [[nodiscard]] TESSERA_HOST_DEVICE const offset_t* offsets() const { return a.offsets; }
  [[nodiscard]] TESSERA_HOST_DEVICE bool visits(index_t /*row*/) const { return true; }
  [[nodiscard]] TESSERA_HOST_DEVICE double in_units(T value) const {
    return is_scaled ? scaled(static_cast<double>(value)) : static_cast<double>(value);
  }
  /// The larger one of `most` and a quotient, which is divided where it is.
  TESSERA_HOST_DEVICE static void raise(Largest& most, double numerator, double denominator) noexcept {
    if (!(numerator <= most.value * denominator)) most += Largest{numerator / denominator};
  }
  TESSERA_HOST_DEVICE void visit(index_t row, offset_t k, Sums& sums) const {
    const auto value = static_cast<double>(value_at(a, k));
    const double term = value * in_units(x[a.columns[k]]);
    sums.product += term;
    sums.size += std::abs(term);
    if (a.columns[k] == row) {
      sums.diagonal += value;
      return;
    }
    sums.off_diagonal += std::abs(value);
    sums.off_sum += value;
    if (value == 0.0) return;
    sums.weakest = std::abs(value) < sums.weakest ? std::abs(value) : sums.weakest;
    sums.highest = value > sums.highest ? value : sums.highest;
    sums.lowest = value < sums.lowest ? value : sums.lowest;
  }
  TESSERA_HOST_DEVICE void finish(index_t row, const Sums& sums, BackwardErrorSums& total) const {
    const double right = in_units(b[row]);
    const double size = sums.size + std::abs(right);
    const double residual = std::abs(right - sums.product);
    total.sizes.add(size);
    if (size != 0.0) raise(total.ratio, residual, size);
    const double norm = std::abs(sums.diagonal) + sums.off_diagonal;
    const double most = norm * x_largest + std::abs(right);
    if (most != 0.0) raise(total.rowwise, residual, most);
    // Each sum has an error of at most so many roundings of the sum of magnitudes.
    const double roundings = (static_cast<double>(a.offsets[row + 1] - a.offsets[row]) + 4.0) * rounding;
    const double gap = std::abs(sums.diagonal) - sums.off_diagonal - roundings * norm;
    if (gap > 0.0) {
      raise(total.bound, residual + roundings * size, gap);
    } else {
      total.bound += Largest{infinity};
    }
    const bool has_sign = sums.diagonal > 0.0 ? sums.highest <= 0.0 : sums.diagonal < 0.0 && sums.lowest >= 0.0;
    if (has_sign && sums.weakest < infinity) raise(total.spread, std::abs(sums.diagonal), sums.weakest);
    if (!has_sign) total.wrong_signs += Largest{1.0};
    total.of_ones += TwoSums{sums.diagonal + sums.off_sum, sums.diagonal};
    if (noise != nullptr)
      noise[row] = static_cast<T>(size * (mean + noise_of_row(static_cast<std::uint64_t>(row), draw)));
  }
};

/// Results of one pass over the rows.
struct RowSurvey {
  BackwardError error;
  double spread = 0.0;       ///< largest |a_ii| / |a_ij|, over rows whose a_ij / a_ii <= 0
  bool is_l_matrix = false;  ///< all rows are such
  double ones_quotient =
      0.0;  ///< Σ a_ij / Σ a_ii: the Rayleigh quotient of constants in the pencil of A and its diagonal
};

/// Where to write |A| |x| + |b| times a mean and a random sign: a mean meets smooth vectors, signs meet rough ones.
template <class T>
struct RowNoise {
  std::span<T> values;  ///< rows elements on the device, or none
  double mean = 0.0;    ///< beside signs of 1
  std::uint64_t draw = 0;
};

/// \throws as backward_error()
template <class T>
[[nodiscard]] RowSurvey survey_rows(const CsrView<T>& matrix, std::span<const T> b, std::span<const T> x,
                                    const Device& device, const RowNoise<T>& noise = {});

/// Relative errors up to this one need no correction.
inline constexpr double good_error = 1e-6;

/// The larger one of ‖d‖₂ / ‖x‖₂ and ‖d‖∞ / ‖x‖∞.
struct RelativeError {
  double relative = std::numeric_limits<double>::infinity();
  bool is_of_largest_entry = false;
  bool is_finite = false;  ///< d and x are
};
template <class T>
[[nodiscard]] RelativeError error_size(const Device& device, std::span<const T> d, std::span<const T> x);

}  // namespace tessera::detail
