/// Cuts a matrix into the parts of a persistent kernel, a block of threads per part: the columns of other parts' rows
/// enter a hash table in shared memory, which numbers them.
#include "core/cuda/launch.cuh"
#include "core/cuda/shared_memory.cuh"
#include "solvers/persistent/parts.hpp"

#include <cstddef>
#include <limits>
#include <utility>

namespace tessera::cuda {

namespace {

constexpr int cutting_threads = 512;
constexpr index_t no_column = -1;
constexpr int slots = 2 * most_halo;
static_assert((slots & (slots - 1)) == 0);

/// In shared memory.
struct HaloTable {
  index_t columns[slots];
  std::uint16_t numbers[slots];  // below most_halo + cutting_threads
  std::int32_t count;
  std::int32_t longest;

  [[nodiscard]] static __device__ int first_slot(index_t column) {
    return static_cast<int>((static_cast<std::uint32_t>(column) * 2654435769U) >> 7) & (slots - 1);
  }

  __device__ void clear() {
    for (int i = static_cast<int>(threadIdx.x); i < slots; i += cutting_threads) columns[i] = no_column;
    if (threadIdx.x == 0) count = longest = 0;
  }

  /// Numbers a new column. \param halo receives it
  __device__ void insert(index_t column, index_t* halo) {
    for (int slot = first_slot(column);; slot = (slot + 1) & (slots - 1)) {
      const index_t there = atomicCAS(&columns[slot], no_column, column);
      if (there == column) return;
      if (there != no_column) continue;
      const std::int32_t number = atomicAdd(&count, 1);
      numbers[slot] = static_cast<std::uint16_t>(number);
      if (number < most_halo) halo[number] = column;
      return;
    }
  }

  [[nodiscard]] __device__ std::int32_t number_of(index_t column) const {
    int slot = first_slot(column);
    while (columns[slot] != column) slot = (slot + 1) & (slots - 1);
    return numbers[slot];
  }

  [[nodiscard]] __device__ bool overflows() const { return count > most_halo; }
};

struct CutTask {
  index_t rows;
  const offset_t* row_offsets;
  const index_t* columns;
  index_t* first_rows;
  PartSize* sizes;
  std::uint16_t* numbers;
  index_t* halo;
  std::uint8_t* is_shared;
};

__global__ void cut_parts_kernel(CutTask cut) {
  auto& table = *reinterpret_cast<HaloTable*>(dynamic_shared_memory());
  const int thread = static_cast<int>(threadIdx.x);
  const int part = static_cast<int>(blockIdx.x);
  const int parts = static_cast<int>(gridDim.x);
  const index_t first = first_row_of_part(cut.row_offsets, cut.rows, part, parts);
  const index_t last = first_row_of_part(cut.row_offsets, cut.rows, part + 1, parts);
  const offset_t begin = cut.row_offsets[first];
  const offset_t end = cut.row_offsets[last];
  const auto is_own = [&](index_t column) { return column >= first && column < last; };

  table.clear();
  __syncthreads();
  for (index_t row = first + thread; row < last; row += cutting_threads) {
    atomicMax(&table.longest, static_cast<std::int32_t>(cut.row_offsets[row + 1] - cut.row_offsets[row]));
  }
  // At most as many columns as slots stay without a number; beyond, the table has no vacant slot.
  for (offset_t base = begin; base < end; base += cutting_threads) {
    const offset_t k = base + thread;
    if (k < end && !is_own(cut.columns[k])) table.insert(cut.columns[k], cut.halo + begin);
    __syncthreads();
    if (table.overflows()) break;
    __syncthreads();
  }
  __syncthreads();
  for (offset_t k = begin + thread; k < end && !table.overflows(); k += cutting_threads) {
    const index_t column = cut.columns[k];
    if (is_own(column)) {
      cut.numbers[k] = static_cast<std::uint16_t>(column - first);
    } else {
      cut.numbers[k] = static_cast<std::uint16_t>(last - first + table.number_of(column));
      cut.is_shared[column] = 1;
    }
  }
  if (thread != 0) return;
  cut.first_rows[part] = first;
  if (part + 1 == parts) cut.first_rows[parts] = last;
  cut.sizes[part] = {last - first, table.overflows() ? halo_overflows : table.count,
                     static_cast<std::int32_t>(end - begin), table.longest};
}

/// \returns whether the parts suit 16-bit numbers and their threads
[[nodiscard]] bool take_most(Parts& parts) {
  const Array<PartSize> sizes = parts.sizes.to(Device{});
  for (const PartSize& size : sizes) {
    if (size.halo == halo_overflows) return false;
    if (size.rows + size.halo > std::numeric_limits<std::uint16_t>::max()) return false;
    parts.most = {std::max(parts.most.rows, size.rows), std::max(parts.most.halo, size.halo),
                  std::max(parts.most.entries, size.entries), std::max(parts.most.longest, size.longest)};
  }
  return parts.most.longest <= most_rounds_per_row * parts.lanes;
}

}  // namespace

std::optional<Parts> cut_into_parts(const Device& device, index_t rows, std::span<const offset_t> row_offsets,
                                    std::span<const index_t> columns) {
  const auto nnz = static_cast<offset_t>(columns.size());
  const DeviceGuard current(device);
  const Context& context = Context::of(device);
  if (rows == 0 || sizeof(HaloTable) > static_cast<std::size_t>(context.limits().largest_shared_per_block)) return {};
  const int count = part_count(rows, nnz, context.limits().multiprocessors);
  Parts parts{.count = count,
              .lanes = lanes_per_row(rows, nnz),
              .threads = persistent_threads,
              .most = {},
              .first_rows = Array<index_t>(count + 1, Init::none, device),
              .sizes = Array<PartSize>(count, Init::none, device),
              .numbers = Array<std::uint16_t>(nnz, Init::none, device),
              .halo = Array<index_t>(nnz, Init::none, device),
              .is_shared = Array<std::uint8_t>(rows, Init::zero, device)};
  check(cudaFuncSetAttribute(cut_parts_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(sizeof(HaloTable))),
        "asking for shared memory to cut a matrix");
  launch("cutting a matrix into parts", context, Grid{static_cast<unsigned>(count), cutting_threads, sizeof(HaloTable)},
         cut_parts_kernel,
         CutTask{rows, row_offsets.data(), columns.data(), parts.first_rows.data(), parts.sizes.data(),
                 parts.numbers.data(), parts.halo.data(), parts.is_shared.data()});
  if (!take_most(parts)) return {};
  parts.threads = threads_per_part(parts.most, parts.lanes);
  return parts;
}

}  // namespace tessera::cuda
