/// \file
/// Hash of a whole matrix, on the host or a GPU.
#include "spmv/matrix_hash.hpp"

#include "core/parallel.hpp"

namespace tessera::detail {

namespace {

/// Σ term(i) for 0 <= i < n.
template <class Term>
HashSum sum_terms(const Device& device, std::int64_t n, const Term& term) {
  return host::parallel_sum<HashSum>(device, n, [&](host::Range range) {
    HashSum of_range;
    for (std::int64_t i = range.begin; i < range.end; ++i) of_range += term(i);
    return of_range;
  });
}

}  // namespace

template <class T>
std::uint64_t matrix_hash(const Device& device, const CsrView<T>& matrix) {
  const HashTerms<T> terms{matrix.row_offsets.data(), matrix.columns.data(),
                           matrix.is_pattern() ? nullptr : matrix.values.data()};
  if (!device.is_host()) return cuda::sum_hash_terms(device, terms, matrix.rows, matrix.nnz()).sum;
  HashSum total = sum_terms(device, matrix.rows, [&terms](std::int64_t i) { return terms.of_offset(i); });
  total += sum_terms(device, matrix.nnz(), [&terms](std::int64_t k) { return terms.of_nonzero(k); });
  return total.sum;
}

template std::uint64_t matrix_hash(const Device&, const CsrView<float>&);
template std::uint64_t matrix_hash(const Device&, const CsrView<double>&);

}  // namespace tessera::detail
