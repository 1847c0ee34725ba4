/// \file
/// Row lengths, values and diagonal of a matrix in one pass.
#include "tessera/statistics.hpp"

#include "core/parallel.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

namespace tessera {

using namespace detail;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// What the rows of a range contribute.
struct RowSums {
  offset_t min_length = std::numeric_limits<offset_t>::max();
  offset_t max_length = 0;
  double squared_deviations = 0.0;
  std::array<index_t, 33> histogram{};
  offset_t bandwidth = 0;

  RowSums& operator+=(const RowSums& other) {
    min_length = std::min(min_length, other.min_length);
    max_length = std::max(max_length, other.max_length);
    squared_deviations += other.squared_deviations;
    for (std::size_t bin = 0; bin < histogram.size(); ++bin) histogram[bin] += other.histogram[bin];
    bandwidth = std::max(bandwidth, other.bandwidth);
    return *this;
  }
};

template <class T>
offset_t row_length(const CsrView<T>& a, std::int64_t i) {
  return a.row_offsets[static_cast<std::size_t>(i) + 1] - a.row_offsets[static_cast<std::size_t>(i)];
}

template <class T>
RowSums row_sums(const CsrView<T>& a, double mean, const Device& device) {
  return host::parallel_sum<RowSums>(device, a.rows, [&](host::Range rows) {
    RowSums sums;
    for (std::int64_t i = rows.begin; i < rows.end; ++i) {
      const offset_t length = row_length(a, i);
      const double deviation = static_cast<double>(length) - mean;
      sums.min_length = std::min(sums.min_length, length);
      sums.max_length = std::max(sums.max_length, length);
      sums.squared_deviations += deviation * deviation;
      ++sums.histogram[static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(length)))];
      if (length == 0) continue;
      // Columns ascend: the farthest one from the diagonal is the first or the last.
      const index_t first = a.columns[static_cast<std::size_t>(a.row_offsets[static_cast<std::size_t>(i)])];
      const index_t last = a.columns[static_cast<std::size_t>(a.row_offsets[static_cast<std::size_t>(i) + 1] - 1)];
      sums.bandwidth = std::max({sums.bandwidth, std::abs(first - i), std::abs(last - i)});
    }
    return sums;
  });
}

/// G = Σ_i (2 i - n - 1) l_i / (n Σ l), lengths l_i ascending and i from 1: summed over groups of equal length.
template <class T>
double gini(const CsrView<T>& a, offset_t max_length) {
  if (a.nnz() == 0) return 0.0;
  std::vector<index_t> rows_of_length(static_cast<std::size_t>(max_length) + 1);
  for (std::int64_t i = 0; i < a.rows; ++i) ++rows_of_length[static_cast<std::size_t>(row_length(a, i))];
  long double weighted = 0.0L;
  std::int64_t before = 0;
  for (std::size_t length = 0; length < rows_of_length.size(); ++length) {
    const std::int64_t count = rows_of_length[length];
    weighted += static_cast<long double>(length) * static_cast<long double>(count) *
                static_cast<long double>(2 * before + count - a.rows);
    before += count;
  }
  return static_cast<double>(weighted / (static_cast<long double>(a.rows) * static_cast<long double>(a.nnz())));
}

template <class T>
index_t count_empty_columns(const CsrView<T>& a, const Device& device) {
  Array<unsigned char> seen(a.cols);
  host::parallel_for(device, a.nnz(), [&](host::Range range) {
    for (offset_t k = range.begin; k < range.end; ++k) {
      std::atomic_ref(seen[a.columns[static_cast<std::size_t>(k)]]).store(1, std::memory_order_relaxed);
    }
  });
  return static_cast<index_t>(std::count(seen.begin(), seen.end(), 0));
}

template <class T>
void describe_rows(const CsrView<T>& a, const Device& device, MatrixStatistics& s) {
  s.empty_cols = count_empty_columns(a, device);
  if (a.rows == 0) return;
  s.mean_row_nnz = static_cast<double>(a.nnz()) / static_cast<double>(a.rows);
  const RowSums sums = row_sums(a, s.mean_row_nnz, device);
  s.min_row_nnz = sums.min_length;
  s.max_row_nnz = sums.max_length;
  s.stddev_row_nnz = std::sqrt(sums.squared_deviations / static_cast<double>(a.rows));
  s.gini_row_nnz = gini(a, sums.max_length);
  if (a.nnz() > 0) s.max_row_share = static_cast<double>(sums.max_length) / static_cast<double>(a.nnz());
  s.empty_rows = sums.histogram[0];
  s.row_length_histogram.assign(sums.histogram.begin(), sums.histogram.end());
  while (!s.row_length_histogram.empty() && s.row_length_histogram.back() == 0) s.row_length_histogram.pop_back();
  s.bandwidth = sums.bandwidth;
}

/// Position of entry (i, j), or -1.
template <class T>
offset_t find_entry(const CsrView<T>& a, std::int64_t i, std::int64_t j) {
  const auto begin = a.columns.begin() + a.row_offsets[static_cast<std::size_t>(i)];
  const auto end = a.columns.begin() + a.row_offsets[static_cast<std::size_t>(i) + 1];
  const auto place = std::lower_bound(begin, end, static_cast<index_t>(j));
  return place != end && *place == j ? place - a.columns.begin() : -1;
}

/// What may hold of every entry (i, j): (j, i) is stored, with an equal value, with the opposite value.
namespace mirror {
constexpr unsigned stored = 1;
constexpr unsigned equal = 2;
constexpr unsigned opposite = 4;
}  // namespace mirror

/// What holds of all entries of a row. A diagonal entry is the opposite of itself where it is zero.
template <class T>
unsigned mirrors_of_row(const CsrView<T>& a, std::int64_t i) {
  unsigned holds = mirror::stored | mirror::equal | mirror::opposite;
  for (offset_t k = a.row_offsets[static_cast<std::size_t>(i)]; k < a.row_offsets[static_cast<std::size_t>(i) + 1];
       ++k) {
    const offset_t mirrored = find_entry(a, a.columns[static_cast<std::size_t>(k)], i);
    if (mirrored < 0) return 0;
    if (a.value(mirrored) != a.value(k)) holds &= ~mirror::equal;
    if (a.value(mirrored) != -a.value(k)) holds &= ~mirror::opposite;
  }
  return holds;
}

template <class T>
Symmetry symmetry(const CsrView<T>& a, const Device& device) {
  if (!a.is_square()) return Symmetry::none;
  std::atomic<unsigned> holds{mirror::stored | mirror::equal | mirror::opposite};
  host::parallel_for(device, a.rows, [&](host::Range rows) {
    for (std::int64_t i = rows.begin; i < rows.end && holds.load(std::memory_order_relaxed) != 0; ++i) {
      const unsigned here = mirrors_of_row(a, i);
      if ((holds.load(std::memory_order_relaxed) & ~here) != 0) holds.fetch_and(here, std::memory_order_relaxed);
    }
  });
  const unsigned found = holds.load();
  if ((found & mirror::equal) != 0) return Symmetry::numerical;
  if ((found & mirror::opposite) != 0) return Symmetry::skew;
  return found != 0 ? Symmetry::structural : Symmetry::none;
}

/// What the values of a range of rows contribute.
struct ValueSums {
  offset_t zeros = 0;
  offset_t not_finite = 0;
  index_t diagonal_missing = 0;
  index_t diagonal_zero = 0;
  index_t diagonal_negative = 0;
  index_t diagonal_not_finite = 0;
  index_t dominant = 0;
  double min_abs = infinity;
  double max_abs = 0.0;

  ValueSums& operator+=(const ValueSums& other) {
    zeros += other.zeros;
    not_finite += other.not_finite;
    diagonal_missing += other.diagonal_missing;
    diagonal_zero += other.diagonal_zero;
    diagonal_negative += other.diagonal_negative;
    diagonal_not_finite += other.diagonal_not_finite;
    dominant += other.dominant;
    min_abs = std::min(min_abs, other.min_abs);
    max_abs = std::max(max_abs, other.max_abs);
    return *this;
  }
};

void add_diagonal_entry(double value, ValueSums& sums) {
  if (!std::isfinite(value)) {
    ++sums.diagonal_not_finite;
    return;
  }
  if (value == 0.0) ++sums.diagonal_zero;
  if (value < 0.0) ++sums.diagonal_negative;
  sums.min_abs = std::min(sums.min_abs, std::abs(value));
  sums.max_abs = std::max(sums.max_abs, std::abs(value));
}

template <class T>
void add_row_values(const CsrView<T>& a, std::int64_t i, ValueSums& sums) {
  double diagonal = 0.0;
  double others = 0.0;
  bool stored = false;
  for (offset_t k = a.row_offsets[static_cast<std::size_t>(i)]; k < a.row_offsets[static_cast<std::size_t>(i) + 1];
       ++k) {
    const auto value = static_cast<double>(a.value(k));
    if (value == 0.0) ++sums.zeros;
    if (!std::isfinite(value)) ++sums.not_finite;
    if (a.columns[static_cast<std::size_t>(k)] == i) {
      diagonal = value;
      stored = true;
    } else {
      others += std::abs(value);
    }
  }
  if (i >= a.cols) return;
  if (stored) {
    add_diagonal_entry(diagonal, sums);
  } else {
    ++sums.diagonal_missing;
  }
  if (std::abs(diagonal) >= others) ++sums.dominant;
}

template <class T>
void describe_values(const CsrView<T>& a, const Device& device, MatrixStatistics& s) {
  const auto sums = host::parallel_sum<ValueSums>(device, a.rows, [&](host::Range rows) {
    ValueSums part;
    for (std::int64_t i = rows.begin; i < rows.end; ++i) add_row_values(a, i, part);
    return part;
  });
  s.explicit_zeros = sums.zeros;
  s.not_finite = sums.not_finite;
  s.diagonal_missing = sums.diagonal_missing;
  s.diagonal_zero = sums.diagonal_zero;
  s.diagonal_negative = sums.diagonal_negative;
  s.diagonal_not_finite = sums.diagonal_not_finite;
  s.diagonal_min_abs = sums.min_abs == infinity ? 0.0 : sums.min_abs;
  s.diagonal_max_abs = sums.max_abs;
  s.weakly_dominant_rows = sums.dominant;
}

}  // namespace

template <class T>
MatrixStatistics statistics(const CsrView<T>& matrix, const Device& device) {
  MatrixStatistics s;
  s.rows = matrix.rows;
  s.cols = matrix.cols;
  s.nnz = matrix.nnz();
  describe_rows(matrix, device, s);
  describe_values(matrix, device, s);
  s.symmetry = symmetry(matrix, device);
  return s;
}

template MatrixStatistics statistics(const CsrView<float>&, const Device&);
template MatrixStatistics statistics(const CsrView<double>&, const Device&);

}  // namespace tessera
