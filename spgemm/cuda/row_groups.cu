// Row groups: rows of A with the positions of the row before. Analysis and symbolic phase of the first hold for all.
#include "core/bitmap_tile.hpp"
#include "core/cuda/launch.cuh"
#include "spgemm/cuda/analysis.hpp"

namespace tessera::cuda {

namespace {

constexpr int threads = 256;
/// Lanes that compare a row with the one before.
constexpr int lanes = 8;
/// Rows at multiples of this never count as repeats, which bounds the search for the first one.
constexpr index_t max_group_rows = 96;
/// Entries per row of A from which a saved count is worth the comparison.
constexpr offset_t least_lists = 8;

__global__ void __launch_bounds__(threads)
    repeats_kernel(const offset_t* a_offsets, const index_t* a_columns, index_t rows, const std::uint8_t* left_out,
                   std::uint8_t* bins) {
  const std::int64_t row = (std::int64_t{blockIdx.x} * threads + threadIdx.x) / lanes;
  const unsigned part = threadIdx.x % lanes;
  bool alike = row < rows && row % max_group_rows != 0;
  if (alike && left_out != nullptr) {
    // Neither a row that is left out nor the first one after such a row.
    const auto this_row = static_cast<index_t>(row);
    alike = left_out[detail::tile_of(this_row)] == 0 && left_out[detail::tile_of(this_row - 1)] == 0;
  }
  offset_t before = 0;
  offset_t begin = 0;
  offset_t length = 0;
  if (alike) {
    before = a_offsets[row - 1];
    begin = a_offsets[row];
    length = a_offsets[row + 1] - begin;
    alike = length >= least_lists && begin - before == length;
  }
  const unsigned group = ((1U << lanes) - 1) << (threadIdx.x % warp_size - part);
  for (offset_t k = part; __ballot_sync(full_warp, alike && k - part < length) != 0; k += lanes) {
    const bool differs = alike && k < length && a_columns[begin + k] != a_columns[before + k];
    if ((__ballot_sync(full_warp, differs) & group) != 0) alike = false;
  }
  if (part == 0 && row < rows) bins[row] = alike ? repeat_bit : 0;
}

__global__ void __launch_bounds__(threads) repeated_counts_kernel(index_t rows, std::uint8_t* bins, offset_t* counts) {
  const std::int64_t row = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  if (row >= rows || !is_repeat(bins[row])) return;
  std::int64_t first = row - 1;
  while (is_repeat(bins[first])) --first;
  counts[row] = counts[first];
  const auto number = static_cast<int>((row - first) % row_group_size);
  if (number == 0) return;
  // Other threads read repeat_bit alone, which stays.
  const bool third = number == 1 && row + 1 < rows && is_repeat(bins[row + 1]);
  bins[row] = repeat_bit | follower_bit | (third ? third_bit : 0);
}

}  // namespace

void enqueue_repeats(const Context& context, const Factors<NoValue>& factors, const ProductShape& shape,
                     RowAnalysis& analysis) {
  analysis.repeats = shape.rows > 1 && shape.a_nnz >= least_lists * shape.rows;
  if (!analysis.repeats) return;
  launch("rows that repeat the one before", context, Grid{blocks_for(shape.rows, threads / lanes), threads},
         repeats_kernel, factors.a_offsets, factors.a_columns, shape.rows, analysis.left_out, analysis.bins.data());
}

void enqueue_repeated_counts(const Context& context, RowAnalysis& analysis, index_t rows, offset_t* counts) {
  if (!analysis.repeats || rows == 0) return;
  launch("counts of repeated rows", context, Grid{blocks_for(rows, threads), threads}, repeated_counts_kernel, rows,
         analysis.bins.data(), counts);
}

}  // namespace tessera::cuda
