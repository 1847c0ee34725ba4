// Bitmap accumulator: one warp per row of C, a bitmap of its columns in shared memory, whose ranks are the offsets of
// the sums. Nothing is searched or sorted.
#include "core/cuda/warp.cuh"
#include "spgemm/cuda/accumulators/accumulators.hpp"
#include "spgemm/cuda/accumulators/launch.cuh"
#include "spgemm/cuda/accumulators/warp_products.cuh"

#include <cstdint>

namespace tessera::cuda {

namespace {

/// 32 columns.
struct BitWord {
  unsigned bits;
};
/// The same, and how many bits are set in earlier words. One load brings both.
struct alignas(8) RankedWord {
  unsigned bits;
  unsigned rank;
};

/// The columns of a row, from a multiple of 32 on. Functions that are not about one column are called by all lanes of
/// the warp, which synchronise in between. \tparam Word BitWord or RankedWord
template <class Word>
struct Bitmap {
  Word* words;
  int count;       ///< of words
  index_t origin;  ///< column of the first bit

  /// \param memory for bitmap_words(width) words
  __device__ Bitmap(unsigned char* memory, index_t first_column, index_t width)
      : words(reinterpret_cast<Word*>(memory)),
        count(width == 0 ? 0 : (first_column % 32 + width - 1) / 32 + 1),
        origin(first_column / 32 * 32) {}

  __device__ void clear() const {
    for (int w = lane_of_warp(); w < count; w += warp_size) words[w] = Word{};
  }

  /// Sets the bit of a column. Neighbouring lanes share words, and most bits have been set before.
  __device__ void mark(index_t column) const {
    const auto at = static_cast<unsigned>(column - origin);
    const unsigned bit = 1U << (at % 32);
    unsigned* const bits = &words[at / 32].bits;
    if ((*static_cast<const volatile unsigned*>(bits) & bit) == 0) atomicOr(bits, bit);
  }

  /// How many bits are set.
  [[nodiscard]] __device__ int population() const {
    unsigned sum = 0;
    for (int w = lane_of_warp(); w < count; w += warp_size) sum += static_cast<unsigned>(__popc(words[w].bits));
    return static_cast<int>(__reduce_add_sync(full_warp, sum));
  }
};

/// Gives every word its rank. \returns how many bits are set in all
[[nodiscard]] __device__ inline int rank_words(const Bitmap<RankedWord>& bitmap) {
  // Neighbouring words per lane: an odd number, to avoid bank conflicts.
  const int each = (bitmap.count + warp_size - 1) / warp_size | 1;
  const int begin = lane_of_warp() * each;
  const int end = begin + each < bitmap.count ? begin + each : bitmap.count;
  unsigned own = 0;
  for (int w = begin; w < end; ++w) own += static_cast<unsigned>(__popc(bitmap.words[w].bits));
  unsigned rank = sum_up_to_lane(own) - own;
  const unsigned total = __shfl_sync(full_warp, rank + own, warp_size - 1);
  for (int w = begin; w < end; ++w) {
    bitmap.words[w].rank = rank;
    rank += static_cast<unsigned>(__popc(bitmap.words[w].bits));
  }
  return static_cast<int>(total);
}

/// Writes the columns whose bits are set, ascending.
__device__ inline void write_columns(const Bitmap<BitWord>& bitmap, index_t* columns) {
  const int lane = lane_of_warp();
  const unsigned earlier = (1U << lane) - 1;
  for (int first = 0; first < bitmap.count; first += warp_size) {
    const unsigned own = first + lane < bitmap.count ? bitmap.words[first + lane].bits : 0;
    for (unsigned rest = __ballot_sync(full_warp, own != 0); rest != 0; rest &= rest - 1) {
      const int w = first + __ffs(static_cast<int>(rest)) - 1;
      const unsigned bits = bitmap.words[w].bits;
      if ((bits >> lane & 1U) != 0) columns[__popc(bits & earlier)] = bitmap.origin + 32 * w + lane;
      columns += __popc(bits);
    }
  }
}

inline constexpr int bitmap_threads = most_warps_of_block * warp_size;

/// Sets the bits of a row's columns.
template <class Word, class V, int Rows>
__device__ void mark_row(const Bitmap<Word>& bitmap, const Factors<V>& factors, WarpBRows<V, Rows>& b_rows, int lanes) {
  bitmap.clear();
  __syncwarp();
  mark_columns(factors, b_rows, lanes, [&](index_t column) { bitmap.mark(column); });
  __syncwarp();
}

/// The bitmap of a row of which only columns are wanted, in memory after the stage.
[[nodiscard]] __device__ inline Bitmap<BitWord> marked_row(const Factors<NoValue>& factors, const RowFacts& facts,
                                                           index_t row, int lanes, unsigned char* memory) {
  const Bitmap<BitWord> bitmap(memory + stage_bytes(0), facts.first_columns[row], facts.widths[row]);
  WarpBRows<NoValue> b_rows(factors, row, reinterpret_cast<BRow<NoValue>*>(memory));
  mark_row(bitmap, factors, b_rows, lanes);
  return bitmap;
}

/// Sums and columns of a group of rows, by offset in the row. All rows of a group have the same columns.
template <class V>
struct BitmapSums {
  Bitmap<RankedWord> bitmap;
  V* values;
  index_t* columns;
  int entries;  ///< of a row

  [[nodiscard]] __device__ int offset_of(index_t column) const {
    const auto at = static_cast<unsigned>(column - bitmap.origin);
    const RankedWord word = bitmap.words[at / 32];
    return static_cast<int>(word.rank) + __popc(word.bits & ((1U << (at % 32)) - 1));
  }
  /// Storing the column with every product costs less than expanding the bitmap.
  __device__ void add(int row, int offset, index_t column, V product) const {
    if (row == 0) columns[offset] = column;
    V& sum = values[row * entries + offset];
    sum = sum_of(sum, product);
  }
};

/// A group of up to `Rows` consecutive rows, whose rows of A have the same positions. All lanes of the warp call.
template <class V, int Rows>
class BitmapRows {
 public:
  /// Finds the entries. \param members rows in the group \param memory of the warp; its layout depends on the row
  __device__ BitmapRows(const Factors<V>& factors, const RowFacts& facts, index_t row, int members,
                        unsigned char* memory, int lanes)
      : factors_(factors),
        b_rows_(factors, row, reinterpret_cast<BRow<V, Rows>*>(memory), members),
        memory_(memory),
        sums_{
            {memory + stage_bytes(sizeof(V), Rows), facts.first_columns[row], facts.widths[row]}, nullptr, nullptr, 0} {
    mark_row(sums_.bitmap, factors, b_rows_, lanes);
    sums_.entries = rank_words(sums_.bitmap);
    sums_.values = reinterpret_cast<V*>(sums_.bitmap.words + sums_.bitmap.count);
    sums_.columns = reinterpret_cast<index_t*>(sums_.values + Rows * sums_.entries);
  }

  /// Of each row.
  [[nodiscard]] __device__ int entries() const { return sums_.entries; }
  /// Entries per row that fit into so many bytes.
  [[nodiscard]] __device__ int capacity(unsigned shared_bytes) const {
    const auto used = static_cast<unsigned>(reinterpret_cast<unsigned char*>(sums_.values) - memory_);
    return static_cast<int>((shared_bytes - used) / (Rows * sizeof(V) + sizeof(index_t)));
  }

  __device__ void add_up() {
    for (int i = lane_of_warp(); i < Rows * sums_.entries; i += warp_size) sums_.values[i] = sum_begin<V>;
    __syncwarp();
    add_products(factors_, b_rows_, sums_);
  }

  __device__ void write(int row, index_t* columns, V* values) const {
    for (int i = lane_of_warp(); i < sums_.entries; i += warp_size) {
      columns[i] = sums_.columns[i];
      values[i] = sums_.values[row * sums_.entries + i];
    }
  }

 private:
  const Factors<V>& factors_;
  WarpBRows<V, Rows> b_rows_;
  unsigned char* memory_;
  BitmapSums<V> sums_;
};

__global__ void __launch_bounds__(bitmap_threads)
    count_kernel(Factors<NoValue> factors, RowBatch batch, offset_t* counts, int lanes, unsigned shared_bytes) {
  if (row_of_warp() >= static_cast<unsigned>(batch.count)) return;
  const index_t row = row_of(batch, static_cast<index_t>(row_of_warp()));
  const int n = marked_row(factors, batch.facts, row, lanes, memory_of_warp(shared_bytes)).population();
  if (lane_of_warp() == 0) counts[row] = n;
}

template <Phase P>
__global__ void __launch_bounds__(bitmap_threads)
    columns_kernel(Factors<NoValue> factors, RowBatch batch, RowOutput<NoValue> out, int lanes, unsigned shared_bytes) {
  if (row_of_warp() >= static_cast<unsigned>(batch.count)) return;
  const index_t row = row_of(batch, static_cast<index_t>(row_of_warp()));
  const Bitmap<BitWord> bitmap = marked_row(factors, batch.facts, row, lanes, memory_of_warp(shared_bytes));
  const int n = P == Phase::numeric ? 0 : bitmap.population();
  const offset_t offset = output_offset_of_warp<P>(out, row, n, n);
  if (offset != no_offset) write_columns(bitmap, out.columns + offset);
}

template <Phase P, class V>
__global__ void __launch_bounds__(bitmap_threads)
    values_kernel(Factors<V> factors, RowBatch batch, RowOutput<V> out, int lanes, unsigned shared_bytes) {
  if (row_of_warp() >= static_cast<unsigned>(batch.count)) return;
  const index_t row = row_of(batch, static_cast<index_t>(row_of_warp()));
  BitmapRows<V, 1> rows(factors, batch.facts, row, 1, memory_of_warp(shared_bytes), lanes);
  const offset_t offset = output_offset_of_warp<P>(out, row, rows.entries(), rows.capacity(shared_bytes));
  if (offset == no_offset) return;
  rows.add_up();
  rows.write(0, out.columns + offset, out.values + offset);
}

template <Phase P, class V>
void launch_rows(const Context& context, const Factors<V>& factors, const RowBatch& batch, const RowOutput<V>& out) {
  const int lanes = lanes_per_b_row(batch.mean_b_row_nnz);
  if constexpr (has_values<V>) {
    launch_warps(
        "rows of C by bitmap", context, batch.count,
        batch.shared_bytes > 0 ? batch.shared_bytes : bitmap_warp_bytes(batch.widest, batch.most_entries, sizeof(V)),
        values_kernel<P, V>, factors, batch, out, lanes);
  } else {
    launch_warps("columns of C by bitmap", context, batch.count, bitmap_warp_bytes(batch.widest, 0, 0),
                 columns_kernel<P>, factors, batch, out, lanes);
  }
}

}  // namespace

template <class V>
void enqueue_bitmap(const Context& context, Phase phase, const Factors<V>& factors, const RowBatch& batch,
                    const RowOutput<V>& out) {
  switch (phase) {
    case Phase::symbolic:
      return launch_warps("counting rows of C by bitmap", context, batch.count, bitmap_warp_bytes(batch.widest, 0, 0),
                          count_kernel, positions_of(factors), batch, out.counts,
                          lanes_per_b_row(batch.mean_b_row_nnz));
    case Phase::numeric:
      return launch_rows<Phase::numeric>(context, factors, batch, out);
    case Phase::numeric_allocating:
      return launch_rows<Phase::numeric_allocating>(context, factors, batch, out);
  }
}

template void enqueue_bitmap(const Context&, Phase, const Factors<double>&, const RowBatch&, const RowOutput<double>&);
template void enqueue_bitmap(const Context&, Phase, const Factors<float>&, const RowBatch&, const RowOutput<float>&);
template void enqueue_bitmap(const Context&, Phase, const Factors<NoValue>&, const RowBatch&,
                             const RowOutput<NoValue>&);

namespace {

/// Rows of the group that begins with `row`.
[[nodiscard]] __device__ int members_of(const RowFacts& facts, index_t row) {
  return (facts.bins[row + 1] & third_bit) != 0 ? 3 : 2;
}

template <class V>
__global__ void __launch_bounds__(bitmap_threads)
    group_values_kernel(Factors<V> factors, RowBatch batch, RowOutput<V> out, int lanes, unsigned shared_bytes) {
  if (row_of_warp() >= static_cast<unsigned>(batch.count)) return;
  const index_t row = row_of(batch, static_cast<index_t>(row_of_warp()));
  const int members = members_of(batch.facts, row);
  BitmapRows<V, row_group_size> rows(factors, batch.facts, row, members, memory_of_warp(shared_bytes), lanes);
  if (rows.entries() > rows.capacity(shared_bytes)) return;
  rows.add_up();
  for (int r = 0; r < members; ++r) {
    const offset_t offset = out.starts[row + r];
    rows.write(r, out.columns + offset, out.values + offset);
  }
}

__global__ void __launch_bounds__(bitmap_threads)
    group_columns_kernel(Factors<NoValue> factors, RowBatch batch, RowOutput<NoValue> out, int lanes,
                         unsigned shared_bytes) {
  if (row_of_warp() >= static_cast<unsigned>(batch.count)) return;
  const index_t row = row_of(batch, static_cast<index_t>(row_of_warp()));
  const Bitmap<BitWord> bitmap = marked_row(factors, batch.facts, row, lanes, memory_of_warp(shared_bytes));
  const int members = members_of(batch.facts, row);
  for (int r = 0; r < members; ++r) write_columns(bitmap, out.columns + out.starts[row + r]);
}

}  // namespace

template <class V>
void enqueue_bitmap_row_group(const Context& context, const Factors<V>& factors, const RowBatch& batch,
                              const RowOutput<V>& out) {
  const int lanes = lanes_per_b_row(batch.mean_b_row_nnz);
  if constexpr (has_values<V>) {
    launch_warps("rows of C by bitmap, in groups", context, batch.count, batch.shared_bytes, group_values_kernel<V>,
                 factors, batch, out, lanes);
  } else {
    launch_warps("columns of C by bitmap, in groups", context, batch.count, bitmap_warp_bytes(batch.widest, 0, 0),
                 group_columns_kernel, factors, batch, out, lanes);
  }
}

template void enqueue_bitmap_row_group(const Context&, const Factors<double>&, const RowBatch&,
                                       const RowOutput<double>&);
template void enqueue_bitmap_row_group(const Context&, const Factors<float>&, const RowBatch&, const RowOutput<float>&);
template void enqueue_bitmap_row_group(const Context&, const Factors<NoValue>&, const RowBatch&,
                                       const RowOutput<NoValue>&);

}  // namespace tessera::cuda
