/// \file
/// Matching of maximum product by shortest augmenting paths (I. S. Duff, J. Koster, SIAM J. Matrix Anal. Appl. 22(4),
/// 2001), searched from all rows at once. Entry a_ij costs c_ij = log max_k |a_kj| - log |a_ij| >= 0; dual variables
/// keep u_i + v_j <= c_ij, with equality where i and j are matched, so that no other perfect matching costs less.
///
/// A search from one row reads a part of the graph that grows with it, and n searches are quadratic. Trees from all
/// rows left over cost as much as one such search together, and a good part of them ends.
#include "preprocess/bipartite_matching.hpp"
#include "preprocess/karp_sipser.hpp"
#include "preprocess/scaling_limits.hpp"
#include "tessera/error.hpp"
#include "tessera/matching.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

namespace tessera {

using namespace detail;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

[[nodiscard]] std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// Costs of the entries and what they were measured by.
struct Costs {
  std::vector<double> entry;       ///< c_ij >= 0, infinite for an explicit zero
  std::vector<double> column_log;  ///< log max_k |a_kj|, 0 for a column without entries
};

template <class T>
Costs costs_of(const CsrView<T>& a) {
  Costs costs{std::vector<double>(at(a.nnz())), std::vector<double>(at(a.cols), -infinity)};
  for (index_t i = 0; i < a.rows; ++i) {
    for (offset_t k = a.row_offsets[at(i)]; k < a.row_offsets[at(i) + 1]; ++k) {
      const auto value = static_cast<double>(a.value(k));
      if (!std::isfinite(value)) {
        throw InvalidMatrix(fmt::format("a matching needs finite values, but row {}, column {} holds {}", i + 1,
                                        a.columns[at(k)] + 1, value));
      }
      costs.entry[at(k)] = a.is_pattern() ? 0.0 : std::log(std::abs(value));
      double& largest = costs.column_log[at(a.columns[at(k)])];
      largest = std::max(largest, costs.entry[at(k)]);
    }
  }
  for (double& largest : costs.column_log) largest = largest == -infinity ? 0.0 : largest;
  for (offset_t k = 0; k < a.nnz(); ++k) {
    costs.entry[at(k)] = costs.column_log[at(a.columns[at(k)])] - costs.entry[at(k)];
  }
  return costs;
}

/// After scaling, rows beyond the budget are matched along entries of at least this magnitude while there are any.
constexpr double least_fallback = 0.1;

/// Extends a matching of least cost to a perfect one by shortest augmenting paths from all rows at once.
class ShortestPaths {
 public:
  ShortestPaths(std::span<const offset_t> offsets, std::span<const index_t> columns, const std::vector<double>& costs)
      : matching_(static_cast<index_t>(offsets.size() - 1), static_cast<index_t>(offsets.size() - 1)),
        offsets_(offsets),
        columns_(columns),
        costs_(costs),
        row_dual_(offsets.size() - 1),
        column_(offsets.size() - 1) {
    match_tight();
  }

  /// Matches as many of the other rows as possible. \param budget entries that the searches may read
  void complete(std::int64_t budget) {
    std::vector<index_t> forced;
    if (match_forced(forced)) {
      match_tight();
      is_optimal_ = search(matching_.work.entries + budget);
      if (!is_optimal_) match_up_to(-std::log(least_fallback));
    }
    match_up_to(std::numeric_limits<double>::max());
    if (matching_.is_perfect()) find_forced_duals(forced);
  }

  [[nodiscard]] const EntryMatching& matching() const noexcept { return matching_; }
  /// Whether the duals prove that no perfect matching has a larger product.
  [[nodiscard]] bool is_optimal() const noexcept { return is_optimal_; }
  [[nodiscard]] std::vector<double>& row_dual() noexcept { return row_dual_; }
  [[nodiscard]] double column_dual(index_t j) const { return column_[at(j)].dual; }

 private:
  /// A column, and the end of the path to it: together, since searches reach columns in any order.
  struct Column {
    double dual = 0.0;
    double distance = infinity;  ///< infinite until it is reached
    offset_t entry = 0;          ///< last on the path
    index_t parent_row = 0;      ///< row of that entry
    index_t root = 0;            ///< row that the path begins with
  };
  using Candidate = std::pair<double, index_t>;  ///< distance, column

  [[nodiscard]] index_t rows() const noexcept { return static_cast<index_t>(row_dual_.size()); }
  [[nodiscard]] offset_t length_of(index_t row) const { return offsets_[at(row) + 1] - offsets_[at(row)]; }

  /// Infinite for an explicit zero, and in columns that are matched with forced rows.
  [[nodiscard]] double reduced(index_t row, offset_t k) const {
    return costs_[at(k)] - row_dual_[at(row)] - column_[at(columns_[at(k)])].dual;
  }

  void count(offset_t entries) {
    matching_.work.entries += entries;
    interruption_point(entries);
  }

  /// Begins again with the pairs of every perfect matching. Their columns leave the problem by a dual of -infinity.
  /// \param order is set to their rows \return false, and nothing changes, where no matching is perfect
  bool match_forced(std::vector<index_t>& order) {
    const auto is_edge = [this](index_t /*row*/, offset_t k) { return costs_[at(k)] < infinity; };
    ForcedPairs forced = KarpSipser(offsets_, columns_, is_edge, rows()).run_forced();
    matching_.work.entries += forced.matching.work.entries;
    if (forced.has_isolated) return false;
    forced.matching.work = matching_.work;
    matching_ = std::move(forced.matching);
    order = std::move(forced.order);
    for (const index_t i : order) column_[at(columns_[at(matching_.entry_of_row[at(i)])])].dual = -infinity;
    return true;
  }

  /// Raises the duals of rows that are left over, and matches as many as possible along entries of reduced cost 0.
  void match_tight() {
    for (index_t i = 0; i < rows(); ++i) {
      if (matching_.entry_of_row[at(i)] >= 0) continue;
      double least = infinity;
      row_dual_[at(i)] = 0.0;
      for (offset_t k = offsets_[at(i)]; k < offsets_[at(i) + 1]; ++k) least = std::min(least, reduced(i, k));
      row_dual_[at(i)] = least < infinity ? least : 0.0;
      interruption_point(length_of(i));
    }
    match_up_to(0.0);
  }

  /// As many as possible along entries of at most this reduced cost.
  void match_up_to(double largest) {
    HopcroftKarp(
        offsets_, columns_, [this, largest](index_t i, offset_t k) { return reduced(i, k) <= largest; }, matching_)
        .run();
  }

  /// Ends when all rows are matched or no path is left. \param limit of entries read \return false beyond it
  [[nodiscard]] bool search(std::int64_t limit) {
    for (index_t i = 0; i < rows(); ++i) {
      if (matching_.entry_of_row[at(i)] < 0) free_rows_.push_back(i);
    }
    end_.assign(row_dual_.size(), -1);
    while (!free_rows_.empty()) {
      if (matching_.work.entries >= limit) return false;
      grow_trees();
      if (!augment()) break;
    }
    return true;
  }

  /// Dijkstra's search in reduced costs from all rows left over: a tree from each, which share no row or column, until
  /// each has a column left over, or none remains. The duals make all edges of the trees tight.
  void grow_trees() {
    std::size_t open = free_rows_.size();  // trees without an end
    std::size_t columns_left = open;
    for (const index_t i : free_rows_) relax(i, i, 0.0);
    double length = 0.0;
    while (open > 0 && columns_left > 0) {
      const index_t j = take_nearest();
      if (j < 0) break;
      settled_.push_back(j);
      length = column_[at(j)].distance;
      const index_t root = column_[at(j)].root;
      const index_t row = matching_.row_of_column[at(j)];
      if (row >= 0) {
        relax(row, root, length);
        continue;
      }
      --columns_left;
      if (end_[at(root)] >= 0) continue;
      end_[at(root)] = j;
      --open;
    }
    matching_.work.searches += static_cast<std::int64_t>(free_rows_.size());
    for (const index_t j : settled_) column_[at(j)].dual -= length - column_[at(j)].distance;
    for (const index_t i : free_rows_) row_dual_[at(i)] += length;
    for (const index_t j : reached_) column_[at(j)].distance = infinity;
    reached_.clear();
    heap_.clear();
    nearest_.clear();
    next_nearest_ = 0;
  }

  /// Along one path of each tree. \return whether there was one; if not, the matching has maximum cardinality
  bool augment() {
    const std::size_t count = std::erase_if(free_rows_, [this](index_t root) {
      const bool has_path = end_[at(root)] >= 0;
      if (has_path) match_path(root);
      return has_path;
    });
    for (const index_t j : settled_) {
      const index_t row = matching_.row_of_column[at(j)];
      if (row >= 0) row_dual_[at(row)] = costs_[at(matching_.entry_of_row[at(row)])] - column_[at(j)].dual;
    }
    settled_.clear();
    return count > 0;
  }

  /// Paths that go on from a row at this distance.
  void relax(index_t row, index_t root, double length) {
    count(length_of(row));
    for (offset_t k = offsets_[at(row)]; k < offsets_[at(row) + 1]; ++k) {
      const index_t j = columns_[at(k)];
      Column& column = column_[at(j)];
      // Rounding must not make it negative: no distance may fall below those settled.
      const double through = length + std::max(0.0, costs_[at(k)] - row_dual_[at(row)] - column.dual);
      if (!(through < column.distance)) continue;
      if (column.distance == infinity) reached_.push_back(j);
      column = {column.dual, through, k, row, root};
      if (through == length) {
        nearest_.push_back(j);
      } else {
        heap_.emplace_back(through, j);
        std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
      }
    }
  }

  /// The nearest column that is not settled, or -1. First come, first served among those as near as the last one, so
  /// that all trees grow.
  [[nodiscard]] index_t take_nearest() {
    if (next_nearest_ < nearest_.size()) return nearest_[next_nearest_++];
    while (!heap_.empty()) {
      std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
      const auto [distance, j] = heap_.back();
      heap_.pop_back();
      if (distance == column_[at(j)].distance) return j;  // else it was reached by a shorter path later on
    }
    return -1;
  }

  void match_path(index_t root) {
    index_t j = std::exchange(end_[at(root)], -1);
    for (;;) {
      const index_t row = column_[at(j)].parent_row;
      const offset_t before = std::exchange(matching_.entry_of_row[at(row)], column_[at(j)].entry);
      matching_.row_of_column[at(j)] = row;
      if (row == root) break;
      j = columns_[at(before)];
    }
    ++matching_.cardinality;
  }

  /// Duals of forced pairs, the last one first: the row has entries in columns, or the column in rows, that follow.
  void find_forced_duals(const std::vector<index_t>& forced) {
    std::vector<double> most(column_.size(), infinity);  // of the dual of a column, by the rows that follow
    std::vector<char> is_forced(row_dual_.size());
    for (const index_t i : forced) is_forced[at(i)] = 1;
    const auto bound_columns = [&](index_t i) {
      for (offset_t k = offsets_[at(i)]; k < offsets_[at(i) + 1]; ++k) {
        double& bound = most[at(columns_[at(k)])];
        bound = std::min(bound, costs_[at(k)] - row_dual_[at(i)]);
      }
      interruption_point(length_of(i));
    };
    for (index_t i = 0; i < rows(); ++i) {
      if (is_forced[at(i)] == 0) bound_columns(i);
    }
    for (std::size_t last = forced.size(); last > 0; --last) {
      const index_t i = forced[last - 1];
      const offset_t matched = matching_.entry_of_row[at(i)];
      const auto j = at(columns_[at(matched)]);
      double& row_dual = row_dual_[at(i)];
      row_dual = 0.0;
      double most_row = costs_[at(matched)] - std::min(0.0, most[j]);
      for (offset_t k = offsets_[at(i)]; k < offsets_[at(i) + 1]; ++k) most_row = std::min(most_row, reduced(i, k));
      row_dual = most_row;
      column_[j].dual = costs_[at(matched)] - row_dual;
      bound_columns(i);
    }
  }

  EntryMatching matching_;
  std::span<const offset_t> offsets_;
  std::span<const index_t> columns_;
  const std::vector<double>& costs_;
  std::vector<double> row_dual_;
  std::vector<Column> column_;
  std::vector<index_t> free_rows_;
  bool is_optimal_ = true;

  // The trees
  std::vector<index_t> end_;  ///< nearest column left over of the tree of a root, or -1
  std::vector<index_t> reached_;
  std::vector<index_t> settled_;
  std::vector<index_t> nearest_;  ///< as near as the last one settled when they were reached
  std::size_t next_nearest_ = 0;  ///< of these, to be taken next
  std::vector<Candidate> heap_;
};

/// R t and C / t scale alike: t moves both to one middle, away from over- and underflow.
void center(std::vector<double>& row_log, std::vector<double>& column_log) {
  const auto middle = [](const std::vector<double>& logs) {
    const auto [low, high] = std::minmax_element(logs.begin(), logs.end());
    return 0.5 * *low + 0.5 * *high;
  };
  const double shift = 0.5 * (middle(column_log) - middle(row_log));
  for (double& factor : row_log) factor += shift;
  for (double& factor : column_log) factor -= shift;
}

/// Factors from their logarithms. Those out of range are limited so that matched entries keep the magnitude 1.
Scaling scaling_of(std::vector<double> row_log, std::vector<double> column_log, const Matching& matching) {
  if (row_log.empty()) return {};
  center(row_log, column_log);
  const double limit = max_scaling_exponent * std::log(2.0);
  for (std::size_t i = 0; i < row_log.size(); ++i) {
    double& row = row_log[i];
    double& column = column_log[at(matching.column_of_row[i])];
    const double sum = row + column;
    if (std::max(std::abs(row), std::abs(column)) > limit) {
      column = std::clamp(sum - std::clamp(row, -limit, limit), -limit, limit);
      row = sum - column;
    }
    row = limited_factor(std::exp(row));
    column = limited_factor(std::exp(column));
  }
  return {std::move(row_log), std::move(column_log)};
}

template <class T>
double smallest_diagonal(const CsrView<T>& a, const Scaling& scaling) {
  double smallest = infinity;
  for (index_t i = 0; i < a.rows; ++i) {
    const auto begin = a.columns.begin() + a.row_offsets[at(i)];
    const auto end = a.columns.begin() + a.row_offsets[at(i) + 1];
    const auto found = std::lower_bound(begin, end, i);
    if (found == end || *found != i) return 0.0;
    const auto value = static_cast<double>(a.value(found - a.columns.begin()));
    smallest = std::min(smallest, scaled_magnitude(scaling.row[at(i)], value, scaling.column[at(i)]));
  }
  return a.rows == 0 ? 1.0 : smallest;
}

}  // namespace

template <class T>
ProductMatching detail::maximum_product_matching(const CsrView<T>& matrix, std::int64_t budget, MatchingWork& work) {
  if (!matrix.is_square()) {
    throw DimensionError(
        fmt::format("a perfect matching needs a square matrix, this one is {} x {}", matrix.rows, matrix.cols));
  }
  const Costs costs = costs_of(matrix);
  ShortestPaths paths(matrix.row_offsets, matrix.columns, costs.entry);
  if (!paths.matching().is_perfect()) paths.complete(budget);
  work = paths.matching().work;
  Matching matching = paths.matching().with_columns(matrix.columns);
  if (!matching.is_perfect()) {
    const std::vector<double> ones(at(matrix.rows), 1.0);
    return {std::move(matching), {ones, ones}, smallest_diagonal(matrix, {ones, ones}), false};
  }
  std::vector<double> column_log(at(matrix.cols));
  for (index_t j = 0; j < matrix.cols; ++j) column_log[at(j)] = paths.column_dual(j) - costs.column_log[at(j)];
  Scaling scaling = scaling_of(std::move(paths.row_dual()), std::move(column_log), matching);
  const double smallest = smallest_diagonal(matrix, scaling);
  return {std::move(matching), std::move(scaling), smallest, paths.is_optimal()};
}

template <class T>
ProductMatching maximum_product_matching(const CsrView<T>& matrix) {
  MatchingWork work;
  return detail::maximum_product_matching(matrix, search_budget(matrix.nnz()), work);
}

template ProductMatching detail::maximum_product_matching(const CsrView<float>&, std::int64_t, MatchingWork&);
template ProductMatching detail::maximum_product_matching(const CsrView<double>&, std::int64_t, MatchingWork&);
template ProductMatching maximum_product_matching(const CsrView<float>&);
template ProductMatching maximum_product_matching(const CsrView<double>&);

}  // namespace tessera
