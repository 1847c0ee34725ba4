/// \file
/// Matchings of maximum cardinality in bipartite graphs of rows and columns (J. E. Hopcroft, R. M. Karp, SIAM J.
/// Comput. 2(4), 1973): in every phase, as many shortest augmenting paths as do not touch each other.
#pragma once

#include "core/interruption.hpp"
#include "tessera/matching.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace tessera::detail {

/// Work of a matching, in counts that do not depend on the machine.
struct MatchingWork {
  std::int64_t searches = 0;  ///< for augmenting paths, found or not
  std::int64_t entries = 0;   ///< of rows and columns that were read, as often as they were
};

/// Rows and columns that are matched along entries of a matrix.
struct EntryMatching {
  EntryMatching(index_t rows, index_t cols)
      : entry_of_row(static_cast<std::size_t>(rows), -1), row_of_column(static_cast<std::size_t>(cols), -1) {}

  std::vector<offset_t> entry_of_row;  ///< -1 for a row that is left over
  std::vector<index_t> row_of_column;  ///< -1 for a column that is left over
  index_t cardinality = 0;
  MatchingWork work;

  [[nodiscard]] bool is_perfect() const noexcept { return cardinality == static_cast<index_t>(entry_of_row.size()); }

  [[nodiscard]] Matching with_columns(std::span<const index_t> columns) const {
    Matching matching{std::vector<index_t>(entry_of_row.size(), -1), cardinality};
    for (std::size_t i = 0; i < entry_of_row.size(); ++i) {
      if (entry_of_row[i] >= 0) matching.column_of_row[i] = columns[static_cast<std::size_t>(entry_of_row[i])];
    }
    return matching;
  }
};

/// \tparam IsEdge is_edge(row, entry): whether the stored entry counts
template <class IsEdge>
class HopcroftKarp {
 public:
  HopcroftKarp(std::span<const offset_t> offsets, std::span<const index_t> columns, IsEdge is_edge,
               EntryMatching& matching)
      : offsets_(offsets), columns_(columns), is_edge_(std::move(is_edge)), matching_(matching) {}

  /// Extends the matching to maximum cardinality. O(nnz sqrt(rows)).
  void run() {
    match_greedily();
    if (free_rows_.empty()) return;
    level_.assign(matching_.entry_of_row.size(), none);
    next_.resize(matching_.entry_of_row.size());
    while (find_levels()) augment();
  }

 private:
  static constexpr index_t none = -1;  ///< level of a row that was not reached

  [[nodiscard]] static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
  [[nodiscard]] index_t& row_of_entry(offset_t k) { return matching_.row_of_column[at(columns_[at(k)])]; }

  void match(index_t row, offset_t k) {
    matching_.entry_of_row[at(row)] = k;
    row_of_entry(k) = row;
  }

  void match_greedily() {
    for (index_t i = 0; i < static_cast<index_t>(matching_.entry_of_row.size()); ++i) {
      if (matching_.entry_of_row[at(i)] >= 0) continue;
      offset_t k = offsets_[at(i)];
      while (k < offsets_[at(i) + 1] && !(row_of_entry(k) < 0 && is_edge_(i, k))) ++k;
      matching_.work.entries += k - offsets_[at(i)] + 1;
      interruption_point(k - offsets_[at(i)] + 1);
      if (k < offsets_[at(i) + 1]) {
        match(i, k);
        ++matching_.cardinality;
      } else {
        free_rows_.push_back(i);
      }
    }
  }

  /// Breadth-first search from all rows left over to a nearest column left over. Level 0: a row left over; level l + 1:
  /// a row matched with a column next to a row of level l. \return whether a column was found
  bool find_levels() {
    for (const index_t i : queue_) level_[at(i)] = none;
    queue_ = free_rows_;
    for (const index_t i : queue_) enter(i, 0);
    for (std::size_t begin = 0; begin < queue_.size(); ++begin) {
      const index_t i = queue_[begin];
      matching_.work.entries += offsets_[at(i) + 1] - offsets_[at(i)];
      interruption_point(offsets_[at(i) + 1] - offsets_[at(i)]);
      for (offset_t k = offsets_[at(i)]; k < offsets_[at(i) + 1]; ++k) {
        const index_t other = row_of_entry(k);
        if ((other >= 0 && level_[at(other)] != none) || !is_edge_(i, k)) continue;
        if (other < 0) {
          forget_levels_beyond(level_[at(i)]);
          return true;
        }
        enter(other, level_[at(i)] + 1);
        queue_.push_back(other);
      }
    }
    return false;
  }

  void forget_levels_beyond(index_t last) {
    for (; level_[at(queue_.back())] > last; queue_.pop_back()) level_[at(queue_.back())] = none;
  }

  void enter(index_t row, index_t level) {
    level_[at(row)] = level;
    next_[at(row)] = offsets_[at(row)];
  }

  void augment() {
    MatchingWork work;  // of this phase: in registers
    std::erase_if(free_rows_, [&](index_t root) {
      const std::int64_t before = work.entries;
      const bool is_found = augment_from(root, work);
      interruption_point(work.entries - before + 1);
      return is_found;
    });
    matching_.work.searches += work.searches;
    matching_.work.entries += work.entries;
  }

  /// Depth-first search down the levels. Every entry is followed once per phase: O(nnz) for all roots. Rows of a path
  /// need no mark: columns that they now hold lie a level too high for other paths.
  bool augment_from(index_t root, MatchingWork& work) {
    ++work.searches;
    path_.assign(1, root);
    while (!path_.empty()) {
      const index_t i = path_.back();
      if (next_[at(i)] == offsets_[at(i) + 1]) {
        path_.pop_back();
        continue;
      }
      const offset_t k = next_[at(i)]++;
      ++work.entries;
      const index_t other = row_of_entry(k);
      if (other >= 0 && level_[at(other)] != level_[at(i)] + 1) continue;
      if (!is_edge_(i, k)) continue;
      if (other < 0) {
        match_path();
        return true;
      }
      path_.push_back(other);
    }
    return false;
  }

  /// Every row of the path takes the entry that it was left by.
  void match_path() {
    for (const index_t i : path_) match(i, next_[at(i)] - 1);
    ++matching_.cardinality;
  }

  std::span<const offset_t> offsets_;
  std::span<const index_t> columns_;
  IsEdge is_edge_;
  EntryMatching& matching_;
  std::vector<index_t> free_rows_;
  std::vector<index_t> level_;
  std::vector<offset_t> next_;  ///< entry that the search follows next
  std::vector<index_t> queue_;  ///< rows with a level in this phase
  std::vector<index_t> path_;
};

/// maximum_matching(), and its work. \param work is set
template <class T>
[[nodiscard]] Matching maximum_matching(const CsrView<T>& matrix, MatchingWork& work);

/// Entries that the searches of maximum_product_matching() may read.
[[nodiscard]] constexpr std::int64_t search_budget(offset_t nnz) { return 10 * nnz + 500'000; }

/// maximum_product_matching(), and its work without the heaps.
/// \param budget entries that searches may read, as search_budget(). The last one may exceed it by nnz
/// \param work is set; throws as that
template <class T>
[[nodiscard]] ProductMatching maximum_product_matching(const CsrView<T>& matrix, std::int64_t budget,
                                                       MatchingWork& work);

extern template Matching maximum_matching(const CsrView<float>&, MatchingWork&);
extern template Matching maximum_matching(const CsrView<double>&, MatchingWork&);
extern template ProductMatching maximum_product_matching(const CsrView<float>&, std::int64_t, MatchingWork&);
extern template ProductMatching maximum_product_matching(const CsrView<double>&, std::int64_t, MatchingWork&);

}  // namespace tessera::detail
