#include "tessera/multi_vector.hpp"

#include "tessera/error.hpp"

#include <fmt/format.h>

namespace tessera {

std::string_view to_string(MultiVectorLayout layout) {
  return layout == MultiVectorLayout::column_major ? "column_major" : "row_major";
}

std::int64_t detail::check_multi_vector(std::int64_t size, std::int64_t rows, std::int64_t columns,
                                        MultiVectorLayout layout, std::int64_t leading_dimension) {
  if (rows < 0 || columns < 0 || leading_dimension < 0) {
    throw InvalidArgument(
        fmt::format("multivector of {} rows, {} columns, leading dimension {}", rows, columns, leading_dimension));
  }
  const bool by_columns = layout == MultiVectorLayout::column_major;
  const std::int64_t inner = by_columns ? rows : columns;
  const std::int64_t outer = by_columns ? columns : rows;
  const std::int64_t distance = leading_dimension == 0 ? inner : leading_dimension;
  if (distance < inner) {
    throw DimensionError(fmt::format("multivector of {} rows and {} columns, {}: leading dimension {} is less than {}",
                                     rows, columns, to_string(layout), distance, inner));
  }
  if (inner == 0 || outer == 0) return distance;
  // Divided, so that nothing overflows.
  if (size < inner || (distance > 0 && (size - inner) / distance < outer - 1)) {
    throw DimensionError(
        fmt::format("multivector of {} rows and {} columns, {}, leading dimension {}: {} elements are too few", rows,
                    columns, to_string(layout), distance, size));
  }
  return distance;
}

}  // namespace tessera
