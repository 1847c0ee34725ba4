/// \file
/// Equal shares of the merge path, the units of work of the host kernels. How many there are depends on the matrix
/// alone, and what they leave over is added in their order: results are bitwise the same for every number of threads.
#pragma once

#include "core/parallel.hpp"
#include "spmv/common/epilogue.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

namespace tessera::host {

/// Bounds what a product keeps on its stack: products never allocate, and concurrent ones share nothing.
inline constexpr std::int64_t max_segments = 256;

/// Path steps that are worth a segment of their own.
inline constexpr std::int64_t steps_per_segment = 8192;

/// Segments of a path of `length` steps: 0 for an empty path.
[[nodiscard]] constexpr std::int64_t segment_count(std::int64_t length) noexcept {
  return std::min((length + steps_per_segment - 1) / steps_per_segment, max_segments);
}

/// What a segment that closes the rows [first_row, end_row) leaves behind. Row first_row may have begun before it, and
/// row end_row may go on after it.
template <class T>
struct Segment {
  index_t first_row = 0;
  index_t end_row = 0;
  T carry{};  ///< sum of the terms of row end_row
  ProductDots dots;
};

template <class T>
using Segments = std::array<Segment<T>, max_segments>;

/// Adds the carries to their rows, then the first rows of the segments to the inner products: their values are final
/// only now. Every row has been stored by the one segment that closed it.
template <class T, class Epilogue>
ProductDots join_segments(std::span<const Segment<T>> segments, index_t rows, const Epilogue& epilogue) {
  for (const Segment<T>& segment : segments) {
    if (segment.end_row < rows) epilogue.add(segment.end_row, segment.carry);
  }
  ProductDots total;
  for (const Segment<T>& segment : segments) {
    if (segment.first_row < segment.end_row) epilogue.finish(segment.first_row, total);
    total += segment.dots;
  }
  return total;
}

}  // namespace tessera::host
