#include "io/recipe.hpp"

#include <algorithm>
#include <array>
#include <numeric>

namespace tessera::io {

namespace {

std::int64_t width_of(const Recipe& recipe) { return std::min(recipe.size(), recipe.whole("width")); }

/// Every row is full over `width` columns around the diagonal, shifted inwards at both ends.
Structure make_band(const Recipe& recipe) {
  const std::int64_t n = recipe.size();
  const std::int64_t width = width_of(recipe);
  const auto fill = [&](std::int64_t row, index_t* out) {
    const std::int64_t first = std::clamp<std::int64_t>(row - width / 2, 0, n - width);
    std::iota(out, out + width, static_cast<index_t>(first));
  };
  return structure_by_rows(
      n, n, [&](std::int64_t) { return width; }, fill);
}

Expected expected_band(const Recipe& recipe) {
  const auto n = static_cast<double>(recipe.size());
  return {n, n * static_cast<double>(width_of(recipe))};
}

constexpr std::array<GeneratorParameter, 1> band_parameters{
    {{"width", "columns of a row, at most the size", 200, 1, 1e6, true}}};

}  // namespace

GeneratorEntry band_family() {
  return {.family = {.name = "band",
                     .description = "200 contiguous columns around the diagonal in every row",
                     .size_means = "rows",
                     .default_size = 300'000,
                     .max_size = max_rows,
                     .parameters = band_parameters},
          .expected = expected_band,
          .structure = make_band};
}

}  // namespace tessera::io
