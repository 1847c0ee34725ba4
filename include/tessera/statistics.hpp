/// \file
/// Statistics of a matrix, connected components, spy counts and transposition.
#pragma once

#include "tessera/csr.hpp"

#include <cstdint>
#include <vector>

namespace tessera {

/// Symmetry of a square matrix, the strongest that holds exactly. Rectangular matrices are `none`.
enum class Symmetry {
  none,
  structural,  ///< of the positions only
  skew,        ///< a_ij = -a_ji, with a zero diagonal; not all values are zero
  numerical,   ///< a_ij = a_ji
};

struct MatrixStatistics {
  index_t rows = 0;
  index_t cols = 0;
  offset_t nnz = 0;

  // Row lengths
  offset_t min_row_nnz = 0;
  offset_t max_row_nnz = 0;
  double mean_row_nnz = 0.0;
  double stddev_row_nnz = 0.0;  ///< population standard deviation
  double gini_row_nnz = 0.0;    ///< 0: all rows equal; towards 1: few rows hold most nonzeros
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
  index_t weakly_dominant_rows = 0;  ///< |a_ii| >= (1 - ε entries) Σ_{j≠i} |a_ij|, a missing entry being 0

  /// Every diagonal position holds a finite nonzero value.
  [[nodiscard]] bool full_diagonal() const noexcept {
    return diagonal_missing == 0 && diagonal_zero == 0 && diagonal_not_finite == 0;
  }
};

/// O(nnz + rows + cols) for everything but the symmetry test, which needs O(nnz log(max row)) at worst. A GPU gives the
/// values of the host; temporary memory there is 8 bytes per row and 1 per column, and one number per length of a row
/// comes to the host.
/// \param matrix valid, on `device` \throws OutOfMemory, CudaError
template <class T>
[[nodiscard]] MatrixStatistics statistics(const CsrView<T>& matrix, const Device& device = Device{});

/// Further statistics, which no solve needs. Maxima, minima and norms ignore NaN and infinite values, which
/// statistics() counts.
struct MatrixDetails {
  // Symmetry of a square matrix; all 0 for a rectangular one
  offset_t off_diagonal = 0;    ///< entries stored off the diagonal
  offset_t mirrored = 0;        ///< of these, entries (i, j) with (j, i) stored too
  offset_t equal_pairs = 0;     ///< of these, entries with a_ij == a_ji
  offset_t opposite_pairs = 0;  ///< of these, entries with a_ij == -a_ji
  /// max |a_ij - a_ji| / max |a_ij| over all positions, one that is not stored being 0
  double asymmetry = 0.0;

  // Values
  double min_abs = 0.0;  ///< over the nonzero values; 0 when there are none
  double max_abs = 0.0;
  offset_t negative = 0;
  offset_t ones = 0;          ///< values that are exactly 1
  double row_norm_min = 0.0;  ///< 2-norm, over the rows that hold a nonzero value; 0 when there are none
  double row_norm_max = 0.0;
  index_t strictly_dominant_rows = 0;  ///< |a_ii| > Σ_{j≠i} |a_ij|

  // Positions
  offset_t lower_bandwidth = 0;  ///< max i - j over the entries, at least 0
  offset_t upper_bandwidth = 0;  ///< max j - i over the entries, at least 0
  offset_t profile = 0;          ///< Σ_i (i - first column of row i), rows that begin right of the diagonal adding 0
  index_t hub_rows = 0;          ///< rows with more than max(32, 16 * mean) entries
  offset_t hub_nnz = 0;          ///< entries that they hold
};

/// O(nnz log(max row)) for a square matrix, else O(nnz); no memory beyond the result.
template <class T>
[[nodiscard]] MatrixDetails matrix_details(const CsrView<T>& matrix, const Device& device = Device{});

/// Components of the vertices 0 ... n-1.
struct ComponentCounts {
  index_t count = 0;
  index_t largest = 0;     ///< vertices of the largest one
  index_t singletons = 0;  ///< components of one vertex
};

/// Components of the graph with an edge {i, j} for every entry (i, j), directions ignored: 1 for a matrix that no
/// renumbering makes block diagonal. Parallel, 4 bytes per row; vertices are joined by compare-and-swap (R. Anderson,
/// H. Woll, "Wait-free parallel algorithms for the union-find problem", STOC 1991), counts do not depend on the order.
/// \throws DimensionError for a rectangular matrix
template <class T>
[[nodiscard]] ComponentCounts connected_components(const CsrView<T>& matrix, const Device& device = Device{});

/// Components in which every vertex reaches every other along entries i -> j: 1 for an irreducible matrix. O(rows +
/// nnz) on one thread, 12 bytes per row and up to 16 more on long paths (R. Tarjan, SIAM J. Comput. 1(2), 1972).
/// \throws DimensionError for a rectangular matrix
template <class T>
[[nodiscard]] ComponentCounts strong_components(const CsrView<T>& matrix);

/// Rows that equal an earlier row in columns and values; a matrix that has any is singular. Found by hashing and then
/// compared entry by entry: rows with NaN equal none, empty rows equal each other. O(nnz + rows log(rows)), 16 bytes
/// per row.
template <class T>
[[nodiscard]] index_t duplicate_rows(const CsrView<T>& matrix);

/// Entries counted by the cells of a coarse grid: what a spy plot shows.
struct SpyGrid {
  index_t matrix_rows = 0;
  index_t matrix_cols = 0;
  int rows = 0;                  ///< of the grid
  int cols = 0;                  ///< of the grid
  std::vector<offset_t> counts;  ///< row by row; cell (r, c) covers rows [m r / rows, m (r + 1) / rows) of m

  [[nodiscard]] offset_t count(int r, int c) const {
    return counts[static_cast<std::size_t>(r) * static_cast<std::size_t>(cols) + static_cast<std::size_t>(c)];
  }
  /// Entries by positions of a cell: 0 when empty, 1 when full.
  [[nodiscard]] double density(int r, int c) const;
};

/// \param rows, cols  size of the grid, each in [1, 1024]
/// \throws InvalidArgument for another size
template <class T>
[[nodiscard]] SpyGrid spy(const CsrView<T>& matrix, int rows, int cols, const Device& device = Device{});

/// Aᵀ as a new matrix, columns ascending; a pattern stays a pattern. On the host O(rows + cols + nnz); on a GPU by a
/// radix sort, O(nnz) per 8 bits of the number of columns, with 20 bytes per entry of temporary memory, and it returns
/// before the work is done.
/// \param matrix on `device`, where the result will lie
/// \throws OutOfMemory, CudaError; NotSupported on a GPU for a matrix whose columns and entries are too many to number
///         both in 64 bits
template <class T>
[[nodiscard]] Csr<T> transpose(const CsrView<T>& matrix, const Device& device = Device{});

}  // namespace tessera
