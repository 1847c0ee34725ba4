/// \file
/// Matching of maximum cardinality by Hopcroft and Karp from the start of Karp and Sipser: the structural rank.
#include "preprocess/bipartite_matching.hpp"
#include "preprocess/karp_sipser.hpp"

namespace tessera {

using namespace detail;

template <class T>
Matching detail::maximum_matching(const CsrView<T>& matrix, MatchingWork& work) {
  const auto is_edge = [&matrix](index_t /*row*/, offset_t k) { return matrix.value(k) != T{0}; };
  EntryMatching matching = KarpSipser(matrix.row_offsets, matrix.columns, is_edge, matrix.cols).run();
  HopcroftKarp(matrix.row_offsets, matrix.columns, is_edge, matching).run();
  work = matching.work;
  return matching.with_columns(matrix.columns);
}

template <class T>
Matching maximum_matching(const CsrView<T>& matrix) {
  MatchingWork work;
  return detail::maximum_matching(matrix, work);
}

template Matching detail::maximum_matching(const CsrView<float>&, MatchingWork&);
template Matching detail::maximum_matching(const CsrView<double>&, MatchingWork&);
template Matching maximum_matching(const CsrView<float>&);
template Matching maximum_matching(const CsrView<double>&);

}  // namespace tessera
