/// \file
/// Passes over the offsets and columns of a matrix on a GPU.
#include "core/structure_passes.hpp"

#include "core/cuda/reduce.cuh"
#include "core/row_slice.hpp"
#include "core/sums.hpp"

namespace tessera::cuda {

using namespace detail;

bool structure_is_sound(const Device& device, const StructureArrays& arrays) {
  const auto rows = fused_values<StructureCounts>(
      device, arrays.rows, [=] __device__(std::int64_t i, StructureCounts & counts) { arrays.count_row(i, counts); });
  if (rows.faults > 0) return false;
  auto all = fused_values<StructureCounts>(
      device, arrays.nnz, [=] __device__(std::int64_t k, StructureCounts & counts) { arrays.count_entry(k, counts); });
  all += rows;
  return all.are_of_sound_rows();
}

std::int64_t narrow_columns(const Device& device, std::span<const std::int64_t> from, std::int64_t cols,
                            std::span<index_t> to) {
  const std::int64_t* const source = from.data();
  index_t* const target = to.data();
  return fused_values<FirstIndex>(device, static_cast<std::int64_t>(from.size()),
                                  [=] __device__(std::int64_t k, FirstIndex & first) {
                                    const std::int64_t column = source[k];
                                    target[k] = static_cast<index_t>(column);
                                    if (column < 0 || column >= cols) first += FirstIndex{k};
                                  })
      .index;
}

template <class U>
std::int64_t first_difference(const Device& device, std::span<const U> a, std::span<const U> b) {
  const U* const one = a.data();
  const U* const other = b.data();
  return fused_values<FirstIndex>(device, static_cast<std::int64_t>(a.size()),
                                  [=] __device__(std::int64_t i, FirstIndex & first) {
                                    if (one[i] != other[i]) first += FirstIndex{i};
                                  })
      .index;
}

void rebase_offsets(const Device& device, std::span<const offset_t> from, std::span<offset_t> to) {
  const offset_t* const source = from.data();
  offset_t* const target = to.data();
  for_each(device, static_cast<std::int64_t>(to.size()),
           [=] __device__(std::int64_t i) { target[i] = source[i] - source[0]; });
}

template std::int64_t first_difference(const Device&, std::span<const index_t>, std::span<const index_t>);
template std::int64_t first_difference(const Device&, std::span<const offset_t>, std::span<const offset_t>);

}  // namespace tessera::cuda
