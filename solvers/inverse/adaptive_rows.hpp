/// \file
/// Patterns of FSAI that grow with their rows (C. Janna, M. Ferronato, SIAM J. Sci. Comput. 33(6), 2011). A step
/// computes row ĝ on its pattern S so far, and adds the columns j < i where |Σ_k â_jk ĝ_k| is largest: half the
/// derivative of (G A Gᵀ)_ii, and so of Kaporin's condition number, by the entry at j.
#pragma once

#include "solvers/inverse/fsai_rows.hpp"
#include "solvers/inverse/kept_rows.hpp"

namespace tessera::detail {

struct AdaptivePattern {
  static constexpr bool solves = true;
  CsrPointers<double> a;  ///< scaled to a diagonal of ones
  int steps;
  int per_step;
  int most;          ///< entries per row; a warp solves them
  index_t* columns;  ///< `most` per row, ascending; -1 where there are fewer
  RowReport* report;

  [[nodiscard]] TESSERA_HOST_DEVICE int unknowns(index_t /*row*/) const noexcept { return most; }

  /// Σ_k â_jk ĝ_k over the first `size` columns of s, which ascend.
  [[nodiscard]] TESSERA_HOST_DEVICE double gradient(index_t j, const index_t* s, const double* g, int size) const {
    double sum = 0.0;
    int c = 0;
    for (offset_t k = a.offsets[j]; k < a.offsets[j + 1] && c < size; ++k) {
      while (c < size && s[c] < a.columns[k]) ++c;
      if (c < size && s[c] == a.columns[k]) sum += fused::rounded_product(a.values[k], g[c]);
    }
    return sum;
  }

  [[nodiscard]] TESSERA_HOST_DEVICE static bool contains(const index_t* s, int size, index_t j) {
    for (int c = 0; c < size; ++c) {
      if (s[c] == j) return true;
    }
    return false;
  }

  /// The column with the largest gradient among those next to S, the first of equal ones; -1: none differs from 0.
  /// \param size of the pattern that g belongs to \param grown columns of s so far
  template <class Group>
  [[nodiscard]] TESSERA_HOST_DEVICE index_t best_column(const Group& group, index_t row, const index_t* s,
                                                        const double* g, int size, int grown) const {
    constexpr index_t none = RowReport::none;
    double largest = 0.0;
    index_t best = none;
    for (int c = 0; c < size; ++c) {
      const offset_t end = a.offsets[s[c] + 1];
      for (offset_t k = a.offsets[s[c]] + group.rank(); k < end; k += group.size()) {
        const index_t j = a.columns[k];
        if (j >= row || contains(s, grown, j)) continue;
        const double size_of_j = magnitude(gradient(j, s, g, size));
        if (size_of_j < largest || (size_of_j == largest && j >= best)) continue;
        largest = size_of_j;
        best = j;
      }
    }
    const double overall = group.largest(largest);
    const index_t found = group.smallest(largest == overall ? best : none);
    return overall > 0.0 ? found : index_t{-1};
  }

  /// Puts the last `size` - `sorted` columns where they belong. By one lane.
  TESSERA_HOST_DEVICE static void sort(index_t* s, int sorted, int size) {
    for (int c = sorted; c < size; ++c) {
      const index_t column = s[c];
      int to = c;
      for (; to > 0 && s[to - 1] > column; --to) s[to] = s[to - 1];
      s[to] = column;
    }
  }

  template <class Group>
  TESSERA_HOST_DEVICE void run(const Group& group, index_t row, double* scratch) const {
    index_t* const s = columns + std::int64_t{row} * most;
    for (int c = group.rank(); c < most; c += group.size()) s[c] = c == 0 ? row : index_t{-1};
    group.sync();
    int size = 1;
    for (int step = 0; step < steps && size < most; ++step) {
      if (!solve_fsai_row(group, a, s, size, scratch)) {
        if (group.rank() == 0) lower_to(&report->first_bad, row);
        return;
      }
      const double* const g = scratch + size * (size + 1) / 2;
      int grown = size;
      while (grown < size + per_step && grown < most) {
        const index_t column = best_column(group, row, s, g, size, grown);
        if (column < 0) break;
        if (group.rank() == 0) s[grown] = column;
        ++grown;
        group.sync();
      }
      if (grown == size) return;
      if (group.rank() == 0) sort(s, size, grown);
      size = grown;
      group.sync();
    }
  }
};

/// The columns that are there, of rows of equal length.
struct PresentColumns : EntryRule {
  struct Bound {};
  template <class Group>
  [[nodiscard]] TESSERA_HOST_DEVICE Bound bound(const Group& /*group*/, index_t /*row*/) const noexcept {
    return {};
  }
  [[nodiscard]] TESSERA_HOST_DEVICE double value(offset_t /*k*/) const noexcept { return 1.0; }
  [[nodiscard]] TESSERA_HOST_DEVICE bool keeps(const Bound& /*bound*/, index_t /*row*/, offset_t k) const noexcept {
    return a.columns[k] >= 0;
  }
};

}  // namespace tessera::detail
