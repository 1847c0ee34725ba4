/// \file
/// The levels of ESC on a GPU below `device` (levels.hpp). Warps and blocks look for room for their rows and write them
/// there (the pass `claim`). None waits for anything. B has fewer than 2^32 entries. Sums have the host's bits.
#pragma once

#include "core/cuda/context.hpp"
#include "spgemm/cuda/row_batch.hpp"
#include "spgemm/esc/levels.hpp"

namespace tessera::cuda {

/// Thread a row: a sorting network in registers. Batch: most_products <= esc_thread_products; in other passes than
/// `claim` short_keys(widest, esc_thread_products).
template <class V>
void enqueue_esc_threads(const Context& context, RowPass pass, const Factors<V>& factors, const RowBatch& batch,
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
