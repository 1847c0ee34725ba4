/// Columns of a level on a GPU: marks, their exclusive sum, and the columns that are marked.
#include "core/cuda/reduce.cuh"
#include "core/cuda/scan.hpp"
#include "solvers/distributed/amg_hierarchy.hpp"
#include "solvers/distributed/level_columns.hpp"

#include <algorithm>
#include <limits>

namespace tessera::cuda {

namespace {

/// Columns that a thread loads before it uses the first.
constexpr int columns_in_flight = 4;

/// Runs body(k, columns[k]) for all k.
template <class Body>
void for_several(const Device& device, std::span<const index_t> columns, const Body& body) {
  const index_t* const from = columns.data();
  const auto n = static_cast<std::int64_t>(columns.size());
  const std::int64_t step = (n + columns_in_flight - 1) / columns_in_flight;
  for_each(device, step, [=] __device__(std::int64_t first) {
    index_t column[columns_in_flight];
#pragma unroll
    for (int u = 0; u < columns_in_flight; ++u) {
      if (first + u * step < n) column[u] = from[first + u * step];
    }
#pragma unroll
    for (int u = 0; u < columns_in_flight; ++u) {
      if (first + u * step < n) body(first + u * step, column[u]);
    }
  });
}

}  // namespace

void mark_halo(const Device& device, std::span<const index_t> columns, index_t first, index_t last,
               std::span<offset_t> marks) {
  offset_t* const to = marks.data();
  for_several(device, columns, [=] __device__(std::int64_t /*k*/, index_t column) {
    if (column < first || column >= last) to[column] = 1;
  });
}

void mark_whole_halo(const Device& device, index_t first, index_t last, std::span<offset_t> marks) {
  offset_t* const to = marks.data();
  for_each(device, static_cast<std::int64_t>(marks.size()),
           [=] __device__(std::int64_t column) { to[column] = column < first || column >= last ? 1 : 0; });
}

std::vector<index_t> number_halo(const Device& device, std::span<offset_t> marks) {
  const offset_t count = exclusive_sum(device, marks);
  Array<index_t> halo(count, Init::none, device);
  index_t* const to = halo.data();
  const offset_t* const before = marks.data();
  for_each(device, static_cast<std::int64_t>(marks.size()) - 1, [=] __device__(std::int64_t column) {
    if (before[column] < before[column + 1]) to[before[column]] = static_cast<index_t>(column);
  });
  std::vector<index_t> result(static_cast<std::size_t>(count));
  detail::copy_bytes(Device{}, result.data(), device, halo.data(), halo.bytes());
  return result;
}

void renumber_columns(const Device& device, std::span<const index_t> columns, std::span<const offset_t> numbers,
                      index_t first, index_t last, index_t lower, std::span<index_t> own) {
  const offset_t* const number = numbers.data();
  index_t* const to = own.data();
  for_several(device, columns, [=] __device__(std::int64_t k, index_t column) {
    const bool is_own = column >= first && column < last;
    to[k] =
        is_own ? lower + column - first : static_cast<index_t>(number[column]) + (column < first ? 0 : last - first);
  });
}

namespace {

/// First and last node of each aggregate; the last is -1 where it has none.
struct NodeRanges {
  Array<index_t> first;
  Array<index_t> last;
};

NodeRanges node_ranges(const Array<index_t>& aggregate_of_node, index_t aggregates) {
  const Device& device = aggregate_of_node.device();
  NodeRanges result{Array<index_t>(aggregates, Init::none, device), Array<index_t>(aggregates, Init::none, device)};
  index_t* const first = result.first.data();
  index_t* const last = result.last.data();
  constexpr index_t none = std::numeric_limits<index_t>::max();
  for_each(device, aggregates, [=] __device__(std::int64_t aggregate) {
    first[aggregate] = none;
    last[aggregate] = -1;
  });
  const index_t* const of_node = aggregate_of_node.data();
  const std::int64_t nodes = aggregate_of_node.size();
  // Of neighbours in one aggregate, the first and the last are enough.
  for_each(device, nodes, [=] __device__(std::int64_t node) {
    const index_t aggregate = of_node[node];
    if (aggregate < 0) return;
    if (node == 0 || of_node[node - 1] != aggregate) atomicMin(first + aggregate, static_cast<index_t>(node));
    if (node + 1 == nodes || of_node[node + 1] != aggregate) atomicMax(last + aggregate, static_cast<index_t>(node));
  });
  return result;
}

struct Count {
  std::int64_t of = 0;
  __device__ Count& operator+=(const Count& other) {
    of += other.of;
    return *this;
  }
};

}  // namespace

std::vector<std::int64_t> aggregates_before_parts(const Partition& fine, const Array<index_t>& aggregate_of_node,
                                                  index_t block, index_t aggregates) {
  const NodeRanges ranges = node_ranges(aggregate_of_node, aggregates);
  const index_t* const first = ranges.first.data();
  const index_t* const last = ranges.last.data();
  std::vector<std::int64_t> result;
  for (int part = 1; part < fine.parts(); ++part) {
    const std::int64_t begin = 2 * std::int64_t{fine.first_row(part)};
    const auto count = fused_values<Count>(
        aggregate_of_node.device(), aggregates, [=] __device__(std::int64_t aggregate, Count & before) {
          const std::int64_t nodes = std::int64_t{first[aggregate]} + last[aggregate];
          if (last[aggregate] < 0 || nodes * block < begin) ++before.of;
        });
    result.push_back(count.of);
  }
  return result;
}

}  // namespace tessera::cuda
