/// \file
/// Matching of maximum product by shortest augmenting paths (I. S. Duff, J. Koster, SIAM J. Matrix Anal. Appl. 22(4),
/// 2001). Entry a_ij costs c_ij = log max_k |a_kj| - log |a_ij| >= 0; dual variables keep u_i + v_j <= c_ij, with
/// equality where i and j are matched, so that no other perfect matching costs less.
#include "preprocess/bipartite_matching.hpp"
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

/// Extends a matching of least cost to a perfect one, row by row.
class ShortestPaths {
 public:
  ShortestPaths(std::span<const offset_t> offsets, std::span<const index_t> columns, const std::vector<double>& costs)
      : matching_(static_cast<index_t>(offsets.size() - 1), static_cast<index_t>(offsets.size() - 1)),
        offsets_(offsets),
        columns_(columns),
        costs_(costs),
        row_dual_(offsets.size() - 1, infinity),
        column_dual_(offsets.size() - 1) {
    for (index_t i = 0; i < rows(); ++i) {
      for (offset_t k = offsets_[at(i)]; k < offsets_[at(i) + 1]; ++k) {
        row_dual_[at(i)] = std::min(row_dual_[at(i)], costs_[at(k)]);
      }
    }
    // As many as possible along entries of reduced cost 0.
    HopcroftKarp(
        offsets_, columns_,
        [this](index_t i, offset_t k) { return costs_[at(k)] == row_dual_[at(i)] && costs_[at(k)] < infinity; },
        matching_)
        .run();
  }

  /// Matches the other rows. The structure must have a perfect matching. \param work grows by that of the searches
  void complete(MatchingWork& work) {
    distance_.assign(column_dual_.size(), infinity);
    entry_to_column_.resize(column_dual_.size());
    parent_row_.resize(column_dual_.size());
    for (index_t i = 0; i < rows(); ++i) {
      if (matching_.entry_of_row[at(i)] < 0) augment_from(i, work);
    }
  }

  [[nodiscard]] const EntryMatching& matching() const noexcept { return matching_; }
  [[nodiscard]] std::vector<double>& row_dual() noexcept { return row_dual_; }
  [[nodiscard]] std::vector<double>& column_dual() noexcept { return column_dual_; }

 private:
  using Candidate = std::pair<double, index_t>;  ///< distance, column

  [[nodiscard]] index_t rows() const noexcept { return static_cast<index_t>(row_dual_.size()); }

  /// Dijkstra's search in reduced costs from a row to the nearest column left over.
  void augment_from(index_t root, MatchingWork& work) {
    ++work.searches;
    shortest_ = infinity;
    index_t row = root;
    double length = 0.0;
    for (;;) {
      work.entries += offsets_[at(row) + 1] - offsets_[at(row)];
      relax(row, length);
      const index_t j = take_nearest(length);
      if (j < 0) break;
      settled_.push_back(j);
      length = distance_[at(j)];
      row = matching_.row_of_column[at(j)];
    }
    match_path(root);
    update_duals();
    for (const index_t j : reached_) distance_[at(j)] = infinity;
    reached_.clear();
    settled_.clear();
    heap_.clear();
    nearest_.clear();
  }

  /// Paths that go on from a row at this distance.
  void relax(index_t row, double length) {
    for (offset_t k = offsets_[at(row)]; k < offsets_[at(row) + 1]; ++k) {
      const index_t j = columns_[at(k)];
      // Rounding must not make it negative: no distance may fall below those settled.
      const double reduced = std::max(0.0, costs_[at(k)] - row_dual_[at(row)] - column_dual_[at(j)]);
      const double through = length + reduced;
      if (!(through < shortest_ && through < distance_[at(j)])) continue;
      entry_to_column_[at(j)] = k;
      parent_row_[at(j)] = row;
      if (matching_.row_of_column[at(j)] < 0) {
        shortest_ = through;
        end_ = j;
        continue;
      }
      if (distance_[at(j)] == infinity) reached_.push_back(j);
      distance_[at(j)] = through;
      if (through == length) {
        nearest_.push_back(j);
      } else {
        heap_.emplace_back(through, j);
        std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
      }
    }
  }

  /// The nearest column that is not settled, if nearer than the end; else -1. \param length of the last one settled
  [[nodiscard]] index_t take_nearest(double length) {
    if (length >= shortest_) return -1;
    if (!nearest_.empty()) {
      const index_t j = nearest_.back();
      nearest_.pop_back();
      return j;
    }
    while (!heap_.empty()) {
      std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
      const auto [distance, j] = heap_.back();
      heap_.pop_back();
      if (distance >= shortest_) return -1;
      if (distance == distance_[at(j)]) return j;  // else it was reached by a shorter path later on
    }
    return -1;
  }

  void match_path(index_t root) {
    index_t j = end_;
    for (;;) {
      const index_t row = parent_row_[at(j)];
      const offset_t before = std::exchange(matching_.entry_of_row[at(row)], entry_to_column_[at(j)]);
      matching_.row_of_column[at(j)] = row;
      if (row == root) break;
      j = columns_[at(before)];
    }
    ++matching_.cardinality;
  }

  /// Shifts by what was settled, so that all reduced costs stay >= 0 and those of the matching are 0.
  void update_duals() {
    for (const index_t j : settled_) column_dual_[at(j)] -= shortest_ - distance_[at(j)];
    settled_.push_back(end_);
    for (const index_t j : settled_) {
      const index_t row = matching_.row_of_column[at(j)];
      row_dual_[at(row)] = costs_[at(matching_.entry_of_row[at(row)])] - column_dual_[at(j)];
    }
  }

  EntryMatching matching_;
  std::span<const offset_t> offsets_;
  std::span<const index_t> columns_;
  const std::vector<double>& costs_;
  std::vector<double> row_dual_;
  std::vector<double> column_dual_;

  // Of one search
  std::vector<double> distance_;           ///< of matched columns; infinite for one that was not reached
  std::vector<offset_t> entry_to_column_;  ///< last entry on the path to a column
  std::vector<index_t> parent_row_;        ///< row of that entry
  std::vector<index_t> reached_;
  std::vector<index_t> settled_;
  std::vector<index_t> nearest_;  ///< as near as the last one settled
  std::vector<Candidate> heap_;
  double shortest_ = infinity;  ///< distance of the nearest column left over so far
  index_t end_ = -1;            ///< that column
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
ProductMatching detail::maximum_product_matching(const CsrView<T>& matrix, MatchingWork& work) {
  if (!matrix.is_square()) {
    throw DimensionError(
        fmt::format("a perfect matching needs a square matrix, this one is {} x {}", matrix.rows, matrix.cols));
  }
  const Costs costs = costs_of(matrix);
  ShortestPaths paths(matrix.row_offsets, matrix.columns, costs.entry);
  work = paths.matching().work;
  if (!paths.matching().is_perfect()) {
    EntryMatching largest = paths.matching();
    HopcroftKarp(
        matrix.row_offsets, matrix.columns,
        [&costs](index_t /*row*/, offset_t k) { return costs.entry[at(k)] < infinity; }, largest)
        .run();
    work = largest.work;
    if (!largest.is_perfect()) {
      const std::vector<double> ones(at(matrix.rows), 1.0);
      return {largest.with_columns(matrix.columns), {ones, ones}, smallest_diagonal(matrix, {ones, ones})};
    }
    paths.complete(work);
  }
  std::vector<double> column_log = std::move(paths.column_dual());
  for (std::size_t j = 0; j < column_log.size(); ++j) column_log[j] -= costs.column_log[j];
  Matching matching = paths.matching().with_columns(matrix.columns);
  Scaling scaling = scaling_of(std::move(paths.row_dual()), std::move(column_log), matching);
  const double smallest = smallest_diagonal(matrix, scaling);
  return {std::move(matching), std::move(scaling), smallest};
}

template <class T>
ProductMatching maximum_product_matching(const CsrView<T>& matrix) {
  MatchingWork work;
  return detail::maximum_product_matching(matrix, work);
}

template ProductMatching detail::maximum_product_matching(const CsrView<float>&, MatchingWork&);
template ProductMatching detail::maximum_product_matching(const CsrView<double>&, MatchingWork&);
template ProductMatching maximum_product_matching(const CsrView<float>&);
template ProductMatching maximum_product_matching(const CsrView<double>&);

}  // namespace tessera
