/// \file
/// The accumulators of a GPU. Each puts the launches for a batch of rows into the stream of its device and waits for
/// nothing. Entries of a row ascend by column; the terms of an entry are added in the order of A's row, rounded one by
/// one, so all of them give the same bits, which are the host's (but see enqueue_wide).
#pragma once

#include "core/cuda/context.hpp"
#include "core/host_device.hpp"
#include "spgemm/cuda/accumulators/esc_levels.hpp"
#include "spgemm/cuda/accumulators/row_batch.hpp"
#include "spgemm/cuda/accumulators/tuning.hpp"

#include <cstddef>
#include <cstdint>

namespace tessera::cuda {

/// Thread a row: merges up to `merge_lists` short rows of B, their heads in registers.
/// Row: most_lists <= merge_lists. B has fewer than 2^32 entries.
inline constexpr index_t merge_lists = 8;
template <class V>
void enqueue_merge(const Context& context, RowPass pass, const Factors<V>& factors, const RowBatch& batch,
                   const RowOutput<V>& out);

/// Warp a row: expands up to `esc_products` products, sorts them in registers by column and place, contracts
/// (optimized-esc-spgemm.txt). Row: products <= esc_products, and column range and place fit into 32 bits (short_keys).
/// B has fewer than 2^32 entries.
inline constexpr std::uint32_t esc_products = 512;
template <class V>
void enqueue_esc(const Context& context, RowPass pass, const Factors<V>& factors, const RowBatch& batch,
                 const RowOutput<V>& out);

/// Warp a row: a bitmap over the row's columns, whose running population count is the place of an entry.
/// Batch: window_bytes() of it at most Tuning::block_bytes, and B of fewer than 2^32 entries. In a claim most_entries
/// may be too small for some rows: these are counted and find no place.
template <class V>
void enqueue_window(const Context& context, RowPass pass, const Factors<V>& factors, const RowBatch& batch,
                    const RowOutput<V>& out);

/// The pass place for a warp a group of up to rows_alike rows, one after the other, whose rows of A have the same
/// positions: bitmap and rows of B are read once for all of them. Batch: the first row of each group, facts.bins, and
/// the slice of the largest group, window_bytes() with rows_alike.
template <class V>
void enqueue_window_alike(const Context& context, const Factors<V>& factors, const RowBatch& batch,
                          const RowOutput<V>& out);

/// Warp a row: a value and a flag for every column of the row's range. Row: width <= dense_columns; B has fewer than
/// 2^32 entries.
inline constexpr index_t dense_columns = 2048;
template <class V>
void enqueue_dense(const Context& context, RowPass pass, const Factors<V>& factors, const RowBatch& batch,
                   const RowOutput<V>& out);

/// A hash table of columns in shared memory, at most 3/4 full, sorted at the end. Warp a row up to hash_warp_entries,
/// in order; else block a row, which reads B a second time for the values: these are added in C itself, or, in order,
/// beside the table by warps that share out the columns of C. Row: at most Tuning::hash_entries entries; the batch's
/// most_entries bounds them, and a row with more would go round for ever. \param ordered as for enqueue_wide
inline constexpr index_t hash_warp_entries = 768;
template <class V>
void enqueue_hash(const Context& context, RowPass pass, const Factors<V>& factors, const RowBatch& batch,
                  const RowOutput<V>& out, bool ordered);

/// Block a row: a bitmap over all columns, one stretch of them after the other, and sums straight into C. Any row. A
/// stretch has as many columns as Tuning::tiled_bytes allow: on compute capability 9.0 819 200 (1 638 400 to count);
/// columns between stretches that no entry lies in cost nothing. Rows with one stretch: O(products). Others: every
/// stretch besides costs a binary search in every row of B that the row of A names, and the reading of its bitmap.
/// \param pass count or place \param ordered terms in the order of A's row; else in any order by atomic additions,
/// which differ from run to run by rounding and take float numbers below the normal ones for zero \throws
/// InvalidArgument for another pass
template <class V>
void enqueue_wide(const Context& context, RowPass pass, const Factors<V>& factors, const RowBatch& batch,
                  const RowOutput<V>& out, bool ordered);

/// Words of the bitmap of a row of so many columns: an even number.
[[nodiscard]] TESSERA_HOST_DEVICE constexpr std::int64_t wide_marks(index_t width) noexcept {
  return (std::int64_t{width} + 63) / 64 * 2;
}
/// Shared memory of a row whose sums are beside its bitmap.
[[nodiscard]] TESSERA_HOST_DEVICE constexpr std::int64_t wide_shared_bytes(index_t width, index_t entries,
                                                                           int value_bytes) noexcept {
  return wide_marks(width) * 8 + std::int64_t{entries} * value_bytes;
}
/// The pass place of enqueue_wide in the order of A's row, with the sums in shared memory. Batch: with the slice of its
/// largest row, wide_shared_bytes(), or without, then that of its widest row and most entries is at most
/// Tuning::tiled_bytes.
template <class V>
void enqueue_wide_in_shared(const Context& context, const Factors<V>& factors, const RowBatch& batch,
                            const RowOutput<V>& out);

/// enqueue_wide with bitmaps of at most `bytes`. \param bytes at least 8, at most Tuning::tiled_bytes
template <class V>
void enqueue_wide(const Context& context, RowPass pass, const Factors<V>& factors, const RowBatch& batch,
                  const RowOutput<V>& out, bool ordered, std::size_t bytes);

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
