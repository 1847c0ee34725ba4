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
  double uniform = 0.0;  ///< all rows on the list
  double covered = 0.0;  ///< interior, and all rows on the list or on sub-lists
};

/// Sets the bits of uniform slices.
[[nodiscard]] SliceCounts mark_uniform_slices(const Device& device, const Array<std::uint8_t>& codes, int slice_codes,
                                              int list, const InteriorSlices& interior, const TermMask* masks,
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
        if (all != 0 && interior.has(slice)) sums[1] += 1.0;
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

/// Of one list. \param whole the one whose terms are asked for
template <class T>
[[nodiscard]] TermMask mask_of_list(std::span<const index_t> whole, std::span<const T> whole_values,
                                    std::span<const index_t> list, std::span<const T> values) {
  TermMask mask = is_sub_list;
  std::size_t at = 0;
  for (std::size_t k = 0; k < list.size(); ++k, ++at) {
    while (at < whole.size() && whole[at] != list[k]) ++at;
    if (at == whole.size()) return 0;
    if (!values.empty() && std::memcmp(&values[k], &whole_values[at], sizeof(T)) != 0) return 0;
    mask |= TermMask{1} << at;
  }
  return mask;
}

}  // namespace

template <class T>
std::vector<TermMask> masks_of_lists(std::span<const index_t> table, std::span<const T> values, int width,
                                     int reference) {
  const std::size_t columns = static_cast<std::size_t>(width);
  const std::size_t stride = columns + 1;
  const auto terms = [&](std::size_t of) {
    return table.subspan(of * stride + 1, static_cast<std::size_t>(std::max(table[of * stride], 0)));
  };
  const auto values_of = [&](std::size_t of) {
    return values.empty() ? values : values.subspan(of * columns, terms(of).size());
  };
  const auto whole = static_cast<std::size_t>(reference);
  std::vector<TermMask> masks;
  for (std::size_t list = 0; list < table.size() / stride; ++list) {
    const bool is_usable = table[list * stride] >= 0 && table[whole * stride] <= most_uniform_terms;
    masks.push_back(is_usable ? mask_of_list<T>(terms(whole), values_of(whole), terms(list), values_of(list)) : 0);
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

InteriorSlices interior_slices(std::span<const index_t> columns, index_t rows, index_t cols, int slice_rows) noexcept {
  const std::int64_t before = -std::min<std::int64_t>(*std::ranges::min_element(columns), 0);
  const std::int64_t behind = std::max<std::int64_t>(*std::ranges::max_element(columns), 0);
  return {static_cast<unsigned>((before + slice_rows - 1) / slice_rows),
          static_cast<unsigned>(std::clamp<std::int64_t>(cols - behind, 0, rows) / slice_rows)};
}

namespace {

/// Lists on the host.
template <class T>
struct ListsOnHost {
  int width;
  Array<index_t> table;   ///< as RowPatterns::table
  Array<T> values;        ///< as RowPatterns::values; empty for row patterns
  Array<index_t> places;  ///< as SymmetricHalf::places; empty without a half

  ListsOnHost(const RowPatterns<T>& found, const Array<index_t>& half_places)
      : width(found.width),
        table(found.table.to(Device{})),
        values(found.kind == RowListKind::columns_and_values ? found.values.to(Device{}) : Array<T>{}),
        places(half_places.to(Device{})) {}

  [[nodiscard]] std::span<const index_t> part_of(const Array<index_t>& all, int list) const {
    const auto stride = static_cast<std::size_t>(width) + 1;
    return all.span().subspan(static_cast<std::size_t>(list) * stride, stride);
  }
};

/// A list that rows may be uniform with.
template <class T>
struct StencilCandidate {
  RowStencil<T> list;
  Array<TermMask> masks;
  Array<std::uint32_t> uniform_slices;
  SliceCounts counts;
};

/// \param number of the list
template <class T>
[[nodiscard]] StencilCandidate<T> candidate(const Device& device, const ListsOnHost<T>& lists, int number,
                                            const Array<std::uint8_t>& codes, int slice_rows, index_t rows,
                                            index_t cols) {
  StencilCandidate<T> result;
  RowStencil<T>& list = result.list;
  list.length = lists.part_of(lists.table, number)[0];
  if (list.length < 1 || list.length > most_uniform_terms) return result;
  copy_of_list(lists.part_of(lists.table, number), list.length, list.columns);
  if (!lists.values.empty()) {
    std::copy_n(lists.values.begin() + std::int64_t{number} * lists.width, list.length, list.values);
  }
  if (!lists.places.empty()) copy_of_list(lists.part_of(lists.places, number), list.length, list.places);
  const std::int64_t slices = codes.size() / slice_rows;
  const auto columns = std::span(list.columns).first(static_cast<std::size_t>(list.length));
  list.interior = interior_slices(columns, rows, cols, slice_rows);
  list.order = slice_order(columns, slices, slice_rows);
  result.masks =
      Array<TermMask>::copy_of(masks_of_lists<T>(lists.table.span(), lists.values.span(), lists.width, number), device);
  result.uniform_slices = Array<std::uint32_t>((slices + 31) / 32, Init::zero, device);
  result.counts = mark_uniform_slices(device, codes, slice_rows, number, list.interior, result.masks.data(),
                                      result.uniform_slices.data());
  return result;
}

}  // namespace

template <class T>
UniformRows<T>::UniformRows(const Device& device, const RowPatterns<T>& found, const SliceShape& shape, index_t rows,
                            index_t cols, const Array<index_t>& half_places) {
  if (found.lists == 0 || found.codes.empty()) return;
  const ListsOnHost<T> lists(found, half_places);
  const int slice_rows = 32 * shape.rows_per_lane;
  const auto slices = static_cast<double>(found.codes.size() / slice_rows);
  const int longest = longest_list(lists.table.span(), found.width);
  StencilCandidate<T> best = candidate(device, lists, 0, found.codes, slice_rows, rows, cols);
  if (longest != 0 && best.counts.covered < enough_covered_share * slices) {
    StencilCandidate<T> other = candidate(device, lists, longest, found.codes, slice_rows, rows, cols);
    if (other.counts.covered > best.counts.covered) best = std::move(other);
  }
  const bool is_half = !half_places.empty();
  if (best.counts.covered < (is_half ? least_covered_share_of_half : least_covered_share_of_cg) * slices) return;
  serves_products_ = is_half || best.counts.covered >= least_covered_share * slices;
  list_ = best.list;
  masks_ = std::move(best.masks);
  list_.masks = masks_.data();
  if (best.counts.uniform < least_uniform_share * slices) return;
  uniform_slices_ = std::move(best.uniform_slices);
  list_.uniform_slices = uniform_slices_.data();
}

template class UniformRows<float>;
template class UniformRows<double>;

}  // namespace tessera::cuda
