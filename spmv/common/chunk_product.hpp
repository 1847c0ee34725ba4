/// \file
/// The rows of a chunk of the merge path, on the host.
#pragma once

#include "preprocess/merge_search.hpp"
#include "spmv/common/chunks.hpp"
#include "spmv/common/terms.hpp"

namespace tessera::host {

/// The path from `begin` to `end`. Terms and epilogue come by value, and the loop is a separate function: the compiler
/// then keeps their pointers in registers instead of reading them from memory for every row (bench/NOTES.md).
template <class T, class Terms, class Epilogue>
[[gnu::noinline]] PathChunk<T> multiply_chunk(const offset_t* row_offsets, PathPoint begin, PathPoint end, Terms terms,
                                              Epilogue epilogue) {
  PathChunk<T> chunk{begin.y, end.y, T{0}, {}};
  offset_t x = begin.x;
  for (index_t row = begin.y; row < end.y; ++row) {
    const offset_t row_end = row_offsets[row + 1];
    const T sum = sum_terms<T>(terms, x, row_end);
    x = row_end;
    if (row == begin.y) {
      epilogue.store_shared(row, sum);
    } else {
      epilogue.store(row, sum, chunk.dots);
    }
  }
  chunk.carry = sum_terms<T>(terms, x, end.x);
  return chunk;
}

}  // namespace tessera::host
