/// \file
/// Size of a sparse product, from the lengths of rows and a count of some of them.
#pragma once

#include "tessera/csr.hpp"

#include <cstdint>

namespace tessera::support {

struct ProductPrediction {
  std::int64_t products = 0;  ///< a_ik b_kj
  offset_t most_nnz = 0;      ///< of A B: a row has no more entries than products, and than columns
  offset_t least_nnz = 0;
  bool is_exact = false;  ///< all rows were counted
  index_t counted_rows = 0;
  std::int64_t counted_products = 0;
  double count_ms = 0.0;  ///< of counting them, on one thread
};

/// Counts the entries of every row where there are at most 2^22 products, else of rows at equal distances that have
/// about as many. least_nnz is then the estimate from their ratio of entries to products less three standard errors, of
/// rows as they come; rows of their own kind that the count missed are not in it.
/// O(nnz(A) + cols(B)), and O(counted products). \param a, b on the host, a.cols = b.rows \throws OutOfMemory
template <class T>
[[nodiscard]] ProductPrediction predict_product(const CsrView<T>& a, const CsrView<T>& b);

}  // namespace tessera::support
