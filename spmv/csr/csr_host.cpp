#include "preprocess/merge_search.hpp"
#include "spmv/common/segments.hpp"
#include "spmv/common/terms.hpp"
#include "spmv/csr/csr.hpp"

namespace tessera::host {

namespace {

/// Terms and epilogue come by value, and the loop is a function of its own: so the compiler keeps their pointers in
/// registers, where it would read them from memory for every row (bench/NOTES.md).
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

template <class T, class Terms, class Epilogue>
ProductDots multiply(const Device& device, const CsrView<T>& a, const Terms& terms, const Epilogue& epilogue) {
  const offset_t* row_offsets = a.row_offsets.data();
  const offset_t length = path_length(a.rows, a.nnz());
  const std::int64_t segments = segment_count(length);
  std::array<ProductDots, max_segments> dots;
  parallel_tasks(device, segments, [&](std::int64_t s) {
    const Range path = part_of(length, segments, s);
    const Range rows{merge_search(row_offsets, a.rows, a.nnz(), path.begin).y,
                     merge_search(row_offsets, a.rows, a.nnz(), path.end).y};
    dots[static_cast<std::size_t>(s)] = multiply_rows<T>(row_offsets, rows, terms, epilogue);
  });
  ProductDots total;
  for (std::int64_t s = 0; s < segments; ++s) total += dots[static_cast<std::size_t>(s)];
  return total;
}

}  // namespace

template <class T>
void csr_apply(const Device& device, const CsrView<T>& a, GatherAccess access, T alpha, std::span<const T> x, T beta,
               std::span<T> y) {
  with_terms(a, x, access, [&](const auto& terms) {
    with_update(alpha, beta, y, [&](const auto& epilogue) { multiply(device, a, terms, epilogue); });
  });
}

template <class T>
ProductDots csr_apply_and_dot(const Device& device, const CsrView<T>& a, GatherAccess access, std::span<const T> x,
                              std::span<T> y, std::span<const T> w) {
  return with_terms(a, x, access, [&](const auto& terms) {
    return multiply(device, a, terms, OverwriteAndDot<T>{y.data(), w.data()});
  });
}

template void csr_apply(const Device&, const CsrView<float>&, GatherAccess, float, std::span<const float>, float,
                        std::span<float>);
template void csr_apply(const Device&, const CsrView<double>&, GatherAccess, double, std::span<const double>, double,
                        std::span<double>);
template ProductDots csr_apply_and_dot(const Device&, const CsrView<float>&, GatherAccess, std::span<const float>,
                                       std::span<float>, std::span<const float>);
template ProductDots csr_apply_and_dot(const Device&, const CsrView<double>&, GatherAccess, std::span<const double>,
                                       std::span<double>, std::span<const double>);

}  // namespace tessera::host
