/// \file
/// Symmetry, norms, bandwidths and hubs of a matrix.
#include "core/parallel.hpp"
#include "tessera/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera {

using namespace detail;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// What the rows of a range contribute. Differences of values are kept in long double, where they cannot overflow.
struct DetailSums {
  MatrixDetails counts;  ///< the fields that are sums; the others are below
  long double largest_difference = 0.0L;
  double min_abs = infinity;
  double max_abs = 0.0;
  double norm_min = infinity;
  double norm_max = 0.0;

  DetailSums& operator+=(const DetailSums& other) {
    counts.off_diagonal += other.counts.off_diagonal;
    counts.mirrored += other.counts.mirrored;
    counts.equal_pairs += other.counts.equal_pairs;
    counts.opposite_pairs += other.counts.opposite_pairs;
    counts.negative += other.counts.negative;
    counts.ones += other.counts.ones;
    counts.strictly_dominant_rows += other.counts.strictly_dominant_rows;
    counts.lower_bandwidth = std::max(counts.lower_bandwidth, other.counts.lower_bandwidth);
    counts.upper_bandwidth = std::max(counts.upper_bandwidth, other.counts.upper_bandwidth);
    counts.profile += other.counts.profile;
    counts.hub_rows += other.counts.hub_rows;
    counts.hub_nnz += other.counts.hub_nnz;
    largest_difference = std::max(largest_difference, other.largest_difference);
    min_abs = std::min(min_abs, other.min_abs);
    max_abs = std::max(max_abs, other.max_abs);
    norm_min = std::min(norm_min, other.norm_min);
    norm_max = std::max(norm_max, other.norm_max);
    return *this;
  }
};

template <class T>
host::Range entries_of(const CsrView<T>& a, std::int64_t i) {
  return {a.row_offsets[static_cast<std::size_t>(i)], a.row_offsets[static_cast<std::size_t>(i) + 1]};
}

/// Position of entry (i, j), or -1.
template <class T>
offset_t find_entry(const CsrView<T>& a, std::int64_t i, std::int64_t j) {
  const host::Range row = entries_of(a, i);
  const auto begin = a.columns.begin() + row.begin;
  const auto end = a.columns.begin() + row.end;
  const auto place = std::lower_bound(begin, end, static_cast<index_t>(j));
  return place != end && *place == j ? place - a.columns.begin() : -1;
}

template <class T>
void add_symmetry(const CsrView<T>& a, std::int64_t i, DetailSums& sums) {
  const host::Range row = entries_of(a, i);
  for (offset_t k = row.begin; k < row.end; ++k) {
    const index_t j = a.columns[static_cast<std::size_t>(k)];
    if (j == i) continue;
    ++sums.counts.off_diagonal;
    const T here = a.value(k);
    T there{0};
    if (const offset_t mirror = find_entry(a, j, i); mirror >= 0) {
      there = a.value(mirror);
      ++sums.counts.mirrored;
      if (here == there) ++sums.counts.equal_pairs;
      if (here == -there) ++sums.counts.opposite_pairs;
    }
    if (!std::isfinite(here) || !std::isfinite(there)) continue;
    const long double difference = std::fabs(static_cast<long double>(here) - static_cast<long double>(there));
    sums.largest_difference = std::max(sums.largest_difference, difference);
  }
}

/// 2-norm of a row that neither overflows nor underflows before its result does.
template <class T>
double row_norm(const CsrView<T>& a, host::Range row, double largest) {
  double sum = 0.0;
  for (offset_t k = row.begin; k < row.end; ++k) {
    const auto value = static_cast<double>(a.value(k));
    if (std::isfinite(value)) sum += (value / largest) * (value / largest);
  }
  return std::min(largest * std::sqrt(sum), std::numeric_limits<double>::max());
}

template <class T>
void add_values(const CsrView<T>& a, std::int64_t i, DetailSums& sums) {
  const host::Range row = entries_of(a, i);
  double diagonal = 0.0;
  double others = 0.0;
  double largest = 0.0;
  for (offset_t k = row.begin; k < row.end; ++k) {
    const auto value = static_cast<double>(a.value(k));
    const double size = std::fabs(value);
    if (a.columns[static_cast<std::size_t>(k)] == i) {
      diagonal = size;
    } else {
      others += size;
    }
    if (value < 0.0) ++sums.counts.negative;
    if (value == 1.0) ++sums.counts.ones;
    if (size == 0.0 || !std::isfinite(size)) continue;
    sums.min_abs = std::min(sums.min_abs, size);
    largest = std::max(largest, size);
  }
  if (i < a.cols && diagonal > others) ++sums.counts.strictly_dominant_rows;
  if (largest == 0.0) return;
  sums.max_abs = std::max(sums.max_abs, largest);
  const double norm = row_norm(a, row, largest);
  sums.norm_min = std::min(sums.norm_min, norm);
  sums.norm_max = std::max(sums.norm_max, norm);
}

template <class T>
void add_positions(const CsrView<T>& a, std::int64_t i, double hub_length, DetailSums& sums) {
  const host::Range row = entries_of(a, i);
  if (row.size() == 0) return;
  // Columns ascend.
  const offset_t left = i - a.columns[static_cast<std::size_t>(row.begin)];
  const offset_t right = a.columns[static_cast<std::size_t>(row.end - 1)] - i;
  sums.counts.lower_bandwidth = std::max(sums.counts.lower_bandwidth, left);
  sums.counts.upper_bandwidth = std::max(sums.counts.upper_bandwidth, right);
  sums.counts.profile += std::max(offset_t{0}, left);
  if (static_cast<double>(row.size()) <= hub_length) return;
  ++sums.counts.hub_rows;
  sums.counts.hub_nnz += row.size();
}

}  // namespace

template <class T>
MatrixDetails matrix_details(const CsrView<T>& matrix, const Device& device) {
  const double mean = matrix.rows == 0 ? 0.0 : static_cast<double>(matrix.nnz()) / static_cast<double>(matrix.rows);
  constexpr double least_hub = 32.0;
  constexpr double times_mean = 16.0;
  const double hub_length = std::max(least_hub, times_mean * mean);
  const auto sums = host::parallel_sum<DetailSums>(device, matrix.rows, [&](host::Range rows) {
    DetailSums part;
    for (std::int64_t i = rows.begin; i < rows.end; ++i) {
      if (matrix.is_square()) add_symmetry(matrix, i, part);
      add_values(matrix, i, part);
      add_positions(matrix, i, hub_length, part);
    }
    return part;
  });
  MatrixDetails result = sums.counts;
  result.max_abs = sums.max_abs;
  result.min_abs = sums.max_abs > 0.0 ? sums.min_abs : 0.0;
  result.row_norm_max = sums.norm_max;
  result.row_norm_min = sums.max_abs > 0.0 ? sums.norm_min : 0.0;
  if (sums.max_abs > 0.0) {
    result.asymmetry = static_cast<double>(sums.largest_difference / static_cast<long double>(sums.max_abs));
  }
  return result;
}

template MatrixDetails matrix_details(const CsrView<float>&, const Device&);
template MatrixDetails matrix_details(const CsrView<double>&, const Device&);

}  // namespace tessera
