/// \file
/// Strength of connection, relative to the largest entry of row and column, and the filtered matrix A_f: strong entries
/// alone, with the weak ones added to the diagonal. Also the smoother m_i, which needs the same sums of rows.
#pragma once

#include "core/csr_pointers.hpp"
#include "solvers/amg/level_rows.hpp"
#include "solvers/amg/row_ops.hpp"
#include "solvers/fused/preconditioner.hpp"
#include "tessera/amg.hpp"
#include "tessera/array.hpp"

#include <cmath>
#include <cstdint>

namespace tessera::detail {

/// What a pass over the rows of A finds out about all of them.
struct RowTotals {
  FirstIndex unfit;              ///< first row whose diagonal is missing or not positive, or which is not finite
  double gershgorin = 0;         ///< max_i Σ_j |a_ij| / a_ii: an upper bound of ρ(D⁻¹ A)
  std::int64_t longest = 0;      ///< entries of the longest row
  double least_row_sum = 1e308;  ///< min_i Σ_j a_ij / a_ii: how far D⁻¹ A is from mapping the constant to 0
  TESSERA_HOST_DEVICE RowTotals& operator+=(const RowTotals& other) noexcept {
    unfit += other.unfit;
    if (other.gershgorin > gershgorin) gershgorin = other.gershgorin;
    if (other.longest > longest) longest = other.longest;
    if (other.least_row_sum < least_row_sum) least_row_sum = other.least_row_sum;
    return *this;
  }
};

/// d_i = a_ii, largest off-diagonal |a_ij|, and the smoother m_i.
template <class T>
struct MeasureRows {
  struct Sums {
    T diagonal{}, largest{}, sum{}, absolute{}, squares{};
    TESSERA_HOST_DEVICE Sums& operator+=(const Sums& other) noexcept {
      diagonal += other.diagonal;
      if (other.largest > largest) largest = other.largest;
      sum += other.sum;
      absolute += other.absolute;
      squares += other.squares;
      return *this;
    }
  };
  using Total = RowTotals;

  CsrPointers<T> a;
  AmgSmoother kind;
  const T* rounding;  ///< per row: a diagonal up to this is 0 but for rounding; null: none is
  T* diagonal;        ///< a_ii; 0 where it is 0 but for rounding
  T* largest;
  T* smoother;  ///< 0 where the diagonal is

  [[nodiscard]] TESSERA_HOST_DEVICE const offset_t* offsets() const { return a.offsets; }
  [[nodiscard]] TESSERA_HOST_DEVICE bool visits(index_t /*row*/) const { return true; }
  TESSERA_HOST_DEVICE void visit(index_t row, offset_t k, Sums& sums) const {
    const T value = value_at(a, k);
    const T magnitude = std::abs(value);
    if (a.columns[k] == row) {
      sums.diagonal += value;
    } else if (magnitude > sums.largest) {
      sums.largest = magnitude;
    }
    sums.sum += value;
    sums.absolute += magnitude;
    sums.squares += fused::rounded_product(value, value);
  }
  TESSERA_HOST_DEVICE void finish(index_t row, const Sums& sums, RowTotals& total) const {
    const bool is_zero = rounding != nullptr && std::abs(sums.diagonal) <= rounding[row];
    const bool fit = sums.diagonal > T{0} && std::isfinite(sums.absolute) && std::isfinite(T{1} / sums.diagonal);
    if (!fit && !is_zero) total.unfit += FirstIndex{row};
    diagonal[row] = is_zero ? T{0} : sums.diagonal;
    largest[row] = sums.largest;
    smoother[row] = fit && !is_zero ? smoother_of(sums) : T{0};
    const double bound = fit && !is_zero ? static_cast<double>(sums.absolute / sums.diagonal) : 0.0;
    if (bound > total.gershgorin) total.gershgorin = bound;
    const double row_sum = fit && !is_zero ? static_cast<double>(sums.sum / sums.diagonal) : 0.0;
    if (row_sum < total.least_row_sum) total.least_row_sum = row_sum;
    const offset_t length = a.offsets[row + 1] - a.offsets[row];
    if (length > total.longest) total.longest = length;
  }
  [[nodiscard]] TESSERA_HOST_DEVICE T smoother_of(const Sums& sums) const {
    if (kind == AmgSmoother::l1_jacobi) return T{1} / sums.absolute;
    if (kind == AmgSmoother::spai0) return sums.diagonal / sums.squares;
    return T{1} / sums.diagonal;
  }
};

/// Whether entry k, a_ij with i ≠ j, is strong. The first set-up decides; after a refresh the decisions stay, where
/// they were kept.
template <class T>
struct Strength {
  T threshold;                        ///< θ
  const T* largest;                   ///< per row: max_{k≠i} |a_ik|
  std::uint8_t* decisions = nullptr;  ///< per entry of A; null: they are not kept
  bool decided = false;               ///< `decisions` are those of an earlier set-up

  [[nodiscard]] TESSERA_HOST_DEVICE bool decide(index_t i, index_t j, offset_t k, T value) const {
    if (decided) return decisions[k] != 0;
    const T least = largest[i] < largest[j] ? largest[i] : largest[j];
    return value != T{0} && std::abs(value) >= fused::rounded_product(threshold, least);
  }
};

struct StrongTotals {
  double gershgorin = 0;  ///< of A_f
  TESSERA_HOST_DEVICE StrongTotals& operator+=(const StrongTotals& other) noexcept {
    if (other.gershgorin > gershgorin) gershgorin = other.gershgorin;
    return *this;
  }
};

/// Counts the strong entries of a row, the diagonal among them, and forms the diagonal of A_f.
template <class T>
struct CountStrong {
  struct Sums {
    offset_t count = 0;
    T diagonal{}, strong{};
    TESSERA_HOST_DEVICE Sums& operator+=(const Sums& other) noexcept {
      count += other.count;
      diagonal += other.diagonal;
      strong += other.strong;
      return *this;
    }
  };
  using Total = StrongTotals;

  CsrPointers<T> a;
  Strength<T> strength;
  const T* diagonal;
  offset_t* counts;
  T* filtered_diagonal;

  [[nodiscard]] TESSERA_HOST_DEVICE const offset_t* offsets() const { return a.offsets; }
  [[nodiscard]] TESSERA_HOST_DEVICE bool visits(index_t /*row*/) const { return true; }
  TESSERA_HOST_DEVICE void visit(index_t row, offset_t k, Sums& sums) const {
    const T value = value_at(a, k);
    const index_t column = a.columns[k];
    const bool strong = column != row && strength.decide(row, column, k, value);
    if (strength.decisions != nullptr && !strength.decided) strength.decisions[k] = strong ? 1 : 0;
    if (strong) {
      ++sums.count;
      sums.strong += std::abs(value);
    } else {
      sums.diagonal += value;
      sums.count += column == row ? 1 : 0;
    }
  }
  TESSERA_HOST_DEVICE void finish(index_t row, const Sums& sums, StrongTotals& total) const {
    // Weak entries that nearly cancel the diagonal are dropped instead.
    const T least = fused::rounded_product(static_cast<T>(0.05), diagonal[row]);
    const T d = sums.diagonal > least ? sums.diagonal : diagonal[row];
    counts[row] = sums.count;
    filtered_diagonal[row] = d;
    const double bound = d > T{0} ? static_cast<double>((sums.strong + d) / d) : 0.0;
    if (bound > total.gershgorin) total.gershgorin = bound;
  }
};

/// Entries of A_f.
template <class T>
struct StrongRows {
  CsrPointers<T> a;
  Strength<T> strength;
  const T* filtered_diagonal;
  const offset_t* filtered_offsets;
  index_t* columns;  ///< null: values alone
  T* values;

  [[nodiscard]] TESSERA_HOST_DEVICE bool keeps(index_t row, offset_t k) const {
    const index_t column = a.columns[k];
    return column == row || strength.decide(row, column, k, value_at(a, k));
  }
  TESSERA_HOST_DEVICE void store(index_t row, offset_t k, offset_t at) const {
    if (columns != nullptr) columns[at] = a.columns[k];
    values[at] = a.columns[k] == row ? filtered_diagonal[row] : value_at(a, k);
  }
};

/// Bound of the rounding errors of the diagonal of R A P: a multiple of ε Σ_j r_ij² a_jj.
template <class T>
struct DiagonalRounding {
  struct Sums {
    T scale{};
    TESSERA_HOST_DEVICE Sums& operator+=(const Sums& other) noexcept {
      scale += other.scale;
      return *this;
    }
  };
  using Total = NoSum;
  CsrPointers<T> r;
  const T* diagonal;  ///< of A
  T* rounding;

  [[nodiscard]] TESSERA_HOST_DEVICE const offset_t* offsets() const { return r.offsets; }
  [[nodiscard]] TESSERA_HOST_DEVICE bool visits(index_t /*row*/) const { return true; }
  TESSERA_HOST_DEVICE void visit(index_t /*row*/, offset_t k, Sums& sums) const {
    const T value = r.values[k];
    sums.scale += fused::rounded_product(fused::rounded_product(value, value), diagonal[r.columns[k]]);
  }
  TESSERA_HOST_DEVICE void finish(index_t row, const Sums& sums, NoSum& /*total*/) const {
    const T relative = sizeof(T) == sizeof(double) ? static_cast<T>(1e-12) : static_cast<T>(1e-5);
    rounding[row] = sums.scale * relative;
  }
};

/// What the set-up of a level needs of the rows of A.
template <class T>
struct MeasuredRows {
  Array<T> diagonal;
  Array<T> largest;
  Array<T> smoother;
  RowTotals totals;
};

/// Of the rows that are held; totals are over all. O(nnz). Waits; collective, if shared. \param rounding as MeasureRows
template <class T>
[[nodiscard]] MeasuredRows<T> measure_rows(const Device& device, const CsrView<T>& a, const LevelRows& rows,
                                           AmgSmoother smoother, const T* rounding = nullptr);

/// A_f.
template <class T>
struct FilteredMatrix {
  Csr<T> matrix;  ///< the rows whose columns are held; empty where all entries of the level are strong: A_f is A
  bool is_all = false;
  Array<T> diagonal;
  double gershgorin = 0;  ///< of all rows, as nnz
  offset_t nnz = 0;
};

/// Decisions of a first set-up, kept for later ones.
template <class T>
struct KeptStrength {
  Array<std::uint8_t> decisions;  ///< per entry of A; empty: nothing is kept
  Csr<T> structure;               ///< of A_f, a pattern; empty where A_f is A
  bool is_all = false;            ///< A_f is A
  bool decided = false;           ///< a first set-up is over
};

/// O(nnz). Waits; collective, if shared. \param kept null: decisions are not kept; else the rows are not shared
template <class T>
[[nodiscard]] FilteredMatrix<T> filter(const Device& device, const CsrView<T>& a, const LevelRows& rows,
                                       const MeasuredRows<T>& measured, double threshold, KeptStrength<T>* kept);

}  // namespace tessera::detail

namespace tessera::host {
/// Fills the rows of A_f.
template <class T>
void fill_strong(const Device& device, const RowSet& rows, const detail::StrongRows<T>& strong);
}  // namespace tessera::host

namespace tessera::cuda {
template <class T>
void fill_strong(const Device& device, const RowSet& rows, const detail::StrongRows<T>& strong);
}  // namespace tessera::cuda
