/// \file
/// Passes of the statistics of a matrix on a GPU.
#include "core/cuda/reduce.cuh"
#include "core/sums.hpp"
#include "preprocess/row_warps.cuh"
#include "preprocess/statistics.hpp"
#include "tessera/array.hpp"

#include <cmath>
#include <cstdint>

namespace tessera::cuda {

using namespace detail;

template <class T>
RowExtremes row_extremes(const CsrView<T>& a, const Device& device) {
  const CsrPointers<T> matrix = pointers_of(a);
  return fused_values<RowExtremes>(
      device, a.rows, [=] __device__(std::int64_t row, RowExtremes & extremes) { extremes.add(matrix, row); });
}

template <class T>
std::vector<index_t> rows_of_length(const CsrView<T>& a, offset_t longest, const Device& device) {
  Array<index_t> counts(longest + 1, Init::zero, device);
  const offset_t* const offsets = a.row_offsets.data();
  index_t* const count = counts.data();
  for_each(device, a.rows, [=] __device__(std::int64_t row) { atomicAdd(&count[offsets[row + 1] - offsets[row]], 1); });
  const Array<index_t> found = counts.to(Device{});
  return {found.begin(), found.end()};
}

template <class T>
index_t empty_columns(const CsrView<T>& a, const Device& device) {
  Array<unsigned char> seen(a.cols, Init::zero, device);
  const index_t* const columns = a.columns.data();
  unsigned char* const mark = seen.data();
  for_each(device, a.nnz(), [=] __device__(std::int64_t k) { mark[columns[k]] = 1; });
  return static_cast<index_t>(
      fused_values<std::int64_t>(device, a.cols, [=] __device__(std::int64_t j, std::int64_t & empty) {
        if (mark[j] == 0) ++empty;
      }));
}

template <class T>
ValueCounts value_counts(const CsrView<T>& a, const Device& device) {
  const T* const values = a.values.data();
  return fused_values<ValueCounts>(
      device, static_cast<std::int64_t>(a.values.size()),
      [=] __device__(std::int64_t k, ValueCounts & counts) { counts.add(static_cast<double>(values[k])); });
}

template <class T>
DiagonalSums diagonal_sums(const CsrView<T>& a, const Device& device) {
  const CsrPointers<T> matrix = pointers_of(a);
  const index_t rows = a.rows < a.cols ? a.rows : a.cols;
  Array<double> sums(rows, Init::none, device);
  double* const others = sums.data();
  for_each_row(device, rows, [=] __device__(std::int64_t row, int lane) {
    // To add 0 for the diagonal entry changes no bit.
    const double sum = sum_in_order(matrix.offsets[row], matrix.offsets[row + 1], lane, [=](offset_t k) {
      return matrix.columns[k] == row ? 0.0 : std::abs(static_cast<double>(value_at(matrix, k)));
    });
    if (lane == 0) others[row] = sum;
  });
  return fused_values<DiagonalSums>(device, rows, [=] __device__(std::int64_t row, DiagonalSums & diagonal) {
    diagonal.add(matrix, row, others[row]);
  });
}

template <class T>
unsigned mirrors(const CsrView<T>& a, const Device& device) {
  const CsrPointers<T> matrix = pointers_of(a);
  Array<unsigned> lost(1, Init::zero, device);
  unsigned* const all_lost = lost.data();
  for_each_row(device, a.rows, [=] __device__(std::int64_t row, int lane) {
    unsigned here = 0;
    for (offset_t k = matrix.offsets[row] + lane; k < matrix.offsets[row + 1] && here != mirror::all; k += warp_size) {
      here |= mirror::all & ~mirrors_of_entry(matrix, row, k);
    }
    // Once lost is lost: few words are written.
    if ((here & ~*static_cast<volatile unsigned*>(all_lost)) != 0) atomicOr(all_lost, here);
  });
  return mirror::all & ~lost.to(Device{})[0];
}

template <class T>
std::int64_t first_row_without_positive_diagonal(const CsrView<T>& a, const Device& device) {
  const CsrPointers<T> matrix = pointers_of(a);
  return fused_values<FirstIndex>(device, a.rows,
                                  [=] __device__(std::int64_t i, FirstIndex & first) {
                                    if (!has_positive_diagonal(matrix, i)) first += FirstIndex{i};
                                  })
      .index;
}

template RowExtremes row_extremes(const CsrView<float>&, const Device&);
template RowExtremes row_extremes(const CsrView<double>&, const Device&);
template std::vector<index_t> rows_of_length(const CsrView<float>&, offset_t, const Device&);
template std::vector<index_t> rows_of_length(const CsrView<double>&, offset_t, const Device&);
template index_t empty_columns(const CsrView<float>&, const Device&);
template index_t empty_columns(const CsrView<double>&, const Device&);
template ValueCounts value_counts(const CsrView<float>&, const Device&);
template ValueCounts value_counts(const CsrView<double>&, const Device&);
template DiagonalSums diagonal_sums(const CsrView<float>&, const Device&);
template DiagonalSums diagonal_sums(const CsrView<double>&, const Device&);
template unsigned mirrors(const CsrView<float>&, const Device&);
template unsigned mirrors(const CsrView<double>&, const Device&);
template std::int64_t first_row_without_positive_diagonal(const CsrView<float>&, const Device&);
template std::int64_t first_row_without_positive_diagonal(const CsrView<double>&, const Device&);

}  // namespace tessera::cuda
