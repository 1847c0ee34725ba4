/// \file
/// Products that are cut to fit: C = A B in slices of consecutive rows, each within a limit of memory, and powers whose
/// products are filtered by a rule. Slices are cut where estimates of the rows of C (HyperLogLog; Ocean, §3) say.
#pragma once

#include "tessera/csr.hpp"
#include "tessera/keep.hpp"
#include "tessera/spgemm.hpp"
#include "tessera/types.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

namespace tessera {

/// Rows first_row ... first_row + matrix.rows() - 1 of C.
template <class T>
struct SpgemmSlice {
  index_t first_row = 0;
  Csr<T> matrix;        ///< with as many columns as C; on the device of the options
  SpgemmReport report;  ///< of the product that formed it
};

/// Size of a slice, as foreseen and as it turned out.
struct SliceSize {
  index_t first_row = 0;
  index_t rows = 0;
  double predicted_nnz = 0.0;  ///< 0 where the whole product was formed at once and nothing had to be foreseen
  offset_t nnz = 0;
};

/// How a product was cut.
struct SlicedReport {
  SpgemmReport product;  ///< sums over the slices; `peak_bytes` is the largest, with what the slicing itself holds;
                         ///< workflow, reason and determinism are those of the first
  std::string reason;    ///< one sentence: why so many slices
  std::vector<SliceSize> slices;  ///< in the order of their rows, those that were consumed
  index_t splits = 0;             ///< slices that turned out larger than the limit and were cut in two
  std::uint64_t limit_bytes = 0;  ///< of a slice; 0 where none was needed
  double predict_ms = 0.0;        ///< estimates of the rows
  double multiply_ms = 0.0;       ///< products, those that had to be split included
  double consume_ms = 0.0;        ///< spent in the consumer
};

/// C = A B in slices of consecutive rows, in their order, each as large as the limit allows: the product that forms it
/// takes at most SpgemmOptions::memory_limit_bytes (0: what the device has free) beside A and B. A product that fits is
/// one slice. A slice that turns out larger than foreseen is cut in two and formed again. With a determinism class of
/// `gpu_to_gpu`, and on the host always, the rows have the bits of spgemm().
/// Factors of the host are copied to a GPU once. The estimate holds 4 bytes per row of A (on the host 20) and 32 per
/// row of B within the limit; where these do not fit, rows are foreseen by the entries of A and the mean row of B.
/// \param a m x k \param b k x n
/// \param consume gets every slice; one that it keeps lies beside the limit. What it throws is passed on, and no
/// further
///        slice is formed
/// \throws as spgemm(); NotSupported for a precision other than `working`; OutOfMemory naming the row where a single
/// one does not fit O(products + rows) work, and the analysis of each slice; `asynchronous` has no effect
template <class T>
SlicedReport spgemm_sliced(const Csr<T>& a, const Csr<T>& b, const SpgemmOptions& options,
                           const std::type_identity_t<std::function<void(SpgemmSlice<T>)>>& consume);

/// A product that was gathered, and how it was cut.
template <class T>
struct GatheredProduct {
  Csr<T> matrix;  ///< on the host
  SlicedReport report;
};

/// C = A B in the memory of the host, formed as by spgemm_sliced(): on a GPU that need not hold C. A slice comes to the
/// host through page-locked memory while the next one is formed; both lie within the limit. C lies beside it.
/// \throws as spgemm_sliced()
template <class T>
[[nodiscard]] GatheredProduct<T> spgemm_to_host(const Csr<T>& a, const Csr<T>& b, const SpgemmOptions& options = {});

/// A filtered power of A, and the reports of its products, in their order.
template <class T>
struct FilteredPower {
  Csr<T> matrix;
  std::vector<SpgemmReport> products;
  std::vector<offset_t> dropped;  ///< entries that the rule dropped from each product
};

/// A^k by left-to-right binary powering, every product filtered by keep_entries() before it is a factor of the next: an
/// approximation of A^k, as in sparse approximate inverses or Markov clustering. k = 0 gives the identity, k = 1 a copy
/// of A, both unfiltered. The limit on memory holds for each product, the power so far included, not for the filter,
/// which holds at most another copy of what it keeps.
/// \throws DimensionError for a rectangular matrix, InvalidArgument for a negative k; else as spgemm(), keep_entries()
template <class T>
[[nodiscard]] FilteredPower<T> matrix_power(const Csr<T>& a, int k, const Keep& keep,
                                            const SpgemmOptions& options = {});

}  // namespace tessera
