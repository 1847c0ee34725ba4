// Tiled bitmap accumulator: one block per row of C, a bitmap of one range of its columns after the other in shared
// memory. The population count up to a bit is the offset of its entry, so C is written in order without a sort (Ocean,
// §3: values in global memory, dense accumulator with a bitmap).
#include "core/cuda/check.hpp"
#include "core/cuda/launch.cuh"
#include "core/cuda/shared_memory.cuh"
#include "core/cuda/warp.cuh"
#include "spgemm/cuda/accumulators/accumulators.hpp"
#include "spgemm/cuda/accumulators/block_products.cuh"
#include "spgemm/cuda/accumulators/launch.cuh"
#include "spgemm/cuda/accumulators/rows.cuh"
#include "spgemm/cuda/accumulators/tuning.hpp"
#include "tessera/error.hpp"

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace tessera::cuda {

namespace {

/// 32 columns: a bit each. In phase numeric also the number of entries before them.
template <Phase P>
using Mark = std::conditional_t<P == Phase::symbolic, unsigned, uint2>;

[[nodiscard]] __device__ inline unsigned& bits_of(unsigned& mark) { return mark; }
[[nodiscard]] __device__ inline unsigned& bits_of(uint2& mark) { return mark.x; }

/// body(i) for i in [0, count) by the threads of a block. All threads have the same trip count: with nvcc 13.0 lanes
/// that skip a loop reach the next barrier before the others, and the barrier takes them for the whole warp.
template <int Threads, class Body>
__device__ void for_each_of_block(unsigned count, Body&& body) {
  for (unsigned base = 0; base < count; base += Threads) {
    const unsigned i = base + threadIdx.x;
    if (i < count) body(i);
  }
}

/// Where the sums of a row are formed: in C, by atomic additions in any order or in the order of A's row; or in shared
/// memory behind the bitmap, in that order, which is faster where many products fall on an entry.
enum class TiledSums { any_order, in_order, in_shared };

/// Threads of an SM whose registers are not spilled.
inline constexpr int tiled_resident = 1024;

/// A row of C that a block does.
template <class V, Phase P, TiledSums Sums, int Threads>
class TiledRow {
 public:
  static_assert(P != Phase::numeric_allocating, "columns are written range by range, before the row is counted");
  static constexpr unsigned warps = Threads / warp_size;

  /// Shared among the threads of a block.
  struct Shared {
    ProductSharesMemory<Threads> b_rows;
    unsigned entries[warps];
    unsigned next[warps];
  };

  __device__ TiledRow(const Factors<V>& factors, const RowBatch& batch, index_t row, unsigned marks, Shared& shared)
      : factors_(factors),
        shared_(shared),
        marks_(reinterpret_cast<Mark<P>*>(dynamic_shared_memory())),
        most_marks_(marks),
        shares_(shared.b_rows),
        begin_(factors.a_offsets[row]),
        b_rows_(static_cast<unsigned>(factors.a_offsets[row + 1] - begin_)) {
    const auto width = static_cast<unsigned>(batch.facts.widths[row]);
    range_.first = static_cast<unsigned>(batch.facts.first_columns[row]);
    end_ = range_.first + width;
    if (Sums == TiledSums::in_shared) most_marks_ = static_cast<unsigned>(tiled_words(static_cast<index_t>(width)));
    range_.whole = width <= most_marks_ * mark_columns;
    if (width == 0) range_.first = beyond_columns;
  }

  /// Whether there is another range.
  [[nodiscard]] __device__ bool begin_range() {
    if (range_.first == beyond_columns) return false;
    const unsigned rest = end_ - range_.first;
    const unsigned most = most_marks_ * mark_columns;
    range_.end = range_.first + (rest < most ? rest : most);
    used_ = (range_.end - range_.first + mark_columns - 1) / mark_columns;
    __syncthreads();  // the last range has been read
    for_each_of_block<Threads>(used_, [&](unsigned i) { marks_[i] = Mark<P>{}; });
    __syncthreads();
    return true;
  }

  /// Marks the columns of the range. \returns their number
  __device__ unsigned mark_all() {
    unsigned next = beyond_columns;
    for (unsigned from = 0; from < b_rows_; from += Threads) {
      const unsigned of_thread = shares_.take(positions_of(factors_), begin_ + from, b_rows_ - from, range_);
      if (of_thread < next) next = of_thread;
      shares_.for_products(positions_of(factors_), [&](index_t column, NoValue) { mark(column); });
    }
    next = __reduce_min_sync(full_warp, next);
    if (lane() == 0) shared_.next[warp()] = next;
    __syncthreads();
    return count();
  }

  /// Writes the range. \param columns, values: first of the range, whose `entries` mark_all() has returned
  __device__ void write(unsigned entries, index_t* columns, [[maybe_unused]] V* values) {
    number_marks();
    V* const sums = Sums == TiledSums::in_shared ? reinterpret_cast<V*>(marks_ + most_marks_) : values;
    if constexpr (has_values<V>) {
      for_each_of_block<Threads>(entries, [&](unsigned i) { sums[i] = sum_begin<V>; });
    }
    __syncthreads();
    for_each_of_block<Threads>(used_, [&](unsigned i) { expand(i, columns); });
    if constexpr (has_values<V>) add(entries, columns, sums);
    if constexpr (Sums == TiledSums::in_shared) {
      __syncthreads();
      for_each_of_block<Threads>(entries, [&](unsigned i) { values[i] = sums[i]; });
    }
  }

  /// Moves on to the next column of the row. Call after mark_all().
  __device__ void end_range() {
    unsigned next = beyond_columns;
    for (unsigned w = 0; w < warps; ++w) next = shared_.next[w] < next ? shared_.next[w] : next;
    range_.first = next;
  }

 private:
  static constexpr unsigned mark_columns = 32;

  [[nodiscard]] __device__ static unsigned lane() { return threadIdx.x % warp_size; }
  [[nodiscard]] __device__ static unsigned warp() { return threadIdx.x / warp_size; }
  /// Marks that one thread counts. Odd, so that the threads of a warp read from different banks.
  [[nodiscard]] __device__ unsigned share() const { return (used_ + Threads - 1) / Threads | 1U; }

  __device__ void mark(index_t column) {
    const unsigned at = static_cast<unsigned>(column) - range_.first;
    unsigned& bits = bits_of(marks_[at / mark_columns]);
    const unsigned bit = 1U << at % mark_columns;
    // Most columns come more than once; another thread's bit may be missed here, which costs an atomic.
    if ((bits & bit) == 0) atomicOr(&bits, bit);
  }

  /// Number of marked columns; before_ becomes the number of those before the marks of this thread.
  [[nodiscard]] __device__ unsigned count() {
    unsigned own = 0;
    const unsigned begin = threadIdx.x * share();
    for (unsigned k = 0; k < share(); ++k) {
      if (begin + k < used_) own += __popc(bits_of(marks_[begin + k]));
    }
    const BlockSum<unsigned> entries = running_sum_in_block<Threads>(own, shared_.entries);
    before_ = entries.before;
    return entries.total;
  }

  __device__ void number_marks() {
    const unsigned begin = threadIdx.x * share();
    unsigned before = before_;
    for (unsigned k = 0; k < share(); ++k) {
      if (begin + k >= used_) continue;
      marks_[begin + k].y = before;
      before += __popc(marks_[begin + k].x);
    }
  }

  __device__ void expand(unsigned i, index_t* columns) const {
    const uint2 mark = marks_[i];
    index_t* to = columns + mark.y;
    for (unsigned bits = mark.x; bits != 0; bits &= bits - 1) {
      *to++ = static_cast<index_t>(range_.first + i * mark_columns + __ffs(static_cast<int>(bits)) - 1);
    }
  }

  /// Offset of a marked column in the range.
  [[nodiscard]] __device__ unsigned rank(index_t column) const {
    const unsigned at = static_cast<unsigned>(column) - range_.first;
    const uint2 mark = marks_[at / mark_columns];
    return mark.y + __popc(mark.x & ((1U << at % mark_columns) - 1));
  }

  /// In order: each warp adds to its own columns, so that no warp waits for another.
  __device__ void add(unsigned entries, const index_t* columns, V* sums) {
    if constexpr (Sums != TiledSums::any_order) {
      __syncthreads();  // columns are there
      for_products_in_order(factors_, begin_, b_rows_, share_of_warp(entries, columns), [&](index_t column, V product) {
        V& sum = sums[rank(column)];
        sum = sum_of(sum, product);
      });
    } else {
      for (unsigned from = 0; from < b_rows_; from += Threads) {
        // Up to `Threads` rows of B are still loaded from marking their columns.
        if (b_rows_ > Threads) {
          static_cast<void>(shares_.take(positions_of(factors_), begin_ + from, b_rows_ - from, range_));
        }
        shares_.for_products(factors_, [&](index_t column, V product) { atomicAdd(sums + rank(column), product); });
      }
    }
  }

  /// The columns to which this warp adds: each warp has the same number of entries of C.
  [[nodiscard]] __device__ ColumnRange share_of_warp(unsigned entries, const index_t* columns) const {
    ColumnRange own;
    own.first = static_cast<unsigned>(columns[entries * warp() / warps]);
    own.end = warp() + 1 == warps ? range_.end : static_cast<unsigned>(columns[entries * (warp() + 1) / warps]);
    return own;
  }

  const Factors<V>& factors_;
  Shared& shared_;
  Mark<P>* marks_;
  unsigned most_marks_;
  ProductShares<Threads> shares_;
  offset_t begin_;
  unsigned b_rows_;
  unsigned end_ = 0;  ///< one past the row's last column
  ColumnRange range_;
  unsigned used_ = 0;    ///< marks of the range
  unsigned before_ = 0;  ///< entries before this thread's marks
};

/// One block per row. \param marks of a block, at least 1; with sums in shared memory each row has its own number
template <class V, Phase P, TiledSums Sums, int Threads>
__global__ void __launch_bounds__(Threads, tiled_resident / Threads)
    bitmap_tiled_kernel(Factors<V> factors, RowBatch batch, RowOutput<V> out, unsigned marks) {
  using Row = TiledRow<V, P, Sums, Threads>;
  static_assert(sizeof(typename Row::Shared) <= static_shared_bytes);
  __shared__ typename Row::Shared shared;
  const index_t number = row_of(batch, static_cast<index_t>(blockIdx.x));
  Row row(factors, batch, number, marks, shared);
  offset_t entries = 0;
  while (row.begin_range()) {
    const unsigned here = row.mark_all();
    if constexpr (P == Phase::numeric) {
      const offset_t offset = out.starts[number] + entries;
      row.write(here, out.columns + offset, has_values<V> ? out.values + offset : nullptr);
    }
    row.end_range();
    entries += here;
  }
  if (P == Phase::symbolic && threadIdx.x == 0) out.counts[number] = entries;
}

/// Threads for rows with few entries, and for others.
constexpr int light_threads = 128;
constexpr int heavy_threads = 512;
constexpr int huge_threads = 1024;
/// Threads for rows whose sums are in shared memory, of which every warp reads its part of every row of B.
constexpr int shared_threads = 256;

/// The marks that the widest row needs, as far as they fit into `bytes`.
template <Phase P>
[[nodiscard]] unsigned marks_of(const RowBatch& batch, std::size_t bytes) {
  const std::size_t needed = (static_cast<std::size_t>(batch.widest) + 31) / 32;
  return static_cast<unsigned>(std::clamp<std::size_t>(bytes / sizeof(Mark<P>), 1, std::max<std::size_t>(needed, 1)));
}

template <class V, Phase P, TiledSums Sums, int Threads>
void launch_tiled(const Context& context, const Factors<V>& factors, const RowBatch& batch, const RowOutput<V>& out,
                  unsigned marks, std::size_t bytes) {
  const auto kernel = bitmap_tiled_kernel<V, P, Sums, Threads>;
  allow_shared_bytes(kernel, tuning_for(context.limits()).tiled_bytes);
  launch("rows of a product, by ranges of columns", context, Grid{static_cast<unsigned>(batch.count), Threads, bytes},
         kernel, factors, batch, out, marks);
}

template <class V, Phase P, TiledSums Sums>
void launch_tiled(const Context& context, const Factors<V>& factors, const RowBatch& batch, const RowOutput<V>& out,
                  std::size_t most_bytes) {
  const unsigned marks = marks_of<P>(batch, most_bytes);
  const std::size_t bytes = marks * sizeof(Mark<P>);
  const Tuning& tuning = tuning_for(context.limits());
  if (batch.most_products > tuning.huge_products) {
    launch_tiled<V, P, Sums, huge_threads>(context, factors, batch, out, marks, bytes);
  } else if (batch.mean_entries > tuning.heavy_entries || static_cast<std::int64_t>(bytes) > tuning.heavy_bytes) {
    launch_tiled<V, P, Sums, heavy_threads>(context, factors, batch, out, marks, bytes);
  } else {
    launch_tiled<V, P, Sums, light_threads>(context, factors, batch, out, marks, bytes);
  }
}

void count_tiled(const Context& context, const Factors<NoValue>& factors, const RowBatch& batch, offset_t* counts,
                 std::size_t bytes) {
  RowOutput<NoValue> out;
  out.counts = counts;
  launch_tiled<NoValue, Phase::symbolic, TiledSums::any_order>(context, factors, batch, out, bytes);
}

}  // namespace

template <class V>
void enqueue_bitmap_tiled(const Context& context, Phase phase, const Factors<V>& factors, const RowBatch& batch,
                          const RowOutput<V>& out, bool ordered, std::size_t bytes) {
  if (phase == Phase::numeric_allocating) throw InvalidArgument("rows by ranges of columns cannot look for offsets");
  if (batch.count == 0) return;
  if (phase == Phase::symbolic) {
    return count_tiled(context, positions_of(factors), batch, out.counts, bytes);
  }
  if constexpr (has_values<V>) {
    if (ordered) return launch_tiled<V, Phase::numeric, TiledSums::in_order>(context, factors, batch, out, bytes);
  }
  launch_tiled<V, Phase::numeric, TiledSums::any_order>(context, factors, batch, out, bytes);
}

template <class V>
void enqueue_bitmap_tiled(const Context& context, Phase phase, const Factors<V>& factors, const RowBatch& batch,
                          const RowOutput<V>& out, bool ordered) {
  enqueue_bitmap_tiled(context, phase, factors, batch, out, ordered,
                       static_cast<std::size_t>(tuning_for(context.limits()).tiled_bytes));
}

template <class V>
void enqueue_bitmap_tiled_in_shared(const Context& context, const Factors<V>& factors, const RowBatch& batch,
                                    const RowOutput<V>& out) {
  if (batch.count == 0) return;
  const auto bytes = static_cast<std::size_t>(
      batch.shared_bytes > 0 ? batch.shared_bytes : tiled_shared_bytes(batch.widest, batch.most_entries, sizeof(V)));
  constexpr unsigned of_each_row = 0;
  if (batch.mean_b_row_nnz < tuning_for(context.limits()).shared_many_threads) {
    launch_tiled<V, Phase::numeric, TiledSums::in_shared, shared_threads>(context, factors, batch, out, of_each_row,
                                                                          bytes);
  } else {
    launch_tiled<V, Phase::numeric, TiledSums::in_shared, heavy_threads>(context, factors, batch, out, of_each_row,
                                                                         bytes);
  }
}

template void enqueue_bitmap_tiled_in_shared(const Context&, const Factors<double>&, const RowBatch&,
                                             const RowOutput<double>&);
template void enqueue_bitmap_tiled_in_shared(const Context&, const Factors<float>&, const RowBatch&,
                                             const RowOutput<float>&);
template void enqueue_bitmap_tiled(const Context&, Phase, const Factors<double>&, const RowBatch&,
                                   const RowOutput<double>&, bool, std::size_t);
template void enqueue_bitmap_tiled(const Context&, Phase, const Factors<float>&, const RowBatch&,
                                   const RowOutput<float>&, bool, std::size_t);
template void enqueue_bitmap_tiled(const Context&, Phase, const Factors<NoValue>&, const RowBatch&,
                                   const RowOutput<NoValue>&, bool, std::size_t);
template void enqueue_bitmap_tiled(const Context&, Phase, const Factors<double>&, const RowBatch&,
                                   const RowOutput<double>&, bool);
template void enqueue_bitmap_tiled(const Context&, Phase, const Factors<float>&, const RowBatch&,
                                   const RowOutput<float>&, bool);
template void enqueue_bitmap_tiled(const Context&, Phase, const Factors<NoValue>&, const RowBatch&,
                                   const RowOutput<NoValue>&, bool);

}  // namespace tessera::cuda
