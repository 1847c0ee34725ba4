/// L D Lᵀ by Eigen's SimplicialLDLT, in the order given.
#include "core/interruption.hpp"
#include "solvers/direct/eigen_solvers.hpp"

#include <Eigen/SparseCholesky>

#include <algorithm>
#include <cmath>

namespace tessera::detail {

namespace {

// 64 bits, and not std::int64_t, as in eigen_lu.cpp.
using EigenIndex = long long;
using EigenUpper = Eigen::SparseMatrix<double, Eigen::ColMajor, EigenIndex>;
using EigenVector = Eigen::Map<Eigen::VectorXd>;

}  // namespace

}  // namespace tessera::detail

/// SimplicialLDLT reads every column by one of these, twice: the only place where it can be stopped, by an exception.
template <>
inline Eigen::SparseCompressedBase<tessera::detail::EigenUpper>::InnerIterator::InnerIterator(
    const SparseCompressedBase& matrix, Index outer)
    : m_values(matrix.valuePtr()),
      m_indices(matrix.innerIndexPtr()),
      m_outer(outer),
      m_id(matrix.outerIndexPtr()[outer]),
      m_end(matrix.isCompressed() ? matrix.outerIndexPtr()[outer + 1]
                                  : matrix.outerIndexPtr()[outer] + matrix.innerNonZeroPtr()[outer]) {
  constexpr std::int64_t steps_per_column = 1000;  // a look at the clock every 10 columns
  tessera::detail::interruption_point(steps_per_column);
}

namespace tessera::detail {

namespace {

EigenUpper upper_triangle(const ColumnMatrix& matrix) {
  EigenUpper upper(matrix.size(), matrix.size());
  const auto for_each_entry = [&](auto&& body) {
    for (index_t j = 0; j < matrix.size(); ++j) {
      const auto column = static_cast<std::size_t>(j);
      for (offset_t k = matrix.offsets[column]; k < matrix.offsets[column + 1]; ++k) {
        const index_t row = matrix.rows[static_cast<std::size_t>(k)];
        if (row <= j) body(row, j, matrix.values[static_cast<std::size_t>(k)]);
      }
    }
  };
  EigenIndex* const offsets = upper.outerIndexPtr();
  std::fill(offsets, offsets + matrix.size() + 1, EigenIndex{0});
  for_each_entry([&](index_t /*row*/, index_t column, double /*value*/) { ++offsets[column + 1]; });
  for (index_t j = 0; j < matrix.size(); ++j) offsets[j + 1] += offsets[j];
  upper.resizeNonZeros(offsets[matrix.size()]);
  Eigen::Index next = 0;
  for_each_entry([&](index_t row, index_t /*column*/, double value) {
    upper.innerIndexPtr()[next] = row;
    upper.valuePtr()[next] = value;
    ++next;
  });
  return upper;
}

class EigenCholesky final : public EigenSolver {
 public:
  FactorFacts factorize(const ColumnMatrix& matrix, offset_t /*predicted_nnz*/, offset_t /*most_nnz*/) override {
    const EigenUpper upper = upper_triangle(matrix);
    solver_.compute(upper);
    const Eigen::VectorXd pivots = solver_.vectorD();
    FactorFacts facts{.is_complete = true};
    for (index_t k = 0; k < matrix.size() && facts.is_complete; ++k) {
      const double pivot = pivots[k];
      facts.is_complete = pivot != 0.0 && std::isfinite(pivot);
      if (pivot < 0.0) ++facts.negative_pivots;
      if (k == 0 || !(std::abs(pivot) >= facts.smallest_pivot)) {
        facts.smallest_pivot = std::abs(pivot);
        facts.smallest_column = k;
      }
    }
    facts.factor_nnz = 2 * offset_t{solver_.matrixL().nestedExpression().nonZeros()} + matrix.size();
    return facts;
  }

  void solve(std::span<double> x) const override {
    const InterruptionPause pause;  // triangular solves use the iterator too
    EigenVector vector(x.data(), static_cast<Eigen::Index>(x.size()));
    vector = solver_.solve(vector).eval();
  }

  void solve_transposed(std::span<double> x) const override { solve(x); }

 private:
  Eigen::SimplicialLDLT<EigenUpper, Eigen::Upper, Eigen::NaturalOrdering<EigenIndex>> solver_;
};

}  // namespace

std::unique_ptr<EigenSolver> make_eigen_cholesky() { return std::make_unique<EigenCholesky>(); }

}  // namespace tessera::detail
