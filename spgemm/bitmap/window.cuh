/// \file
/// Rows of C in a window: a warp's bitmap of their columns, whose ranks are the places of their sums.
#pragma once

#include "spgemm/bitmap/bitmap.cuh"
#include "spgemm/cuda/row_lists.cuh"

namespace tessera::cuda {

inline constexpr int window_threads = most_warps_of_block * warp_size;

/// Sets the bits of a row's columns.
template <class Word, class V, int Rows>
__device__ void mark_row(const Bitmap<Word>& bitmap, const Factors<V>& factors, RowLists<V, Rows>& lists, int lanes) {
  bitmap.clear();
  __syncwarp();
  mark_columns(factors, lists, lanes, [&](index_t column) { bitmap.mark(column); });
  __syncwarp();
}

/// The bitmap of a row where values do not count, behind the stage for lists.
[[nodiscard]] __device__ inline Bitmap<BitWord> marked_row(const Factors<NoValue>& factors, const RowFacts& facts,
                                                           index_t row, int lanes, unsigned char* memory) {
  const Bitmap<BitWord> bitmap(memory + stage_bytes(0), facts.first_columns[row], facts.widths[row]);
  RowLists<NoValue> lists(factors, row, reinterpret_cast<List<NoValue>*>(memory));
  mark_row(bitmap, factors, lists, lanes);
  return bitmap;
}

/// The sums of rows and their columns, by place in the row: these are the same for all of the rows.
template <class V>
struct WindowSums {
  Bitmap<RankedWord> bitmap;
  V* values;
  index_t* columns;
  int entries;  ///< of a row

  [[nodiscard]] __device__ int place_of(index_t column) const {
    const auto at = static_cast<unsigned>(column - bitmap.origin);
    const RankedWord word = bitmap.words[at / 32];
    return static_cast<int>(word.rank) + __popc(word.bits & ((1U << (at % 32)) - 1));
  }
  /// Storing the column with every product costs less than expanding the bitmap.
  __device__ void add(int row, int place, index_t column, V product) const {
    if (row == 0) columns[place] = column;
    V& sum = values[row * entries + place];
    sum = sum_of(sum, product);
  }
};

/// Up to `Rows` rows, one after the other, whose rows of A have the same positions. All lanes of the warp call.
template <class V, int Rows>
class WindowRows {
 public:
  /// Finds the entries. \param members rows that there are \param memory of the warp, whose division depends on the row
  __device__ WindowRows(const Factors<V>& factors, const RowFacts& facts, index_t row, int members,
                        unsigned char* memory, int lanes)
      : factors_(factors),
        lists_(factors, row, reinterpret_cast<List<V, Rows>*>(memory), members),
        memory_(memory),
        sums_{
            {memory + stage_bytes(sizeof(V), Rows), facts.first_columns[row], facts.widths[row]}, nullptr, nullptr, 0} {
    mark_row(sums_.bitmap, factors, lists_, lanes);
    sums_.entries = rank_words(sums_.bitmap);
    sums_.values = reinterpret_cast<V*>(sums_.bitmap.words + sums_.bitmap.count);
    sums_.columns = reinterpret_cast<index_t*>(sums_.values + Rows * sums_.entries);
  }

  /// Of each row.
  [[nodiscard]] __device__ int entries() const { return sums_.entries; }
  /// Entries of a row for which a slice of so many bytes has room.
  [[nodiscard]] __device__ int room(unsigned slice) const {
    const auto used = static_cast<unsigned>(reinterpret_cast<unsigned char*>(sums_.values) - memory_);
    return static_cast<int>((slice - used) / (Rows * sizeof(V) + sizeof(index_t)));
  }

  __device__ void add_up() {
    for (int i = lane_of_warp(); i < Rows * sums_.entries; i += warp_size) sums_.values[i] = sum_begin<V>;
    __syncwarp();
    add_products(factors_, lists_, sums_);
  }

  __device__ void write(int row, index_t* columns, V* values) const {
    for (int i = lane_of_warp(); i < sums_.entries; i += warp_size) {
      columns[i] = sums_.columns[i];
      values[i] = sums_.values[row * sums_.entries + i];
    }
  }

 private:
  const Factors<V>& factors_;
  RowLists<V, Rows> lists_;
  unsigned char* memory_;
  WindowSums<V> sums_;
};

}  // namespace tessera::cuda
