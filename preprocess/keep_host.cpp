/// \file
/// Sparsification by rows on the host: the limit of a row by quickselect.
#include "core/checked.hpp"
#include "core/parallel.hpp"
#include "core/structure_passes.hpp"
#include "preprocess/keep_rows.hpp"
#include "preprocess/merge_search.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <utility>

namespace tessera::host {

using namespace detail;

namespace {

/// Rows of a part, cut where the merge path is, so that parts hold like amounts of rows and entries.
template <class T>
[[nodiscard]] Range rows_of_part(const CsrView<T>& a, std::int64_t parts, std::int64_t p) {
  const Range path = part_of(path_length(a.rows, a.nnz()), parts, p);
  return {merge_search(a.row_offsets.data(), a.rows, a.nnz(), path.begin).y,
          merge_search(a.row_offsets.data(), a.rows, a.nnz(), path.end).y};
}

/// \param magnitudes takes the candidates of the row
template <class T>
[[nodiscard]] KeepCounts<T> look_at_row(const KeepRule<T>& rule, std::int64_t row, MagnitudeBits<T>* magnitudes) {
  const offset_t begin = rule.a.offsets[row];
  const offset_t end = rule.a.offsets[row + 1];
  MagnitudeBits<T> largest = 0;
  for (offset_t k = begin; k < end; ++k) {
    const auto magnitude = rule.bits(k);
    if (magnitude < rule.not_finite) largest = std::max(largest, magnitude);
  }
  KeepCounts<T> counts;
  for (offset_t k = begin; k < end; ++k) {
    const auto magnitude = rule.bits(k);
    if (rule.always_stays(row, k, magnitude)) {
      ++counts.always;
    } else if (rule.is_large(magnitude, largest)) {
      magnitudes[counts.candidates] = magnitude;
      counts.add_candidate(magnitude);
    }
  }
  return counts;
}

/// \param magnitudes of the candidates; their order is lost
template <class T>
[[nodiscard]] RowCut<T> cut_row(const KeepCounts<T>& counts, offset_t room, MagnitudeBits<T>* magnitudes) {
  if (room == 0) return {~MagnitudeBits<T>{0}, 0};
  if (room == counts.candidates) return {counts.smallest, room};
  std::nth_element(magnitudes, magnitudes + room - 1, magnitudes + counts.candidates, std::greater<>());
  const auto least = magnitudes[room - 1];
  return {least, room - std::count_if(magnitudes, magnitudes + room, [&](auto other) { return other > least; })};
}

template <class T>
void write_row(const KeepRule<T>& rule, std::int64_t row, const RowCut<T>& cut, index_t* columns, T* values) {
  offset_t ties = 0;
  for (offset_t k = rule.a.offsets[row]; k < rule.a.offsets[row + 1]; ++k) {
    const auto magnitude = rule.bits(k);
    if (!rule.always_stays(row, k, magnitude)) {
      const bool stays = rule.stays(magnitude, cut, ties);
      if (magnitude == cut.least) ++ties;
      if (!stays) continue;
    }
    *columns++ = rule.a.columns[k];
    if (values != nullptr) *values++ = rule.a.values[k];
  }
}

}  // namespace

template <class T>
Csr<T> keep_entries(const CsrView<T>& a, const Keep& keep, index_t first_row, const Device& device) {
  const KeepRule<T> rule{pointers_of(a), keep.tolerance, keep.most, keep.diagonal, first_row};
  const std::int64_t parts = threads_for(device, path_length(a.rows, a.nnz()));
  const offset_t longest = longest_row(a.row_offsets);
  Array<MagnitudeBits<T>> magnitudes(checked_multiply<std::int64_t>(parts, longest, "keep_entries"), Init::none);
  Array<RowCut<T>> cuts(a.rows, Init::none);
  Array<offset_t> offsets(std::int64_t{a.rows} + 1, Init::none);
  parallel_tasks(device, parts, [&](std::int64_t p) {
    const Range rows = rows_of_part(a, parts, p);
    MagnitudeBits<T>* const mine = magnitudes.data() + p * longest;
    for (std::int64_t i = rows.begin; i < rows.end; ++i) {
      const KeepCounts<T> counts = look_at_row(rule, i, mine);
      const offset_t room = counts.room(keep.most);
      cuts[i] = cut_row(counts, room, mine);
      offsets[i] = counts.always + room;
    }
  });
  offset_t kept = 0;
  for (index_t i = 0; i < a.rows; ++i) kept += std::exchange(offsets[i], kept);
  offsets[a.rows] = kept;
  Array<index_t> columns(kept, Init::none);
  Array<T> values(a.is_pattern() ? 0 : kept, Init::none);
  parallel_tasks(device, parts, [&](std::int64_t p) {
    const Range rows = rows_of_part(a, parts, p);
    for (std::int64_t i = rows.begin; i < rows.end; ++i) {
      write_row(rule, i, cuts[i], columns.data() + offsets[i], a.is_pattern() ? nullptr : values.data() + offsets[i]);
    }
  });
  if (a.is_pattern()) return Csr<T>::pattern(a.rows, a.cols, std::move(offsets), std::move(columns), Check::trusted);
  return Csr<T>(a.rows, a.cols, std::move(offsets), std::move(columns), std::move(values), Check::trusted);
}

template Csr<float> keep_entries(const CsrView<float>&, const Keep&, index_t, const Device&);
template Csr<double> keep_entries(const CsrView<double>&, const Keep&, index_t, const Device&);

}  // namespace tessera::host
