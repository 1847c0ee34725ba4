/// \file
/// Approximate minimum degree ordering by Eigen (P. Amestoy, T. A. Davis, I. S. Duff, SIAM J. Matrix Anal. Appl. 17(4),
/// 1996).
#include "preprocess/symmetric_pattern.hpp"

#include <Eigen/OrderingMethods>
#include <Eigen/SparseCore>

#include <cstdint>

namespace tessera::detail {

namespace {

// 64 bits: the quotient graph takes 1.2 times the entries of A + Aᵀ, and 2 per row.
using EigenIndex = std::int64_t;
using EigenPattern = Eigen::SparseMatrix<char, Eigen::ColMajor, EigenIndex>;

/// The lower triangle with its diagonal, which Eigen's ordering expects to be stored.
EigenPattern lower_triangle(const SymmetricPattern& graph) {
  const index_t n = graph.vertices();
  EigenPattern lower(n, n);
  lower.resizeNonZeros(graph.nnz() / 2 + n);
  EigenIndex* offsets = lower.outerIndexPtr();
  EigenIndex* rows = lower.innerIndexPtr();
  EigenIndex next = 0;
  for (index_t v = 0; v < n; ++v) {
    offsets[v] = next;
    rows[next++] = v;
    for (const index_t neighbour : graph.neighbours(v)) {
      if (neighbour > v) rows[next++] = neighbour;
    }
  }
  offsets[n] = next;
  lower.coeffs().setOnes();
  return lower;
}

}  // namespace

std::vector<index_t> amd_ordering(const SymmetricPattern& graph) {
  if (graph.vertices() == 0) return {};
  Eigen::PermutationMatrix<Eigen::Dynamic, Eigen::Dynamic, EigenIndex> permutation;
  const EigenPattern lower = lower_triangle(graph);
  Eigen::AMDOrdering<EigenIndex>()(lower.selfadjointView<Eigen::Lower>(), permutation);
  const auto& indices = permutation.indices();
  return {indices.data(), indices.data() + graph.vertices()};
}

}  // namespace tessera::detail
