/// \file
/// The entries of a coordinate file, expanded to general storage.
#pragma once

#include "io/data_chunks.hpp"
#include "io/matrix_market_header.hpp"
#include "io/memory_budget.hpp"
#include "tessera/array.hpp"

#include <span>

namespace tessera::io {

/// 0-based. Entry k < stored comes from data line k; behind them lie the mirrored entries of a symmetric file.
template <class T>
struct CoordinateEntries {
  DataLines lines;
  Array<index_t> rows;
  Array<index_t> columns;
  Array<T> values;  ///< empty for a pattern file
  offset_t stored = 0;
  offset_t count = 0;  ///< stored and mirrored; the arrays may be longer
  offset_t explicit_zeros = 0;

  [[nodiscard]] std::span<const index_t> row_span() const { return first_of(rows.span()); }
  [[nodiscard]] std::span<const index_t> column_span() const { return first_of(columns.span()); }
  [[nodiscard]] std::span<const T> value_span() const { return first_of(values.span()); }

 private:
  template <class U>
  std::span<const U> first_of(std::span<const U> all) const {
    return all.empty() ? all : all.first(static_cast<std::size_t>(count));
  }
};

/// \throws ParseError for the first malformed or surplus line, a wrong number of lines, or entries in both triangles of
///         a symmetric file; OutOfMemory
template <class T>
[[nodiscard]] CoordinateEntries<T> read_coordinate_entries(const Document& document, const ParsedHeader& parsed,
                                                           const Device& device, MemoryBudget& budget);

/// \throws ParseError at the first line whose position an earlier line holds already
template <class T>
void fail_at_duplicate(const Document& document, const CoordinateEntries<T>& entries);

extern template CoordinateEntries<float> read_coordinate_entries(const Document&, const ParsedHeader&, const Device&,
                                                                 MemoryBudget&);
extern template CoordinateEntries<double> read_coordinate_entries(const Document&, const ParsedHeader&, const Device&,
                                                                  MemoryBudget&);
extern template void fail_at_duplicate(const Document&, const CoordinateEntries<float>&);
extern template void fail_at_duplicate(const Document&, const CoordinateEntries<double>&);

}  // namespace tessera::io
