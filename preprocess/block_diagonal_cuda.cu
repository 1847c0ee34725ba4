/// \file
/// Block-diagonal matrix on a GPU: one kernel over the entries of all parts, then their rows.
#include "core/cuda/reduce.cuh"
#include "preprocess/block_diagonal.hpp"

#include <cstdint>

namespace tessera::cuda {

using namespace detail;

template <class T>
void fill_block_diagonal(const Device& device, const BlockDiagonal<T>& matrix, index_t rows, offset_t nnz) {
  for_each(device, nnz + rows + 1, [=] __device__(std::int64_t position) {
    if (position < nnz) {
      matrix.place_entry(matrix.parts[matrix.part_of(position, &DiagonalPart<T>::first_entry)], position);
      return;
    }
    const auto row = static_cast<index_t>(position - nnz);
    if (row == rows) {
      matrix.row_offsets[row] = nnz;
    } else {
      matrix.place_row(matrix.parts[matrix.part_of(row, &DiagonalPart<T>::first_row)], row);
    }
  });
}

template void fill_block_diagonal(const Device&, const BlockDiagonal<float>&, index_t, offset_t);
template void fill_block_diagonal(const Device&, const BlockDiagonal<double>&, index_t, offset_t);

}  // namespace tessera::cuda
