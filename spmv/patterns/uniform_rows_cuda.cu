/// \file
/// The most frequent list on the host, its sub-lists, and how many slices are on them.
#include "core/cuda/reduce.cuh"
#include "spmv/patterns/uniform_rows.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace tessera::cuda {

using namespace detail;

namespace {

/// Numbers of slices.
struct SliceCounts {
  double uniform;  ///< all rows on list 0
  double covered;  ///< and on sub-lists of it
};

/// Sets the bits of uniform slices.
[[nodiscard]] SliceCounts mark_uniform_slices(const Device& device, const Array<std::uint8_t>& codes, int slice_codes,
                                              const TermMask* masks, std::uint32_t* uniform) {
  const auto* const words = reinterpret_cast<const std::uint32_t*>(codes.data());
  const int of_slice = slice_codes / static_cast<int>(sizeof(std::uint32_t));
  const auto counts =
      fused_sum<2>(device, codes.size() / slice_codes, [=] __device__(std::int64_t slice, double* sums) {
        TermMask all = is_sub_list;
        std::uint32_t any = 0;
        for (int k = 0; k < of_slice; ++k) {
          const std::uint32_t four = __ldg(words + slice * of_slice + k);
          any |= four;
          for (int byte = 0; byte < 4; ++byte) all &= __ldg(masks + (four >> (8 * byte) & 0xffu));
        }
        if (any == 0) {
          atomicOr(uniform + slice / 32, 1U << slice % 32);
          sums[0] += 1.0;
        }
        if (all != 0) sums[1] += 1.0;
      });
  return {counts[0], counts[1]};
}

/// What list 0 has of the table, or of an array in its order; the last is repeated.
void copy_of_list(const Array<index_t>& table, int length, index_t (&to)[most_uniform_terms]) {
  for (int k = 0; k < most_uniform_terms; ++k) to[k] = table[std::min(k + 1, length)];
}

/// Of one list. \param first the most frequent one
template <class T>
[[nodiscard]] TermMask mask_of_list(std::span<const index_t> first, std::span<const T> first_values,
                                    std::span<const index_t> list, std::span<const T> values) {
  TermMask mask = is_sub_list;
  std::size_t at = 0;
  for (std::size_t k = 0; k < list.size(); ++k, ++at) {
    while (at < first.size() && first[at] != list[k]) ++at;
    if (at == first.size()) return 0;
    if (!values.empty() && std::memcmp(&values[k], &first_values[at], sizeof(T)) != 0) return 0;
    mask |= TermMask{1} << at;
  }
  return mask;
}

}  // namespace

template <class T>
std::vector<TermMask> masks_of_lists(std::span<const index_t> table, std::span<const T> values, int width) {
  const std::size_t columns = static_cast<std::size_t>(width);
  const std::size_t stride = columns + 1;
  const auto terms = [&](std::size_t list) {
    return table.subspan(list * stride + 1, static_cast<std::size_t>(std::max(table[list * stride], 0)));
  };
  const auto values_of = [&](std::size_t list) {
    return values.empty() ? values : values.subspan(list * columns, terms(list).size());
  };
  std::vector<TermMask> masks;
  for (std::size_t list = 0; list < table.size() / stride; ++list) {
    const bool is_usable = table[list * stride] >= 0 && table[0] <= most_uniform_terms;
    masks.push_back(is_usable ? mask_of_list<T>(terms(0), values_of(0), terms(list), values_of(list)) : 0);
  }
  return masks;
}

SliceOrder slice_order(std::span<const index_t> columns, std::int64_t slices, int slice_rows) noexcept {
  std::int64_t furthest = 0;
  for (const index_t column : columns) furthest = std::max(furthest, std::abs(std::int64_t{column}));
  const std::int64_t pitch = (furthest + slice_rows / 2) / slice_rows;
  const bool pays = columns.size() <= most_terms_at_once && pitch >= least_slices_of_pitch &&
                    slices >= least_groups_of_pitches * SliceOrder::warps * pitch;
  return {pays ? static_cast<unsigned>(pitch) : 1};
}

template <class T>
UniformRows<T>::UniformRows(const Device& device, const RowPatterns<T>& found, const SliceShape& shape,
                            const Array<index_t>& half_places) {
  if (found.lists == 0 || found.codes.empty()) return;
  const Array<index_t> table = found.table.to(Device{});
  const int length = table[0];
  const bool is_half = !half_places.empty();
  const int longest = is_half ? most_uniform_terms_of_half : most_uniform_terms;
  if (length < 1 || length > longest) return;
  list_.length = length;
  const bool has_values = found.kind == RowListKind::columns_and_values;
  const Array<T> values = has_values ? found.values.to(Device{}) : Array<T>{};
  copy_of_list(table, length, list_.columns);
  if (has_values) std::copy_n(values.begin(), length, list_.values);
  if (is_half) copy_of_list(half_places.to(Device{}), length, list_.places);
  auto masks = Array<TermMask>::copy_of(masks_of_lists<T>(table.span(), values.span(), found.width), device);
  const int slice_codes = 32 * shape.rows_per_lane;
  const std::int64_t slices = found.codes.size() / slice_codes;
  Array<std::uint32_t> uniform((slices + 31) / 32, Init::zero, device);
  const SliceCounts counts = mark_uniform_slices(device, found.codes, slice_codes, masks.data(), uniform.data());
  const auto all = static_cast<double>(slices);
  if (counts.covered < least_uniform_share * all) return;
  if (is_half && counts.uniform < least_uniform_share_of_half * all) return;
  list_.order = slice_order(std::span(list_.columns).first(static_cast<std::size_t>(length)), slices, slice_codes);
  list_.masks = masks.data();
  masks_ = std::move(masks);
  list_.uniform_slices = uniform.data();
  uniform_slices_ = std::move(uniform);
}

template class UniformRows<float>;
template class UniformRows<double>;

}  // namespace tessera::cuda
