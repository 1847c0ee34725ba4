/// \file
/// The start of Karp and Sipser for matchings of maximum cardinality (R. M. Karp, M. Sipser, FOCS 1981): a row or
/// column with one free neighbour is matched with it, which no maximum matching can better; any pair only where there
/// is none. On forests this start is a maximum matching.
#pragma once

#include "core/interruption.hpp"
#include "preprocess/bipartite_matching.hpp"
#include "tessera/types.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace tessera::detail {

/// Pairs of a row and a column of which one has no other neighbour, once earlier pairs are taken away: every perfect
/// matching holds all of them.
struct ForcedPairs {
  EntryMatching matching;
  std::vector<index_t> order;  ///< rows, in the order of their pairs
  bool has_isolated = false;   ///< a row or column was left without a neighbour: no matching is perfect
};

/// \tparam IsEdge is_edge(row, entry): whether the stored entry counts
template <class IsEdge>
class KarpSipser {
 public:
  /// O(nnz + rows + cols), 4 bytes per entry, 16 per row and 12 per column.
  KarpSipser(std::span<const offset_t> offsets, std::span<const index_t> columns, IsEdge is_edge, index_t cols)
      : offsets_(offsets),
        columns_(columns),
        is_edge_(std::move(is_edge)),
        matching_(static_cast<index_t>(offsets.size() - 1), cols),
        row_degree_(offsets.size() - 1),
        column_offsets_(at(cols) + 1) {
    transpose();
  }

  /// O(nnz + rows + cols). Call it once.
  [[nodiscard]] EntryMatching run() {
    match_forced();
    for (index_t i = 0; i < rows(); ++i) {
      if (matching_.entry_of_row[at(i)] >= 0 || row_degree_[at(i)] == 0) continue;
      match(i, free_entry_of(i));
      match_single_neighbours();
    }
    return std::move(matching_);
  }

  /// Pairs alone of which one had no other neighbour left. Call this or run(), once.
  [[nodiscard]] ForcedPairs run_forced() {
    match_forced();
    bool has_isolated = false;
    for (index_t i = 0; i < rows(); ++i) {
      has_isolated = has_isolated || (matching_.entry_of_row[at(i)] < 0 && row_degree_[at(i)] == 0);
    }
    for (index_t j = 0; j < cols(); ++j) {
      has_isolated = has_isolated || (matching_.row_of_column[at(j)] < 0 && column_degree(j) == 0);
    }
    return {std::move(matching_), std::move(order_), has_isolated};
  }

 private:
  [[nodiscard]] static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
  [[nodiscard]] index_t rows() const { return static_cast<index_t>(row_degree_.size()); }
  [[nodiscard]] index_t cols() const { return static_cast<index_t>(matching_.row_of_column.size()); }
  [[nodiscard]] index_t column_degree(index_t j) const { return column_degree_[at(j)]; }

  void transpose() {
    matching_.work.entries += 2 * static_cast<std::int64_t>(columns_.size());
    for_each_edge([this](index_t i, offset_t k) {
      ++row_degree_[at(i)];
      ++column_offsets_[at(columns_[at(k)]) + 1];
    });
    column_degree_.resize(at(cols()));
    for (index_t j = 0; j < cols(); ++j) {
      column_degree_[at(j)] = static_cast<index_t>(column_offsets_[at(j) + 1]);
      column_offsets_[at(j) + 1] += column_offsets_[at(j)];
    }
    rows_of_columns_.resize(at(column_offsets_.back()));
    std::vector<offset_t> next(column_offsets_.begin(), column_offsets_.end() - 1);
    for_each_edge([&](index_t i, offset_t k) { rows_of_columns_[at(next[at(columns_[at(k)])]++)] = i; });
  }

  template <class Function>
  void for_each_edge(Function&& function) {
    for (index_t i = 0; i < rows(); ++i) {
      for (offset_t k = offsets_[at(i)]; k < offsets_[at(i) + 1]; ++k) {
        if (is_edge_(i, k)) function(i, k);
      }
      interruption_point(offsets_[at(i) + 1] - offsets_[at(i)]);
    }
  }

  void note_row(index_t i) {
    if (row_degree_[at(i)] == 1) single_rows_.push_back(i);
  }
  void note_column(index_t j) {
    if (column_degree(j) == 1) single_columns_.push_back(j);
  }

  void match_forced() {
    for (index_t i = 0; i < rows(); ++i) note_row(i);
    for (index_t j = 0; j < cols(); ++j) note_column(j);
    match_single_neighbours();
  }

  void match_single_neighbours() {
    while (!single_rows_.empty() || !single_columns_.empty()) {
      if (!single_rows_.empty()) {
        const index_t i = take_last(single_rows_);
        if (matching_.entry_of_row[at(i)] < 0 && row_degree_[at(i)] == 1) match(i, free_entry_of(i));
      } else {
        const index_t j = take_last(single_columns_);
        if (matching_.row_of_column[at(j)] < 0 && column_degree(j) == 1) match_column(j);
      }
    }
  }

  [[nodiscard]] static index_t take_last(std::vector<index_t>& stack) {
    const index_t last = stack.back();
    stack.pop_back();
    return last;
  }

  /// The entry of a row whose free column has fewest free rows. The row must have a free column.
  [[nodiscard]] offset_t free_entry_of(index_t i) {
    matching_.work.entries += offsets_[at(i) + 1] - offsets_[at(i)];
    offset_t best = -1;
    for (offset_t k = offsets_[at(i)]; k < offsets_[at(i) + 1]; ++k) {
      const index_t j = columns_[at(k)];
      if (matching_.row_of_column[at(j)] >= 0 || !is_edge_(i, k)) continue;
      if (best < 0 || column_degree(j) < column_degree(columns_[at(best)])) best = k;
    }
    return best;
  }

  /// With its only free row.
  void match_column(index_t j) {
    for (offset_t r = column_offsets_[at(j)]; r < column_offsets_[at(j) + 1]; ++r) {
      const index_t i = rows_of_columns_[at(r)];
      if (matching_.entry_of_row[at(i)] >= 0) continue;
      offset_t k = offsets_[at(i)];
      while (columns_[at(k)] != j) ++k;
      matching_.work.entries += (r - column_offsets_[at(j)] + 1) + (k - offsets_[at(i)] + 1);
      return match(i, k);
    }
  }

  /// Row and column are free no longer: their neighbours have one free neighbour less.
  void match(index_t i, offset_t k) {
    const index_t j = columns_[at(k)];
    matching_.entry_of_row[at(i)] = k;
    matching_.row_of_column[at(j)] = i;
    ++matching_.cardinality;
    order_.push_back(i);
    const offset_t neighbours =
        offsets_[at(i) + 1] - offsets_[at(i)] + column_offsets_[at(j) + 1] - column_offsets_[at(j)];
    matching_.work.entries += neighbours;
    interruption_point(neighbours);
    for (offset_t e = offsets_[at(i)]; e < offsets_[at(i) + 1]; ++e) {
      if (!is_edge_(i, e)) continue;
      --column_degree_[at(columns_[at(e)])];
      note_column(columns_[at(e)]);
    }
    for (offset_t r = column_offsets_[at(j)]; r < column_offsets_[at(j) + 1]; ++r) {
      --row_degree_[at(rows_of_columns_[at(r)])];
      note_row(rows_of_columns_[at(r)]);
    }
  }

  std::span<const offset_t> offsets_;
  std::span<const index_t> columns_;
  IsEdge is_edge_;
  EntryMatching matching_;
  std::vector<index_t> row_degree_;     ///< free columns next to a row
  std::vector<index_t> column_degree_;  ///< free rows next to a column
  std::vector<offset_t> column_offsets_;
  std::vector<index_t> rows_of_columns_;  ///< the rows of each column, ascending
  std::vector<index_t> single_rows_;      ///< that had one free neighbour
  std::vector<index_t> single_columns_;
  std::vector<index_t> order_;  ///< matched rows
};

}  // namespace tessera::detail
