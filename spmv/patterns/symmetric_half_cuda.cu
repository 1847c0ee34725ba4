/// \file
/// Symmetric half of row patterns on a GPU: a sample of rows, the fill by diagonals, the check.
#include "core/cuda/reduce.cuh"
#include "spmv/patterns/lane_row.cuh"
#include "spmv/patterns/row_patterns.hpp"
#include "spmv/patterns/symmetric_half.hpp"

#include <cstddef>
#include <type_traits>

namespace tessera::cuda {

using namespace detail;

namespace {

constexpr int threads = 128;
constexpr int warps_per_block = threads / warp_size;

/// The arrays of a half.
struct HalfView {
  int diagonals;
  std::int64_t leading;
  const index_t* places;
  const std::int16_t* upper;
  const index_t* upper_of_exceptions;

  explicit HalfView(const SymmetricHalf& half)
      : diagonals(half.diagonals),
        leading(half.leading),
        places(half.places.data()),
        upper(half.upper.data()),
        upper_of_exceptions(half.upper_of_exceptions.data()) {}

  /// The entry of a row on a diagonal, or -1.
  [[nodiscard]] __device__ index_t entry(const LaneRow& own, int diagonal) const {
    if (own.exception >= 0) return upper_of_exceptions[own.exception * diagonals + diagonal];
    return upper[static_cast<std::int64_t>(own.code) * diagonals + diagonal];
  }
};

/// A warp per 32 rows, a lane per row: neighbouring lanes write neighbouring places.
template <class From, class To>
__global__ void __launch_bounds__(threads)
    fill_half_kernel(SlicedRows rows, HalfView half, std::int64_t groups, const From* from, To* to) {
  const std::int64_t group = (std::int64_t{blockIdx.x} * threads + threadIdx.x) / warp_size;
  if (group >= groups) return;
  const LaneRow of_lane(rows, group);
  if (of_lane.row >= rows.rows) return;
  const From* const own = from + of_lane.begin;
#pragma unroll 4
  for (int s = 0; s < half.diagonals; ++s) {
    const index_t entry = half.entry(of_lane, s);
    to[s * half.leading + of_lane.row] = entry >= 0 ? static_cast<To>(own[entry]) : To{0};
  }
}

/// Whether sampled rows equal, left of the diagonal, their mirror images.
template <class T>
[[nodiscard]] bool sample_is_symmetric(const Device& device, const CsrView<T>& a, index_t longest) {
  const SampledRows sample = sample_for_half(a.rows);
  const SortedColumns matrix{a.row_offsets.data(), a.columns.data()};
  const T* const values = a.values.data();
  const auto other = fused_sum<1>(device, sample.count, [=] __device__(std::int64_t i, double* sums) {
    if (!equals_mirror_image(matrix, values, sample[i], longest)) sums[0] += 1.0;
  });
  // Rows on no list, of which there are few, need no mirror images.
  return other[0] <= most_unlike_in_sample * sample.count;
}

[[nodiscard]] Array<index_t> entries_of_exceptions(const Device& device, const SlicedRows& rows,
                                                   const SymmetricHalf& half, const SortedColumns& matrix,
                                                   const index_t* offsets) {
  Array<index_t> result(rows.exception_count * half.diagonals, Init::none, device);
  index_t* const to = result.data();
  const index_t* const exceptions = rows.exceptions;
  const int diagonals = half.diagonals;
  for_each(device, result.size(), [=] __device__(std::int64_t i) {
    const index_t row = exceptions[i / diagonals];
    const std::int64_t column = std::int64_t{row} + offsets[i % diagonals];
    const offset_t entry = column <= 0x7fffffff ? matrix.find(row, static_cast<index_t>(column)) : offset_t{-1};
    to[i] = entry < 0 ? -1 : static_cast<index_t>(entry - matrix.row_offsets[row]);
  });
  return result;
}

}  // namespace

template <class T>
std::optional<SymmetricHalf> find_symmetric_half(const Device& device, const SlicedRows& rows, const CsrView<T>& a) {
  const std::int64_t places = std::int64_t{rows.lists + 1} * (rows.width + 1);
  if (places > most_half_table_places) return std::nullopt;
  std::vector<index_t> table(static_cast<std::size_t>(places));
  detail::copy_bytes(Device{}, table.data(), device, rows.table, table.size() * sizeof(index_t));
  if (!is_filled_for_half(a.rows, a.nnz(), rows.width, sizeof(T), table)) return std::nullopt;
  const double full = static_cast<double>(value_places(a.rows, a.nnz(), rows.width, rows.shape));
  const auto offsets = half_offsets(table, rows.width, a.rows, most_half_share * full);
  if (!offsets) return std::nullopt;
  if (!sample_is_symmetric(device, a, rows.width)) return std::nullopt;
  SymmetricHalf half{
      static_cast<int>(offsets->diagonals.size()),          offsets->leading,
      Array<index_t>::copy_of(offsets->diagonals, device),  Array<index_t>::copy_of(offsets->places, device),
      Array<std::int16_t>::copy_of(offsets->upper, device), {}};
  half.upper_of_exceptions =
      entries_of_exceptions(device, rows, half, {a.row_offsets.data(), a.columns.data()}, half.offsets.data());
  return half;
}

template <class From, class To>
void fill_symmetric_half(const Device& device, const SlicedRows& rows, const SymmetricHalf& half,
                         std::span<const From> from, std::span<To> to) {
  const std::int64_t groups = rows.shape.slices(rows.rows) * rows.shape.rows_per_lane;
  if (groups == 0) return;
  const DeviceGuard current(device);
  launch("values by diagonals", Context::of(device), Grid{blocks_for(groups, warps_per_block), threads},
         fill_half_kernel<From, To>, rows, HalfView(half), groups, from.data(), to.data());
}

template <class From, class To>
bool symmetric_half_holds(const Device& device, const SlicedRows& rows, const SymmetricHalf& half,
                          std::span<const From> from, std::span<const To> values) {
  using Source = RowSource<To, true>;
  const std::int64_t groups = rows.shape.slices(rows.rows) * rows.shape.rows_per_lane;
  const HalfView view(half);
  const From* const here = from.data();
  const To* const kept = values.data();
  // Whole warps, whose lanes find the beginnings of their rows together.
  const auto other = fused_sum<1>(device, groups * warp_size, [=] __device__(std::int64_t i, double* sums) {
    const LaneRow own(rows, i / warp_size);
    const std::int64_t list = std::int64_t{own.code} * (rows.width + 1) + 1;
    // Columns ascend, and those on the diagonal and right of it were copied from the row itself.
    for (int k = 0; k < own.length && rows.table[list + k] < 0; ++k) {
      const To mirror = kept[own.row + view.places[list + k]];
      if (Source::bits_of(static_cast<To>(here[own.begin + k])) == Source::bits_of(mirror)) continue;
      sums[0] += 1.0;
      return;
    }
  });
  return other[0] == 0.0;
}

template std::optional<SymmetricHalf> find_symmetric_half(const Device&, const SlicedRows&, const CsrView<float>&);
template std::optional<SymmetricHalf> find_symmetric_half(const Device&, const SlicedRows&, const CsrView<double>&);
template void fill_symmetric_half(const Device&, const SlicedRows&, const SymmetricHalf&, std::span<const float>,
                                  std::span<float>);
template void fill_symmetric_half(const Device&, const SlicedRows&, const SymmetricHalf&, std::span<const double>,
                                  std::span<double>);
template void fill_symmetric_half(const Device&, const SlicedRows&, const SymmetricHalf&, std::span<const double>,
                                  std::span<float>);
template bool symmetric_half_holds(const Device&, const SlicedRows&, const SymmetricHalf&, std::span<const float>,
                                   std::span<const float>);
template bool symmetric_half_holds(const Device&, const SlicedRows&, const SymmetricHalf&, std::span<const double>,
                                   std::span<const double>);
template bool symmetric_half_holds(const Device&, const SlicedRows&, const SymmetricHalf&, std::span<const double>,
                                   std::span<const float>);

}  // namespace tessera::cuda
