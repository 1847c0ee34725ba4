/// Conversion of CSR with 64-bit offsets into the layouts of the multigrid cycle.
#include "core/cuda/memory.hpp"
#include "core/cuda/reduce.cuh"
#include "core/cuda/scan.hpp"
#include "core/cuda/shared_memory.cuh"
#include "core/value_passes.hpp"
#include "solvers/amg/cycle_layout.hpp"
#include "tessera/error.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <type_traits>
#include <utility>

namespace tessera::cuda {

namespace {

/// Slices per block of fill_slices_kernel, a warp each.
constexpr int slices_per_block = 4;
/// Loads of a lane under way.
constexpr int staged_at_once = 8;

/// Entries of a slice that pass through shared memory: at most what a block may have of it without asking for more.
template <class V>
[[nodiscard]] std::int64_t staged_entries(offset_t longest) {
  constexpr std::int64_t most = 48 * 1024 / (slices_per_block * (sizeof(index_t) + sizeof(V)));
  return std::min(most, slice_rows * longest);
}

/// Slots of each slice, and the longest row. A warp per slice.
__global__ void __launch_bounds__(sum_threads)
    slice_slots_kernel(index_t rows, const offset_t* offsets, offset_t* slots, unsigned* longest) {
  const unsigned row = blockIdx.x * sum_threads + threadIdx.x;
  const bool exists = row < static_cast<unsigned>(rows);
  const offset_t length = exists ? offsets[row + 1] - offsets[row] : 0;
  // Rows are shorter than 2^31, the number of columns.
  const unsigned most = __reduce_max_sync(full_warp, static_cast<unsigned>(length));
  if (!exists || row % slice_rows != 0) return;
  slots[row / slice_rows] = offset_t{most} * slice_rows;
  // Read first: atomics on one address take turns.
  if (most > *static_cast<const volatile unsigned*>(longest)) atomicMax(longest, most);
}

/// Entries of rows [32 slice, 32 slice + 32) to their slots. A warp per slice; the entries pass through shared memory,
/// so that loads and stores are contiguous, unless there are more than `staged` of them. Padding has value 0 and a
/// column of its row. \param slot_columns null: values alone
template <class T, class V>
__global__ void __launch_bounds__(slices_per_block* slice_rows)
    fill_slices_kernel(index_t rows, const offset_t* offsets, const index_t* columns, const T* values,
                       const std::uint32_t* starts, int staged, index_t* slot_columns, V* slot_values) {
  V* const all_values = reinterpret_cast<V*>(dynamic_shared_memory());
  auto* const all_columns = reinterpret_cast<index_t*>(all_values + slices_per_block * staged);
  const unsigned warp = threadIdx.x / slice_rows;
  const unsigned lane = threadIdx.x % slice_rows;
  const std::int64_t slice = std::int64_t{blockIdx.x} * slices_per_block + warp;
  const std::int64_t first_row = slice * slice_rows;
  if (first_row >= rows) return;
  index_t* const staged_columns = all_columns + warp * staged;
  V* const staged_values = all_values + warp * staged;
  const offset_t begin = offsets[first_row];
  const offset_t end = offsets[first_row + slice_rows < rows ? first_row + slice_rows : rows];
  const bool is_staged = end - begin <= staged;
  const auto value_at = [=](offset_t k) { return values == nullptr ? V{1} : static_cast<V>(values[k]); };
  if (is_staged) {
    for (offset_t first = begin + lane; first < end; first += staged_at_once * slice_rows) {
      index_t column[staged_at_once];
      V value[staged_at_once];
#pragma unroll
      for (int u = 0; u < staged_at_once; ++u) {
        const offset_t k = first + u * slice_rows;
        if (k >= end) continue;
        column[u] = columns[k];
        value[u] = value_at(k);
      }
#pragma unroll
      for (int u = 0; u < staged_at_once; ++u) {
        const offset_t k = first + u * slice_rows;
        if (k >= end) continue;
        staged_columns[k - begin] = column[u];
        staged_values[k - begin] = value[u];
      }
    }
  }
  __syncwarp();
  const std::int64_t row = first_row + lane;
  const offset_t own = row < rows ? offsets[row] : end;
  const auto length = static_cast<std::uint32_t>(row < rows ? offsets[row + 1] - own : 0);
  const auto column_at = [=](offset_t k) { return is_staged ? staged_columns[k - begin] : columns[k]; };
  const index_t padding = length > 0 && slot_columns != nullptr ? column_at(own) : 0;
  const std::uint32_t stop = starts[slice + 1];
  std::uint32_t q = 0;
  for (std::uint32_t slot = starts[slice] + lane; slot < stop; slot += slice_rows, ++q) {
    const bool is_entry = q < length;
    if (slot_columns != nullptr) slot_columns[slot] = is_entry ? column_at(own + q) : padding;
    slot_values[slot] = !is_entry ? V{0} : is_staged ? staged_values[own + q - begin] : value_at(own + q);
  }
}

template <class T, class V>
void fill_slices(const Csr<T>& source, const std::uint32_t* starts, std::int64_t staged, index_t* columns, V* values) {
  const Context& context = Context::of(source.device());
  const DeviceGuard current(source.device());
  const Grid grid{blocks_for(source.rows(), slices_per_block * slice_rows), slices_per_block * slice_rows,
                  static_cast<std::size_t>(slices_per_block * staged) * (sizeof(V) + sizeof(index_t))};
  launch("sliced ELL", context, grid, fill_slices_kernel<T, V>, source.rows(), source.row_offsets().data(),
         source.columns().data(), source.values().data(), starts, static_cast<int>(staged), columns, values);
}

/// Where the slots of each slice begin, and their number.
struct SliceStarts {
  Array<offset_t> starts;  ///< one more than slices
  offset_t slots = 0;
  offset_t longest = 0;  ///< row
};

/// Waits for the numbers.
SliceStarts count_slots(const Device& device, index_t rows, const offset_t* offsets) {
  const Context& context = Context::of(device);
  const DeviceGuard current(device);
  const std::int64_t slices = (std::int64_t{rows} + slice_rows - 1) / slice_rows;
  // The last element holds the longest row, in the half that comes first.
  SliceStarts result{Array<offset_t>(slices + 2, Init::zero, device)};
  offset_t* const starts = result.starts.data();
  launch("slots of sliced ELL", context, Grid{blocks_for(rows, sum_threads), sum_threads}, slice_slots_kernel, rows,
         offsets, starts, reinterpret_cast<unsigned*>(starts + slices + 1));
  exclusive_sum_on_device(device, {starts, static_cast<std::size_t>(slices + 1)});
  std::array<offset_t, 2> numbers{};
  copy_bytes(Device{}, numbers.data(), device, starts + slices, sizeof(numbers));
  result.slots = numbers[0];
  result.longest = numbers[1];
  return result;
}

Array<std::uint32_t> narrowed(const Device& device, std::span<const offset_t> offsets) {
  Array<std::uint32_t> result(static_cast<std::int64_t>(offsets.size()), Init::none, device);
  const offset_t* const from = offsets.data();
  std::uint32_t* const to = result.data();
  for_each(device, result.size(), [=] __device__(std::int64_t i) { to[i] = static_cast<std::uint32_t>(from[i]); });
  return result;
}

template <class T, class V>
void copy_values(const Csr<T>& source, std::span<V> to) {
  if (!source.is_pattern()) return cuda::convert_values<T, V>(source.device(), source.values().span(), to);
  V* const target = to.data();
  for_each(source.device(), static_cast<std::int64_t>(to.size()), [=] __device__(std::int64_t k) { target[k] = V{1}; });
}

}  // namespace

template <class V>
template <class T>
AmgDeviceMatrix<V>::AmgDeviceMatrix(const Csr<T>& source, const std::string& name, const AmgLayoutTuning& tuning,
                                    bool may_list)
    : rows_(source.rows()), is_raked_(std::is_same_v<V, float> && rows_ >= tuning.least_raked_rows) {
  constexpr int entry_bytes = sizeof(V) + sizeof(index_t);
  const Device& device = source.device();
  const DeviceLimits& limits = Context::of(device).limits();
  AmgRowShape shape{.rows = rows_, .nnz = source.nnz(), .longest = source.cols()};
  if (shape.nnz >= offset_t{1} << 31) {
    throw NotSupported(name + " has " + std::to_string(shape.nnz) +
                       " entries; a multigrid cycle on a GPU takes fewer than 2^31");
  }
  if (may_list && rows_ >= tuning.least_listed_rows) lists_ = find_row_lists<V>(source);
  if (lists_.has_values) {
    layout_ = AmgRowLayout::listed;
    return;
  }
  SliceStarts slices;
  if (rows_ > 0 && rows_ >= tuning.least_sliced_rows) {
    slices = count_slots(device, rows_, source.row_offsets().data());
    shape.slots = slices.slots;
    shape.longest = slices.longest;
  }
  layout_ = choose_row_layout(shape, entry_bytes, limits.multiprocessors, tuning);
  if (layout_ == AmgRowLayout::sliced_ell) {
    const std::int64_t starts = slices.starts.size() - 1;
    offsets_ = narrowed(device, std::as_const(slices.starts).span().first(static_cast<std::size_t>(starts)));
    if (!lists_.exist()) columns_ = Array<index_t>(shape.slots, Init::none, device);
    if (lists_.exist()) layout_ = AmgRowLayout::listed;
    values_ = Array<V>(shape.slots, Init::none, device);
    staged_ = staged_entries<V>(shape.longest);
    fill_slices(source, offsets_.data(), staged_, columns_.data(), values_.data());
    return;
  }
  lists_ = {};
  has_long_rows_ = shape.longest > amg_long_row;
  const std::int64_t threads = std::int64_t{limits.multiprocessors} * limits.threads_per_multiprocessor;
  lanes_log2_ = row_lanes_log2(shape, amg_entries_in_flight, threads);
  offsets_ = narrowed(device, source.row_offsets().span());
  columns_ = source.columns().to(device);
  values_ = Array<V>(source.nnz(), Init::none, device);
  copy_values(source, values_.span());
}

/// Slots for values that rows no longer share.
template <class V>
template <class T>
void AmgDeviceMatrix<V>::give_values_slots(const Csr<T>& source) {
  const Device& device = source.device();
  const SliceStarts slices = count_slots(device, rows_, source.row_offsets().data());
  const std::int64_t starts = slices.starts.size() - 1;
  values_ = Array<V>(slices.slots, Init::none, device);
  offsets_ = narrowed(device, slices.starts.span().first(static_cast<std::size_t>(starts)));
  staged_ = staged_entries<V>(slices.longest);
  lists_.has_values = false;
}

template <class V>
template <class T>
void AmgDeviceMatrix<V>::assign(const Csr<T>& source) {
  if (lists_.has_values) {
    if (lists_hold(lists_, source)) return;
    give_values_slots(source);
  }
  if (layout_ == AmgRowLayout::sliced_ell || layout_ == AmgRowLayout::listed) {
    fill_slices(source, offsets_.data(), staged_, static_cast<index_t*>(nullptr), values_.data());
  } else {
    copy_values(source, values_.span());
  }
}

template AmgDeviceMatrix<float>::AmgDeviceMatrix(const Csr<float>&, const std::string&, const AmgLayoutTuning&, bool);
template AmgDeviceMatrix<float>::AmgDeviceMatrix(const Csr<double>&, const std::string&, const AmgLayoutTuning&, bool);
template AmgDeviceMatrix<double>::AmgDeviceMatrix(const Csr<double>&, const std::string&, const AmgLayoutTuning&, bool);
template void AmgDeviceMatrix<float>::assign(const Csr<float>&);
template void AmgDeviceMatrix<float>::assign(const Csr<double>&);
template void AmgDeviceMatrix<double>::assign(const Csr<double>&);

}  // namespace tessera::cuda
