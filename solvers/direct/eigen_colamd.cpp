/// COLAMD, as Eigen has it.
#include "solvers/direct/eigen_solvers.hpp"

#include <Eigen/OrderingMethods>
#include <Eigen/SparseCore>

#include <algorithm>
#include <cmath>

namespace tessera::detail {

namespace {

// Orderings read the pattern alone.
using EigenPattern = Eigen::SparseMatrix<signed char, Eigen::ColMajor, std::int64_t>;
using EigenPermutation = Eigen::PermutationMatrix<Eigen::Dynamic, Eigen::Dynamic, std::int64_t>;

/// The rows of each column that `keeps` accepts.
template <class Keeps>
EigenPattern pattern_of(const PatternLists& columns, index_t rows, Keeps&& keeps) {
  EigenPattern result(rows, columns.size());
  result.resizeNonZeros(static_cast<Eigen::Index>(columns.indices.size()));
  std::int64_t next = 0;
  for (index_t j = 0; j < columns.size(); ++j) {
    result.outerIndexPtr()[j] = next;
    for (const index_t row : columns[j]) {
      if (keeps(row)) result.innerIndexPtr()[next++] = row;
    }
  }
  result.outerIndexPtr()[columns.size()] = next;
  result.resizeNonZeros(next);
  std::fill_n(result.valuePtr(), next, static_cast<signed char>(1));
  return result;
}

/// Eigen's permutations say where a column goes.
std::vector<index_t> order_from(const EigenPermutation& goes_to) {
  std::vector<index_t> order(static_cast<std::size_t>(goes_to.size()));
  for (Eigen::Index i = 0; i < goes_to.size(); ++i) {
    order[static_cast<std::size_t>(goes_to.indices()(i))] = static_cast<index_t>(i);
  }
  return order;
}

}  // namespace

std::vector<index_t> eigen_colamd(const PatternLists& columns, const PatternLists& columns_of) {
  const double dense = std::max(16.0, 10.0 * std::sqrt(static_cast<double>(columns.size())));
  EigenPermutation goes_to;
  Eigen::COLAMDOrdering<std::int64_t>()(
      pattern_of(columns, columns_of.size(),
                 [&](index_t row) { return static_cast<double>(columns_of[row].size()) <= dense; }),
      goes_to);
  return order_from(goes_to);
}

}  // namespace tessera::detail
