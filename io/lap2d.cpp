#include "io/recipe.hpp"
#include "io/stencil_matrix.hpp"

#include <algorithm>
#include <cmath>

namespace tessera::io {

namespace {

/// The square grid whose number of points is nearest to the size.
GridSize grid_of(const Recipe& recipe) {
  const std::int64_t side = std::llround(std::sqrt(static_cast<double>(recipe.size())));
  return {std::min(side, max_square_side), std::min(side, max_square_side), 1};
}

Structure make_lap2d(const Recipe& recipe) { return stencil_structure("lap2d", grid_of(recipe), star_stencil(2)); }

Expected expected_lap2d(const Recipe& recipe) {
  const GridSize grid = grid_of(recipe);
  return {static_cast<double>(grid.x * grid.y), stencil_entries(grid, star_stencil(2))};
}

}  // namespace

GeneratorEntry lap2d_family() {
  return {.family = {.name = "lap2d",
                     .description = "positions of the 5-point stencil on a square grid, random values",
                     .size_means = "rows",
                     .default_size = 25'000'000,
                     .max_size = max_rows,
                     .symmetric = true},
          .expected = expected_lap2d,
          .structure = make_lap2d};
}

}  // namespace tessera::io
