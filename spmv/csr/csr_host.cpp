/// \file
/// CSR on the host: rows split by the merge path.
#include "preprocess/merge_search.hpp"
#include "spmv/common/chunks.hpp"
#include "spmv/common/stateless_kernel.hpp"
#include "spmv/csr/csr.hpp"

#include <array>
#include <cstdint>
#include <type_traits>

namespace tessera::host {

namespace {

/// How the terms of a row are summed: the same bits, fastest for different matrices (bench/NOTES.md).
enum class RowSum {
  general,         ///< x is prefetched where its reads are scattered
  cached_x,        ///< a cache holds x, so it is not
  cached,          ///< a cache holds the matrix, too: nothing is prefetched
  short_cached_x,  ///< as cached_x, where the end of a row is the branch that counts
  short_cached,    ///< as cached, likewise
};

/// Bytes of a matrix, and of x, that a cache shared by some cores keeps from product to product.
constexpr std::uint64_t cached_matrix_bytes = std::uint64_t{12} << 20;
constexpr std::uint64_t cached_x_bytes = std::uint64_t{8} << 20;

/// Nonzeros per row on average, up to which the end of a row is the branch that counts: where x alone is cached, and
/// where a processor cannot predict the lengths of rows.
constexpr offset_t short_row_mean = 6;
constexpr offset_t varied_row_mean = 16;

/// Rows whose lengths a processor learns from product to product.
constexpr index_t learned_rows = 32768;

/// Whether a processor cannot predict the lengths of rows: many, three quarters of a sample not as long as the next.
/// O(1)
template <class T>
[[nodiscard]] bool has_varied_rows(const CsrView<T>& a) noexcept {
  constexpr std::int64_t sample = 64;
  if (a.rows <= learned_rows || a.nnz() > varied_row_mean * a.rows) return false;
  const std::int64_t stride = (a.rows - 1) / sample;
  std::int64_t varied = 0;
  for (const offset_t* row = a.row_offsets.data(); row < a.row_offsets.data() + sample * stride; row += stride) {
    varied += row[1] - row[0] != row[2] - row[1] ? 1 : 0;
  }
  return 4 * varied >= 3 * sample;
}

template <class T>
[[nodiscard]] RowSum row_sum_of(const CsrView<T>& a) noexcept {
  const std::uint64_t entry_bytes = sizeof(index_t) + (a.is_pattern() ? 0 : sizeof(T));
  if (static_cast<std::uint64_t>(a.nnz()) * entry_bytes <= cached_matrix_bytes) {
    return has_varied_rows(a) ? RowSum::short_cached : RowSum::cached;
  }
  if (static_cast<std::uint64_t>(a.cols) * sizeof(T) > cached_x_bytes) return RowSum::general;
  const bool has_short_rows = a.nnz() <= short_row_mean * a.rows || has_varied_rows(a);
  return has_short_rows ? RowSum::short_cached_x : RowSum::cached_x;
}

/// Terms and epilogue come by value, and the loop is a separate function: the compiler then keeps their pointers in
/// registers instead of reading them from memory for every row (bench/NOTES.md).
template <class T, RowSum row_sum, class Terms, class Epilogue>
[[gnu::noinline]] ProductDots multiply_rows(const offset_t* row_offsets, Range rows, Terms terms, Epilogue epilogue) {
  ProductDots dots;
  offset_t begin = row_offsets[rows.begin];
  for (std::int64_t i = rows.begin; i < rows.end; ++i) {
    const offset_t end = row_offsets[i + 1];
    T sum{0};
    if constexpr (row_sum == RowSum::cached || row_sum == RowSum::cached_x) {
      sum = sum_inline_terms<T, row_sum == RowSum::cached_x>(terms, begin, end);
    } else if constexpr (row_sum == RowSum::short_cached || row_sum == RowSum::short_cached_x) {
      sum = sum_short_terms<T, row_sum == RowSum::short_cached_x>(terms, begin, end);
    } else {
      sum = sum_terms<T>(terms, begin, end);
    }
    epilogue.store(static_cast<index_t>(i), sum, dots);
    begin = end;
  }
  return dots;
}

template <class T, class Terms, class Epilogue>
[[nodiscard]] ProductDots multiply_rows(RowSum row_sum, const offset_t* row_offsets, Range rows, const Terms& terms,
                                        const Epilogue& epilogue) {
  switch (row_sum) {
    case RowSum::general:
      return multiply_rows<T, RowSum::general>(row_offsets, rows, terms, epilogue);
    case RowSum::cached_x:
      return multiply_rows<T, RowSum::cached_x>(row_offsets, rows, cached(terms), epilogue);
    case RowSum::cached:
      return multiply_rows<T, RowSum::cached>(row_offsets, rows, cached(terms), epilogue);
    case RowSum::short_cached_x:
      return multiply_rows<T, RowSum::short_cached_x>(row_offsets, rows, cached(terms), epilogue);
    case RowSum::short_cached:
      break;
  }
  return multiply_rows<T, RowSum::short_cached>(row_offsets, rows, cached(terms), epilogue);
}

struct MultiplyByRows {
  template <class T, class Terms, class Epilogue>
  ProductDots operator()(const Device& device, const CsrView<T>& a, const Terms& terms,
                         const Epilogue& epilogue) const {
    const offset_t* row_offsets = a.row_offsets.data();
    const offset_t length = path_length(a.rows, a.nnz());
    const std::int64_t chunks = chunk_count(length);
    const RowSum row_sum = row_sum_of(a);
    if constexpr (!std::is_same_v<Epilogue, OverwriteAndDot<T>>) {
      // The chunks cut inner products alone, and each takes two searches of the row offsets.
      if (device.threads() == 1) return multiply_rows<T>(row_sum, row_offsets, {0, a.rows}, terms, epilogue);
    }
    std::array<ProductDots, max_chunks> dots;
    for_each_chunk(device, chunks, [&](std::int64_t s) {
      const Range path = part_of(length, chunks, s);
      const Range rows{merge_search(row_offsets, a.rows, a.nnz(), path.begin).y,
                       merge_search(row_offsets, a.rows, a.nnz(), path.end).y};
      dots[static_cast<std::size_t>(s)] = multiply_rows<T>(row_sum, row_offsets, rows, terms, epilogue);
    });
    ProductDots total;
    for (std::int64_t s = 0; s < chunks; ++s) total += dots[static_cast<std::size_t>(s)];
    return total;
  }
};

}  // namespace

template <class T>
std::unique_ptr<SpmvKernel<T>> make_csr_kernel(const CsrView<T>& a, const SpmvOptions& options) {
  return std::make_unique<StatelessKernel<T, MultiplyByRows>>(a, options);
}

template std::unique_ptr<SpmvKernel<float>> make_csr_kernel(const CsrView<float>&, const SpmvOptions&);
template std::unique_ptr<SpmvKernel<double>> make_csr_kernel(const CsrView<double>&, const SpmvOptions&);

}  // namespace tessera::host
