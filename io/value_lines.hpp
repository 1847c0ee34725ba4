/// \file
/// Files with one number a line: array files and plain lists.
#pragma once

#include "io/data_chunks.hpp"
#include "io/matrix_market_header.hpp"
#include "io/memory_budget.hpp"
#include "tessera/array.hpp"

namespace tessera::io {

/// The values of an array file in the order of its lines. \throws ParseError, OutOfMemory
template <class T>
[[nodiscard]] Array<T> read_array_values(const Document& document, const ParsedHeader& parsed, const Device& device,
                                         MemoryBudget& budget);

/// The numbers of a text without header; '%' and '#' start comment lines. \throws ParseError, OutOfMemory
template <class T>
[[nodiscard]] Array<T> read_plain_values(const Document& document, const Device& device, MemoryBudget& budget);

extern template Array<float> read_array_values(const Document&, const ParsedHeader&, const Device&, MemoryBudget&);
extern template Array<double> read_array_values(const Document&, const ParsedHeader&, const Device&, MemoryBudget&);
extern template Array<float> read_plain_values(const Document&, const Device&, MemoryBudget&);
extern template Array<double> read_plain_values(const Document&, const Device&, MemoryBudget&);

}  // namespace tessera::io
