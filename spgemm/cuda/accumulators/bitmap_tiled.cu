// Block a row of C: a bitmap of its columns in shared memory, one stretch after the other. The population count up to
// a bit is the place of its entry, so that C is written in order and sums go where they belong, without a sort
// (ocean-hll-spgemm.txt: values in global memory, dense accumulator with a bitmap).
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

/// 32 columns: a bit each. Where entries are placed, also the number of entries before them.
template <RowPass Pass>
using Mark = std::conditional_t<Pass == RowPass::count, unsigned, uint2>;

[[nodiscard]] __device__ inline unsigned& bits_of(unsigned& mark) { return mark; }
[[nodiscard]] __device__ inline unsigned& bits_of(uint2& mark) { return mark.x; }

/// body(i) for i in [0, count) by the threads of a block. All threads go round equally often: nvcc 13.0 lets the lanes
/// of a warp that skip a loop come to the next barrier before the others, and the barrier takes them for the whole
/// warp.
template <int Threads, class Body>
__device__ void for_each_of_block(unsigned count, Body&& body) {
  for (unsigned base = 0; base < count; base += Threads) {
    const unsigned i = base + threadIdx.x;
    if (i < count) body(i);
  }
}

/// Where the sums of a row are formed: in C, by atomic additions in any order or in the order of A's row; or in shared
/// memory behind the bitmap, in that order, which is faster where many products fall on an entry.
enum class WideSums { any_order, in_order, in_shared };

/// Threads of a multiprocessor whose registers are not spilled.
inline constexpr int wide_resident = 1024;

/// A row of C that a block does.
template <class V, RowPass Pass, WideSums Sums, int Threads>
class WideRow {
 public:
  static_assert(Pass != RowPass::claim, "columns are placed stretch by stretch, before the row is counted");
  static constexpr unsigned warps = Threads / warp_size;

  /// What the threads of a block tell each other.
  struct Shared {
    ListSpace<Threads> lists;
    unsigned entries[warps];
    unsigned next[warps];
  };

  __device__ WideRow(const Factors<V>& factors, const RowBatch& batch, index_t row, unsigned marks, Shared& shared)
      : factors_(factors),
        shared_(shared),
        marks_(reinterpret_cast<Mark<Pass>*>(dynamic_shared_memory())),
        most_marks_(marks),
        shares_(shared.lists),
        begin_(factors.a_offsets[row]),
        lists_(static_cast<unsigned>(factors.a_offsets[row + 1] - begin_)) {
    const auto width = static_cast<unsigned>(batch.facts.widths[row]);
    stretch_.first = static_cast<unsigned>(batch.facts.first_columns[row]);
    end_ = stretch_.first + width;
    if (Sums == WideSums::in_shared) most_marks_ = static_cast<unsigned>(wide_marks(static_cast<index_t>(width)));
    stretch_.whole = width <= most_marks_ * mark_columns;
    if (width == 0) stretch_.first = beyond_columns;
  }

  /// Whether there is another stretch.
  [[nodiscard]] __device__ bool begin_stretch() {
    if (stretch_.first == beyond_columns) return false;
    const unsigned rest = end_ - stretch_.first;
    const unsigned most = most_marks_ * mark_columns;
    stretch_.end = stretch_.first + (rest < most ? rest : most);
    used_ = (stretch_.end - stretch_.first + mark_columns - 1) / mark_columns;
    __syncthreads();  // the last stretch has been read
    for_each_of_block<Threads>(used_, [&](unsigned i) { marks_[i] = Mark<Pass>{}; });
    __syncthreads();
    return true;
  }

  /// Marks the columns of the stretch. \returns their number
  __device__ unsigned mark_all() {
    unsigned next = beyond_columns;
    for (unsigned from = 0; from < lists_; from += Threads) {
      const unsigned of_thread = shares_.take(positions_of(factors_), begin_ + from, lists_ - from, stretch_);
      if (of_thread < next) next = of_thread;
      shares_.for_products(positions_of(factors_), [&](index_t column, NoValue) { mark(column); });
    }
    next = __reduce_min_sync(full_warp, next);
    if (lane() == 0) shared_.next[warp()] = next;
    __syncthreads();
    return count();
  }

  /// Writes the stretch. \param columns, values: first of the stretch, whose `entries` mark_all() has returned
  __device__ void place(unsigned entries, index_t* columns, [[maybe_unused]] V* values) {
    number_marks();
    V* const sums = Sums == WideSums::in_shared ? reinterpret_cast<V*>(marks_ + most_marks_) : values;
    if constexpr (has_values<V>) {
      for_each_of_block<Threads>(entries, [&](unsigned i) { sums[i] = sum_begin<V>; });
    }
    __syncthreads();
    for_each_of_block<Threads>(used_, [&](unsigned i) { expand(i, columns); });
    if constexpr (has_values<V>) add(entries, columns, sums);
    if constexpr (Sums == WideSums::in_shared) {
      __syncthreads();
      for_each_of_block<Threads>(entries, [&](unsigned i) { values[i] = sums[i]; });
    }
  }

  /// Goes on to the next column of the row. To be called after mark_all().
  __device__ void end_stretch() {
    unsigned next = beyond_columns;
    for (unsigned w = 0; w < warps; ++w) next = shared_.next[w] < next ? shared_.next[w] : next;
    stretch_.first = next;
  }

 private:
  static constexpr unsigned mark_columns = 32;

  [[nodiscard]] __device__ static unsigned lane() { return threadIdx.x % warp_size; }
  [[nodiscard]] __device__ static unsigned warp() { return threadIdx.x / warp_size; }
  /// Marks that one thread counts. Odd, so that the threads of a warp read from different banks.
  [[nodiscard]] __device__ unsigned share() const { return (used_ + Threads - 1) / Threads | 1U; }

  __device__ void mark(index_t column) {
    const unsigned at = static_cast<unsigned>(column) - stretch_.first;
    unsigned& bits = bits_of(marks_[at / mark_columns]);
    const unsigned bit = 1U << at % mark_columns;
    // Most columns come more than once; another thread's bit may be missed here, which costs an atomic.
    if ((bits & bit) == 0) atomicOr(&bits, bit);
  }

  /// All columns that are marked; leaves those before the marks of this thread in before_.
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
      *to++ = static_cast<index_t>(stretch_.first + i * mark_columns + __ffs(static_cast<int>(bits)) - 1);
    }
  }

  /// Place of a marked column in the stretch.
  [[nodiscard]] __device__ unsigned rank(index_t column) const {
    const unsigned at = static_cast<unsigned>(column) - stretch_.first;
    const uint2 mark = marks_[at / mark_columns];
    return mark.y + __popc(mark.x & ((1U << at % mark_columns) - 1));
  }

  /// In order: each warp adds to columns of its own, so that no warp waits for another.
  __device__ void add(unsigned entries, const index_t* columns, V* sums) {
    if constexpr (Sums != WideSums::any_order) {
      __syncthreads();  // columns are there
      for_products_in_order(factors_, begin_, lists_, share_of_warp(entries, columns), [&](index_t column, V product) {
        V& sum = sums[rank(column)];
        sum = sum_of(sum, product);
      });
    } else {
      for (unsigned from = 0; from < lists_; from += Threads) {
        // The only lists there are have been taken to mark their columns.
        if (lists_ > Threads) {
          static_cast<void>(shares_.take(positions_of(factors_), begin_ + from, lists_ - from, stretch_));
        }
        shares_.for_products(factors_, [&](index_t column, V product) { atomicAdd(sums + rank(column), product); });
      }
    }
  }

  /// The columns to which this warp adds: each warp has the same number of entries of C.
  [[nodiscard]] __device__ Stretch share_of_warp(unsigned entries, const index_t* columns) const {
    Stretch own;
    own.first = static_cast<unsigned>(columns[entries * warp() / warps]);
    own.end = warp() + 1 == warps ? stretch_.end : static_cast<unsigned>(columns[entries * (warp() + 1) / warps]);
    return own;
  }

  const Factors<V>& factors_;
  Shared& shared_;
  Mark<Pass>* marks_;
  unsigned most_marks_;
  ListShares<Threads> shares_;
  offset_t begin_;
  unsigned lists_;
  unsigned end_ = 0;  ///< one past the row's last column
  Stretch stretch_;
  unsigned used_ = 0;    ///< marks of the stretch
  unsigned before_ = 0;  ///< entries before this thread's marks
};

/// A block a row. \param marks of a block, at least 1; with sums in shared memory each row has its own number
template <class V, RowPass Pass, WideSums Sums, int Threads>
__global__ void __launch_bounds__(Threads, wide_resident / Threads)
    wide_kernel(Factors<V> factors, RowBatch batch, RowOutput<V> out, unsigned marks) {
  using Row = WideRow<V, Pass, Sums, Threads>;
  static_assert(sizeof(typename Row::Shared) <= static_shared_bytes);
  __shared__ typename Row::Shared shared;
  const index_t number = row_of(batch, static_cast<index_t>(blockIdx.x));
  Row row(factors, batch, number, marks, shared);
  offset_t entries = 0;
  while (row.begin_stretch()) {
    const unsigned here = row.mark_all();
    if constexpr (Pass == RowPass::place) {
      const offset_t place = out.starts[number] + entries;
      row.place(here, out.columns + place, has_values<V> ? out.values + place : nullptr);
    }
    row.end_stretch();
    entries += here;
  }
  if (Pass == RowPass::count && threadIdx.x == 0) out.counts[number] = entries;
}

/// Threads for rows with few entries, and for others.
constexpr int light_threads = 128;
constexpr int heavy_threads = 512;
constexpr int huge_threads = 1024;
/// Threads for rows whose sums are in shared memory, of which every warp reads its part of every list.
constexpr int shared_threads = 256;

/// The marks that the widest row needs, as far as they fit into `bytes`.
template <RowPass Pass>
[[nodiscard]] unsigned marks_of(const RowBatch& batch, std::size_t bytes) {
  const std::size_t needed = (static_cast<std::size_t>(batch.widest) + 31) / 32;
  return static_cast<unsigned>(
      std::clamp<std::size_t>(bytes / sizeof(Mark<Pass>), 1, std::max<std::size_t>(needed, 1)));
}

template <class V, RowPass Pass, WideSums Sums, int Threads>
void launch_wide(const Context& context, const Factors<V>& factors, const RowBatch& batch, const RowOutput<V>& out,
                 unsigned marks, std::size_t bytes) {
  const auto kernel = wide_kernel<V, Pass, Sums, Threads>;
  allow_shared_bytes(kernel, tuning_for(context.limits()).tiled_bytes);
  launch("rows of a product, by stretches of columns", context,
         Grid{static_cast<unsigned>(batch.count), Threads, bytes}, kernel, factors, batch, out, marks);
}

template <class V, RowPass Pass, WideSums Sums>
void launch_wide(const Context& context, const Factors<V>& factors, const RowBatch& batch, const RowOutput<V>& out,
                 std::size_t most_bytes) {
  const unsigned marks = marks_of<Pass>(batch, most_bytes);
  const std::size_t bytes = marks * sizeof(Mark<Pass>);
  const Tuning& tuning = tuning_for(context.limits());
  if (batch.most_products > tuning.huge_products) {
    launch_wide<V, Pass, Sums, huge_threads>(context, factors, batch, out, marks, bytes);
  } else if (batch.mean_entries > tuning.heavy_entries || static_cast<std::int64_t>(bytes) > tuning.heavy_bytes) {
    launch_wide<V, Pass, Sums, heavy_threads>(context, factors, batch, out, marks, bytes);
  } else {
    launch_wide<V, Pass, Sums, light_threads>(context, factors, batch, out, marks, bytes);
  }
}

void count_wide(const Context& context, const Factors<NoValue>& factors, const RowBatch& batch, offset_t* counts,
                std::size_t bytes) {
  RowOutput<NoValue> out;
  out.counts = counts;
  launch_wide<NoValue, RowPass::count, WideSums::any_order>(context, factors, batch, out, bytes);
}

}  // namespace

template <class V>
void enqueue_wide(const Context& context, RowPass pass, const Factors<V>& factors, const RowBatch& batch,
                  const RowOutput<V>& out, bool ordered, std::size_t bytes) {
  if (pass == RowPass::claim) throw InvalidArgument("rows by stretches of columns cannot look for places");
  if (batch.count == 0) return;
  if (pass == RowPass::count) {
    return count_wide(context, positions_of(factors), batch, out.counts, bytes);
  }
  if constexpr (has_values<V>) {
    if (ordered) return launch_wide<V, RowPass::place, WideSums::in_order>(context, factors, batch, out, bytes);
  }
  launch_wide<V, RowPass::place, WideSums::any_order>(context, factors, batch, out, bytes);
}

template <class V>
void enqueue_wide(const Context& context, RowPass pass, const Factors<V>& factors, const RowBatch& batch,
                  const RowOutput<V>& out, bool ordered) {
  enqueue_wide(context, pass, factors, batch, out, ordered,
               static_cast<std::size_t>(tuning_for(context.limits()).tiled_bytes));
}

template <class V>
void enqueue_wide_in_shared(const Context& context, const Factors<V>& factors, const RowBatch& batch,
                            const RowOutput<V>& out) {
  if (batch.count == 0) return;
  const auto bytes = static_cast<std::size_t>(
      batch.slice > 0 ? batch.slice : wide_shared_bytes(batch.widest, batch.most_entries, sizeof(V)));
  constexpr unsigned of_each_row = 0;
  if (batch.mean_list < tuning_for(context.limits()).shared_many_threads) {
    launch_wide<V, RowPass::place, WideSums::in_shared, shared_threads>(context, factors, batch, out, of_each_row,
                                                                        bytes);
  } else {
    launch_wide<V, RowPass::place, WideSums::in_shared, heavy_threads>(context, factors, batch, out, of_each_row,
                                                                       bytes);
  }
}

template void enqueue_wide_in_shared(const Context&, const Factors<double>&, const RowBatch&, const RowOutput<double>&);
template void enqueue_wide_in_shared(const Context&, const Factors<float>&, const RowBatch&, const RowOutput<float>&);
template void enqueue_wide(const Context&, RowPass, const Factors<double>&, const RowBatch&, const RowOutput<double>&,
                           bool, std::size_t);
template void enqueue_wide(const Context&, RowPass, const Factors<float>&, const RowBatch&, const RowOutput<float>&,
                           bool, std::size_t);
template void enqueue_wide(const Context&, RowPass, const Factors<NoValue>&, const RowBatch&, const RowOutput<NoValue>&,
                           bool, std::size_t);
template void enqueue_wide(const Context&, RowPass, const Factors<double>&, const RowBatch&, const RowOutput<double>&,
                           bool);
template void enqueue_wide(const Context&, RowPass, const Factors<float>&, const RowBatch&, const RowOutput<float>&,
                           bool);
template void enqueue_wide(const Context&, RowPass, const Factors<NoValue>&, const RowBatch&, const RowOutput<NoValue>&,
                           bool);

}  // namespace tessera::cuda
