/// \file
/// MERGE on the host: a chunk of the merge path per task.
#include "spmv/common/chunk_product.hpp"
#include "spmv/common/stateless_kernel.hpp"
#include "spmv/merge/merge.hpp"

namespace tessera::host {

namespace {

struct MultiplyByChunks {
  template <class T, class Terms, class Epilogue>
  ProductDots operator()(const Device& device, const CsrView<T>& a, const Terms& terms,
                         const Epilogue& epilogue) const {
    const offset_t* row_offsets = a.row_offsets.data();
    const offset_t length = path_length(a.rows, a.nnz());
    const std::int64_t count = chunk_count(length);
    PathChunks<T> chunks;
    for_each_chunk(device, count, [&](std::int64_t s) {
      const Range path = part_of(length, count, s);
      chunks[static_cast<std::size_t>(s)] =
          multiply_chunk<T>(row_offsets, merge_search(row_offsets, a.rows, a.nnz(), path.begin),
                            merge_search(row_offsets, a.rows, a.nnz(), path.end), terms, epilogue);
    });
    return join_chunks<T>(std::span(chunks).first(static_cast<std::size_t>(count)), a.rows, epilogue);
  }
};

}  // namespace

template <class T>
std::unique_ptr<SpmvKernel<T>> make_merge_kernel(const CsrView<T>& a, const SpmvOptions& options) {
  return std::make_unique<StatelessKernel<T, MultiplyByChunks>>(a, options);
}

template std::unique_ptr<SpmvKernel<float>> make_merge_kernel(const CsrView<float>&, const SpmvOptions&);
template std::unique_ptr<SpmvKernel<double>> make_merge_kernel(const CsrView<double>&, const SpmvOptions&);

}  // namespace tessera::host
