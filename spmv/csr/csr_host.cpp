/// \file
/// CSR on the host: rows split by the merge path.
#include "preprocess/merge_search.hpp"
#include "spmv/common/chunks.hpp"
#include "spmv/common/stateless_kernel.hpp"
#include "spmv/csr/csr.hpp"

namespace tessera::host {

namespace {

/// Terms and epilogue come by value, and the loop is a separate function: the compiler then keeps their pointers in
/// registers instead of reading them from memory for every row (bench/NOTES.md).
template <class T, class Terms, class Epilogue>
[[gnu::noinline]] ProductDots multiply_rows(const offset_t* row_offsets, Range rows, Terms terms, Epilogue epilogue) {
  ProductDots dots;
  offset_t begin = row_offsets[rows.begin];
  for (std::int64_t i = rows.begin; i < rows.end; ++i) {
    const offset_t end = row_offsets[i + 1];
    epilogue.store(static_cast<index_t>(i), sum_terms<T>(terms, begin, end), dots);
    begin = end;
  }
  return dots;
}

struct MultiplyByRows {
  template <class T, class Terms, class Epilogue>
  ProductDots operator()(const Device& device, const CsrView<T>& a, const Terms& terms,
                         const Epilogue& epilogue) const {
    const offset_t* row_offsets = a.row_offsets.data();
    const offset_t length = path_length(a.rows, a.nnz());
    const std::int64_t chunks = chunk_count(length);
    std::array<ProductDots, max_chunks> dots;
    for_each_chunk(device, chunks, [&](std::int64_t s) {
      const Range path = part_of(length, chunks, s);
      const Range rows{merge_search(row_offsets, a.rows, a.nnz(), path.begin).y,
                       merge_search(row_offsets, a.rows, a.nnz(), path.end).y};
      dots[static_cast<std::size_t>(s)] = multiply_rows<T>(row_offsets, rows, terms, epilogue);
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
