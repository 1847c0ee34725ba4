/// \file
/// The levels of ESC on a GPU below `device` (levels.hpp). Each looks for room for its rows, writes them there (the
/// pass `claim`), and waits for nothing. B has fewer than 2^32 entries. Sums have the host's bits.
#pragma once

#include "core/cuda/context.hpp"
#include "spgemm/cuda/row_batch.hpp"
#include "spgemm/esc/levels.hpp"

namespace tessera::cuda {

/// Thread a row: a sorting network in registers. Batch: most_products <= esc_thread_products.
template <class V>
void enqueue_esc_threads(const Context& context, const Factors<V>& factors, const RowBatch& batch,
                         const RowOutput<V>& out);

/// Warp a row. Batch: most_products <= esc_warp_products.
template <class V>
void enqueue_esc_warps(const Context& context, const Factors<V>& factors, const RowBatch& batch,
                       const RowOutput<V>& out);

/// Block a row, expanded by products, sorted in registers and shared memory. Batch: most_products <=
/// esc_block_products.
template <class V>
void enqueue_esc_blocks(const Context& context, const Factors<V>& factors, const RowBatch& batch,
                        const RowOutput<V>& out);

}  // namespace tessera::cuda
