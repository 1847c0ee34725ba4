/// Elimination trees and column counts of Cholesky factors.
#include "preprocess/fill_prediction.hpp"

#include "core/interruption.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace tessera::detail {

namespace {

std::size_t at(index_t i) noexcept { return static_cast<std::size_t>(i); }

/// Before list i is read twice.
void interruption_point_at(const PatternLists& lists, index_t i) { interruption_point(1 + 2 * std::ssize(lists[i])); }

std::vector<index_t> inverse_of(std::span<const index_t> order) {
  std::vector<index_t> inverse(order.size());
  for (std::size_t k = 0; k < order.size(); ++k) inverse[at(order[k])] = static_cast<index_t>(k);
  return inverse;
}

/// Grows an elimination tree column by column (Liu 1990, algorithm 4.2), with shortcuts to ancestors.
class TreeBuilder {
 public:
  explicit TreeBuilder(std::size_t n) : parent_(n, -1), shortcut_(n, -1) {}

  /// Column k has an entry in row i of L's subtree: the root above i becomes a child of k. i = -1 and i >= k: nothing.
  void join(index_t i, index_t k) {
    ++steps_;
    while (i != -1 && i < k) {
      ++steps_;
      const index_t next = shortcut_[at(i)];
      shortcut_[at(i)] = k;
      if (next == -1) parent_[at(i)] = k;
      i = next;
    }
  }

  [[nodiscard]] std::vector<index_t> take() { return std::move(parent_); }
  [[nodiscard]] std::int64_t steps() const noexcept { return steps_; }

 private:
  std::vector<index_t> parent_;
  std::vector<index_t> shortcut_;
  std::int64_t steps_ = 0;  // entries, and steps along shortcuts
};

/// Vertices of the subtree of each vertex; parents are above their children.
std::vector<index_t> subtree_sizes(std::span<const index_t> parent) {
  std::vector<index_t> sizes(parent.size(), 1);
  for (std::size_t k = 0; k < parent.size(); ++k) {
    if (parent[k] != -1) sizes[at(parent[k])] += sizes[k];
  }
  return sizes;
}

/// The order with its tree in postorder: every subtree is a range that its root ends.
FillPrediction postordered(std::span<const index_t> order, std::span<const index_t> parent) {
  const auto n = static_cast<index_t>(order.size());
  const std::vector<index_t> sizes = subtree_sizes(parent);
  std::vector<index_t> position(order.size());
  std::vector<index_t> free_end(order.size());  // where the next subtree below a vertex ends
  index_t root_end = n;
  for (index_t k = n - 1; k >= 0; --k) {
    index_t& end = parent[at(k)] == -1 ? root_end : free_end[at(parent[at(k)])];
    position[at(k)] = end - 1;
    free_end[at(k)] = end - 1;
    end -= sizes[at(k)];
  }
  FillPrediction result;
  result.order.resize(order.size());
  result.parent.resize(order.size());
  for (std::size_t k = 0; k < order.size(); ++k) {
    result.order[at(position[k])] = order[k];
    result.parent[at(position[k])] = parent[k] == -1 ? -1 : position[at(parent[k])];
  }
  return result;
}

/// Counts the columns of L from the leaves of its row subtrees (Gilbert, Ng, Peyton 1994, figure 3). Row i of L is a
/// subtree of the elimination tree; its weights, +1 at leaves and -1 where two of them meet, add up to one per vertex.
class ColumnCounter {
 public:
  /// \param parent of a tree in postorder
  explicit ColumnCounter(std::span<const index_t> parent)
      : parent_(parent),
        first_(parent.size()),
        weight_(parent.size()),
        latest_first_(parent.size(), -1),
        latest_leaf_(parent.size(), -1),
        set_(parent.size()) {
    const std::vector<index_t> sizes = subtree_sizes(parent);
    for (std::size_t j = 0; j < parent.size(); ++j) {
      first_[j] = static_cast<index_t>(j) - sizes[j] + 1;
      weight_[j] = sizes[j] == 1 ? 1 : 0;
    }
    std::iota(set_.begin(), set_.end(), index_t{0});
  }

  /// Entry (i, j), i > j, for columns j in ascending order; entries may come twice.
  void add(index_t j, index_t i) {
    ++steps_;
    if (first_[at(j)] <= latest_first_[at(i)]) return;  // not a leaf of row i
    latest_first_[at(i)] = first_[at(j)];
    ++weight_[at(j)];
    if (latest_leaf_[at(i)] != -1) --weight_[at(common_ancestor(latest_leaf_[at(i)]))];
    latest_leaf_[at(i)] = j;
  }

  /// After the last entry of column j.
  void finish_column(index_t j) {
    if (parent_[at(j)] == -1) return;
    --weight_[at(parent_[at(j)])];
    set_[at(j)] = parent_[at(j)];
  }

  [[nodiscard]] std::vector<offset_t> counts() {
    for (std::size_t j = 0; j < parent_.size(); ++j) {
      if (parent_[j] != -1) weight_[at(parent_[j])] += weight_[j];
    }
    return std::move(weight_);
  }
  [[nodiscard]] std::int64_t steps() const noexcept { return steps_; }

 private:
  /// Of a finished vertex and the current one: the root of its set, whose paths are halved.
  [[nodiscard]] index_t common_ancestor(index_t v) {
    while (set_[at(v)] != v) {
      ++steps_;
      set_[at(v)] = set_[at(set_[at(v)])];
      v = set_[at(v)];
    }
    return v;
  }

  std::span<const index_t> parent_;
  std::vector<index_t> first_;         // least vertex of the subtree
  std::vector<offset_t> weight_;       // then the counts
  std::vector<index_t> latest_first_;  // of row i: first_ of its latest leaf
  std::vector<index_t> latest_leaf_;
  std::vector<index_t> set_;  // disjoint sets of finished vertices below an unfinished one
  std::int64_t steps_ = 0;    // entries, and steps towards roots of sets
};

/// Rows by their first column in the new order; rows without entries are in no list.
class RowsByFirstColumn {
 public:
  RowsByFirstColumn(const PatternLists& columns_of, std::span<const index_t> inverse)
      : head_(inverse.size(), -1), next_(at(columns_of.size()), -1) {
    for (index_t row = 0; row < columns_of.size(); ++row) {
      const auto columns = columns_of[row];
      if (columns.empty()) continue;
      index_t first = inverse[at(columns[0])];
      for (const index_t column : columns) first = std::min(first, inverse[at(column)]);
      next_[at(row)] = head_[at(first)];
      head_[at(first)] = row;
    }
  }
  template <class Body>
  void for_each_row(index_t first_column, Body&& body) const {
    for (index_t row = head_[at(first_column)]; row != -1; row = next_[at(row)]) body(row);
  }

 private:
  std::vector<index_t> head_;
  std::vector<index_t> next_;
};

}  // namespace

offset_t FillPrediction::factor_nnz() const noexcept {
  return std::accumulate(counts.begin(), counts.end(), offset_t{0});
}

FillPrediction predict_symmetric_fill(const PatternLists& columns_of, const PatternLists& rows_of,
                                      std::span<const index_t> order) {
  const auto n = static_cast<index_t>(order.size());
  std::vector<index_t> inverse = inverse_of(order);
  TreeBuilder tree(order.size());
  for (index_t k = 0; k < n; ++k) {
    interruption_point_at(rows_of, order[at(k)]);
    for (const index_t column : columns_of[order[at(k)]]) tree.join(inverse[at(column)], k);
    for (const index_t row : rows_of[order[at(k)]]) tree.join(inverse[at(row)], k);
  }
  FillPrediction result = postordered(order, tree.take());
  inverse = inverse_of(result.order);
  ColumnCounter counter(result.parent);
  for (index_t j = 0; j < n; ++j) {
    interruption_point_at(rows_of, result.order[at(j)]);
    const auto add = [&](index_t i) {
      if (i > j) counter.add(j, i);
    };
    for (const index_t column : columns_of[result.order[at(j)]]) add(inverse[at(column)]);
    for (const index_t row : rows_of[result.order[at(j)]]) add(inverse[at(row)]);
    counter.finish_column(j);
  }
  result.counts = counter.counts();
  result.steps = tree.steps() + counter.steps();
  return result;
}

FillPrediction predict_column_fill(const PatternLists& columns_of, const PatternLists& rows_of,
                                   std::span<const index_t> order) {
  const auto n = static_cast<index_t>(order.size());
  TreeBuilder tree(order.size());
  std::vector<index_t> previous(at(columns_of.size()), -1);  // the columns of a row are on one path of the tree
  for (index_t k = 0; k < n; ++k) {
    interruption_point_at(rows_of, order[at(k)]);
    for (const index_t row : rows_of[order[at(k)]]) {
      tree.join(previous[at(row)], k);
      previous[at(row)] = k;
    }
  }
  FillPrediction result = postordered(order, tree.take());
  const std::vector<index_t> inverse = inverse_of(result.order);
  // A star from its first column stands for the clique of a row: it gives the same L.
  const RowsByFirstColumn rows(columns_of, inverse);
  ColumnCounter counter(result.parent);
  for (index_t j = 0; j < n; ++j) {
    interruption_point_at(rows_of, result.order[at(j)]);
    rows.for_each_row(j, [&](index_t row) {
      for (const index_t column : columns_of[row]) {
        if (inverse[at(column)] > j) counter.add(j, inverse[at(column)]);
      }
    });
    counter.finish_column(j);
  }
  result.counts = counter.counts();
  result.steps = tree.steps() + counter.steps();
  return result;
}

std::vector<offset_t> predict_rows_met(const PatternLists& columns_of, const FillPrediction& fill) {
  const RowsByFirstColumn rows(columns_of, inverse_of(fill.order));
  std::vector<offset_t> met(fill.order.size());
  for (std::size_t k = 0; k < met.size(); ++k) {
    rows.for_each_row(static_cast<index_t>(k), [&](index_t /*row*/) { ++met[k]; });
    if (fill.parent[k] != -1) met[at(fill.parent[k])] += std::max<offset_t>(met[k] - 1, 0);
  }
  return met;
}

}  // namespace tessera::detail
