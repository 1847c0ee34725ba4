/// COLAMD, as Eigen has it.
#include "core/interruption.hpp"
#include "solvers/direct/eigen_solvers.hpp"

#include <Eigen/OrderingMethods>
#include <Eigen/SparseCore>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

namespace tessera::detail {

namespace {

// 64 bits, and not std::int64_t, as in eigen_lu.cpp.
using EigenIndex = long long;

}  // namespace

}  // namespace tessera::detail

/// COLAMD calls this for every pivot: the only place where it can be stopped, by an exception.
template <>
inline void Eigen::internal::Colamd::ColStructure<tessera::detail::EigenIndex>::kill_principal() {
  start = DeadPrincipal;
  constexpr std::int64_t steps_per_pivot = 1000;
  tessera::detail::interruption_point(steps_per_pivot);
}

namespace tessera::detail {

namespace {

// Orderings read the pattern alone.
using EigenPattern = Eigen::SparseMatrix<signed char, Eigen::ColMajor, EigenIndex>;
using EigenPermutation = Eigen::PermutationMatrix<Eigen::Dynamic, Eigen::Dynamic, EigenIndex>;

/// Some columns, and of each the rows that `keeps` accepts.
template <class Keeps>
EigenPattern pattern_of(const PatternLists& columns, std::span<const index_t> taken, index_t rows, Keeps&& keeps) {
  EigenPattern result(rows, static_cast<Eigen::Index>(taken.size()));
  result.resizeNonZeros(static_cast<Eigen::Index>(columns.indices.size()));
  EigenIndex next = 0;
  for (std::size_t j = 0; j < taken.size(); ++j) {
    result.outerIndexPtr()[j] = next;
    for (const index_t row : columns[taken[j]]) {
      if (keeps(row)) result.innerIndexPtr()[next++] = row;
    }
  }
  result.outerIndexPtr()[taken.size()] = next;
  result.resizeNonZeros(next);
  std::fill_n(result.valuePtr(), next, static_cast<signed char>(1));
  return result;
}

}  // namespace

std::vector<index_t> eigen_colamd(const PatternLists& columns, const PatternLists& columns_of) {
  const double dense = std::max(16.0, 10.0 * std::sqrt(static_cast<double>(columns.size())));
  const auto is_sparse = [dense](const PatternLists& lists) {
    return [&lists, dense](index_t i) { return static_cast<double>(lists[i].size()) <= dense; };
  };
  std::vector<index_t> order(static_cast<std::size_t>(columns.size()));
  std::iota(order.begin(), order.end(), index_t{0});
  const auto first_dense = std::stable_partition(order.begin(), order.end(), is_sparse(columns));
  const std::vector<index_t> sparse(order.begin(), first_dense);
  EigenPermutation goes_to;  // says where a column goes
  Eigen::COLAMDOrdering<EigenIndex>()(pattern_of(columns, sparse, columns_of.size(), is_sparse(columns_of)), goes_to);
  for (std::size_t i = 0; i < sparse.size(); ++i) {
    order[static_cast<std::size_t>(goes_to.indices()(static_cast<Eigen::Index>(i)))] = sparse[i];
  }
  return order;
}

}  // namespace tessera::detail
