/// \file
/// The polynomial p(D⁻¹ A) D⁻¹ as a sparse matrix, by the recurrence of polynomial.hpp with matrices in place of z and
/// I in place of r: one sparse product A X per step, after which small entries are dropped.
///
/// For a symmetric A every step takes the mean of D⁻¹ A X and its transpose: once entries were dropped, X no longer
/// commutes with A, so the product alone would not be symmetric. An entry whose mirror image the product does not have
/// is dropped. All operations on (i, j) and (j, i) are the same, so X is symmetric bit by bit.
#pragma once

#include "core/csr_pointers.hpp"
#include "core/partition_point.hpp"
#include "solvers/amg/row_ops.hpp"
#include "solvers/fused/ops.hpp"
#include "solvers/fused/preconditioner.hpp"
#include "solvers/polynomial.hpp"
#include "tessera/csr.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

namespace tessera::detail {

/// The factor of a step, B = (1 + α) I - β D⁻¹ A, at the positions of A.
template <class T>
struct ExplicitFactor {
  using Sums = NoSum;
  using Total = NoSum;
  CsrPointers<T> a;
  const T* inverse;
  T alpha;
  T beta;
  T* values;

  [[nodiscard]] TESSERA_HOST_DEVICE const offset_t* offsets() const { return a.offsets; }
  [[nodiscard]] TESSERA_HOST_DEVICE bool visits(index_t /*row*/) const { return true; }
  TESSERA_HOST_DEVICE void visit(index_t row, offset_t k, Sums& /*sums*/) const {
    const T scaled = fused::rounded_product(beta, fused::rounded_product(inverse[row], value_at(a, k)));
    values[k] = (a.columns[k] == row ? T{1} + alpha : T{0}) - scaled;
  }
  TESSERA_HOST_DEVICE void finish(index_t /*row*/, const Sums& /*sums*/, NoSum& /*total*/) const {}
};

/// X_(k+1) = B X_k - α X_(k-1) + β D⁻¹ at the positions of B X_k.
template <class T>
struct ExplicitStep {
  using Sums = NoSum;
  using Total = NoSum;

  CsrPointers<T> product;   ///< B X_k
  CsrPointers<T> mirrored;  ///< its transpose; offsets null: A is not symmetric
  CsrPointers<T> before;    ///< X_(k-1); offsets null: 0, or α is
  const T* inverse;
  T alpha;
  T beta;
  T* values;  ///< 0 where a mirror image is missing

  /// Position of (row, column) in the transpose, where k is that in the product: the same where the patterns of the row
  /// are.
  [[nodiscard]] TESSERA_HOST_DEVICE offset_t mirror_position(index_t row, offset_t k, index_t column) const {
    const offset_t guess = mirrored.offsets[row] + (k - product.offsets[row]);
    if (guess < mirrored.offsets[row + 1] && mirrored.columns[guess] == column) return guess;
    return position_of(mirrored, row, column);
  }
  [[nodiscard]] TESSERA_HOST_DEVICE const offset_t* offsets() const { return product.offsets; }
  [[nodiscard]] TESSERA_HOST_DEVICE bool visits(index_t /*row*/) const { return true; }
  TESSERA_HOST_DEVICE void visit(index_t row, offset_t k, Sums& /*sums*/) const {
    const index_t column = product.columns[k];
    T value = product.values[k];
    if (column == row) {
      value += fused::rounded_product(beta, inverse[row]);
    } else if (mirrored.offsets != nullptr) {
      const offset_t mirror = mirror_position(row, k, column);
      value = mirror < 0 ? T{0} : fused::rounded_product(T{0.5}, value + mirrored.values[mirror]);
    }
    if (before.offsets != nullptr && value != T{0}) {
      const offset_t earlier = position_of(before, row, column);
      if (earlier >= 0) value -= fused::rounded_product(alpha, before.values[earlier]);
    }
    values[k] = value;
  }
  TESSERA_HOST_DEVICE void finish(index_t /*row*/, const Sums& /*sums*/, NoSum& /*total*/) const {}
};

/// s_i = |x_ii|^½
template <class T>
struct ExplicitRoots {
  using Sums = NoSum;
  CsrPointers<T> x;
  double* roots;
  TESSERA_HOST_DEVICE void operator()(std::int64_t row, NoSum& /*sum*/) const {
    const offset_t k = diagonal_position(x, row);
    roots[row] = k < 0 ? 0.0 : std::sqrt(std::abs(static_cast<double>(x.values[k])));
  }
};

/// Which entries of X stay. Symmetric in i and j bit by bit where X is, and with it the limit on rows.
template <class T>
struct ExplicitKeepRule {
  CsrPointers<T> x;
  const double* roots;
  double tolerance;
  const float* limits;  ///< per row: only larger relative magnitudes stay; null: there is no limit
  bool is_symmetric;

  /// |x_ij| / (|x_ii| |x_jj|)^½
  [[nodiscard]] TESSERA_HOST_DEVICE float relative(index_t row, offset_t k) const {
    return static_cast<float>(std::abs(static_cast<double>(x.values[k])) / (roots[row] * roots[x.columns[k]]));
  }
  [[nodiscard]] TESSERA_HOST_DEVICE bool keeps(index_t row, offset_t k) const {
    const index_t column = x.columns[k];
    if (column == row) return true;
    const double magnitude = std::abs(static_cast<double>(x.values[k]));
    if (magnitude == 0.0 || magnitude < tolerance * (roots[row] * roots[column])) return false;
    if (limits == nullptr) return true;
    const float size = relative(row, k);
    return size > limits[row] && (!is_symmetric || size > limits[column]);
  }
};

/// The limit of a row: the least number that at most `most` off-diagonal entries exceed, in relative magnitude. Found
/// bit by bit: the bits of floats that are not negative are ordered as the floats.
template <class T>
struct ExplicitRowLimits {
  using Sums = NoSum;
  ExplicitKeepRule<T> rule;
  std::int64_t most;
  float* limits;

  [[nodiscard]] TESSERA_HOST_DEVICE static float of_bits(std::uint32_t bits) {
    float value = 0.0F;
    memcpy(&value, &bits, sizeof(value));
    return value;
  }
  [[nodiscard]] TESSERA_HOST_DEVICE std::int64_t larger(index_t row, float limit) const {
    std::int64_t count = 0;
    for (offset_t k = rule.x.offsets[row]; k < rule.x.offsets[row + 1]; ++k) {
      if (rule.x.columns[k] != row && rule.relative(row, k) > limit) ++count;
    }
    return count;
  }
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, NoSum& /*sum*/) const {
    constexpr std::uint32_t infinity = 0x7f800000U;
    const auto row = static_cast<index_t>(i);
    const bool keeps_all = rule.x.offsets[row + 1] - rule.x.offsets[row] <= most || larger(row, 0.0F) <= most;
    limits[row] = of_bits(partition_point(std::uint32_t{0}, keeps_all ? 0 : infinity,
                                          [&](std::uint32_t bits) { return larger(row, of_bits(bits)) > most; }));
  }
};

/// Counts the entries of a row that stay.
template <class T>
struct CountExplicit {
  struct Sums {
    offset_t count = 0;
    TESSERA_HOST_DEVICE Sums& operator+=(const Sums& other) noexcept {
      count += other.count;
      return *this;
    }
  };
  using Total = NoSum;
  ExplicitKeepRule<T> rule;
  offset_t* counts;

  [[nodiscard]] TESSERA_HOST_DEVICE const offset_t* offsets() const { return rule.x.offsets; }
  [[nodiscard]] TESSERA_HOST_DEVICE bool visits(index_t /*row*/) const { return true; }
  TESSERA_HOST_DEVICE void visit(index_t row, offset_t k, Sums& sums) const {
    sums.count += rule.keeps(row, k) ? 1 : 0;
  }
  TESSERA_HOST_DEVICE void finish(index_t row, const Sums& sums, NoSum& /*total*/) const { counts[row] = sums.count; }
};

/// Copies the entries of a row that stay.
template <class T>
struct CopyExplicit {
  using Sums = NoSum;
  ExplicitKeepRule<T> rule;
  const offset_t* offsets;  ///< of the rows that stay
  index_t* columns;
  T* values;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, NoSum& /*sum*/) const {
    const auto row = static_cast<index_t>(i);
    offset_t to = offsets[row];
    for (offset_t k = rule.x.offsets[row]; k < rule.x.offsets[row + 1]; ++k) {
      if (!rule.keeps(row, k)) continue;
      columns[to] = rule.x.columns[k];
      values[to++] = rule.x.values[k];
    }
  }
};

/// X_1 = β D⁻¹ as a matrix.
template <class T>
struct ExplicitStart {
  using Sums = NoSum;
  T beta;
  const T* inverse;
  std::int64_t rows;
  offset_t* offsets;
  index_t* columns;
  T* values;
  TESSERA_HOST_DEVICE void operator()(std::int64_t row, NoSum& /*sum*/) const {
    offsets[row] = row;
    if (row + 1 == rows) offsets[rows] = rows;
    columns[row] = static_cast<index_t>(row);
    values[row] = fused::rounded_product(beta, inverse[row]);
  }
};

template <class T>
using ExplicitPolynomialOps = fused::OpList<ExplicitStart<T>, ExplicitRoots<T>, ExplicitRowLimits<T>, CopyExplicit<T>>;

/// \param info receives products_ms and drop_ms
/// \throws OutOfMemory with the bytes of the product that does not fit
template <class T>
[[nodiscard]] Csr<T> explicit_polynomial(const Device& device, const CsrView<T>& a, const DiagonalSpectrum<T>& spectrum,
                                         const std::vector<PolynomialStepWeights>& weights,
                                         const PolynomialOptions& options, PolynomialInfo& info);

}  // namespace tessera::detail
