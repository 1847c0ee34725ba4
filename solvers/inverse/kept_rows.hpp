/// \file
/// Rows of a sparse matrix without some of their entries: count, then fill. A rule says which entries stay:
///   const offset_t* offsets() const; const index_t* columns() const;    of the matrix
///   template <class Group> Bound bound(const Group&, index_t row) const;  what is computed once per row
///   bool keeps(const Bound&, index_t row, offset_t k) const;
///   double value(offset_t k) const;                                       of an entry that stays
#pragma once

#include "core/csr_pointers.hpp"
#include "core/partition_point.hpp"
#include "solvers/amg/offsets.hpp"
#include "solvers/inverse/thread_group.hpp"

#include <cstring>

namespace tessera::detail {

template <class Rule>
struct CountKept {
  static constexpr bool solves = false;
  Rule rule;
  offset_t* counts;
  RowReport* report;

  template <class Group>
  TESSERA_HOST_DEVICE void run(const Group& group, index_t row, double* /*scratch*/) const {
    const auto bound = rule.bound(group, row);
    const offset_t end = rule.offsets()[row + 1];
    offset_t count = 0;
    for (offset_t k = rule.offsets()[row] + group.rank(); k < end; k += group.size()) {
      if (rule.keeps(bound, row, k)) ++count;
    }
    count = group.sum(count);
    if (group.rank() != 0) return;
    counts[row] = count;
    lower_to(&report->largest_negated, -static_cast<int>(count));
  }
};

template <class Rule>
struct FillKept {
  static constexpr bool solves = false;
  Rule rule;
  const offset_t* offsets;
  index_t* columns;
  double* values;

  template <class Group>
  TESSERA_HOST_DEVICE void run(const Group& group, index_t row, double* /*scratch*/) const {
    const auto bound = rule.bound(group, row);
    const offset_t end = rule.offsets()[row + 1];
    offset_t to = offsets[row];
    for (offset_t first = rule.offsets()[row]; first < end; first += group.size()) {
      const offset_t k = first + group.rank();
      const bool keeps = k < end && rule.keeps(bound, row, k);
      int total = 0;
      const int before = group.yes_before(keeps, total);
      if (keeps) {
        columns[to + before] = rule.columns()[k];
        values[to + before] = rule.value(k);
      }
      to += total;
    }
  }
};

[[nodiscard]] TESSERA_HOST_DEVICE inline double magnitude(double value) noexcept {
  return value < 0.0 ? -value : value;
}

/// A rule for the entries of a matrix.
struct EntryRule {
  CsrPointers<double> a;
  [[nodiscard]] TESSERA_HOST_DEVICE const offset_t* offsets() const noexcept { return a.offsets; }
  [[nodiscard]] TESSERA_HOST_DEVICE const index_t* columns() const noexcept { return a.columns; }
  [[nodiscard]] TESSERA_HOST_DEVICE double value(offset_t k) const noexcept { return magnitude(a.values[k]); }
};

/// The diagonal, and what is at least `least` in magnitude.
struct AtLeast : EntryRule {
  double least;
  struct Bound {};
  template <class Group>
  [[nodiscard]] TESSERA_HOST_DEVICE Bound bound(const Group& /*group*/, index_t /*row*/) const noexcept {
    return {};
  }
  [[nodiscard]] TESSERA_HOST_DEVICE bool keeps(const Bound& /*bound*/, index_t row, offset_t k) const noexcept {
    return a.columns[k] == row || value(k) >= least;
  }
};

/// Of a triangle whose rows end with their diagonal: that, and what is at least `least` times as large.
struct AtLeastOfDiagonal : EntryRule {
  double least;
  struct Bound {
    double value;
    offset_t diagonal;
  };
  template <class Group>
  [[nodiscard]] TESSERA_HOST_DEVICE Bound bound(const Group& /*group*/, index_t row) const noexcept {
    const offset_t diagonal = a.offsets[row + 1] - 1;
    return {fused::rounded_product(least, value(diagonal)), diagonal};
  }
  [[nodiscard]] TESSERA_HOST_DEVICE bool keeps(const Bound& bound, index_t /*row*/, offset_t k) const noexcept {
    return k == bound.diagonal || value(k) >= bound.value;
  }
};

/// The diagonal, and of the other entries (with `lower` of those left of it) the largest in magnitude; of equal ones
/// the first. At most `most` in all.
struct LargestOfRow : EntryRule {
  std::int64_t most;
  bool lower;

  struct Bound {
    std::uint64_t least;  ///< bits of the smallest magnitude that stays: those of a double >= 0 ascend with it
    offset_t tie_end;     ///< entries of this magnitude stay in front of it
  };

  [[nodiscard]] TESSERA_HOST_DEVICE bool competes(index_t row, offset_t k) const noexcept {
    return lower ? a.columns[k] < row : a.columns[k] != row;
  }
  [[nodiscard]] TESSERA_HOST_DEVICE std::uint64_t bits(offset_t k) const noexcept {
    const double size = value(k);
    std::uint64_t result = 0;
    memcpy(&result, &size, sizeof(result));
    return result;
  }
  /// Entries in [begin, end) that compete and of which `is` holds.
  template <class Group, class Is>
  [[nodiscard]] TESSERA_HOST_DEVICE offset_t count(const Group& group, index_t row, offset_t begin, offset_t end,
                                                   const Is& is) const {
    offset_t found = 0;
    for (offset_t k = begin + group.rank(); k < end; k += group.size()) {
      if (competes(row, k) && is(bits(k))) ++found;
    }
    return group.sum(found);
  }

  /// Bisects the bits of the smallest magnitude, then the end of those that equal it.
  template <class Group>
  [[nodiscard]] TESSERA_HOST_DEVICE Bound bound(const Group& group, index_t row) const {
    const offset_t begin = a.offsets[row];
    const offset_t end = a.offsets[row + 1];
    const offset_t places = most - 1;
    if (count(group, row, begin, end, [](std::uint64_t) { return true; }) <= places) return {0, end};
    if (places == 0) return {~std::uint64_t{0}, begin};
    std::uint64_t least = 0;
    for (int bit = 62; bit >= 0; --bit) {
      const std::uint64_t tried = least | std::uint64_t{1} << bit;
      if (count(group, row, begin, end, [tried](std::uint64_t b) { return b >= tried; }) >= places) least = tried;
    }
    const offset_t ties = places - count(group, row, begin, end, [least](std::uint64_t b) { return b > least; });
    return {least, partition_point(begin, end, [&](offset_t last) {
              return count(group, row, begin, last, [least](std::uint64_t b) { return b == least; }) < ties;
            })};
  }
  [[nodiscard]] TESSERA_HOST_DEVICE bool keeps(const Bound& bound, index_t row, offset_t k) const noexcept {
    if (a.columns[k] == row) return true;
    if (!competes(row, k)) return false;
    const std::uint64_t own = bits(k);
    return own > bound.least || (own == bound.least && k < bound.tie_end);
  }
};

/// A matrix without the entries that a rule drops, and the largest number of entries per row.
struct KeptRows {
  Csr<double> matrix;
  int largest_row = 0;
};

/// \param a of the sizes and on the device of the result
template <class Rule>
[[nodiscard]] KeptRows kept_rows(const Csr<double>& a, const Rule& rule) {
  const Device& device = a.device();
  SharedReport report(device);
  Array<offset_t> offsets(std::int64_t{a.rows()} + 1, Init::zero, device);
  for_rows(device, a.rows(), CountKept<Rule>{rule, offsets.data(), report.data()});
  const offset_t nnz = sum_to_offsets(device, offsets.span());
  Array<index_t> columns(nnz, Init::none, device);
  Array<double> values(nnz, Init::none, device);
  for_rows(device, a.rows(), FillKept<Rule>{rule, offsets.data(), columns.data(), values.data()});
  const int largest = -report.get().largest_negated;
  return {Csr<double>(a.rows(), a.cols(), std::move(offsets), std::move(columns), std::move(values), Check::trusted),
          largest};
}

}  // namespace tessera::detail
