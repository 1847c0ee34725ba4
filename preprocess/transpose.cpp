/// \file
/// Transposition by counting sort over columns, in parallel parts of the rows.
#include "core/checked.hpp"
#include "core/parallel.hpp"
#include "preprocess/merge_search.hpp"
#include "tessera/statistics.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace tessera {

using namespace detail;

namespace {

/// Entries per part and column, later the place of the part's next entry in that column.
class ColumnCursors {
 public:
  ColumnCursors(std::int64_t parts, index_t cols)
      : cols_(cols), cursors_(checked_multiply<std::int64_t>(parts, cols, "transpose")) {}
  [[nodiscard]] offset_t* part(std::int64_t p) noexcept { return cursors_.data() + p * cols_; }

 private:
  std::int64_t cols_;
  Array<offset_t> cursors_;
};

/// Parts of the rows that are counted and scattered independently. Each needs a counter per column, which must not
/// outgrow the entries themselves.
template <class T>
std::int64_t part_count(const CsrView<T>& a, const Device& device) {
  return std::clamp<std::int64_t>(a.nnz() / (std::int64_t{a.cols} + host::serial_threshold), 1, device.threads());
}

/// Rows of part p, cut where the merge path is, so that parts hold like amounts of rows and entries.
template <class T>
host::Range rows_of_part(const CsrView<T>& a, std::int64_t parts, std::int64_t p) {
  const host::Range path = host::part_of(path_length(a.rows, a.nnz()), parts, p);
  return {merge_search(a.row_offsets.data(), a.rows, a.nnz(), path.begin).y,
          merge_search(a.row_offsets.data(), a.rows, a.nnz(), path.end).y};
}

template <class T>
void count_columns(const CsrView<T>& a, host::Range rows, offset_t* counts) {
  const offset_t end = a.row_offsets[static_cast<std::size_t>(rows.end)];
  for (offset_t k = a.row_offsets[static_cast<std::size_t>(rows.begin)]; k < end; ++k) {
    ++counts[a.columns[static_cast<std::size_t>(k)]];
  }
}

/// Turns counts into start positions; fills the offsets of the transposed rows.
void accumulate(ColumnCursors& cursors, std::int64_t parts, Array<offset_t>& offsets) {
  offset_t position = 0;
  for (std::int64_t j = 0; j + 1 < offsets.size(); ++j) {
    offsets[j] = position;
    for (std::int64_t p = 0; p < parts; ++p) position += std::exchange(cursors.part(p)[j], position);
  }
  offsets[offsets.size() - 1] = position;
}

template <class T>
void scatter(const CsrView<T>& a, host::Range rows, offset_t* cursors, index_t* columns, T* values) {
  for (std::int64_t i = rows.begin; i < rows.end; ++i) {
    const auto row = static_cast<std::size_t>(i);
    for (offset_t k = a.row_offsets[row]; k < a.row_offsets[row + 1]; ++k) {
      const offset_t target = cursors[a.columns[static_cast<std::size_t>(k)]]++;
      columns[target] = static_cast<index_t>(i);
      if (!a.is_pattern()) values[target] = a.values[static_cast<std::size_t>(k)];
    }
  }
}

}  // namespace

template <class T>
Csr<T> transpose(const CsrView<T>& matrix, const Device& device) {
  const std::int64_t parts = part_count(matrix, device);
  ColumnCursors cursors(parts, matrix.cols);
  Array<offset_t> offsets(std::int64_t{matrix.cols} + 1, Init::none);
  Array<index_t> columns(matrix.nnz(), Init::none);
  Array<T> values(matrix.is_pattern() ? 0 : matrix.nnz(), Init::none);
  host::parallel_tasks(device, parts,
                       [&](std::int64_t p) { count_columns(matrix, rows_of_part(matrix, parts, p), cursors.part(p)); });
  accumulate(cursors, parts, offsets);
  host::parallel_tasks(device, parts, [&](std::int64_t p) {
    scatter(matrix, rows_of_part(matrix, parts, p), cursors.part(p), columns.data(), values.data());
  });
  if (matrix.is_pattern()) {
    return Csr<T>::pattern(matrix.cols, matrix.rows, std::move(offsets), std::move(columns), Check::trusted);
  }
  return Csr<T>(matrix.cols, matrix.rows, std::move(offsets), std::move(columns), std::move(values), Check::trusted);
}

template Csr<float> transpose(const CsrView<float>&, const Device&);
template Csr<double> transpose(const CsrView<double>&, const Device&);

}  // namespace tessera
