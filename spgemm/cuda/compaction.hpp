/// \file
/// Rows from the room they were written to into C.
#pragma once

#include "core/cuda/context.hpp"
#include "spgemm/cuda/row_batch.hpp"

namespace tessera::cuda {

/// Copies every row that has a place in the room to its place in C. O(nnz(C) + rows).
/// \param places of every row in the room, or no_place \param offsets of C, rows + 1 entries
/// \param mean_entries of a row
template <class V>
void enqueue_compaction(const Context& context, index_t rows, double mean_entries, const offset_t* places,
                        const offset_t* offsets, const index_t* from_columns, const V* from_values, index_t* columns,
                        V* values);

}  // namespace tessera::cuda
