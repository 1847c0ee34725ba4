/// ILU(0) and ILU(k): entries by level of fill, then elimination on that pattern (Y. Saad, Iterative Methods for Sparse
/// Linear Systems, 2nd ed., §10.3).
#include "core/detail_namespace.hpp"
#include "solvers/factors/factorization.hpp"
#include "solvers/factors/level_schedule.hpp"
#include "solvers/factors/pivot.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>

namespace tessera::host {

namespace {

/// Pattern of L + U, the diagonal included. Columns ascend.
struct FillPattern {
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  std::vector<offset_t> diagonals;  ///< positions

  void add(index_t row, index_t column) {
    if (column == row) diagonals.push_back(static_cast<offset_t>(columns.size()));
    columns.push_back(column);
  }
  void end_row() { offsets.push_back(static_cast<offset_t>(columns.size())); }
};

/// The pattern of A with its diagonal.
FillPattern pattern_of(const FactorRows& a, const FactorBudget& budget) {
  FillPattern pattern;
  pattern.offsets.reserve(a.offsets.size());
  pattern.columns.reserve(a.columns.size());
  for (index_t i = 0; i < a.rows(); ++i) {
    bool has_diagonal = false;
    for (std::size_t k = a.begin(i); k < a.end(i); ++k) {
      const index_t j = a.columns[k];
      if (j > i && !has_diagonal) pattern.add(i, i);
      has_diagonal = has_diagonal || j >= i;
      pattern.add(i, j);
    }
    if (!has_diagonal) pattern.add(i, i);
    pattern.end_row();
    budget.check(i, pattern.offsets.back());
  }
  return pattern;
}

/// The entries of one row while fill is added: their levels, by column, and the columns of L that wait, lowest first.
class LevelRow {
 public:
  explicit LevelRow(index_t n) : levels_(static_cast<std::size_t>(n), none) {}

  void offer(index_t row, index_t column, int level) {
    int& here = levels_[static_cast<std::size_t>(column)];
    if (here == none) {
      columns_.push_back(column);
      if (column < row) {
        waiting_.push_back(column);
        std::push_heap(waiting_.begin(), waiting_.end(), std::greater<>());
      }
    }
    here = std::min(here, level);
  }
  [[nodiscard]] bool is_done() const { return waiting_.empty(); }
  index_t take_lowest() {
    std::pop_heap(waiting_.begin(), waiting_.end(), std::greater<>());
    const index_t column = waiting_.back();
    waiting_.pop_back();
    return column;
  }
  [[nodiscard]] int level(index_t column) const { return levels_[static_cast<std::size_t>(column)]; }
  /// \returns the columns, ascending
  const std::vector<index_t>& sorted() {
    std::sort(columns_.begin(), columns_.end());
    return columns_;
  }
  void clear() {
    for (const index_t column : columns_) levels_[static_cast<std::size_t>(column)] = none;
    columns_.clear();
  }

 private:
  static constexpr int none = std::numeric_limits<int>::max();
  std::vector<int> levels_;
  std::vector<index_t> columns_;
  std::vector<index_t> waiting_;
};

/// Entries of level at most `most`: those of A have level 0, fill has lev_ij = min over k of lev_ik + lev_kj + 1.
FillPattern pattern_by_levels(const FactorRows& a, int most, const FactorBudget& budget) {
  FillPattern pattern;
  std::vector<int> levels;
  LevelRow row(a.rows());
  for (index_t i = 0; i < a.rows(); ++i) {
    row.offer(i, i, 0);
    for (std::size_t k = a.begin(i); k < a.end(i); ++k) row.offer(i, a.columns[k], 0);
    while (!row.is_done()) {
      const index_t j = row.take_lowest();
      const int base = row.level(j);
      if (base >= most) continue;
      const offset_t end = pattern.offsets[static_cast<std::size_t>(j) + 1];
      detail::interruption_point(end - pattern.diagonals[static_cast<std::size_t>(j)]);
      for (offset_t k = pattern.diagonals[static_cast<std::size_t>(j)] + 1; k < end; ++k) {
        const int further = levels[static_cast<std::size_t>(k)];
        if (further < most - base) row.offer(i, pattern.columns[static_cast<std::size_t>(k)], base + further + 1);
      }
    }
    for (const index_t j : row.sorted()) {
      pattern.add(i, j);
      levels.push_back(row.level(j));
    }
    row.clear();
    pattern.end_row();
    budget.check(i, pattern.offsets.back());
  }
  return pattern;
}

/// Elimination of rows on a pattern.
class PatternElimination {
 public:
  PatternElimination(const FactorRows& a, const FillPattern& pattern, std::vector<double>& values)
      : a_(&a), pattern_(&pattern), values_(&values), position_(static_cast<std::size_t>(a.rows()), -1) {}

  struct Done {
    bool is_replaced;    ///< the pivot
    std::int64_t steps;  ///< entries touched
  };

  Done eliminate(index_t i) {
    const offset_t begin = pattern_->offsets[static_cast<std::size_t>(i)];
    const offset_t end = pattern_->offsets[static_cast<std::size_t>(i) + 1];
    const offset_t diagonal = pattern_->diagonals[static_cast<std::size_t>(i)];
    double* const values = values_->data();
    const index_t* const columns = pattern_->columns.data();
    const double row_max = load(i, begin, end);
    std::int64_t steps = 2 * (end - begin);
    for (offset_t k = begin; k < diagonal; ++k) {
      const auto j = static_cast<std::size_t>(columns[k]);
      const double factor = values[k] / values[pattern_->diagonals[j]];
      values[k] = factor;
      const Range pivots{pattern_->diagonals[j] + 1, pattern_->offsets[j + 1]};
      const Range own{k + 1, end};
      const auto halvings = static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(pivots.size())));
      const std::int64_t searches = own.size() * halvings;
      if (pivots.size() > most_read_per_search * searches) {
        subtract_found(own, pivots, factor);
        steps += most_read_per_search * searches;
        continue;
      }
      for (offset_t m = pivots.begin; m < pivots.end; ++m) {
        const offset_t target = position_[static_cast<std::size_t>(columns[m])];
        if (target >= 0) values[target] -= factor * values[m];
      }
      steps += pivots.size();
    }
    for (offset_t k = begin; k < end; ++k) position_[static_cast<std::size_t>(columns[k])] = -1;
    const Pivot<double> pivot = safe_pivot(values[diagonal], row_max);
    values[diagonal] = pivot.value;
    return {pivot.is_replaced, steps};
  }

 private:
  /// A step of a search waits for memory, a row of a pivot is read in order.
  static constexpr std::int64_t most_read_per_search = 2;

  /// Entries of the row, each sought in the row of a pivot that is much longer.
  void subtract_found(Range own, Range pivots, double factor) {
    double* const values = values_->data();
    const index_t* const columns = pattern_->columns.data();
    const index_t* at = columns + pivots.begin;
    for (offset_t k = own.begin; k < own.end; ++k) {
      at = std::lower_bound(at, columns + pivots.end, columns[k]);
      if (at == columns + pivots.end) return;
      if (*at == columns[k]) values[k] -= factor * values[at - columns];
    }
  }

  /// Puts row i of A into its place. \returns its largest magnitude
  double load(index_t i, offset_t begin, offset_t end) {
    for (offset_t k = begin; k < end; ++k) {
      position_[static_cast<std::size_t>(pattern_->columns[static_cast<std::size_t>(k)])] = k;
    }
    double row_max = 0.0;
    for (std::size_t k = a_->begin(i); k < a_->end(i); ++k) {
      (*values_)[static_cast<std::size_t>(position_[static_cast<std::size_t>(a_->columns[k])])] = a_->values[k];
      row_max = std::max(row_max, std::abs(a_->values[k]));
    }
    return row_max;
  }

  const FactorRows* a_;
  const FillPattern* pattern_;
  std::vector<double>* values_;
  std::vector<offset_t> position_;  ///< of the columns of the current row, else -1
};

index_t eliminate_all(const FactorRows& a, const FillPattern& pattern, std::vector<double>& values,
                      const FactorBudget& budget, const Device& device) {
  if (device.threads() > 1) {
    const LevelSchedule schedule = level_schedule(pattern.offsets, pattern.columns, Triangle::lower);
    if (is_worth_threads(schedule, pattern.offsets.back(), device)) {
      std::atomic<index_t> replaced{0};
      for_each_level_with(schedule, device, [&] {
        return [&, rows = PatternElimination(a, pattern, values)](index_t i) mutable {
          if (rows.eliminate(i).is_replaced) replaced.fetch_add(1, std::memory_order_relaxed);
        };
      });
      return replaced;
    }
  }
  index_t replaced = 0;
  PatternElimination rows(a, pattern, values);
  for (index_t i = 0; i < a.rows(); ++i) {
    const PatternElimination::Done done = rows.eliminate(i);
    if (done.is_replaced) ++replaced;
    budget.check(i, 0, done.steps);
  }
  return replaced;
}

Factorization split(const FillPattern& pattern, const std::vector<double>& values) {
  Factorization factors;
  const std::size_t n = pattern.diagonals.size();
  factors.diagonal.reserve(n);
  for (std::size_t i = 0; i < n; ++i) {
    for (offset_t k = pattern.offsets[i]; k < pattern.offsets[i + 1]; ++k) {
      const auto at = static_cast<std::size_t>(k);
      if (k == pattern.diagonals[i]) {
        factors.diagonal.push_back(values[at]);
      } else {
        (k < pattern.diagonals[i] ? factors.lower : factors.upper).add(pattern.columns[at], values[at]);
      }
    }
    factors.lower.end_row();
    factors.upper.end_row();
  }
  return factors;
}

}  // namespace

Factorization ilu_on_pattern(const FactorRows& a, int level, const FactorBudget& budget, const Device& device) {
  const FillPattern pattern = level == 0 ? pattern_of(a, budget) : pattern_by_levels(a, level, budget);
  std::vector<double> values(pattern.columns.size());
  const index_t replaced = eliminate_all(a, pattern, values, budget, device);
  Factorization factors = split(pattern, values);
  factors.zero_pivots = replaced;
  return factors;
}

}  // namespace tessera::host
