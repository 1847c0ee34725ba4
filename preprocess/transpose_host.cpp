/// \file
/// Transposition by counting sort over columns, in parallel parts of the rows.
#include "core/checked.hpp"
#include "core/parallel.hpp"
#include "preprocess/merge_search.hpp"
#include "preprocess/transpose_map.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace tessera::host {

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
  return std::clamp<std::int64_t>(a.nnz() / (std::int64_t{a.cols} + host::serial_threshold()), 1, device.threads());
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
void accumulate(ColumnCursors& cursors, std::int64_t parts, index_t cols, offset_t* offsets) {
  offset_t position = 0;
  for (std::int64_t j = 0; j < cols; ++j) {
    offsets[j] = position;
    for (std::int64_t p = 0; p < parts; ++p) position += std::exchange(cursors.part(p)[j], position);
  }
  offsets[cols] = position;
}

template <class T>
void scatter(const CsrView<T>& a, host::Range rows, offset_t* cursors, const TransposeOutput<T>& out) {
  for (std::int64_t i = rows.begin; i < rows.end; ++i) {
    const auto row = static_cast<std::size_t>(i);
    for (offset_t k = a.row_offsets[row]; k < a.row_offsets[row + 1]; ++k) {
      const offset_t target = cursors[a.columns[static_cast<std::size_t>(k)]]++;
      out.columns[target] = static_cast<index_t>(i);
      if (out.values != nullptr) out.values[target] = a.values[static_cast<std::size_t>(k)];
      if (out.positions != nullptr) out.positions[target] = static_cast<index_t>(k);
    }
  }
}

}  // namespace

template <class T>
void transpose_into(const CsrView<T>& matrix, const Device& device, const TransposeOutput<T>& out) {
  const std::int64_t parts = part_count(matrix, device);
  ColumnCursors cursors(parts, matrix.cols);
  host::parallel_tasks(device, parts,
                       [&](std::int64_t p) { count_columns(matrix, rows_of_part(matrix, parts, p), cursors.part(p)); });
  accumulate(cursors, parts, matrix.cols, out.row_offsets);
  host::parallel_tasks(device, parts,
                       [&](std::int64_t p) { scatter(matrix, rows_of_part(matrix, parts, p), cursors.part(p), out); });
}

template void transpose_into(const CsrView<float>&, const Device&, const TransposeOutput<float>&);
template void transpose_into(const CsrView<double>&, const Device&, const TransposeOutput<double>&);

}  // namespace tessera::host
