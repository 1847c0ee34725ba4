/// \file
/// What one pass over a matrix tells about it.
#pragma once

#include "tessera/csr.hpp"

#include <cstdint>
#include <vector>

namespace tessera {

/// Symmetry of a square matrix: of the values, of the positions only, or none. Rectangular matrices are `none`.
enum class Symmetry { none, structural, numerical };

struct MatrixStatistics {
  index_t rows = 0;
  index_t cols = 0;
  offset_t nnz = 0;

  // Row lengths
  offset_t min_row_nnz = 0;
  offset_t max_row_nnz = 0;
  double mean_row_nnz = 0.0;
  double stddev_row_nnz = 0.0;  ///< population standard deviation
  double gini_row_nnz = 0.0;    ///< 0: all rows alike; towards 1: few rows hold everything
  double max_row_share = 0.0;   ///< longest row / nnz, 0 for an empty matrix
  index_t empty_rows = 0;
  index_t empty_cols = 0;
  /// Rows by length: bin 0 counts empty rows, bin k >= 1 the rows with 2^(k-1) <= length < 2^k. No trailing zero bins.
  std::vector<index_t> row_length_histogram;
  offset_t bandwidth = 0;  ///< max |i - j| over the nonzeros

  // Values
  Symmetry symmetry = Symmetry::none;
  offset_t explicit_zeros = 0;
  offset_t not_finite = 0;  ///< NaN or infinite values

  // Diagonal: the first min(rows, cols) positions
  index_t diagonal_missing = 0;  ///< no entry stored
  index_t diagonal_zero = 0;     ///< stored, but zero
  index_t diagonal_negative = 0;
  index_t diagonal_not_finite = 0;
  double diagonal_min_abs = 0.0;  ///< over the finite stored diagonal entries; 0 when there are none
  double diagonal_max_abs = 0.0;
  index_t weakly_dominant_rows = 0;  ///< |a_ii| >= Σ_{j≠i} |a_ij|, a missing entry being 0

  /// Every diagonal position holds a finite nonzero value.
  [[nodiscard]] bool full_diagonal() const noexcept {
    return diagonal_missing == 0 && diagonal_zero == 0 && diagonal_not_finite == 0;
  }
};

/// `matrix` is valid. O(nnz + rows + cols) for everything but the symmetry test, which needs O(nnz log(max row)) at
/// worst.
template <class T>
[[nodiscard]] MatrixStatistics statistics(const CsrView<T>& matrix, const Device& device = Device{});

/// Aᵀ as a new matrix, columns ascending; a pattern stays a pattern. O(rows + cols + nnz).
template <class T>
[[nodiscard]] Csr<T> transpose(const CsrView<T>& matrix, const Device& device = Device{});

}  // namespace tessera
