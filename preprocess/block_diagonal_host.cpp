/// \file
/// Block-diagonal matrix on the host: equal shares of the rows and of the entries per thread, part after part.
#include "preprocess/block_diagonal.hpp"

#include "core/parallel.hpp"

#include <algorithm>

namespace tessera::host {

using namespace detail;

namespace {

/// place(part, position) for the positions of a range. \param first where parts begin
template <class T, class Index, class Place>
void visit(const BlockDiagonal<T>& matrix, Range range, Index DiagonalPart<T>::*first, const Place& place) {
  for (std::int64_t next = range.begin; next < range.end;) {
    const std::int64_t number = matrix.part_of(static_cast<Index>(next), first);
    const std::int64_t end = std::min<std::int64_t>(range.end, matrix.parts[number + 1].*first);
    for (; next < end; ++next) place(matrix.parts[number], next);
  }
}

}  // namespace

template <class T>
void fill_block_diagonal(const Device& device, const BlockDiagonal<T>& matrix) {
  parallel_for(device, matrix.rows(), [&](Range range) {
    visit(matrix, range, &DiagonalPart<T>::first_row,
          [&](const DiagonalPart<T>& part, std::int64_t i) { matrix.place_row(part, i); });
  });
  matrix.row_offsets[matrix.rows()] = matrix.nnz();
  parallel_for(device, matrix.nnz(), [&](Range range) {
    visit(matrix, range, &DiagonalPart<T>::first_entry,
          [&](const DiagonalPart<T>& part, offset_t k) { matrix.place_entry(part, k); });
  });
}

template void fill_block_diagonal(const Device&, const BlockDiagonal<float>&);
template void fill_block_diagonal(const Device&, const BlockDiagonal<double>&);

}  // namespace tessera::host
