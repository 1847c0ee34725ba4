/// \file
/// Slices of row patterns: their shape, the places of values in them, and how values are kept, in words.
#include "spmv/patterns/pattern_values.hpp"

#include "spmv/patterns/pattern_product.hpp"
#include "spmv/patterns/patterns_tuning.hpp"

#include <fmt/format.h>

namespace tessera::cuda {

int pattern_chunk(int width) noexcept { return width < most_terms_at_once ? width : most_terms_at_once; }

SliceShape choose_pattern_slices(index_t rows, offset_t nnz, int width, bool reads_values) noexcept {
  SliceShape shape;
  shape.jagged = is_padded_beyond(most_padding_of_slices, rows, nnz, width);
  // Of the kernels for jagged slices that for 4 serves all narrower ones too; both sides of 5 agree on rows per lane.
  const bool has_single_rows = reads_values && width > most_uniform_terms && are_rows_long_and_few(rows, nnz);
  shape.rows_per_lane = has_single_rows ? 1 : pattern_rows_per_lane(pattern_chunk(width));
  return shape;
}

std::int64_t value_places(index_t rows, offset_t nnz, int width, const SliceShape& shape) noexcept {
  constexpr int lanes = 32;
  if (shape.jagged) return nnz + lanes;
  return shape.slices(rows) * lanes * shape.rows_per_lane * width;
}

std::string describe_layout(const PatternValueLayout& layout) {
  if (layout.dictionary > 0) return fmt::format(", values by a dictionary of {}", layout.dictionary);
  std::string how;
  if (layout.half_diagonals > 0) how = fmt::format(" as a symmetric half of {} diagonals", layout.half_diagonals);
  if (layout.are_floats) how += " in single precision, which holds them exactly";
  return how.empty() ? how : ", values" + how;
}

}  // namespace tessera::cuda
