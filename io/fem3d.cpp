#include "io/recipe.hpp"
#include "io/stencil_matrix.hpp"

#include <algorithm>
#include <cmath>

namespace tessera::io {

namespace {

/// The cubic grid whose side is nearest to the cube root of the size.
GridSize grid_of(const Recipe& recipe) {
  const std::int64_t nearest = std::llround(std::cbrt(static_cast<double>(recipe.size())));
  const std::int64_t side = std::min(nearest, max_cube_side);
  return {side, side, side};
}

Structure make_fem3d(const Recipe& recipe) { return stencil_structure("fem3d", grid_of(recipe), box_stencil(3)); }

Expected expected_fem3d(const Recipe& recipe) {
  const GridSize grid = grid_of(recipe);
  return {static_cast<double>(grid.x * grid.y * grid.z), stencil_entries(grid, box_stencil(3))};
}

}  // namespace

GeneratorEntry fem3d_family() {
  return {.family = {.name = "fem3d",
                     .description = "positions of the 27-point stencil on a cubic grid, random values",
                     .size_means = "rows",
                     .default_size = 2'744'000,
                     .max_size = max_rows,
                     .symmetric = true},
          .expected = expected_fem3d,
          .structure = make_fem3d};
}

}  // namespace tessera::io
