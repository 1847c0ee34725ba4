/// \file
/// The accumulators of a GPU. Each enqueues the launches for a batch of rows into the stream of its device and waits
/// for nothing. Entries of a row ascend by column. The terms of an entry are added in the order of A's row and rounded
/// one by one, so all accumulators give the bits of the host (but see enqueue_hash and enqueue_bitmap_tiled). All but
/// enqueue_bitmap_tiled need a B of fewer than 2^32 entries.
#pragma once

#include "core/cuda/context.hpp"
#include "core/host_device.hpp"
#include "spgemm/cuda/accumulators/esc_levels.hpp"
#include "spgemm/cuda/accumulators/row_batch.hpp"
#include "spgemm/cuda/accumulators/tuning.hpp"

#include <cstddef>
#include <cstdint>

namespace tessera::cuda {

/// One thread per row: merges up to `merge_b_rows` short rows of B, whose current entries are in registers.
/// Batch: max_a_row_nnz <= merge_b_rows.
inline constexpr index_t merge_b_rows = 8;
template <class V>
void enqueue_merge(const Context& context, Phase phase, const Factors<V>& factors, const RowBatch& batch,
                   const RowOutput<V>& out);

/// One warp per row: expands up to `esc_products` products, sorts them in registers by column and offset, contracts
/// them (Dalton, Olson & Bell, TOMS 2015). Batch: most_products <= esc_products; column range and offset share 32 bits
/// (short_keys).
inline constexpr std::uint32_t esc_products = 512;
template <class V>
void enqueue_esc(const Context& context, Phase phase, const Factors<V>& factors, const RowBatch& batch,
                 const RowOutput<V>& out);

/// One thread per row: expansion, a sorting network in registers, contraction. Batch: most_products <=
/// esc_thread_products; in phases other than numeric_allocating also short_keys(widest, esc_thread_products).
template <class V>
void enqueue_esc_threads(const Context& context, Phase phase, const Factors<V>& factors, const RowBatch& batch,
                         const RowOutput<V>& out);

/// Phase numeric_allocating, one warp per row, with keys as long as needed. Batch: most_products <= esc_warp_products.
template <class V>
void enqueue_esc_warps(const Context& context, const Factors<V>& factors, const RowBatch& batch,
                       const RowOutput<V>& out);

/// Phase numeric_allocating, one block per row: expanded by products, sorted in registers and shared memory.
/// Batch: most_products <= Tuning::esc_block_products.
template <class V>
void enqueue_esc_blocks(const Context& context, const Factors<V>& factors, const RowBatch& batch,
                        const RowOutput<V>& out);

/// One warp per row: a bitmap over the row's columns, whose running population count is the offset of an entry.
/// Batch: bitmap_warp_bytes() of it at most Tuning::block_bytes. In phase numeric_allocating most_entries may be too
/// small for some rows: these are counted and get no_offset.
template <class V>
void enqueue_bitmap(const Context& context, Phase phase, const Factors<V>& factors, const RowBatch& batch,
                    const RowOutput<V>& out);

/// Phase numeric, one warp per group of up to row_group_size consecutive rows whose rows of A have the same positions:
/// bitmap and rows of B are read once per group. Batch: the first row of each group, facts.bins, and as shared_bytes
/// the bitmap_warp_bytes() of the largest group.
template <class V>
void enqueue_bitmap_row_group(const Context& context, const Factors<V>& factors, const RowBatch& batch,
                              const RowOutput<V>& out);

/// One warp per row: a value and a flag for every column of the row's range. Batch: widest <= dense_columns.
inline constexpr index_t dense_columns = 2048;
template <class V>
void enqueue_dense(const Context& context, Phase phase, const Factors<V>& factors, const RowBatch& batch,
                   const RowOutput<V>& out);

/// A hash table of columns in shared memory, at most 3/4 full, sorted at the end. One warp per row of up to
/// hash_warp_entries entries, in order. Else one block per row, which reads B a second time for the values: it adds
/// them in C itself or, in order, beside the table, where each warp has its own columns of C. Batch: most_entries <=
/// Tuning::hash_entries; a row with more than most_entries would never end. \param ordered as for enqueue_bitmap_tiled
inline constexpr index_t hash_warp_entries = 768;
template <class V>
void enqueue_hash(const Context& context, Phase phase, const Factors<V>& factors, const RowBatch& batch,
                  const RowOutput<V>& out, bool ordered);

/// A small hash table per row in shared memory for 4, 8 or 16 lanes of a warp, whose entries are sorted by their ranks
/// at the end: pays where many products meet in few entries. Batch: phase numeric: most_entries <= small_hash_entries.
/// In the others most_entries may be too small for some rows: these are counted in parts of their columns, and get
/// no_offset in phase numeric_allocating. Rows of many products are slow.
inline constexpr index_t small_hash_entries = 224;
template <class V>
void enqueue_small_hash(const Context& context, Phase phase, const Factors<V>& factors, const RowBatch& batch,
                        const RowOutput<V>& out);

/// One block per row of any size: a bitmap over one range of columns after the other, and sums straight into C. A range
/// has as many columns as Tuning::tiled_bytes allow: 819 200 on compute capability 9.0 (1 638 400 to count). Columns
/// without entries between ranges cost nothing. Rows of one range: O(products). Each further range costs a binary
/// search in every row of B that the row of A names, and a scan of its bitmap. \param phase symbolic or numeric \param
/// ordered terms in the order of A's row; else in any order by atomic additions: results differ from run to run by
/// rounding, and subnormal float values count as zero \throws InvalidArgument for another phase
template <class V>
void enqueue_bitmap_tiled(const Context& context, Phase phase, const Factors<V>& factors, const RowBatch& batch,
                          const RowOutput<V>& out, bool ordered);
/// The same with bitmaps of at most `bytes`. \param bytes at least 8, at most Tuning::tiled_bytes
template <class V>
void enqueue_bitmap_tiled(const Context& context, Phase phase, const Factors<V>& factors, const RowBatch& batch,
                          const RowOutput<V>& out, bool ordered, std::size_t bytes);

/// Words of the bitmap of a row of so many columns: an even number.
[[nodiscard]] TESSERA_HOST_DEVICE constexpr std::int64_t tiled_words(index_t width) noexcept {
  return (std::int64_t{width} + 63) / 64 * 2;
}
/// Shared memory of a row whose sums are beside its bitmap.
[[nodiscard]] TESSERA_HOST_DEVICE constexpr std::int64_t tiled_shared_bytes(index_t width, index_t entries,
                                                                            int value_bytes) noexcept {
  return tiled_words(width) * 8 + std::int64_t{entries} * value_bytes;
}
/// Phase numeric of enqueue_bitmap_tiled in the order of A's row, with the sums in shared memory. Batch: shared_bytes
/// is the tiled_shared_bytes() of its largest row; or 0, then those of widest and most_entries are at most
/// Tuning::tiled_bytes.
template <class V>
void enqueue_bitmap_tiled_in_shared(const Context& context, const Factors<V>& factors, const RowBatch& batch,
                                    const RowOutput<V>& out);

}  // namespace tessera::cuda
