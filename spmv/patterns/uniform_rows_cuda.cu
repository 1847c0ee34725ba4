/// \file
/// The list of uniform rows on the host, its sub-lists, and how many slices are on them.
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
  double uniform;  ///< all rows on the list
  double covered;  ///< inside, and all rows on the list or on sub-lists
};

/// Sets the bits of uniform slices.
[[nodiscard]] SliceCounts mark_uniform_slices(const Device& device, const Array<std::uint8_t>& codes, int slice_codes,
                                              int list, const SlicesInside& inside, const TermMask* masks,
                                              std::uint32_t* uniform) {
  const auto* const words = reinterpret_cast<const std::uint32_t*>(codes.data());
  const int of_slice = slice_codes / static_cast<int>(sizeof(std::uint32_t));
  const std::uint32_t four_of_list = static_cast<std::uint32_t>(list) * 0x01010101U;
  const auto counts =
      fused_sum<2>(device, codes.size() / slice_codes, [=] __device__(std::int64_t slice, double* sums) {
        TermMask all = is_sub_list;
        std::uint32_t differing = 0;
        for (int k = 0; k < of_slice; ++k) {
          const std::uint32_t four = __ldg(words + slice * of_slice + k);
          differing |= four ^ four_of_list;
          for (int byte = 0; byte < 4; ++byte) all &= __ldg(masks + (four >> (8 * byte) & 0xffu));
        }
        if (differing == 0) {
          atomicOr(uniform + slice / 32, 1U << slice % 32);
          sums[0] += 1.0;
        }
        if (all != 0 && inside.has(slice)) sums[1] += 1.0;
      });
  return {counts[0], counts[1]};
}

/// What a list has of the table, or of an array in its order; the last is repeated.
void copy_of_list(std::span<const index_t> row, int length, index_t (&to)[most_uniform_terms]) {
  for (int k = 0; k < most_uniform_terms; ++k) to[k] = row[static_cast<std::size_t>(std::min(k + 1, length))];
}

/// The first of the lists with `width` entries.
[[nodiscard]] int longest_list(std::span<const index_t> table, int width) {
  const auto stride = static_cast<std::size_t>(width) + 1;
  for (std::size_t list = 0; list * stride < table.size(); ++list) {
    if (table[list * stride] == width) return static_cast<int>(list);
  }
  return 0;
}

/// Of one list. \param first the one whose terms are asked for
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
std::vector<TermMask> masks_of_lists(std::span<const index_t> table, std::span<const T> values, int width, int list) {
  const std::size_t columns = static_cast<std::size_t>(width);
  const std::size_t stride = columns + 1;
  const auto terms = [&](std::size_t of) {
    return table.subspan(of * stride + 1, static_cast<std::size_t>(std::max(table[of * stride], 0)));
  };
  const auto values_of = [&](std::size_t of) {
    return values.empty() ? values : values.subspan(of * columns, terms(of).size());
  };
  const auto first = static_cast<std::size_t>(list);
  std::vector<TermMask> masks;
  for (std::size_t other = 0; other < table.size() / stride; ++other) {
    const bool is_usable = table[other * stride] >= 0 && table[first * stride] <= most_uniform_terms;
    masks.push_back(is_usable ? mask_of_list<T>(terms(first), values_of(first), terms(other), values_of(other)) : 0);
  }
  return masks;
}

SliceOrder slice_order(std::span<const index_t> columns, std::int64_t slices, int slice_rows) noexcept {
  std::int64_t furthest = 0;
  for (const index_t column : columns) furthest = std::max(furthest, std::abs(std::int64_t{column}));
  const std::int64_t pitch = (furthest + slice_rows / 2) / slice_rows;
  const bool pays = columns.size() <= most_terms_at_once && pitch >= least_slices_of_pitch &&
                    slices >= least_groups_of_pitches * SliceOrder::warps * pitch;
  return SliceOrder(pays ? static_cast<unsigned>(pitch) : 1);
}

SlicesInside slices_inside(std::span<const index_t> columns, index_t rows, index_t cols, int slice_rows) noexcept {
  const std::int64_t before = -std::min<std::int64_t>(*std::ranges::min_element(columns), 0);
  const std::int64_t behind = std::max<std::int64_t>(*std::ranges::max_element(columns), 0);
  return {static_cast<unsigned>((before + slice_rows - 1) / slice_rows),
          static_cast<unsigned>(std::clamp<std::int64_t>(cols - behind, 0, rows) / slice_rows)};
}

template <class T>
UniformRows<T>::UniformRows(const Device& device, const RowPatterns<T>& found, const SliceShape& shape, index_t rows,
                            index_t cols, const Array<index_t>& half_places) {
  if (found.lists == 0 || found.codes.empty()) return;
  const Array<index_t> table = found.table.to(Device{});
  const bool has_values = found.kind == RowListKind::columns_and_values;
  const Array<T> values = has_values ? found.values.to(Device{}) : Array<T>{};
  const bool is_half = !half_places.empty();
  const Array<index_t> places = half_places.to(Device{});
  const auto stride = static_cast<std::size_t>(found.stride());
  const int slice_rows = 32 * shape.rows_per_lane;
  const int longest = longest_list(table.span(), found.width);
  for (const int list : {0, longest}) {
    const std::size_t row = static_cast<std::size_t>(list) * stride;
    list_.length = table[static_cast<std::int64_t>(row)];
    if (list_.length < 1 || list_.length > most_uniform_terms) continue;
    copy_of_list(table.span().subspan(row, stride), list_.length, list_.columns);
    if (has_values) std::copy_n(values.begin() + std::int64_t{list} * found.width, list_.length, list_.values);
    if (is_half) copy_of_list(places.span().subspan(row, stride), list_.length, list_.places);
    const auto columns = std::span(list_.columns).first(static_cast<std::size_t>(list_.length));
    list_.inside = slices_inside(columns, rows, cols, slice_rows);
    const auto masks = masks_of_lists<T>(table.span(), values.span(), found.width, list);
    if (set_up(device, found, slice_rows, masks, list, is_half) || list == longest) return;
  }
}

template <class T>
bool UniformRows<T>::set_up(const Device& device, const RowPatterns<T>& found, int slice_rows,
                            const std::vector<TermMask>& masks, int list, bool is_half) {
  const std::int64_t slices = found.codes.size() / slice_rows;
  const auto columns = std::span(list_.columns).first(static_cast<std::size_t>(list_.length));
  auto on_device = Array<TermMask>::copy_of(masks, device);
  Array<std::uint32_t> uniform((slices + 31) / 32, Init::zero, device);
  const SliceCounts counts =
      mark_uniform_slices(device, found.codes, slice_rows, list, list_.inside, on_device.data(), uniform.data());
  const auto all = static_cast<double>(slices);
  if (counts.covered < (is_half ? least_covered_share_of_half : least_covered_share) * all) return false;
  list_.order = slice_order(columns, slices, slice_rows);
  list_.masks = on_device.data();
  masks_ = std::move(on_device);
  if (counts.uniform < least_uniform_share * all) return true;
  list_.uniform_slices = uniform.data();
  uniform_slices_ = std::move(uniform);
  return true;
}

template class UniformRows<float>;
template class UniformRows<double>;

}  // namespace tessera::cuda
