/// \file
/// Hash of a matrix on a GPU.
#include "core/cuda/reduce.cuh"
#include "spmv/matrix_hash.hpp"

namespace tessera::cuda {

using namespace detail;

template <class T>
HashSum sum_hash_terms(const Device& device, const HashTerms<T>& terms, std::int64_t rows, std::int64_t nnz) {
  auto total =
      fused_values<HashSum>(device, rows, [=] __device__(std::int64_t i, HashSum & sum) { sum += terms.of_offset(i); });
  total +=
      fused_values<HashSum>(device, nnz, [=] __device__(std::int64_t k, HashSum & sum) { sum += terms.of_nonzero(k); });
  return total;
}

template HashSum sum_hash_terms(const Device&, const HashTerms<float>&, std::int64_t, std::int64_t);
template HashSum sum_hash_terms(const Device&, const HashTerms<double>&, std::int64_t, std::int64_t);

}  // namespace tessera::cuda
