/// ILUT(τ, p) and ILUTP: Gaussian elimination by rows with dropping, and with exchanges of columns (Y. Saad, "ILUT: a
/// dual threshold incomplete LU factorization", Numer. Linear Algebra Appl. 1(4), 1994; Iterative Methods for Sparse
/// Linear Systems, 2nd ed., §10.4).
#include "core/detail_namespace.hpp"
#include "solvers/factors/factorization.hpp"
#include "solvers/factors/kept_entries.hpp"
#include "solvers/factors/pivot.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace tessera::host {

namespace {

/// Which step eliminates a column, while columns are exchanged.
struct ColumnOrder {
  std::vector<index_t> column_of_step;
  std::vector<index_t> step_of_column;

  ColumnOrder(index_t n, std::span<const index_t> fixed)
      : column_of_step(fixed.begin(), fixed.end()), step_of_column(static_cast<std::size_t>(n)) {
    if (fixed.empty()) {
      column_of_step.resize(static_cast<std::size_t>(n));
      std::iota(column_of_step.begin(), column_of_step.end(), 0);
    }
    for (index_t k = 0; k < n; ++k) step_of_column[static_cast<std::size_t>(column(k))] = k;
  }
  [[nodiscard]] index_t column(index_t step) const { return column_of_step[static_cast<std::size_t>(step)]; }
  [[nodiscard]] index_t step(index_t column) const { return step_of_column[static_cast<std::size_t>(column)]; }
  void exchange(index_t a, index_t b) {
    std::swap(column_of_step[static_cast<std::size_t>(a)], column_of_step[static_cast<std::size_t>(b)]);
    std::swap(step_of_column[static_cast<std::size_t>(column(a))], step_of_column[static_cast<std::size_t>(column(b))]);
  }
};

/// The columns in their own order.
struct NaturalOrder {
  [[nodiscard]] static index_t column(index_t step) { return step; }
  [[nodiscard]] static index_t step(index_t column) { return column; }
};

/// Rows of U keep the numbers of Â's columns until the order of all of them is known.
template <class Order>
class ThresholdElimination {
 public:
  ThresholdElimination(const FactorRows& a, const ThresholdOptions& options, Order order)
      : a_(&a),
        options_(options),
        order_(std::move(order)),
        work_(static_cast<std::size_t>(a.rows())),
        is_stored_(static_cast<std::size_t>(a.rows())) {
    factors_.diagonal.reserve(static_cast<std::size_t>(a.rows()));
  }

  void eliminate(index_t i) {
    const double threshold = options_.drop_tolerance * load(i);
    while (!waiting_.empty()) {
      const index_t step = take_lowest();
      const double factor = take(order_.column(step)) / factors_.diagonal[static_cast<std::size_t>(step)];
      // Written so that NaN is kept: a pivot that is not finite is replaced, and counted.
      if (std::abs(factor) <= threshold) continue;
      left_.push_back({step, factor});
      subtract_row(i, step, factor);
    }
    if constexpr (exchanges) choose_pivot(i);
    const double diagonal = take(order_.column(i));
    for (const index_t column : right_) {
      if (!is_stored_[static_cast<std::size_t>(column)]) continue;
      const double value = take(column);
      if (!(std::abs(value) <= threshold)) kept_.push_back({column, value});
    }
    right_.clear();
    store(diagonal);
  }

  [[nodiscard]] offset_t entries() const {
    return factors_.lower.nnz() + factors_.upper.nnz() + static_cast<offset_t>(factors_.diagonal.size());
  }

  [[nodiscard]] Factorization take_factors() {
    if constexpr (exchanges) {
      renumber(factors_.upper);
      factors_.column_order = std::move(order_.column_of_step);
    }
    return std::move(factors_);
  }

 private:
  static constexpr bool exchanges = !std::is_same_v<Order, NaturalOrder>;

  /// \returns ‖â_i‖₂
  double load(index_t i) {
    double squares = 0.0;
    row_max_ = 0.0;
    for (std::size_t k = a_->begin(i); k < a_->end(i); ++k) {
      add(i, a_->columns[k], a_->values[k]);
      const double magnitude = std::abs(a_->values[k]);
      squares += magnitude * magnitude;
      row_max_ = std::max(row_max_, magnitude);
    }
    add(i, order_.column(i), 0.0);
    return std::sqrt(squares);
  }

  void add(index_t i, index_t column, double value) {
    const auto at = static_cast<std::size_t>(column);
    if (is_stored_[at]) {
      work_[at] += value;
      return;
    }
    is_stored_[at] = 1;
    work_[at] = value;
    const index_t step = order_.step(column);
    if (step >= i) {
      right_.push_back(column);
    } else {
      waiting_.push_back(step);
      std::push_heap(waiting_.begin(), waiting_.end(), std::greater<>());
    }
  }

  index_t take_lowest() {
    std::pop_heap(waiting_.begin(), waiting_.end(), std::greater<>());
    const index_t step = waiting_.back();
    waiting_.pop_back();
    return step;
  }

  /// Removes an entry from the working row.
  double take(index_t column) {
    is_stored_[static_cast<std::size_t>(column)] = 0;
    return work_[static_cast<std::size_t>(column)];
  }

  void subtract_row(index_t i, index_t step, double factor) {
    const FactorRows& upper = factors_.upper;
    detail::interruption_point(static_cast<std::int64_t>(upper.end(step) - upper.begin(step)));
    for (std::size_t k = upper.begin(step); k < upper.end(step); ++k)
      add(i, upper.columns[k], -factor * upper.values[k]);
  }

  void choose_pivot(index_t i) {
    if (options_.pivot_tolerance <= 0.0) return;
    const index_t diagonal = order_.column(i);
    index_t best = diagonal;
    double largest = std::abs(work_[static_cast<std::size_t>(diagonal)]);
    const double least = largest;
    for (const index_t column : right_) {
      const double magnitude = std::abs(work_[static_cast<std::size_t>(column)]);
      if (magnitude > largest || (magnitude == largest && best != diagonal && column < best)) {
        largest = magnitude;
        best = column;
      }
    }
    if (options_.pivot_tolerance * largest > least) order_.exchange(i, order_.step(best));
  }

  void store(double diagonal) {
    const Pivot<double> pivot = safe_pivot(diagonal, row_max_);
    if (pivot.is_replaced) ++factors_.zero_pivots;
    factors_.diagonal.push_back(pivot.value);
    keep_largest(left_, options_.max_row_entries);
    append_row(left_, factors_.lower);
    keep_largest(kept_, options_.max_row_entries);
    append_row(kept_, factors_.upper);
  }

  /// Columns become steps.
  void renumber(FactorRows& upper) {
    for (index_t i = 0; i < upper.rows(); ++i) {
      for (std::size_t k = upper.begin(i); k < upper.end(i); ++k) {
        kept_.push_back({order_.step(upper.columns[k]), upper.values[k]});
      }
      sort_by_column(kept_);
      std::size_t k = upper.begin(i);
      for (const KeptEntry& entry : kept_) {
        upper.columns[k] = entry.column;
        upper.values[k++] = entry.value;
      }
      kept_.clear();
    }
  }

  const FactorRows* a_;
  ThresholdOptions options_;
  Order order_;
  Factorization factors_;
  // The current row.
  std::vector<double> work_;              ///< by column
  std::vector<unsigned char> is_stored_;  ///< by column
  std::vector<index_t> waiting_;          ///< steps before this one whose columns are stored; a heap, lowest first
  std::vector<index_t> right_;            ///< stored columns of this step and later ones
  std::vector<KeptEntry> left_;           ///< of L
  std::vector<KeptEntry> kept_;           ///< of U
  double row_max_ = 0.0;
};

template <class Order>
Factorization eliminate_all(const FactorRows& a, const ThresholdOptions& options, Order order,
                            const FactorBudget& budget) {
  ThresholdElimination<Order> elimination(a, options, std::move(order));
  for (index_t i = 0; i < a.rows(); ++i) {
    elimination.eliminate(i);
    budget.check(i, elimination.entries());
  }
  return elimination.take_factors();
}

}  // namespace

Factorization ilut(const FactorRows& a, const ThresholdOptions& options, const FactorBudget& budget) {
  if (options.pivot_tolerance <= 0.0 && options.column_order.empty()) {
    return eliminate_all(a, options, NaturalOrder{}, budget);
  }
  return eliminate_all(a, options, ColumnOrder(a.rows(), options.column_order), budget);
}

}  // namespace tessera::host
