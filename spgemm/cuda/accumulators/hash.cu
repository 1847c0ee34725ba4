// Hash accumulator: the columns of a row of C in open addressing in shared memory, sorted at the end (Ocean, §3).
#include "core/cuda/launch.cuh"
#include "core/cuda/shared_memory.cuh"
#include "spgemm/cuda/accumulators/accumulators.hpp"
#include "spgemm/cuda/accumulators/block_products.cuh"
#include "spgemm/cuda/accumulators/esc_levels.hpp"
#include "spgemm/cuda/accumulators/hash_tuning.hpp"
#include "spgemm/cuda/accumulators/launch.cuh"
#include "spgemm/cuda/accumulators/rows.cuh"
#include "spgemm/cuda/accumulators/sort.cuh"

#include <cstddef>
#include <cstdint>
#include <limits>

namespace tessera::cuda {

namespace {

/// Columns of a row in open addressing. \tparam Slots a power of two, more than the row has entries
template <int Slots>
class ColumnTable {
 public:
  static constexpr index_t vacant = -1;

  __device__ explicit ColumnTable(index_t* columns) : columns_(columns) {}

  __device__ void clear(unsigned slot) { columns_[slot] = vacant; }
  [[nodiscard]] __device__ index_t column(unsigned slot) const { return columns_[slot]; }

  /// The slot of a column, taken now if it has none. \param taken counts slots
  [[nodiscard]] __device__ unsigned insert(index_t column, unsigned& taken) {
    for (unsigned slot = home(column);; slot = (slot + 1) % Slots) {
      index_t there = columns_[slot];
      if (there == vacant) {
        there = atomicCAS(columns_ + slot, vacant, column);
        if (there == vacant) {
          ++taken;
          return slot;
        }
      }
      if (there == column) return slot;
    }
  }

  /// The slot of a column that has one.
  [[nodiscard]] __device__ unsigned find(index_t column) const {
    unsigned slot = home(column);
    while (columns_[slot] != column) slot = (slot + 1) % Slots;
    return slot;
  }

 private:
  /// The upper bits of a product with the golden ratio.
  [[nodiscard]] __device__ static unsigned home(index_t column) {
    return (static_cast<unsigned>(column) * 0x9e3779b1U) >> (32 - HashShape<Slots>::bits);
  }

  index_t* columns_;
};

/// Shared among the threads of a group.
struct GroupShared {
  unsigned entries;  ///< of the row
  unsigned packed;
  offset_t offset;
};

/// A row of C for a group of threads. \tparam Key has a column, relative to the row's first, above a slot
template <class V, class Key, int Slots, HashSums Sums>
class HashRow {
 public:
  using Shape = HashShape<Slots>;
  using Layout = HashLayout<V, Key, Slots, Sums>;
  static constexpr bool sums_in_table = has_values<V> && Sums == HashSums::in_table;
  static_assert(largest_hash_entries <= std::numeric_limits<std::uint16_t>::max());

  /// \param memory of the group, Layout::bytes
  __device__ HashRow(const Factors<V>& factors, const RowFacts& facts, index_t row, unsigned char* memory,
                     GroupShared& shared)
      : factors_(factors),
        shared_(shared),
        table_(reinterpret_cast<index_t*>(memory + Layout::values_bytes)),
        values_(reinterpret_cast<V*>(memory)),
        offsets_(reinterpret_cast<std::uint16_t*>(memory)),
        keys_(reinterpret_cast<Key*>(memory + Layout::keys_begin)),
        begin_(factors.a_offsets[row]),
        b_rows_(static_cast<unsigned>(factors.a_offsets[row + 1] - begin_)),
        first_(facts.first_columns[row]),
        end_(static_cast<unsigned>(first_) + static_cast<unsigned>(facts.widths[row])) {}

  __device__ void clear() {
    for (unsigned slot = Group::thread(); slot < Slots; slot += Shape::group) {
      table_.clear(slot);
      if constexpr (sums_in_table) values_[slot] = sum_begin<V>;
    }
    if (Group::thread() == 0) shared_ = GroupShared{};
    Group::sync();
  }

  /// Columns alone.
  __device__ void insert() {
    unsigned taken = 0;
    const auto insert_one = [&](index_t column, NoValue) { static_cast<void>(table_.insert(column, taken)); };
    if constexpr (Shape::group == warp_size) {
      unsigned next = beyond_columns;
      for (unsigned from = 0; from < b_rows_; from += warp_size) {
        BRowPart<NoValue> own;
        if (from + lane() < b_rows_) own = part_of(positions_of(factors_), begin_ + from + lane(), whole(), next);
        for_products_of_parts(positions_of(factors_), own, insert_one);
      }
    } else {
      for_products(positions_of(factors_), insert_one);
    }
    count(taken);
  }

  /// Columns and values, by a warp: the rows of B one after the other, in each of which columns are distinct.
  __device__ void insert_and_add() {
    unsigned taken = 0;
    for_products_in_order(factors_, begin_, b_rows_, whole(), [&](index_t column, V product) {
      V& value = values_[table_.insert(column, taken)];
      value = sum_of(value, product);
    });
    count(taken);
  }

  /// After insert() or insert_and_add().
  [[nodiscard]] __device__ unsigned entries() const { return shared_.entries; }

  /// Puts the keys of the entries in order.
  __device__ void sort() {
    pack();
    Key own[Shape::keys / Shape::group];
    constexpr unsigned each = Shape::keys / Shape::group;
    const unsigned first = Group::thread() * each;
#pragma unroll
    for (unsigned i = 0; i < each; ++i) own[i] = first + i < entries() ? keys_[spread(first + i)] : no_key;
    unsigned size = 1;
    while (size < entries()) size *= 2;
    sort_group<each, Shape::group>(own, size, keys_);
    Group::sync();
#pragma unroll
    for (unsigned i = 0; i < each; ++i) {
      if (first + i < entries()) keys_[spread(first + i)] = own[i];
    }
    Group::sync();
  }

  /// Values, by a block, after sort(): every warp traverses all rows of B and adds to its own columns, as many as
  /// the others have, so that no warp waits for another.
  __device__ void add_in_order() {
    constexpr unsigned warps = Shape::group / warp_size;
    const unsigned warp = Group::thread() / warp_size;
    const unsigned begin = entries() * warp / warps;
    const unsigned end = entries() * (warp + 1) / warps;
    if (begin < end) {
      const ColumnRange own{static_cast<unsigned>(column_of(begin)),
                            end < entries() ? static_cast<unsigned>(column_of(end)) : end_, false};
      for_products_in_order(factors_, begin_, b_rows_, own, [&](index_t column, V product) {
        V& value = values_[table_.find(column)];
        value = sum_of(value, product);
      });
    }
    Group::sync();
  }

  /// \param columns, values: first of the row
  __device__ void write(index_t* columns, [[maybe_unused]] V* values) const {
    for (unsigned i = Group::thread(); i < entries(); i += Shape::group) {
      columns[i] = column_of(i);
      if constexpr (sums_in_table) values[i] = values_[slot_of(i)];
    }
  }

  /// Values, by a block, into C, after sort(). \param values first of the row
  __device__ void add_in_product(V* values) {
    // All threads go round equally often, for the sake of the barrier behind it (for_each_of_block in bitmap_tiled.cu).
    for (unsigned base = 0; base < entries(); base += Shape::group) {
      const unsigned i = base + Group::thread();
      if (i >= entries()) continue;
      offsets_[slot_of(i)] = static_cast<std::uint16_t>(i);
      values[i] = sum_begin<V>;
    }
    Group::sync();
    for_products(factors_,
                 [&](index_t column, V product) { atomicAdd(values + offsets_[table_.find(column)], product); });
  }

  /// The value of thread 0 of the group. Every thread must call.
  [[nodiscard]] __device__ offset_t from_first(offset_t offset) {
    if (Group::thread() == 0) shared_.offset = offset;
    Group::sync();
    return shared_.offset;
  }

 private:
  using Group = ThreadGroup<Shape::group>;
  static constexpr Key no_key = ~Key{0};

  [[nodiscard]] __device__ static unsigned lane() { return threadIdx.x % warp_size; }
  [[nodiscard]] __device__ ColumnRange whole() const { return {static_cast<unsigned>(first_), end_, true}; }
  [[nodiscard]] __device__ index_t column_of(unsigned entry) const {
    return first_ + static_cast<index_t>(keys_[spread(entry)] / Slots);
  }

  [[nodiscard]] __device__ unsigned slot_of(unsigned entry) const {
    return static_cast<unsigned>(keys_[spread(entry)] % Slots);
  }

  [[nodiscard]] __device__ static ProductSharesMemory<Shape::group>& list_space() {
    __shared__ ProductSharesMemory<Shape::group> space;
    return space;
  }

  /// body(column, product) for all products of the row, by a block, in any order.
  template <class W, class Body>
  __device__ void for_products(const Factors<W>& factors, Body&& body) {
    ProductShares<Shape::group> shares(list_space());
    for (unsigned from = 0; from < b_rows_; from += Shape::group) {
      static_cast<void>(shares.take(positions_of(factors_), begin_ + from, b_rows_ - from, whole()));
      shares.for_products(factors, body);
    }
  }

  __device__ void count(unsigned taken) {
    taken = __reduce_add_sync(full_warp, taken);
    if (lane() == 0) atomicAdd(&shared_.entries, taken);
    Group::sync();
  }

  /// Keys of the entries, without gaps, in any order.
  __device__ void pack() {
    constexpr unsigned each = Slots / Shape::group;
    Key own[each];
#pragma unroll
    for (unsigned i = 0; i < each; ++i) own[i] = key_of(i * Shape::group + Group::thread());
    Group::sync();  // columns have been read
#pragma unroll
    for (unsigned i = 0; i < each; ++i) {
      const unsigned filled = __ballot_sync(full_warp, own[i] != no_key);
      unsigned offset = 0;
      if (lane() == 0) offset = atomicAdd(&shared_.packed, static_cast<unsigned>(__popc(filled)));
      offset = __shfl_sync(full_warp, offset, 0) + __popc(filled & ((1U << lane()) - 1));
      if (own[i] != no_key) keys_[spread(offset)] = own[i];
    }
    Group::sync();
  }

  [[nodiscard]] __device__ Key key_of(unsigned slot) const {
    const index_t column = table_.column(slot);
    return column == ColumnTable<Slots>::vacant ? no_key : static_cast<Key>(column - first_) * Slots + slot;
  }

  const Factors<V>& factors_;
  GroupShared& shared_;
  ColumnTable<Slots> table_;
  V* values_;               ///< by slot; or
  std::uint16_t* offsets_;  ///< in the row, by slot
  Key* keys_;
  offset_t begin_;
  unsigned b_rows_;
  index_t first_;
  unsigned end_;  ///< one past the row's last column
};

static_assert(HashShape<1024>::group == warp_size && HashShape<1024>::entries == hash_warp_entries);

/// The row of a batch that this thread's group does, or none beyond the last.
template <int Slots>
[[nodiscard]] __device__ std::int64_t number_of_group() {
  return std::int64_t{blockIdx.x} * HashShape<Slots>::rows + threadIdx.x / HashShape<Slots>::group;
}

/// counts[row]: entries of the row.
template <int Slots>
__global__ void __launch_bounds__(HashShape<Slots>::threads)
    hash_count_kernel(Factors<NoValue> factors, RowBatch batch, offset_t* counts) {
  using Shape = HashShape<Slots>;
  __shared__ GroupShared shared[Shape::rows];
  const unsigned group = threadIdx.x / Shape::group;
  const std::int64_t number = number_of_group<Slots>();
  if (number >= batch.count) return;
  const index_t row = row_of(batch, static_cast<index_t>(number));
  HashRow<NoValue, std::uint32_t, Slots, HashSums::in_table> hash(
      factors, batch.facts, row, dynamic_shared_memory() + group * Slots * sizeof(index_t), shared[group]);
  hash.clear();
  hash.insert();
  if (threadIdx.x % Shape::group == 0) counts[row] = hash.entries();
}

/// \param phase numeric or numeric_allocating
template <class V, class Key, int Slots, HashSums Sums>
__global__ void __launch_bounds__(HashShape<Slots>::threads, 512 / HashShape<Slots>::threads)
    hash_kernel(Phase phase, Factors<V> factors, RowBatch batch, RowOutput<V> out) {
  using Row = HashRow<V, Key, Slots, Sums>;
  using Shape = HashShape<Slots>;
  __shared__ GroupShared shared[Shape::rows];
  const unsigned group = threadIdx.x / Shape::group;
  const std::int64_t number = number_of_group<Slots>();
  if (number >= batch.count) return;
  const index_t row = row_of(batch, static_cast<index_t>(number));
  Row hash(factors, batch.facts, row, dynamic_shared_memory() + group * Row::Layout::bytes, shared[group]);
  hash.clear();
  constexpr bool alone = Shape::group == warp_size;
  static_assert(!alone || Sums == HashSums::in_table);
  if constexpr (alone && has_values<V>) {
    hash.insert_and_add();
  } else {
    hash.insert();
  }
  offset_t offset = 0;
  if (threadIdx.x % Shape::group == 0) {
    offset = phase == Phase::numeric ? out.starts[row] : allocate_row(out, row, static_cast<offset_t>(hash.entries()));
  }
  offset = hash.from_first(offset);
  if (offset == no_offset) return;
  hash.sort();
  if constexpr (!alone && Row::sums_in_table) hash.add_in_order();
  hash.write(out.columns + offset, has_values<V> ? out.values + offset : nullptr);
  if constexpr (has_values<V> && Sums == HashSums::in_product) hash.add_in_product(out.values + offset);
}

template <int Slots>
void count_rows(const Context& context, const Factors<NoValue>& factors, const RowBatch& batch, offset_t* counts) {
  using Shape = HashShape<Slots>;
  launch("entries of rows by hash tables", context,
         Grid{blocks_for(batch.count, Shape::rows), Shape::threads, Shape::rows * Slots * sizeof(index_t)},
         hash_count_kernel<Slots>, factors, batch, counts);
}

template <class Key, int Slots, HashSums Sums, class V>
void launch_rows(const Context& context, Phase phase, const Factors<V>& factors, const RowBatch& batch,
                 const RowOutput<V>& out) {
  using Shape = HashShape<Slots>;
  constexpr std::size_t bytes = Shape::rows * HashLayout<V, Key, Slots, Sums>::bytes;
  const auto kernel = hash_kernel<V, Key, Slots, Sums>;
  allow_shared_bytes(kernel, bytes);
  launch("rows of a product in hash tables", context, Grid{blocks_for(batch.count, Shape::rows), Shape::threads, bytes},
         kernel, phase, factors, batch, out);
}

/// With keys as short as the widest row allows.
template <int Slots, HashSums Sums, class V>
void launch_rows(const Context& context, Phase phase, const Factors<V>& factors, const RowBatch& batch,
                 const RowOutput<V>& out) {
  if (short_keys(batch.widest, Slots)) {
    launch_rows<std::uint32_t, Slots, Sums>(context, phase, factors, batch, out);
  } else {
    launch_rows<std::uint64_t, Slots, Sums>(context, phase, factors, batch, out);
  }
}

template <int Slots, class V>
void run_phase(const Context& context, Phase phase, const Factors<V>& factors, const RowBatch& batch,
               const RowOutput<V>& out, [[maybe_unused]] bool ordered) {
  if (phase == Phase::symbolic) return count_rows<Slots>(context, positions_of(factors), batch, out.counts);
  if constexpr (HashShape<Slots>::group != warp_size && has_values<V>) {
    if (!ordered) return launch_rows<Slots, HashSums::in_product>(context, phase, factors, batch, out);
  }
  launch_rows<Slots, HashSums::in_table>(context, phase, factors, batch, out);
}

}  // namespace

template <class V>
void enqueue_hash(const Context& context, Phase phase, const Factors<V>& factors, const RowBatch& batch,
                  const RowOutput<V>& out, bool ordered) {
  if (batch.count == 0) return;
  const index_t most = batch.most_entries;
  if (most <= HashShape<512>::entries) return run_phase<512>(context, phase, factors, batch, out, ordered);
  if (most <= HashShape<1024>::entries) return run_phase<1024>(context, phase, factors, batch, out, ordered);
  if (most <= HashShape<2048>::entries) return run_phase<2048>(context, phase, factors, batch, out, ordered);
  if (most <= HashShape<4096>::entries) return run_phase<4096>(context, phase, factors, batch, out, ordered);
  run_phase<8192>(context, phase, factors, batch, out, ordered);
}

template void enqueue_hash(const Context&, Phase, const Factors<double>&, const RowBatch&, const RowOutput<double>&,
                           bool);
template void enqueue_hash(const Context&, Phase, const Factors<float>&, const RowBatch&, const RowOutput<float>&,
                           bool);
template void enqueue_hash(const Context&, Phase, const Factors<NoValue>&, const RowBatch&, const RowOutput<NoValue>&,
                           bool);

}  // namespace tessera::cuda
