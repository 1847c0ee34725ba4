#include "io/draw.hpp"
#include "io/recipe.hpp"
#include "io/stencil_matrix.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace tessera::io {

namespace {

std::int64_t side_of(const Recipe& recipe) {
  return std::min<std::int64_t>(std::llround(std::sqrt(static_cast<double>(recipe.size()))), max_square_side);
}

/// A square grid, x fastest, of which each edge to the right and each edge down is kept with probability p.
class StreetGrid {
 public:
  explicit StreetGrid(const Recipe& recipe)
      : side_(side_of(recipe)),
        p_(recipe["keep"]),
        right_seed_(draw_seed(recipe.seed(), Draw::edge)),
        down_seed_(draw_seed(recipe.seed(), Draw::second_edge)) {}

  [[nodiscard]] std::int64_t vertices() const { return side_ * side_; }

  /// Neighbours of a vertex, ascending; returns how many.
  int neighbours(std::int64_t v, std::array<index_t, 4>& out) const {
    const std::int64_t x = v % side_;
    int count = 0;
    const auto link = [&](bool exists, std::int64_t to) {
      if (exists) out[static_cast<std::size_t>(count++)] = static_cast<index_t>(to);
    };
    link(v >= side_ && kept(down_seed_, v - side_), v - side_);
    link(x > 0 && kept(right_seed_, v - 1), v - 1);
    link(x + 1 < side_ && kept(right_seed_, v), v + 1);
    link(v + side_ < vertices() && kept(down_seed_, v), v + side_);
    return count;
  }

 private:
  [[nodiscard]] bool kept(std::uint64_t seed, std::int64_t from) const {
    return SplitMix64(seed, static_cast<std::uint64_t>(from)).uniform() < p_;
  }

  std::int64_t side_;
  double p_;
  std::uint64_t right_seed_;
  std::uint64_t down_seed_;
};

Structure make_road(const Recipe& recipe) {
  const StreetGrid grid(recipe);
  const auto count_of = [&](std::int64_t v) {
    std::array<index_t, 4> neighbours{};
    return grid.neighbours(v, neighbours);
  };
  const auto fill = [&](std::int64_t v, index_t* out) {
    std::array<index_t, 4> neighbours{};
    std::copy_n(neighbours.data(), grid.neighbours(v, neighbours), out);
  };
  return structure_by_rows(grid.vertices(), grid.vertices(), count_of, fill);
}

Expected expected_road(const Recipe& recipe) {
  const auto side = static_cast<double>(side_of(recipe));
  return {side * side, 4.0 * side * (side - 1) * recipe["keep"]};
}

constexpr std::array<GeneratorParameter, 1> road_parameters{
    {{"keep", "probability of an edge of the grid", 0.6, 0, 1}}};

}  // namespace

GeneratorEntry road_family() {
  return {.family = {.name = "road",
                     .description = "square grid of which each edge is kept with probability 0.6, symmetric",
                     .size_means = "rows",
                     .default_size = 24'010'000,
                     .max_size = max_rows,
                     .symmetric = true,
                     .parameters = road_parameters},
          .expected = expected_road,
          .structure = make_road};
}

}  // namespace tessera::io
