/// IC(0) by rows and ICT(τ, p) by columns, with shifts of the diagonal (T. A. Manteuffel, "An incomplete factorization
/// technique for positive definite linear systems", Math. Comput. 34(150), 1980; C.-J. Lin, J. J. Moré, "Incomplete
/// Cholesky factorizations with limited memory", SIAM J. Sci. Comput. 21(1), 1999).
#include "core/detail_namespace.hpp"
#include "solvers/factors/factorization.hpp"
#include "solvers/factors/kept_entries.hpp"
#include "solvers/factors/level_schedule.hpp"
#include "solvers/factors/pivot.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <utility>

namespace tessera::host {

namespace {

/// Row whose pivot was not positive; -1: none.
constexpr index_t none = -1;

/// attempt(α) returns the row of the first bad pivot. \returns the shift that was needed
template <class Attempt>
double with_shifts(const ShiftOptions& shifts, const Attempt& attempt) {
  for (double shift = 0.0;;) {
    const index_t row = attempt(shift);
    if (row == none) return shift;
    shift = next_shift(shift, shifts, fmt::format("the pivot of row {} of the ordered matrix", row + 1));
  }
}

/// \throws InvalidMatrix
std::vector<double> positive_diagonal(const FactorRows& a) {
  std::vector<double> diagonal(static_cast<std::size_t>(a.rows()));
  for (index_t i = 0; i < a.rows(); ++i) {
    const auto begin = a.columns.begin() + static_cast<std::ptrdiff_t>(a.begin(i));
    const auto end = a.columns.begin() + static_cast<std::ptrdiff_t>(a.end(i));
    const auto found = std::lower_bound(begin, end, i);
    const double value =
        found != end && *found == i ? a.values[static_cast<std::size_t>(found - a.columns.begin())] : 0.0;
    if (!(value > 0.0)) {
      throw InvalidMatrix(fmt::format(
          "incomplete Cholesky needs a positive diagonal: row {} of the ordered matrix has {}", i + 1, value));
    }
    diagonal[static_cast<std::size_t>(i)] = value;
  }
  return diagonal;
}

/// The strictly lower triangle.
FactorRows lower_triangle(const FactorRows& a) {
  FactorRows lower;
  lower.offsets.reserve(a.offsets.size());
  for (index_t i = 0; i < a.rows(); ++i) {
    for (std::size_t k = a.begin(i); k < a.end(i) && a.columns[k] < i; ++k) lower.add(a.columns[k], a.values[k]);
    lower.end_row();
  }
  return lower;
}

/// The transpose of a triangle.
FactorRows transposed(const FactorRows& triangle) {
  FactorRows result;
  result.offsets.assign(triangle.offsets.size(), 0);
  for (const index_t j : triangle.columns) ++result.offsets[static_cast<std::size_t>(j) + 1];
  for (std::size_t i = 1; i < result.offsets.size(); ++i) result.offsets[i] += result.offsets[i - 1];
  result.columns.resize(triangle.columns.size());
  result.values.resize(triangle.values.size());
  std::vector<offset_t> next(result.offsets.begin(), result.offsets.end() - 1);
  for (index_t i = 0; i < triangle.rows(); ++i) {
    for (std::size_t k = triangle.begin(i); k < triangle.end(i); ++k) {
      const auto to = static_cast<std::size_t>(next[static_cast<std::size_t>(triangle.columns[k])]++);
      result.columns[to] = i;
      result.values[to] = triangle.values[k];
    }
  }
  return result;
}

/// L on the pattern of the lower triangle of A: l_ij = (a_ij - Σ_k l_ik l_jk) / l_jj.
class CholeskyOnPattern {
 public:
  CholeskyOnPattern(const FactorRows& a, const std::vector<double>& a_diagonal, double shift, FactorRows& lower,
                    std::vector<double>& diagonal)
      : a_(&a),
        a_diagonal_(&a_diagonal),
        shift_(shift),
        lower_(&lower),
        diagonal_(&diagonal),
        row_(static_cast<std::size_t>(a.rows())) {}

  /// \returns whether the pivot was good; a bad one becomes 1
  bool eliminate(index_t i) {
    const std::size_t begin = lower_->begin(i);
    const std::size_t end = lower_->end(i);
    const index_t* const columns = lower_->columns.data();
    double* const values = lower_->values.data();
    double* const row = row_.data();
    const std::size_t shared = a_->begin(i);  // A's row begins with that of its lower triangle
    const double enlarged = (*a_diagonal_)[static_cast<std::size_t>(i)] * (1.0 + shift_);
    double pivot = enlarged;
    for (std::size_t k = begin; k < end; ++k) {
      const index_t j = columns[k];
      double sum = a_->values[shared + (k - begin)];
      for (std::size_t m = lower_->begin(j); m < lower_->end(j); ++m) {
        sum -= values[m] * row[static_cast<std::size_t>(columns[m])];
      }
      const double entry = sum / (*diagonal_)[static_cast<std::size_t>(j)];
      values[k] = entry;
      row[static_cast<std::size_t>(j)] = entry;
      pivot -= entry * entry;
    }
    for (std::size_t k = begin; k < end; ++k) row[static_cast<std::size_t>(columns[k])] = 0.0;
    const bool is_good = is_good_pivot(pivot, enlarged);
    (*diagonal_)[static_cast<std::size_t>(i)] = is_good ? std::sqrt(pivot) : 1.0;
    return is_good;
  }

 private:
  const FactorRows* a_;
  const std::vector<double>* a_diagonal_;
  double shift_;
  FactorRows* lower_;
  std::vector<double>* diagonal_;
  std::vector<double> row_;  ///< the current one, by column
};

/// The first bad row is the same for any number of threads: rows after a bad one do not make a row before it bad.
template <class MakeRows>
index_t eliminate_by_levels(const LevelSchedule& schedule, const Device& device, const MakeRows& make_rows) {
  constexpr index_t beyond = std::numeric_limits<index_t>::max();
  std::atomic<index_t> first{beyond};
  for_each_level_with(schedule, device, [&] {
    return [&, rows = make_rows()](index_t i) mutable {
      if (rows.eliminate(i)) return;
      index_t seen = first.load(std::memory_order_relaxed);
      while (i < seen && !first.compare_exchange_weak(seen, i, std::memory_order_relaxed)) {
      }
    };
  });
  return first == beyond ? none : first.load();
}

/// Columns of L that have entries left, by the row of the first of them: linked lists, since a column is in one at a
/// time.
class WaitingColumns {
 public:
  explicit WaitingColumns(index_t n) : head_(static_cast<std::size_t>(n), none), next_(static_cast<std::size_t>(n)) {}

  void link(index_t column, index_t row) {
    next_[static_cast<std::size_t>(column)] = head_[static_cast<std::size_t>(row)];
    head_[static_cast<std::size_t>(row)] = column;
  }
  [[nodiscard]] index_t first(index_t row) const { return head_[static_cast<std::size_t>(row)]; }
  [[nodiscard]] index_t next(index_t column) const { return next_[static_cast<std::size_t>(column)]; }

 private:
  std::vector<index_t> head_;
  std::vector<index_t> next_;
};

/// Columns of L, which are rows of Lᵀ, from the left: each takes its share of those before it that reach it.
class CholeskyByColumns {
 public:
  CholeskyByColumns(const FactorRows& a, double drop_tolerance, std::int64_t max_entries, double shift)
      : a_(&a),
        drop_tolerance_(drop_tolerance),
        max_entries_(max_entries),
        shift_(shift),
        columns_(a.rows()),
        at_(static_cast<std::size_t>(a.rows())),
        work_(static_cast<std::size_t>(a.rows())),
        is_stored_(static_cast<std::size_t>(a.rows())) {
    upper_.offsets.reserve(a.offsets.size());
    diagonal_.reserve(static_cast<std::size_t>(a.rows()));
  }

  /// \returns whether the pivot was good; else the columns end here
  bool add_column(index_t j, double a_diagonal) {
    const double norm = load(j);
    const double enlarged = a_diagonal * (1.0 + shift_);
    double pivot = enlarged;
    for (index_t k = columns_.first(j); k != none;) {
      const index_t following = columns_.next(k);
      pivot -= subtract_column(k);
      k = following;
    }
    const bool is_good = is_good_pivot(pivot, enlarged);
    if (is_good) store(j, std::sqrt(pivot), norm, enlarged);
    for (const index_t i : rows_) is_stored_[static_cast<std::size_t>(i)] = 0;
    rows_.clear();
    return is_good;
  }

  [[nodiscard]] offset_t entries() const { return 2 * upper_.nnz() + static_cast<offset_t>(diagonal_.size()); }
  FactorRows upper_;
  std::vector<double> diagonal_;

 private:
  /// Column j of A below the diagonal, by its row. \returns the norm of the whole
  double load(index_t j) {
    double squares = 0.0;
    for (std::size_t k = a_->begin(j); k < a_->end(j); ++k) {
      squares += a_->values[k] * a_->values[k];
      if (a_->columns[k] > j) add(a_->columns[k], a_->values[k]);
    }
    return std::sqrt(squares);
  }

  void add(index_t i, double value) {
    const auto at = static_cast<std::size_t>(i);
    if (is_stored_[at]) {
      work_[at] += value;
      return;
    }
    is_stored_[at] = 1;
    work_[at] = value;
    rows_.push_back(i);
  }

  /// Of column k, whose first entry left is that of the current row. \returns the square of that entry
  double subtract_column(index_t k) {
    const std::size_t first = at_[static_cast<std::size_t>(k)]++;
    const double factor = upper_.values[first];
    const std::size_t end = upper_.end(k);
    detail::interruption_point(static_cast<std::int64_t>(end - first));
    for (std::size_t m = first + 1; m < end; ++m) add(upper_.columns[m], -factor * upper_.values[m]);
    if (first + 1 < end) columns_.link(k, upper_.columns[first + 1]);
    return factor * factor;
  }

  /// Entries of L below τ ‖a_j‖ / √a_jj are dropped: both have the units of L.
  void store(index_t j, double root, double norm, double enlarged) {
    const double threshold = drop_tolerance_ * norm / std::sqrt(enlarged);
    for (const index_t i : rows_) {
      const double value = work_[static_cast<std::size_t>(i)] / root;
      if (!(std::abs(value) <= threshold)) kept_.push_back({i, value});
    }
    keep_largest(kept_, max_entries_);
    append_row(kept_, upper_);
    diagonal_.push_back(root);
    at_[static_cast<std::size_t>(j)] = upper_.begin(j);
    if (upper_.begin(j) < upper_.end(j)) columns_.link(j, upper_.columns[upper_.begin(j)]);
  }

  const FactorRows* a_;
  double drop_tolerance_;
  std::int64_t max_entries_;
  double shift_;
  WaitingColumns columns_;
  std::vector<std::size_t> at_;  ///< by column of L: its first entry left
  // The current column.
  std::vector<double> work_;
  std::vector<unsigned char> is_stored_;
  std::vector<index_t> rows_;
  std::vector<KeptEntry> kept_;
};

}  // namespace

double next_shift(double shift, const ShiftOptions& shifts, const std::string& where) {
  const double next = shift == 0.0 ? shifts.smallest : 2.0 * shift;
  if (next <= shifts.largest) return next;
  throw InvalidMatrix(
      fmt::format("incomplete Cholesky: with the diagonal enlarged by {:.3g} of itself {} is still not positive, and "
                  "the largest shift is {:.3g}: the matrix is not positive definite, or far from diagonally dominant",
                  shift, where, shifts.largest));
}

Factorization ic0(const FactorRows& a, const ShiftOptions& shifts, const FactorBudget& budget, const Device& device) {
  const std::vector<double> a_diagonal = positive_diagonal(a);
  FactorRows lower = lower_triangle(a);
  Factorization factors;
  factors.is_symmetric = true;
  factors.diagonal.resize(a_diagonal.size());
  budget.check(a.rows(), 2 * lower.nnz() + a.rows());
  const LevelSchedule schedule =
      device.threads() > 1 ? level_schedule(lower.offsets, lower.columns, Triangle::lower) : LevelSchedule{};
  factors.shift = with_shifts(shifts, [&](double shift) {
    const auto make_rows = [&] { return CholeskyOnPattern(a, a_diagonal, shift, lower, factors.diagonal); };
    if (is_worth_threads(schedule, lower.nnz(), device)) return eliminate_by_levels(schedule, device, make_rows);
    CholeskyOnPattern rows = make_rows();
    for (index_t i = 0; i < a.rows(); ++i) {
      if (!rows.eliminate(i)) return i;
      budget.check(i, 0, lower.offsets[static_cast<std::size_t>(i) + 1] - lower.offsets[static_cast<std::size_t>(i)]);
    }
    return none;
  });
  factors.upper = transposed(lower);
  factors.lower = std::move(lower);
  return factors;
}

Factorization ict(const FactorRows& a, double drop_tolerance, std::int64_t max_row_entries, const ShiftOptions& shifts,
                  const FactorBudget& budget) {
  const std::vector<double> a_diagonal = positive_diagonal(a);
  Factorization factors;
  factors.is_symmetric = true;
  factors.shift = with_shifts(shifts, [&](double shift) {
    CholeskyByColumns columns(a, drop_tolerance, max_row_entries, shift);
    for (index_t j = 0; j < a.rows(); ++j) {
      if (!columns.add_column(j, a_diagonal[static_cast<std::size_t>(j)])) return j;
      budget.check(j, columns.entries());
    }
    factors.upper = std::move(columns.upper_);
    factors.diagonal = std::move(columns.diagonal_);
    return none;
  });
  factors.lower = transposed(factors.upper);
  return factors;
}

}  // namespace tessera::host
