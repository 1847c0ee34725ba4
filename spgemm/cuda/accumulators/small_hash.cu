// A small hash table per row of C, for some lanes of a warp ("partial warp per row": Nagasaka, Nukada & Matsuoka, ICPP
// 2017). The rows of B are added one after the other: columns of one differ, so that sums need no atomic additions.
#include "core/cuda/launch.cuh"
#include "core/cuda/shared_memory.cuh"
#include "core/cuda/warp.cuh"
#include "spgemm/cuda/accumulators/accumulators.hpp"
#include "spgemm/cuda/accumulators/launch.cuh"
#include "spgemm/cuda/accumulators/rows.cuh"
#include "spgemm/cuda/accumulators/small_hash_tables.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

namespace tessera::cuda {

namespace {

/// Greater than any column.
constexpr index_t after_all_columns = std::numeric_limits<index_t>::max();

constexpr int threads = small_hash_threads;
constexpr int resident_blocks = 4;
/// Slots that are looked at for a column of a sampled row: more of them show that it is too long.
constexpr unsigned sample_tries = 96;
/// Rows of B that are loaded together.
constexpr int rows_in_flight = 4;

/// `Lanes` neighbouring lanes do a row.
template <int Lanes>
struct LaneGroup {
  static constexpr int of_block = threads / Lanes;
  [[nodiscard]] __device__ static unsigned lane() { return threadIdx.x % Lanes; }
  /// In the block.
  [[nodiscard]] __device__ static unsigned number() { return threadIdx.x / Lanes; }
  /// Of the votes of a warp, those of this group, the first lane's lowest.
  [[nodiscard]] __device__ static unsigned own(unsigned votes) {
    const unsigned shift = threadIdx.x % warp_size / Lanes * Lanes;
    if constexpr (Lanes == warp_size) return votes;
    return votes >> shift & ((1U << Lanes % warp_size) - 1);
  }
  /// Whether any lane of the group says so. Every lane of the warp must call.
  [[nodiscard]] __device__ static bool any(bool vote) { return own(__ballot_sync(full_warp, vote)) != 0; }
};

/// The row of C that a group does, and its row of A; without entries where there is none.
struct LaneGroupRow {
  bool exists = false;
  index_t number = 0;
  offset_t begin = 0;
  offset_t end = 0;
};

template <int Lanes>
__device__ LaneGroupRow row_of_group(const RowBatch& batch, const offset_t* a_offsets) {
  LaneGroupRow row;
  const std::int64_t i = std::int64_t{blockIdx.x} * LaneGroup<Lanes>::of_block + LaneGroup<Lanes>::number();
  row.exists = i < batch.count;
  if (!row.exists) return row;
  row.number = row_of(batch, static_cast<index_t>(i));
  row.begin = __ldg(a_offsets + row.number);
  row.end = __ldg(a_offsets + row.number + 1);
  return row;
}

/// Calls add(column, product) for all products of a row, the rows of B one after the other. Groups of a warp walk
/// together, so that none waits for another in turn. Every lane of the warp must call. \param halted whether the group
/// is to skip what is left; add() may set it
template <int Lanes, class V, class Add>
__device__ __forceinline__ void for_products(const Factors<V>& factors, offset_t begin, offset_t end, bool& halted,
                                             Add&& add) {
  using Group = LaneGroup<Lanes>;
  const unsigned lane = Group::lane();
  const auto b_rows = static_cast<unsigned>(end - begin);
  const unsigned most_b_rows = __reduce_max_sync(full_warp, b_rows);
  for (unsigned from = 0; from < most_b_rows; from += Lanes) {
    unsigned first = 0;
    unsigned last = 0;
    [[maybe_unused]] V scale{};
    if (from + lane < b_rows) {
      const offset_t k = begin + from + lane;
      const index_t b_row = __ldg(factors.a_columns + k);
      first = static_cast<unsigned>(__ldg(factors.b_offsets + b_row));
      last = static_cast<unsigned>(__ldg(factors.b_offsets + b_row + 1));
      if constexpr (has_values<V>) scale = value_at(factors.a_values, k);
    }
    const unsigned longest = __reduce_max_sync(full_warp, last - first);
    const unsigned count = most_b_rows - from < Lanes ? most_b_rows - from : Lanes;
    for (unsigned q = 0; q < count; q += rows_in_flight) {
      const unsigned halts = __ballot_sync(full_warp, halted);
      halted = Group::own(halts) != 0;
      if (halts != 0 && __ballot_sync(full_warp, !halted && from < b_rows) == 0) return;
      index_t column[rows_in_flight];
      unsigned at[rows_in_flight];
      unsigned ends[rows_in_flight];
      V product[rows_in_flight];
#pragma unroll
      for (unsigned u = 0; u < rows_in_flight; ++u) {
        const auto source = static_cast<int>(q + u);
        at[u] = __shfl_sync(full_warp, first, source, Lanes) + lane;
        ends[u] = __shfl_sync(full_warp, last, source, Lanes);
        column[u] = at[u] < ends[u] ? __ldg(factors.b_columns + at[u]) : -1;
        if constexpr (has_values<V>) {
          const V factor = __shfl_sync(full_warp, scale, source, Lanes);
          if (at[u] < ends[u]) product[u] = product_of(factor, value_at(factors.b_values, at[u]));
        }
      }
#pragma unroll
      for (unsigned u = 0; u < rows_in_flight; ++u) {
        if (column[u] >= 0 && !halted) add(column[u], product[u]);
        if (longest > Lanes) {
          [[maybe_unused]] V factor{};
          if constexpr (has_values<V>) factor = __shfl_sync(full_warp, scale, static_cast<int>(q + u), Lanes);
          for (unsigned k = at[u] + Lanes; k < ends[u] && !halted; k += Lanes) {
            V next{};
            if constexpr (has_values<V>) next = product_of(factor, value_at(factors.b_values, k));
            add(__ldg(factors.b_columns + k), next);
          }
        }
        __syncwarp();
      }
    }
  }
}

/// A part of the columns: those whose hash has `number` in its upper `bits`.
struct ColumnPart {
  unsigned bits = 0;
  unsigned number = 0;
  [[nodiscard]] __device__ bool has(index_t column) const {
    return bits == 0 || (static_cast<unsigned>(column) * 0x85ebca6bU) >> (32 - bits) == number;
  }
};

/// Columns, and where V has values their sums, of one row. \tparam Slots a power of two
template <class V, int Lanes, int Slots>
class SmallTable {
 public:
  using Group = LaneGroup<Lanes>;
  using Layout = SmallTableLayout<Lanes, Slots>;
  static constexpr index_t vacant = -1;

  /// \param memory of the block, Layout::bytes(value_bytes<V>), aligned to 16 bytes \param most_tries slots that are
  /// looked at for a column, before the table counts as too small
  __device__ explicit SmallTable(unsigned char* memory, unsigned most_tries = Slots) : most_tries_(most_tries) {
    columns_ =
        reinterpret_cast<index_t*>(memory + Layout::sums_bytes(value_bytes<V>)) + Group::number() * Layout::stride;
    if constexpr (has_values<V>) sums_ = reinterpret_cast<V*>(memory) + Group::number() * Layout::stride;
  }

  /// Every lane of the warp must call. \param wanted whether to clear the table of this group
  __device__ void clear(bool wanted = true) {
    __syncwarp();
    for (unsigned slot = Group::lane(); wanted && slot < Slots; slot += Lanes) {
      columns_[slot] = vacant;
      if constexpr (has_values<V>) sums_[slot] = sum_begin<V>;
    }
    taken_ = 0;
    full_ = false;
    __syncwarp();
  }

  /// Adds the products of a row whose columns are in `part`. Every lane of the warp must call.
  /// \returns whether the table was too small; its contents are then of no use
  __device__ __forceinline__ bool add_row(const Factors<V>& factors, offset_t begin, offset_t end,
                                          ColumnPart part = {}) {
    for_products<Lanes>(factors, begin, end, full_, [&](index_t column, V product) {
      if (part.has(column)) add(column, product);
    });
    full_ = Group::any(full_);
    return full_;
  }

  /// Columns in the table. Every lane of the warp must call.
  [[nodiscard]] __device__ unsigned entries() const { return sum_over_lanes(taken_, Lanes); }

  /// Moves the entries to the front. Every lane of the warp must call. \returns how many these are
  [[nodiscard]] __device__ unsigned pack() {
    unsigned packed = 0;
    for (unsigned base = 0; base < Slots; base += Lanes) {
      const index_t column = columns_[base + Group::lane()];
      V sum{};
      if constexpr (has_values<V>) sum = sums_[base + Group::lane()];
      const unsigned filled = Group::own(__ballot_sync(full_warp, column != vacant));
      // All have read before any writes.
      __syncwarp();
      const unsigned to = packed + static_cast<unsigned>(__popc(filled & ((1U << Group::lane()) - 1)));
      if (column != vacant) {
        columns_[to] = column;
        if constexpr (has_values<V>) sums_[to] = sum;
      }
      packed += static_cast<unsigned>(__popc(filled));
      __syncwarp();
    }
    // Ranks are found four columns at a time.
    if (Group::lane() < 4) columns_[packed + Group::lane()] = after_all_columns;
    __syncwarp();
    return packed;
  }

  /// After pack(): writes the entries by ascending column. \param columns, values: first of the row
  __device__ void write(unsigned entries, index_t* columns, [[maybe_unused]] V* values) const {
    for (unsigned i = Group::lane(); i < entries; i += Lanes) {
      const index_t column = columns_[i];
      unsigned rank = 0;
      for (unsigned k = 0; k < entries; k += 4) {
        const int4 four = *reinterpret_cast<const int4*>(columns_ + k);
        rank += (four.x < column ? 1 : 0) + (four.y < column ? 1 : 0) + (four.z < column ? 1 : 0) +
                (four.w < column ? 1 : 0);
      }
      columns[rank] = column;
      if constexpr (has_values<V>) values[rank] = sums_[i];
    }
  }

 private:
  __device__ __forceinline__ void add(index_t column, [[maybe_unused]] V product) {
    // The upper bits of a product with the golden ratio.
    unsigned slot = (static_cast<unsigned>(column) * 0x9e3779b1U) >> (32 - Layout::bits);
    for (unsigned tries = 0; tries < most_tries_; ++tries) {
      index_t there = columns_[slot];
      if (there == vacant) {
        there = atomicCAS(columns_ + slot, vacant, column);
        if (there == vacant) {
          ++taken_;
          there = column;
        }
      }
      if (there == column) {
        if constexpr (has_values<V>) sums_[slot] = sum_of(sums_[slot], product);
        return;
      }
      slot = (slot + 1) % Slots;
    }
    full_ = true;
  }

  index_t* columns_;
  V* sums_ = nullptr;
  unsigned most_tries_;
  unsigned taken_ = 0;  ///< by this lane
  bool full_ = false;
};

/// Entries of a row that its table is too small for, in parts of the columns, twice as many until each fits. Every lane
/// of the warp must call. \param wanted whether to count the row of this group; else its table is left alone
template <int Lanes, int Slots>
__device__ unsigned count_in_parts(const Factors<NoValue>& factors, const LaneGroupRow& row, bool wanted,
                                   SmallTable<NoValue, Lanes, Slots>& table) {
  unsigned entries = 0;
  for (unsigned bits = 1; __ballot_sync(full_warp, wanted) != 0; ++bits) {
    unsigned sum = 0;
    bool again = false;
    for (unsigned part = 0; part < 1U << bits; ++part) {
      const bool counts = wanted && !again;
      table.clear(counts);
      again |= table.add_row(factors, row.begin, counts ? row.end : row.begin, {bits, part});
      sum += table.entries();
    }
    if (wanted && !again) entries = sum;
    wanted = again;
  }
  return entries;
}

/// Entries of a row of any size, by a table of columns alone. Every lane of the warp must call.
template <int Lanes, int Slots>
__device__ unsigned count_entries(const Factors<NoValue>& factors, const LaneGroupRow& row,
                                  SmallTable<NoValue, Lanes, Slots>& table) {
  table.clear();
  const bool beyond = table.add_row(factors, row.begin, row.end);
  const unsigned entries = table.entries();
  const unsigned in_parts = count_in_parts(factors, row, beyond, table);
  return beyond ? in_parts : entries;
}

template <int Lanes, int Slots>
__global__ void __launch_bounds__(threads)
    small_hash_count_kernel(Factors<NoValue> factors, RowBatch batch, offset_t* counts) {
  const LaneGroupRow row = row_of_group<Lanes>(batch, factors.a_offsets);
  SmallTable<NoValue, Lanes, Slots> table(dynamic_shared_memory());
  const unsigned entries = count_entries(factors, row, table);
  if (row.exists && LaneGroup<Lanes>::lane() == 0) counts[row.number] = entries;
}

/// Allocates the rows of a block one after the other in the output buffer. Every thread must call.
/// \param beyond whether the row does not fit into its table, so that it must have no offset
/// \returns first entry of the group's row, or no_offset
template <int Lanes, class V>
__device__ offset_t allocate_in_block(const RowOutput<V>& out, const LaneGroupRow& row, unsigned entries, bool beyond) {
  using Group = LaneGroup<Lanes>;
  __shared__ unsigned of_group[Group::of_block];
  __shared__ unsigned of_warps[threads / warp_size];
  __shared__ offset_t begin;
  const bool leads = row.exists && Group::lane() == 0;
  if (out.starts != nullptr) {
    offset_t offset = no_offset;
    if (leads && !beyond) offset = allocate_row(out, row.number, entries);
    if (leads && beyond) {
      out.counts[row.number] = entries;
      out.buffer_offsets[row.number] = no_offset;
    }
    return __shfl_sync(full_warp, offset, 0, Lanes);
  }
  if (Group::lane() == 0) of_group[Group::number()] = row.exists && !beyond ? entries : 0;
  __syncthreads();
  const unsigned own = threadIdx.x < Group::of_block ? of_group[threadIdx.x] : 0;
  const BlockSum<unsigned> sum = running_sum_in_block<threads>(own, of_warps);
  if (threadIdx.x < Group::of_block) of_group[threadIdx.x] = sum.before;
  if (threadIdx.x == 0) {
    begin =
        sum.total == 0 ? 0 : static_cast<offset_t>(atomicAdd(out.cursor, static_cast<unsigned long long>(sum.total)));
  }
  __syncthreads();
  offset_t offset = begin + of_group[Group::number()];
  if (entries == 0) offset = 0;
  if (beyond || offset + entries > out.capacity) offset = no_offset;
  if (leads) {
    out.counts[row.number] = entries;
    out.buffer_offsets[row.number] = offset;
  }
  return offset;
}

/// \param phase numeric or numeric_allocating
template <class V, int Lanes, int Slots>
__global__ void __launch_bounds__(threads, resident_blocks)
    small_hash_kernel(Phase phase, Factors<V> factors, RowBatch batch, RowOutput<V> out) {
  const LaneGroupRow row = row_of_group<Lanes>(batch, factors.a_offsets);
  SmallTable<V, Lanes, Slots> table(dynamic_shared_memory());
  table.clear();
  const bool beyond = table.add_row(factors, row.begin, row.end);
  unsigned entries = table.pack();
  offset_t offset = no_offset;
  if (phase == Phase::numeric) {
    if (row.exists && !beyond) offset = out.starts[row.number];
  } else {
    SmallTable<NoValue, Lanes, Slots> columns(dynamic_shared_memory() +
                                              SmallTableLayout<Lanes, Slots>::sums_bytes(value_bytes<V>));
    const unsigned in_parts = count_in_parts(positions_of(factors), row, beyond, columns);
    if (beyond) entries = in_parts;
    offset = allocate_in_block<Lanes>(out, row, entries, beyond);
  }
  if (row.exists && offset != no_offset) {
    table.write(entries, out.columns + offset, has_values<V> ? out.values + offset : nullptr);
  }
}

/// Sums over the sampled rows, one by each group. \param counts entries of all rows go here, which are the sample then,
/// and 0 at their end; null: of some rows
template <int Lanes, int Slots>
__global__ void __launch_bounds__(threads)
    compression_sample_kernel(Factors<NoValue> factors, index_t rows, offset_t* counts, CompressionSample* sample) {
  using Group = LaneGroup<Lanes>;
  LaneGroupRow row;
  const auto k = static_cast<index_t>(blockIdx.x * Group::of_block + Group::number());
  row.exists = k < (counts == nullptr ? sample_size(rows) : rows);
  if (row.exists) {
    row.number = counts == nullptr ? sampled_row(rows, k) : k;
    row.begin = __ldg(factors.a_offsets + row.number);
    row.end = __ldg(factors.a_offsets + row.number + 1);
  }
  unsigned long long products = 0;
  for (offset_t at = row.begin + Group::lane(); at < row.end; at += Lanes) {
    const index_t b_row = __ldg(factors.a_columns + at);
    products +=
        static_cast<unsigned long long>(__ldg(factors.b_offsets + b_row + 1) - __ldg(factors.b_offsets + b_row));
  }
  products = sum_over_lanes(products, Lanes);
  bool is_long = products > sampled_row_products;
  if (is_long) row.end = row.begin;
  SmallTable<NoValue, Lanes, Slots> table(dynamic_shared_memory(), sample_tries);
  table.clear();
  is_long |= table.add_row(factors, row.begin, row.end);
  const unsigned entries = table.entries();
  if (counts != nullptr && row.exists && Group::lane() == 0) counts[row.number] = entries;
  if (counts != nullptr && blockIdx.x == 0 && threadIdx.x == 0) counts[rows] = 0;
  const bool is_counted = Group::lane() == 0 && products > 0 && !is_long;
  const auto n = is_counted ? static_cast<unsigned long long>(entries) : 0;
  const unsigned counted = __reduce_add_sync(full_warp, is_counted ? 1U : 0U);
  const unsigned long_rows = __reduce_add_sync(full_warp, Group::lane() == 0 && is_long ? 1U : 0U);
  const unsigned most = __reduce_max_sync(full_warp, static_cast<unsigned>(n));
  const unsigned long long all_products = sum_over_lanes(is_counted ? products : 0ULL);
  const unsigned long long all_entries = sum_over_lanes(n);
  const unsigned long long squares = sum_over_lanes(n * n);
  if (threadIdx.x % warp_size != 0) return;
  atomicAdd(&sample->rows, static_cast<unsigned long long>(counted));
  atomicAdd(&sample->products, all_products);
  atomicAdd(&sample->entries, all_entries);
  atomicAdd(&sample->squares, squares);
  atomicMax(&sample->most_entries, most);
  if (long_rows != 0) atomicAdd(&sample->long_rows, long_rows);
}

template <class Kernel>
void launch_tables(std::string_view name, const Context& context, index_t rows, int lanes, std::size_t bytes,
                   Kernel kernel, const auto&... arguments) {
  allow_shared_bytes(kernel, static_cast<std::int64_t>(bytes));
  set_carve_out(kernel, bytes, resident_blocks, context.limits());
  launch(name, context, Grid{blocks_for(rows, threads / lanes), threads, bytes}, kernel, arguments...);
}

template <int Lanes, int Slots>
void count_rows(const Context& context, const Factors<NoValue>& factors, const RowBatch& batch, offset_t* counts) {
  launch_tables("entries of rows by small hash tables", context, batch.count, Lanes,
                SmallTableLayout<Lanes, Slots>::bytes(0), small_hash_count_kernel<Lanes, Slots>, factors, batch,
                counts);
}

template <int Lanes>
void count_rows_by(const Context& context, const Factors<NoValue>& factors, const RowBatch& batch, offset_t* counts) {
  if (small_hash_slots(batch.most_entries, false) == 64) return count_rows<Lanes, 64>(context, factors, batch, counts);
  count_rows<Lanes, 256>(context, factors, batch, counts);
}

template <int Lanes, int Slots, class V>
void sum_rows(const Context& context, Phase phase, const Factors<V>& factors, const RowBatch& batch,
              const RowOutput<V>& out) {
  launch_tables("rows of a product in small hash tables", context, batch.count, Lanes,
                SmallTableLayout<Lanes, Slots>::bytes(value_bytes<V>), small_hash_kernel<V, Lanes, Slots>, phase,
                factors, batch, out);
}

template <class V>
void sum_rows_by(const Context& context, Phase phase, const Factors<V>& factors, const RowBatch& batch,
                 const RowOutput<V>& out) {
  const int slots = small_hash_slots(batch.most_entries, true);
  const int lanes = small_hash_lanes(batch.mean_b_row_nnz);
  if (slots == 256) return sum_rows<16, 256>(context, phase, factors, batch, out);
  if (lanes == 16) {
    if (slots <= 64) return sum_rows<16, 64>(context, phase, factors, batch, out);
    return sum_rows<16, 128>(context, phase, factors, batch, out);
  }
  if (slots == 128) return sum_rows<8, 128>(context, phase, factors, batch, out);
  if (lanes == 8) {
    if (slots == 32) return sum_rows<8, 32>(context, phase, factors, batch, out);
    return sum_rows<8, 64>(context, phase, factors, batch, out);
  }
  if (slots == 32) return sum_rows<4, 32>(context, phase, factors, batch, out);
  sum_rows<4, 64>(context, phase, factors, batch, out);
}

template <int Lanes>
void sample_by(const Context& context, const Factors<NoValue>& factors, index_t rows, offset_t* counts,
               CompressionSample* sample) {
  const index_t size = counts == nullptr ? sample_size(rows) : rows;
  launch_tables("sample of a sparse product", context, size, Lanes, SmallTableLayout<Lanes, 256>::bytes(0),
                compression_sample_kernel<Lanes, 256>, factors, rows, counts, sample);
}

}  // namespace

template <class V>
void enqueue_small_hash(const Context& context, Phase phase, const Factors<V>& factors, const RowBatch& batch,
                        const RowOutput<V>& out) {
  if (batch.count == 0) return;
  if (phase != Phase::symbolic) return sum_rows_by(context, phase, factors, batch, out);
  const Factors<NoValue> positions = positions_of(factors);
  const int lanes = small_hash_lanes(batch.mean_b_row_nnz);
  if (lanes == 4) return count_rows_by<4>(context, positions, batch, out.counts);
  if (lanes == 8) return count_rows_by<8>(context, positions, batch, out.counts);
  count_rows_by<16>(context, positions, batch, out.counts);
}

void enqueue_compression_sample(const Context& context, const Factors<NoValue>& factors, index_t rows,
                                double mean_b_row_nnz, CompressionSample* sample, offset_t* counts) {
  if (small_hash_lanes(mean_b_row_nnz) == 16) return sample_by<16>(context, factors, rows, counts, sample);
  sample_by<8>(context, factors, rows, counts, sample);
}

template void enqueue_small_hash(const Context&, Phase, const Factors<double>&, const RowBatch&,
                                 const RowOutput<double>&);
template void enqueue_small_hash(const Context&, Phase, const Factors<float>&, const RowBatch&,
                                 const RowOutput<float>&);
template void enqueue_small_hash(const Context&, Phase, const Factors<NoValue>&, const RowBatch&,
                                 const RowOutput<NoValue>&);

}  // namespace tessera::cuda
