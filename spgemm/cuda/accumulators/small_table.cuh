/// \file
/// A small hash table per row of C, for some lanes of a warp ("partial warp per row": Nagasaka, Nukada & Matsuoka, ICPP
/// 2017). The rows of B are added one after the other: columns of one differ, so that sums need no atomic additions.
#pragma once

#include "core/cuda/launch.cuh"
#include "core/cuda/warp.cuh"
#include "spgemm/cuda/accumulators/launch.cuh"
#include "spgemm/cuda/accumulators/rows.cuh"
#include "spgemm/cuda/accumulators/small_hash_tables.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

namespace tessera::cuda {

/// Greater than any column.
inline constexpr index_t after_all_columns = std::numeric_limits<index_t>::max();

inline constexpr int small_hash_resident_blocks = 4;
/// Rows of B that are loaded together.
inline constexpr int small_hash_rows_in_flight = 4;

/// `Lanes` neighbouring lanes do a row.
template <int Lanes>
struct LaneGroup {
  static constexpr int of_block = small_hash_threads / Lanes;
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
    for (unsigned q = 0; q < count; q += small_hash_rows_in_flight) {
      const unsigned halts = __ballot_sync(full_warp, halted);
      halted = Group::own(halts) != 0;
      if (halts != 0 && __ballot_sync(full_warp, !halted && from < b_rows) == 0) return;
      index_t column[small_hash_rows_in_flight];
      unsigned at[small_hash_rows_in_flight];
      unsigned ends[small_hash_rows_in_flight];
      V product[small_hash_rows_in_flight];
#pragma unroll
      for (unsigned u = 0; u < small_hash_rows_in_flight; ++u) {
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
      for (unsigned u = 0; u < small_hash_rows_in_flight; ++u) {
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

/// A group of `lanes` lanes per row. \param bytes of the tables of a block
template <class Kernel>
void launch_tables(std::string_view name, const Context& context, index_t rows, int lanes, std::size_t bytes,
                   Kernel kernel, const auto&... arguments) {
  allow_shared_bytes(kernel, static_cast<std::int64_t>(bytes));
  set_carve_out(kernel, bytes, small_hash_resident_blocks, context.limits());
  launch(name, context, Grid{blocks_for(rows, small_hash_threads / lanes), small_hash_threads, bytes}, kernel,
         arguments...);
}

}  // namespace tessera::cuda
