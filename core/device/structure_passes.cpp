/// Passes over the offsets and columns of a matrix, on the host or a GPU.
#include "core/structure_passes.hpp"

#include "core/parallel.hpp"
#include "core/sums.hpp"
#include "tessera/array.hpp"

#include <algorithm>
#include <cstddef>

namespace tessera::detail {

template <class T>
bool structure_is_sound(const Device& device, const CsrView<T>& matrix) {
  const StructureArrays arrays{matrix.row_offsets.data(), matrix.columns.data(), matrix.rows, matrix.cols,
                               matrix.nnz()};
  // No row asks for the ends of the offsets.
  if (matrix.rows == 0 && (matrix.nnz() != 0 || element(device, matrix.row_offsets, 0) != 0)) return false;
  if (!device.is_host()) return cuda::structure_is_sound(device, arrays);
  auto counts = host::parallel_sum<StructureCounts>(device, arrays.rows, [&](host::Range range) {
    StructureCounts of_range;
    for (std::int64_t i = range.begin; i < range.end; ++i) arrays.count_row(i, of_range);
    return of_range;
  });
  if (counts.faults > 0) return false;
  counts += host::parallel_sum<StructureCounts>(device, arrays.nnz, [&](host::Range range) {
    StructureCounts of_range;
    for (offset_t k = range.begin; k < range.end; ++k) arrays.count_entry(k, of_range);
    return of_range;
  });
  return counts.are_of_sound_rows();
}

std::int64_t narrow_columns(const Device& device, std::span<const std::int64_t> from, std::int64_t cols,
                            std::span<index_t> to) {
  if (!device.is_host()) return cuda::narrow_columns(device, from, cols, to);
  return host::parallel_sum<FirstIndex>(device, static_cast<std::int64_t>(from.size()),
                                        [&](host::Range range) {
                                          FirstIndex first;
                                          for (std::int64_t k = range.begin; k < range.end; ++k) {
                                            const std::int64_t column = from[static_cast<std::size_t>(k)];
                                            to[static_cast<std::size_t>(k)] = static_cast<index_t>(column);
                                            if (column < 0 || column >= cols) first += FirstIndex{k};
                                          }
                                          return first;
                                        })
      .index;
}

template <class U>
std::int64_t first_difference(const Device& device, std::span<const U> a, std::span<const U> b) {
  if (!device.is_host()) return cuda::first_difference(device, a, b);
  return host::parallel_sum<FirstIndex>(
             device, static_cast<std::int64_t>(a.size()),
             [&](host::Range range) {
               const auto end = a.begin() + range.end;
               const auto differ = std::mismatch(a.begin() + range.begin, end, b.begin() + range.begin);
               return differ.first == end ? FirstIndex{} : FirstIndex{differ.first - a.begin()};
             })
      .index;
}

template <class U>
U element(const Device& device, std::span<const U> array, std::int64_t i) {
  U value{};
  copy_bytes(Device{}, &value, device, array.data() + i, sizeof(value));
  return value;
}

offset_t longest_row(std::span<const offset_t> row_offsets) noexcept {
  offset_t longest = 0;
  for (std::size_t i = 0; i + 1 < row_offsets.size(); ++i) {
    longest = std::max(longest, row_offsets[i + 1] - row_offsets[i]);
  }
  return longest;
}

std::int64_t row_of_entry(const Device& device, std::span<const offset_t> row_offsets, offset_t entry) {
  Array<offset_t> here(static_cast<std::int64_t>(row_offsets.size()), Init::none);
  copy_bytes(Device{}, here.data(), device, row_offsets.data(), here.bytes());
  return std::upper_bound(here.begin(), here.end(), entry) - here.begin() - 1;
}

template bool structure_is_sound(const Device&, const CsrView<float>&);
template bool structure_is_sound(const Device&, const CsrView<double>&);
template std::int64_t first_difference(const Device&, std::span<const index_t>, std::span<const index_t>);
template std::int64_t first_difference(const Device&, std::span<const offset_t>, std::span<const offset_t>);
template index_t element(const Device&, std::span<const index_t>, std::int64_t);
template offset_t element(const Device&, std::span<const offset_t>, std::int64_t);
template float element(const Device&, std::span<const float>, std::int64_t);
template double element(const Device&, std::span<const double>, std::int64_t);

}  // namespace tessera::detail
