#include "core/cuda/launch.cuh"
#include "core/cuda/radix_sort.hpp"
#include "core/cuda/scan.hpp"
#include "spgemm/cuda/rows.cuh"
#include "spgemm/esc/device_rows.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace tessera::cuda {

namespace {

constexpr int threads = 256;
/// Neighbouring products that a block expands.
constexpr int products_of_block = 8 * threads;
/// Products whose keys and values are on their way at once while they are added.
constexpr int products_at_once = 4;

/// The last number of `numbers` that is at most `bound`, among those from `low` to `high`; the one at `low` is.
__device__ std::int64_t last_not_above(const offset_t* numbers, std::int64_t low, std::int64_t high, offset_t bound) {
  while (low < high) {
    const std::int64_t middle = low + (high - low + 1) / 2;
    if (numbers[middle] <= bound) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

__global__ void __launch_bounds__(threads)
    count_lists_kernel(RowBatch batch, const offset_t* a_offsets, offset_t* row_lists) {
  const std::int64_t i = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  if (i > batch.count) return;
  offset_t lists = 0;
  if (i < batch.count) {
    const index_t row = row_of(batch, static_cast<index_t>(i));
    lists = a_offsets[row + 1] - a_offsets[row];
  }
  row_lists[i] = lists;
}

/// The entries of A of the rows, as one list. \param row_lists of rows first ... last
struct ListsOfRows {
  RowBatch batch;
  const offset_t* a_offsets;
  const offset_t* row_lists;

  /// Which entry of A list l is. \param i its row's number in the batch
  [[nodiscard]] __device__ offset_t entry(std::int64_t l, std::int64_t i) const {
    return a_offsets[row_of(batch, static_cast<index_t>(i))] + (l - row_lists[i]);
  }
};

__global__ void __launch_bounds__(threads)
    count_products_kernel(Factors<NoValue> factors, ListsOfRows rows, std::int64_t lists, offset_t* list_products) {
  const std::int64_t l = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  if (l > lists) return;
  offset_t products = 0;
  if (l < lists) {
    const offset_t k = rows.entry(l, last_not_above(rows.row_lists, 0, rows.batch.count - 1, l));
    const index_t list = factors.a_columns[k];
    products = factors.b_offsets[list + 1] - factors.b_offsets[list];
  }
  list_products[l] = products;
}

__global__ void __launch_bounds__(threads)
    products_of_rows_kernel(index_t rows, const offset_t* row_lists, const offset_t* list_products,
                            offset_t* row_products) {
  const std::int64_t i = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  if (i <= rows) row_products[i] = list_products[row_lists[i]];
}

/// A slice as its kernels see it.
struct SliceView {
  ListsOfRows rows;
  const offset_t* list_products;
  const offset_t* row_products;
  index_t first = 0;      ///< row of the batch
  index_t last = 0;       ///< one past the last
  offset_t begin = 0;     ///< products before the slice
  offset_t products = 0;  ///< of the slice
  SliceKeys keys;
};

/// Neighbouring threads take neighbouring products, whatever lists and rows these are of.
template <class V>
__global__ void __launch_bounds__(threads)
    expand_kernel(Factors<V> factors, SliceView slice, std::uint64_t* keys, [[maybe_unused]] V* values) {
  const offset_t first = slice.begin + offset_t{blockIdx.x} * products_of_block;
  const offset_t end = slice.begin + slice.products;
  const offset_t last_product = (first + products_of_block < end ? first + products_of_block : end) - 1;
  // All threads look for the same rows and lists, between which they then find their own.
  const std::int64_t low_row = last_not_above(slice.row_products, slice.first, slice.last - 1, first);
  const std::int64_t high_row = last_not_above(slice.row_products, low_row, slice.last - 1, last_product);
  const offset_t* const row_lists = slice.rows.row_lists;
  const std::int64_t low = last_not_above(slice.list_products, row_lists[low_row], row_lists[low_row + 1] - 1, first);
  const std::int64_t high = last_not_above(slice.list_products, low, row_lists[high_row + 1] - 1, last_product);
  for (offset_t q = first + threadIdx.x; q <= last_product; q += threads) {
    const std::int64_t i = last_not_above(slice.row_products, low_row, high_row, q);
    const std::int64_t l = last_not_above(slice.list_products, low, high, q);
    const offset_t k = slice.rows.entry(l, i);
    const offset_t at = factors.b_offsets[factors.a_columns[k]] + (q - slice.list_products[l]);
    const index_t row = row_of(slice.rows.batch, static_cast<index_t>(i));
    const index_t column = factors.b_columns[at] - slice.rows.batch.facts.first_columns[row];
    keys[q - slice.begin] = slice.keys.key(static_cast<index_t>(i) - slice.first, column, q - slice.begin);
    if constexpr (has_values<V>) {
      values[q - slice.begin] = product_of(value_at(factors.a_values, k), value_at(factors.b_values, at));
    }
  }
}

/// 1 for keys that begin an entry, else 0; and 0 behind the last.
__global__ void __launch_bounds__(threads)
    heads_kernel(offset_t n, const std::uint64_t* keys, SliceKeys numbering, offset_t* heads) {
  const offset_t k = offset_t{blockIdx.x} * threads + threadIdx.x;
  if (k > n) return;
  const bool head = k < n && (k == 0 || numbering.entry(keys[k]) != numbering.entry(keys[k - 1]));
  heads[k] = head ? 1 : 0;
}

/// \param ranks entries that begin before each key
template <class V>
__global__ void __launch_bounds__(threads) claim_kernel(SliceView slice, const offset_t* ranks, RowOutput<V> out) {
  const std::int64_t i = slice.first + std::int64_t{blockIdx.x} * threads + threadIdx.x;
  if (i >= slice.last) return;
  const offset_t begin = slice.row_products[i] - slice.begin;
  const offset_t end = slice.row_products[i + 1] - slice.begin;
  static_cast<void>(claim_place(out, row_of(slice.rows.batch, static_cast<index_t>(i)), ranks[end] - ranks[begin]));
}

/// Sum of the products from key k on that are of its entry, in the order of their places.
template <class V>
__device__ V sum_of_entry(const SliceView& slice, const std::uint64_t* keys, const V* values, offset_t k) {
  const std::uint64_t entry = slice.keys.entry(keys[k]);
  V sum = values[slice.keys.place(keys[k])];
  for (++k;; k += products_at_once) {
    bool own[products_at_once];
    V value[products_at_once];
#pragma unroll
    for (int u = 0; u < products_at_once; ++u) {
      const std::uint64_t key = k + u < slice.products ? keys[k + u] : 0;
      own[u] = k + u < slice.products && slice.keys.entry(key) == entry;
      value[u] = own[u] ? values[slice.keys.place(key)] : V{0};
    }
#pragma unroll
    for (int u = 0; u < products_at_once; ++u) {
      if (!own[u]) return sum;
      sum = sum_of(sum, value[u]);
    }
  }
}

/// A thread a key; those of keys that begin an entry write it.
template <class V>
__global__ void __launch_bounds__(threads) contract_kernel(SliceView slice, const std::uint64_t* keys, const V* values,
                                                           const offset_t* ranks, RowOutput<V> out) {
  const offset_t k = offset_t{blockIdx.x} * threads + threadIdx.x;
  if (k >= slice.products || ranks[k] == ranks[k + 1]) return;
  const index_t i = slice.first + slice.keys.row(keys[k]);
  const index_t row = row_of(slice.rows.batch, i);
  const offset_t place = out.places[row];
  if (place == no_place) return;
  const offset_t at = place + ranks[k] - ranks[slice.row_products[i] - slice.begin];
  out.columns[at] = slice.rows.batch.facts.first_columns[row] + slice.keys.column(keys[k]);
  if constexpr (has_values<V>) out.values[at] = sum_of_entry(slice, keys, values, k);
}

/// Expands, sorts and contracts a slice. Puts its launches into the stream.
template <class V>
void claim_slice(const Device& device, const Factors<V>& factors, index_t rows, SliceView slice,
                 const RowOutput<V>& out) {
  const Context& context = Context::of(device);
  const offset_t n = slice.products;
  Array<std::uint64_t> keys(n + 1, Init::none, device);
  Array<std::uint64_t> other(n + 1, Init::none, device);
  Array<V> values(has_values<V> ? n : 0, Init::none, device);
  launch("expanding products", context, Grid{blocks_for(n, products_of_block), threads}, expand_kernel<V>, factors,
         slice, keys.data(), values.data());
  enqueue_sort(device, keys, other, n, slice.keys.place_bits,
               slice.keys.place_bits + slice.keys.column_bits + bits_below(rows));
  // What was sorted from is free for the ranks.
  auto* const ranks = reinterpret_cast<offset_t*>(other.data());
  launch("heads of entries", context, Grid{blocks_for(n + 1, threads), threads}, heads_kernel, n, keys.data(),
         slice.keys, ranks);
  exclusive_sum_on_device(device, {ranks, static_cast<std::size_t>(n + 1)});
  launch("places of rows", context, Grid{blocks_for(rows, threads), threads}, claim_kernel<V>, slice, ranks, out);
  launch("contracting products", context, Grid{blocks_for(n, threads), threads}, contract_kernel<V>, slice, keys.data(),
         values.data(), ranks, out);
}

}  // namespace

DeviceRows::DeviceRows(const Device& device, const Factors<NoValue>& factors, const RowBatch& batch)
    : device_(device),
      batch_(batch),
      row_lists_(std::int64_t{batch.count} + 1, Init::none, device),
      row_products_(std::int64_t{batch.count} + 1, Init::none, device) {
  const Context& context = Context::of(device);
  const CurrentDevice current(device);
  const Grid rows_grid{blocks_for(std::int64_t{batch.count} + 1, threads), threads};
  launch("counting lists", context, rows_grid, count_lists_kernel, batch, factors.a_offsets, row_lists_.data());
  const offset_t lists = exclusive_sum(device, row_lists_.span());
  list_products_ = Array<offset_t>(lists + 1, Init::none, device);
  const ListsOfRows rows{batch, factors.a_offsets, row_lists_.data()};
  launch("counting products", context, Grid{blocks_for(lists + 1, threads), threads}, count_products_kernel, factors,
         rows, lists, list_products_.data());
  exclusive_sum_on_device(device, list_products_.span());
  launch("products of rows", context, rows_grid, products_of_rows_kernel, batch.count, row_lists_.data(),
         list_products_.data(), row_products_.data());
  const Array<offset_t> on_host = row_products_.to(Device{});
  products_.assign(on_host.begin(), on_host.end());
  for (std::size_t i = 0; i + 1 < products_.size(); ++i) {
    largest_ = std::max(largest_, products_[i + 1] - products_[i]);
  }
}

std::uint64_t DeviceRows::bytes(std::int64_t rows, std::int64_t lists) noexcept {
  const auto numbers = static_cast<std::uint64_t>(2 * (rows + 1) + lists + 1);
  // The running sums take a sum a chunk besides.
  return (numbers + numbers / 512) * sizeof(offset_t);
}

std::uint64_t DeviceRows::slice_bytes(offset_t products, std::size_t value_bytes) noexcept {
  const auto n = static_cast<std::uint64_t>(products) + 1;
  return n * (2 * sizeof(std::uint64_t) + value_bytes) + n / 256 + sort_scratch_bytes(products);
}

DeviceRows::Slice DeviceRows::next_slice(index_t first, offset_t products) const noexcept {
  const auto products_to = [&](index_t last) {
    return products_[static_cast<std::size_t>(last)] - products_[static_cast<std::size_t>(first)];
  };
  index_t last = first + 1;
  while (last < batch_.count && products_to(last + 1) <= products &&
         slice_fits(batch_.widest, last + 1 - first, products_to(last + 1))) {
    ++last;
  }
  return {first, last};
}

template <class V>
void DeviceRows::claim(const Factors<V>& factors, const RowOutput<V>& out, offset_t slice) const {
  const CurrentDevice current(device_);
  for (Slice rows = next_slice(0, slice); rows.first < batch_.count; rows = next_slice(rows.last, slice)) {
    const offset_t begin = products_[static_cast<std::size_t>(rows.first)];
    const offset_t products = products_[static_cast<std::size_t>(rows.last)] - begin;
    const ListsOfRows lists{batch_, factors.a_offsets, row_lists_.data()};
    claim_slice(device_, factors, rows.last - rows.first,
                SliceView{lists, list_products_.data(), row_products_.data(), rows.first, rows.last, begin, products,
                          slice_keys(batch_.widest, products)},
                out);
  }
}

template void DeviceRows::claim(const Factors<double>&, const RowOutput<double>&, offset_t) const;
template void DeviceRows::claim(const Factors<float>&, const RowOutput<float>&, offset_t) const;
template void DeviceRows::claim(const Factors<NoValue>&, const RowOutput<NoValue>&, offset_t) const;

}  // namespace tessera::cuda
