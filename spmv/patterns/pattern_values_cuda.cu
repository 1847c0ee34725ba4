/// \file
/// Codes and values of row patterns brought into the order of slices.
#include "core/cuda/reduce.cuh"
#include "spmv/patterns/fill_slices.cuh"
#include "spmv/patterns/row_patterns.hpp"

#include <cstddef>

namespace tessera::cuda {

using namespace detail;

Array<std::uint8_t> arrange_codes(const Device& device, const Array<std::uint8_t>& codes, const SliceShape& shape,
                                  int none) {
  const std::int64_t rows = codes.size();
  const int per_lane = shape.rows_per_lane;
  const std::int64_t places = shape.slices(static_cast<index_t>(rows)) * 32 * per_lane;
  Array<std::uint8_t> result(places, Init::none, device);
  const std::uint8_t* const from = codes.data();
  std::uint8_t* const to = result.data();
  for_each(device, places, [=] __device__(std::int64_t row) {
    to[code_place(row, per_lane)] = row < rows ? from[row] : static_cast<std::uint8_t>(none);
  });
  return result;
}

Array<offset_t> slice_begins(const Device& device, std::span<const offset_t> row_offsets, const SliceShape& shape) {
  const auto rows = static_cast<std::int64_t>(row_offsets.size()) - 1;
  const std::int64_t count = shape.slices(static_cast<index_t>(rows)) * shape.rows_per_lane;
  Array<offset_t> result(count, Init::none, device);
  const offset_t* const offsets = row_offsets.data();
  offset_t* const to = result.data();
  for_each(device, count, [=] __device__(std::int64_t slice) {
    const std::int64_t row = slice * warp_size;
    to[slice] = offsets[row < rows ? row : rows];
  });
  return result;
}

Array<index_t> lengths_of(const Device& device, std::span<const offset_t> row_offsets, const Array<index_t>& rows) {
  Array<index_t> result(rows.size(), Init::none, device);
  const offset_t* const offsets = row_offsets.data();
  const index_t* const row = rows.data();
  index_t* const to = result.data();
  for_each(device, rows.size(),
           [=] __device__(std::int64_t i) { to[i] = static_cast<index_t>(offsets[row[i] + 1] - offsets[row[i]]); });
  return result;
}

template <class From, class To>
void fill_pattern_values(const Device& device, const SlicedRows& rows, std::span<const From> from, std::span<To> to) {
  fill_slices(device, rows, from.data(), to.data(), RoundTo<To>{});
}

template void fill_pattern_values(const Device&, const SlicedRows&, std::span<const float>, std::span<float>);
template void fill_pattern_values(const Device&, const SlicedRows&, std::span<const double>, std::span<double>);
template void fill_pattern_values(const Device&, const SlicedRows&, std::span<const double>, std::span<float>);

template <class T>
bool templates_hold(const Device& device, const SlicedRows& rows, std::span<const T> values, const T* list_values) {
  using Source = RowSource<T, true>;
  const T* const from = values.data();
  // Whole warps, whose lanes find the beginnings of their rows together.
  const std::int64_t groups = rows.shape.slices(rows.rows) * rows.shape.rows_per_lane;
  const auto other = fused_sum<1>(device, groups * warp_size, [=] __device__(std::int64_t i, double* sums) {
    const LaneRow own(rows, i / warp_size);
    for (int k = 0; k < own.length; ++k) {
      const T kept = list_values[static_cast<std::int64_t>(own.code) * rows.width + k];
      if (Source::bits_of(from[own.begin + k]) == Source::bits_of(kept)) continue;
      sums[0] += 1.0;
      return;
    }
  });
  return other[0] == 0.0;
}

template bool templates_hold(const Device&, const SlicedRows&, std::span<const float>, const float*);
template bool templates_hold(const Device&, const SlicedRows&, std::span<const double>, const double*);

}  // namespace tessera::cuda
