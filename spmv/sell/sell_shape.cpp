/// \file
/// Sliced ELL: the shape of slices that follows from a census of the rows.
#include "spmv/sell/sell_slices.hpp"

namespace tessera::cuda {

SellShape choose_sell_shape(index_t rows, const SellCensus& census, int multiprocessors) noexcept {
  SellShape shape;
  const bool is_short = census.nonzeros <= std::int64_t{rows} * sell_short_chunk;
  shape.rows_per_lane = sell_rows_per_lane(is_short ? sell_short_chunk : sell_long_chunk);
  const double most = most_padding_of_sell * static_cast<double>(census.nonzeros);
  const std::int64_t of_one_width = shape.slices(rows) * 32 * shape.rows_per_lane * census.longest;
  const std::int64_t of_slices = census.neighbour_places(shape.rows_per_lane);
  if (static_cast<double>(census.longest) * rows <= most) {
    shape.width = census.longest;
    shape.places = of_one_width;
  } else if (static_cast<double>(of_slices) <= most) {
    shape.places = of_slices;
  } else {
    shape.window_rows = sell_window_rows(rows, shape.rows_per_lane, multiprocessors);
  }
  return shape;
}

}  // namespace tessera::cuda
