#include "preprocess/merge_search.hpp"
#include "spmv/common/segments.hpp"
#include "spmv/common/terms.hpp"
#include "spmv/merge/merge.hpp"

namespace tessera::host {

namespace {

/// The path from `begin` to `end`. Terms and epilogue come by value, and the loop is a function of its own: so the
/// compiler keeps their pointers in registers, where it would read them from memory for every row (bench/NOTES.md).
template <class T, class Terms, class Epilogue>
[[gnu::noinline]] Segment<T> multiply_segment(const offset_t* row_offsets, PathPoint begin, PathPoint end, Terms terms,
                                              Epilogue epilogue) {
  Segment<T> segment{begin.y, end.y, T{0}, {}};
  offset_t x = begin.x;
  for (index_t row = begin.y; row < end.y; ++row) {
    const offset_t row_end = row_offsets[row + 1];
    const T sum = sum_terms<T>(terms, x, row_end);
    x = row_end;
    if (row == begin.y) {
      epilogue.store_shared(row, sum);
    } else {
      epilogue.store(row, sum, segment.dots);
    }
  }
  segment.carry = sum_terms<T>(terms, x, end.x);
  return segment;
}

template <class T, class Terms, class Epilogue>
ProductDots multiply(const Device& device, const CsrView<T>& a, const Terms& terms, const Epilogue& epilogue) {
  const offset_t* row_offsets = a.row_offsets.data();
  const offset_t length = path_length(a.rows, a.nnz());
  const std::int64_t count = segment_count(length);
  Segments<T> segments;
  parallel_tasks(device, count, [&](std::int64_t s) {
    const Range path = part_of(length, count, s);
    segments[static_cast<std::size_t>(s)] =
        multiply_segment<T>(row_offsets, merge_search(row_offsets, a.rows, a.nnz(), path.begin),
                            merge_search(row_offsets, a.rows, a.nnz(), path.end), terms, epilogue);
  });
  return join_segments<T>(std::span(segments).first(static_cast<std::size_t>(count)), a.rows, epilogue);
}

}  // namespace

template <class T>
void merge_apply(const Device& device, const CsrView<T>& a, GatherAccess access, T alpha, std::span<const T> x, T beta,
                 std::span<T> y) {
  with_terms(a, x, access, [&](const auto& terms) {
    with_update(alpha, beta, y, [&](const auto& epilogue) { multiply(device, a, terms, epilogue); });
  });
}

template <class T>
ProductDots merge_apply_and_dot(const Device& device, const CsrView<T>& a, GatherAccess access, std::span<const T> x,
                                std::span<T> y, std::span<const T> w) {
  return with_terms(a, x, access, [&](const auto& terms) {
    return multiply(device, a, terms, OverwriteAndDot<T>{y.data(), w.data()});
  });
}

template void merge_apply(const Device&, const CsrView<float>&, GatherAccess, float, std::span<const float>, float,
                          std::span<float>);
template void merge_apply(const Device&, const CsrView<double>&, GatherAccess, double, std::span<const double>, double,
                          std::span<double>);
template ProductDots merge_apply_and_dot(const Device&, const CsrView<float>&, GatherAccess, std::span<const float>,
                                         std::span<float>, std::span<const float>);
template ProductDots merge_apply_and_dot(const Device&, const CsrView<double>&, GatherAccess, std::span<const double>,
                                         std::span<double>, std::span<const double>);

}  // namespace tessera::host
