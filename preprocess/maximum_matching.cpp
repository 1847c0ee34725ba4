/// \file
/// Matching of maximum cardinality by Hopcroft and Karp: the structural rank.
#include "preprocess/bipartite_matching.hpp"

namespace tessera {

using namespace detail;

template <class T>
Matching maximum_matching(const CsrView<T>& matrix) {
  EntryMatching matching(matrix.rows, matrix.cols);
  HopcroftKarp(
      matrix.row_offsets, matrix.columns, [&matrix](index_t /*row*/, offset_t k) { return matrix.value(k) != T{0}; },
      matching)
      .run();
  return matching.with_columns(matrix.columns);
}

template Matching maximum_matching(const CsrView<float>&);
template Matching maximum_matching(const CsrView<double>&);

}  // namespace tessera
