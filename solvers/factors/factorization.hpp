/// \file
/// Incomplete factorizations on the host, in double, of a matrix that is prepared: scaled and permuted.
#pragma once

#include "core/interruption.hpp"
#include "tessera/incomplete_factors.hpp"
#include "tessera/types.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tessera::detail {

/// A square matrix while it is factorized: CSR that grows row by row.
struct FactorRows {
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  std::vector<double> values;

  [[nodiscard]] index_t rows() const noexcept { return static_cast<index_t>(offsets.size() - 1); }
  [[nodiscard]] offset_t nnz() const noexcept { return static_cast<offset_t>(columns.size()); }
  [[nodiscard]] std::size_t begin(index_t i) const noexcept {
    return static_cast<std::size_t>(offsets[static_cast<std::size_t>(i)]);
  }
  [[nodiscard]] std::size_t end(index_t i) const noexcept {
    return static_cast<std::size_t>(offsets[static_cast<std::size_t>(i) + 1]);
  }
  void add(index_t column, double value) {
    columns.push_back(column);
    values.push_back(value);
  }
  void end_row() { offsets.push_back(nnz()); }
};

/// L U ≈ Â Q, or L Lᵀ ≈ Â.
struct Factorization {
  FactorRows lower;  ///< strictly lower part
  FactorRows upper;  ///< strictly upper part: of U, or of Lᵀ
  /// Diagonal of U, or of L. That of L in L U is 1.
  std::vector<double> diagonal;
  std::vector<index_t> column_order;  ///< Q: column k of Â Q is column column_order[k] of Â; empty: the identity
  index_t zero_pivots = 0;
  double shift = 0.0;
  bool is_symmetric = false;  ///< L Lᵀ

  /// Of both factors; the diagonal counts once.
  [[nodiscard]] offset_t entries() const noexcept {
    return lower.nnz() + upper.nnz() + static_cast<offset_t>(diagonal.size());
  }
};

/// Limits of a factorization. A limit of time holds while this lives.
class FactorBudget {
 public:
  /// \param entries of the matrix
  FactorBudget(const IncompleteFactorOptions& options, index_t rows, offset_t entries);

  /// Call after every row; an interruption point. \param entries of the factors so far \param steps that the row took
  /// \throws BudgetExceeded
  void check(index_t row, offset_t entries, std::int64_t steps = 1) const {
    if (entries > most_entries_) refuse_entries(row, entries);
    interruption_point(steps);
  }

  /// Asks at once, while check() asks from time to time. \throws BudgetExceeded
  void check_time() const;

 private:
  [[noreturn]] void refuse_entries(index_t row, offset_t entries) const;

  FactorKind kind_;
  double fill_limit_;
  double seconds_;
  index_t all_rows_;
  offset_t matrix_entries_;
  offset_t most_entries_;
  InterruptionScope limit_;
};

}  // namespace tessera::detail

namespace tessera::host {

/// All take Â with ascending columns and finite values. Pivots that vanish are replaced (pivot.hpp) and counted.

/// ILU(k): the pattern of levels up to k, then L U on it. Diagonal entries that are not stored are added. Rows that do
/// not depend on each other are computed by the threads of `device`. \param level k; 0: ILU(0)
[[nodiscard]] detail::Factorization ilu_on_pattern(const detail::FactorRows& a, int level,
                                                   const detail::FactorBudget& budget, const Device& device);

struct ThresholdOptions {
  double drop_tolerance;
  std::int64_t max_row_entries;
  double pivot_tolerance;  ///< 0: no pivoting
  /// An order of columns that is kept, as Factorization::column_order; empty: their own, and exchanges where the pivot
  /// tolerance asks for them. Not both.
  std::span<const index_t> column_order = {};
};

/// ILUT(τ, p) and, with pivoting, ILUTP: multipliers and entries of row i of at most τ ‖â_i‖₂ are dropped, then the p
/// largest of L and the p largest of U off the diagonal are kept; equal ones in the order of their columns.
[[nodiscard]] detail::Factorization ilut(const detail::FactorRows& a, const ThresholdOptions& options,
                                         const detail::FactorBudget& budget);

/// Shifts α: the factors are those of Â + α diag(Â).
struct ShiftOptions {
  double smallest;
  double largest;
};

/// The shift after one that did not suffice: 0, then the smallest, which doubles. \param where names a bad pivot
/// \throws InvalidMatrix where it exceeds the largest
[[nodiscard]] double next_shift(double shift, const ShiftOptions& shifts, const std::string& where);

/// IC(0) of a symmetric Â, of which the lower triangle is read.
/// \throws InvalidMatrix naming a row whose diagonal entry is missing or not positive, and where the largest shift is
/// too small
[[nodiscard]] detail::Factorization ic0(const detail::FactorRows& a, const ShiftOptions& shifts,
                                        const detail::FactorBudget& budget, const Device& device);

/// ICT(τ, p) of a symmetric Â, of which the upper triangle is read: entries of column j of L of at most τ ‖â_j‖₂ are
/// dropped, then the p largest off the diagonal are kept. Throws as ic0().
[[nodiscard]] detail::Factorization ict(const detail::FactorRows& a, double drop_tolerance,
                                        std::int64_t max_row_entries, const ShiftOptions& shifts,
                                        const detail::FactorBudget& budget);

/// ‖(L U)⁻¹ e‖∞, e = ones.
[[nodiscard]] double condition_estimate(const detail::Factorization& factors);

}  // namespace tessera::host
