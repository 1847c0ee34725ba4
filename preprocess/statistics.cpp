/// \file
/// Statistics of a matrix: row lengths, values, diagonal, symmetry.
#include "tessera/statistics.hpp"

#include "preprocess/statistics.hpp"

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tessera {

using namespace detail;

namespace {

/// G = Σ_i (2 i - n - 1) l_i / (n Σ l), lengths l_i ascending and i from 1: summed over groups of equal length.
double gini(const std::vector<index_t>& rows_of_length, const MatrixStatistics& s) {
  if (s.nnz == 0) return 0.0;
  long double weighted = 0.0L;
  std::int64_t before = 0;
  for (std::size_t length = 0; length < rows_of_length.size(); ++length) {
    const std::int64_t count = rows_of_length[length];
    weighted += static_cast<long double>(length) * static_cast<long double>(count) *
                static_cast<long double>(2 * before + count - s.rows);
    before += count;
  }
  return static_cast<double>(weighted / (static_cast<long double>(s.rows) * static_cast<long double>(s.nnz)));
}

/// Population standard deviation, summed over groups of equal length.
double deviation(const std::vector<index_t>& rows_of_length, const MatrixStatistics& s) {
  long double squares = 0.0L;
  for (std::size_t length = 0; length < rows_of_length.size(); ++length) {
    const long double distance = static_cast<long double>(length) - static_cast<long double>(s.mean_row_nnz);
    squares += static_cast<long double>(rows_of_length[length]) * distance * distance;
  }
  return static_cast<double>(std::sqrt(squares / static_cast<long double>(s.rows)));
}

/// What follows from the number of rows per length. \param s with sizes
void describe_lengths(const std::vector<index_t>& rows_of_length, MatrixStatistics& s) {
  s.mean_row_nnz = static_cast<double>(s.nnz) / static_cast<double>(s.rows);
  s.stddev_row_nnz = deviation(rows_of_length, s);
  s.gini_row_nnz = gini(rows_of_length, s);
  s.empty_rows = rows_of_length[0];
  while (rows_of_length[static_cast<std::size_t>(s.min_row_nnz)] == 0) ++s.min_row_nnz;
  s.max_row_nnz = static_cast<offset_t>(rows_of_length.size()) - 1;
  if (s.nnz > 0) s.max_row_share = static_cast<double>(s.max_row_nnz) / static_cast<double>(s.nnz);
  s.row_length_histogram.resize(static_cast<std::size_t>(std::bit_width(rows_of_length.size() - 1)) + 1);
  for (std::size_t length = 0; length < rows_of_length.size(); ++length) {
    s.row_length_histogram[static_cast<std::size_t>(std::bit_width(length))] += rows_of_length[length];
  }
}

template <class T>
void describe_rows(const CsrView<T>& a, const Device& device, MatrixStatistics& s) {
  s.empty_cols = device.is_host() ? host::empty_columns(a, device) : cuda::empty_columns(a, device);
  if (a.rows == 0) return;
  const RowExtremes extremes = device.is_host() ? host::row_extremes(a, device) : cuda::row_extremes(a, device);
  s.bandwidth = extremes.bandwidth;
  describe_lengths(device.is_host() ? host::rows_of_length(a, extremes.longest, device)
                                    : cuda::rows_of_length(a, extremes.longest, device),
                   s);
}

template <class T>
void describe_values(const CsrView<T>& a, const Device& device, MatrixStatistics& s) {
  const ValueCounts counts = device.is_host() ? host::value_counts(a, device) : cuda::value_counts(a, device);
  s.explicit_zeros = counts.zeros;
  s.not_finite = counts.not_finite;
  const DiagonalSums sums = device.is_host() ? host::diagonal_sums(a, device) : cuda::diagonal_sums(a, device);
  s.diagonal_missing = sums.missing;
  s.diagonal_zero = sums.zero;
  s.diagonal_negative = sums.negative;
  s.diagonal_not_finite = sums.not_finite;
  s.diagonal_min_abs = sums.min_abs == DiagonalSums::infinity ? 0.0 : sums.min_abs;
  s.diagonal_max_abs = sums.max_abs;
  s.weakly_dominant_rows = sums.dominant;
}

template <class T>
Symmetry symmetry(const CsrView<T>& a, const Device& device) {
  if (!a.is_square()) return Symmetry::none;
  const unsigned found = device.is_host() ? host::mirrors(a, device) : cuda::mirrors(a, device);
  if ((found & mirror::equal) != 0) return Symmetry::numerical;
  if ((found & mirror::opposite) != 0) return Symmetry::skew;
  return found != 0 ? Symmetry::structural : Symmetry::none;
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
