/// \file
/// Eigen's sparse direct solvers behind one interface. Eigen is included in the sources alone, one per solver.
#pragma once

#include "solvers/direct/column_matrix.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tessera::detail {

/// What a factorization found out. Columns are those of the matrix that was given.
struct FactorFacts {
  bool is_complete = false;      ///< no pivot was zero or not finite
  bool is_overfull = false;      ///< given up: more entries than were allowed
  index_t smallest_column = -1;  ///< where the smallest pivot is, or the one that ended the factorization
  double smallest_pivot = 0.0;   ///< its magnitude
  index_t negative_pivots = 0;   ///< of L D Lᵀ
  offset_t factor_nnz = 0;       ///< of L + U, or of L + Lᵀ
};

/// Factors of a matrix in the order that it is given in.
class EigenSolver {
 public:
  EigenSolver() = default;
  EigenSolver(const EigenSolver&) = delete;
  EigenSolver& operator=(const EigenSolver&) = delete;
  virtual ~EigenSolver() = default;

  /// Has an interruption point in every column.
  /// \param most_nnz entries of L + U that are allowed; Cholesky has those that are predicted
  /// \throws std::bad_alloc; BudgetExceeded where it is interrupted
  virtual FactorFacts factorize(const ColumnMatrix& matrix, offset_t predicted_nnz, offset_t most_nnz) = 0;
  /// x = A⁻¹ x, in double. Calls may be concurrent; each allocates O(n).
  virtual void solve(std::span<double> x) const = 0;
  /// x = A⁻ᵀ x, likewise.
  virtual void solve_transposed(std::span<double> x) const = 0;
};

/// L D Lᵀ, of the upper triangle.
[[nodiscard]] std::unique_ptr<EigenSolver> make_eigen_cholesky();

/// P A = L U by columns.
/// \param threshold a diagonal entry is the pivot where it is at least so large, over the largest of its column; 1:
///                  partial pivoting, for an order of columns alone
[[nodiscard]] std::unique_ptr<EigenSolver> make_eigen_lu(double threshold);

/// COLAMD (T. A. Davis, J. R. Gilbert, S. I. Larimore, E. G. Ng, ACM Trans. Math. Softw. 30(3), 2004), an order of the
/// columns. Rows of more than 10 √n entries do not take part, and such columns come last, as in the original.
/// \param columns  rows of each column \param columns_of columns of each row
[[nodiscard]] std::vector<index_t> eigen_colamd(const PatternLists& columns, const PatternLists& columns_of);

}  // namespace tessera::detail
