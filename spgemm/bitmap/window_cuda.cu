#include "spgemm/accumulate/accumulators_cuda.hpp"
#include "spgemm/bitmap/bitmap.cuh"
#include "spgemm/cuda/row_lists.cuh"

namespace tessera::cuda {

namespace {

constexpr int threads = most_warps_of_block * warp_size;

/// The sums of a row and their columns, by place in the row.
template <class V>
struct WindowSums {
  Bitmap<RankedWord> bitmap;
  V* values;
  index_t* columns;

  [[nodiscard]] __device__ int place_of(index_t column) const {
    const auto at = static_cast<unsigned>(column - bitmap.origin);
    const RankedWord word = bitmap.words[at / 32];
    return static_cast<int>(word.rank) + __popc(word.bits & ((1U << (at % 32)) - 1));
  }
  /// Storing the column with every product costs less than expanding the bitmap.
  __device__ void add(int place, index_t column, V product) const {
    columns[place] = column;
    values[place] = sum_of(values[place], product);
  }
};

/// Sets the bits of a row's columns.
template <class Word, class V>
__device__ void mark_row(const Bitmap<Word>& bitmap, const Factors<V>& factors, RowLists<V>& lists, int lanes) {
  bitmap.clear();
  __syncwarp();
  mark_columns(factors, lists, lanes, [&](index_t column) { bitmap.mark(column); });
  __syncwarp();
}

/// The bitmap of a row where values do not count, behind the stage for lists.
[[nodiscard]] __device__ Bitmap<BitWord> marked_row(const Factors<NoValue>& factors, const RowFacts& facts, index_t row,
                                                    int lanes, unsigned char* memory) {
  const Bitmap<BitWord> bitmap(memory + stage_bytes(0), facts.first_columns[row], facts.widths[row]);
  RowLists<NoValue> lists(factors, row, reinterpret_cast<List<NoValue>*>(memory));
  mark_row(bitmap, factors, lists, lanes);
  return bitmap;
}

__global__ void __launch_bounds__(threads)
    count_kernel(Factors<NoValue> factors, RowBatch batch, offset_t* counts, int lanes, unsigned slice) {
  if (row_of_warp() >= static_cast<unsigned>(batch.count)) return;
  const index_t row = row_of(batch, static_cast<index_t>(row_of_warp()));
  const int n = marked_row(factors, batch.facts, row, lanes, slice_of_warp(slice)).population();
  if (lane_of_warp() == 0) counts[row] = n;
}

template <RowPass Pass>
__global__ void __launch_bounds__(threads)
    columns_kernel(Factors<NoValue> factors, RowBatch batch, RowOutput<NoValue> out, int lanes, unsigned slice) {
  if (row_of_warp() >= static_cast<unsigned>(batch.count)) return;
  const index_t row = row_of(batch, static_cast<index_t>(row_of_warp()));
  const Bitmap<BitWord> bitmap = marked_row(factors, batch.facts, row, lanes, slice_of_warp(slice));
  const int n = Pass == RowPass::place ? 0 : bitmap.population();
  const offset_t place = place_of_warp<Pass>(out, row, n, n);
  if (place != no_place) write_columns(bitmap, out.columns + place);
}

/// Adds the products of a row whose bitmap has ranks and n bits, and writes it.
template <class V>
__device__ void sum_row(const Factors<V>& factors, RowLists<V>& lists, const WindowSums<V>& sums, int n,
                        index_t* columns, V* values) {
  for (int i = lane_of_warp(); i < n; i += warp_size) sums.values[i] = sum_begin<V>;
  __syncwarp();
  add_products(factors, lists, sums);
  for (int i = lane_of_warp(); i < n; i += warp_size) {
    columns[i] = sums.columns[i];
    values[i] = sums.values[i];
  }
}

template <RowPass Pass, class V>
__global__ void __launch_bounds__(threads)
    values_kernel(Factors<V> factors, RowBatch batch, RowOutput<V> out, int lanes, unsigned slice) {
  if (row_of_warp() >= static_cast<unsigned>(batch.count)) return;
  const index_t row = row_of(batch, static_cast<index_t>(row_of_warp()));
  unsigned char* const memory = slice_of_warp(slice);
  unsigned char* const after_stage = memory + stage_bytes(sizeof(V));
  const Bitmap<RankedWord> bitmap(after_stage, batch.facts.first_columns[row], batch.facts.widths[row]);
  RowLists<V> lists(factors, row, reinterpret_cast<List<V>*>(memory));
  mark_row(bitmap, factors, lists, lanes);
  const int n = rank_words(bitmap);
  // Each row has its own division of the slice.
  unsigned char* const after_words = after_stage + bitmap.count * sizeof(RankedWord);
  const auto room = static_cast<unsigned>(memory + slice - after_words) / (sizeof(V) + sizeof(index_t));
  const offset_t place = place_of_warp<Pass>(out, row, n, room);
  if (place == no_place) return;
  auto* const values = reinterpret_cast<V*>(after_words);
  const WindowSums<V> sums{bitmap, values, reinterpret_cast<index_t*>(values + n)};
  sum_row(factors, lists, sums, n, out.columns + place, out.values + place);
}

template <RowPass Pass, class V>
void launch_rows(const Context& context, const Factors<V>& factors, const RowBatch& batch, const RowOutput<V>& out) {
  const int lanes = lanes_of_list(batch.mean_list);
  if constexpr (has_values<V>) {
    launch_slices("rows of C in a window", context, batch.count,
                  batch.slice > 0 ? batch.slice : window_bytes(batch.widest, batch.most_entries, sizeof(V)),
                  values_kernel<Pass, V>, factors, batch, out, lanes);
  } else {
    launch_slices("columns of C in a window", context, batch.count, window_bytes(batch.widest, 0, 0),
                  columns_kernel<Pass>, factors, batch, out, lanes);
  }
}

}  // namespace

template <class V>
void enqueue_window(const Context& context, RowPass pass, const Factors<V>& factors, const RowBatch& batch,
                    const RowOutput<V>& out) {
  switch (pass) {
    case RowPass::count:
      return launch_slices("counting rows of C in a window", context, batch.count, window_bytes(batch.widest, 0, 0),
                           count_kernel, positions_of(factors), batch, out.counts, lanes_of_list(batch.mean_list));
    case RowPass::place:
      return launch_rows<RowPass::place>(context, factors, batch, out);
    case RowPass::claim:
      return launch_rows<RowPass::claim>(context, factors, batch, out);
  }
}

template void enqueue_window(const Context&, RowPass, const Factors<double>&, const RowBatch&,
                             const RowOutput<double>&);
template void enqueue_window(const Context&, RowPass, const Factors<float>&, const RowBatch&, const RowOutput<float>&);
template void enqueue_window(const Context&, RowPass, const Factors<NoValue>&, const RowBatch&,
                             const RowOutput<NoValue>&);

}  // namespace tessera::cuda
