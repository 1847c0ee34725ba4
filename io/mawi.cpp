#include "core/portable_math.hpp"
#include "io/draw.hpp"
#include "io/recipe.hpp"

#include <algorithm>
#include <array>

namespace tessera::io {

namespace {

/// Packet traces: one hub that most vertices talk to, and edges between a few busy vertices and all others.
class MawiEdges {
 public:
  explicit MawiEdges(const Recipe& recipe)
      : n_(recipe.size()),
        hub_(n_ / 3),
        hub_probability_(recipe["hub"]),
        log2_n_(portable_log2(static_cast<double>(n_))),
        hub_seed_(draw_seed(recipe.seed(), Draw::edge)),
        extra_seed_(draw_seed(recipe.seed(), Draw::second_edge)),
        renumber_(static_cast<std::uint64_t>(n_), draw_seed(recipe.seed(), Draw::permutation)) {}

  [[nodiscard]] Entry to_hub(std::int64_t v) const {
    if (v == hub_ || SplitMix64(hub_seed_, static_cast<std::uint64_t>(v)).uniform() >= hub_probability_) return {};
    return {static_cast<index_t>(hub_), static_cast<index_t>(v)};
  }

  /// From a vertex whose rank is log-uniform to any vertex.
  [[nodiscard]] Entry extra(std::int64_t k) const {
    SplitMix64 random(extra_seed_, static_cast<std::uint64_t>(k));
    const auto rank = static_cast<std::int64_t>(portable_exp2(random.uniform() * log2_n_));
    const auto busy = static_cast<std::uint64_t>(std::clamp<std::int64_t>(rank, 1, n_) - 1);
    const Entry edge{static_cast<index_t>(renumber_(busy)),
                     static_cast<index_t>(random.below(static_cast<std::uint64_t>(n_)))};
    return edge.row == edge.column ? Entry{} : edge;
  }

 private:
  std::int64_t n_;
  std::int64_t hub_;
  double hub_probability_;
  double log2_n_;
  std::uint64_t hub_seed_;
  std::uint64_t extra_seed_;
  Permutation renumber_;
};

std::int64_t extra_edges(const Recipe& recipe) {
  return static_cast<std::int64_t>(recipe["extra"] * static_cast<double>(recipe.size()));
}

Structure make_mawi(const Recipe& recipe) {
  const std::int64_t n = recipe.size();
  const std::int64_t extra = extra_edges(recipe);
  const MawiEdges edges(recipe);
  return structure_by_entries(n, n, 2 * (n + extra), [&](std::int64_t k) {
    if (k < 2 * n) return k < n ? edges.to_hub(k) : edges.to_hub(k - n).mirrored();
    k -= 2 * n;
    return k < extra ? edges.extra(k) : edges.extra(k - extra).mirrored();
  });
}

Expected expected_mawi(const Recipe& recipe) {
  const auto n = static_cast<double>(recipe.size());
  return {n, 2 * (n * recipe["hub"] + static_cast<double>(extra_edges(recipe))), true};
}

constexpr std::array<GeneratorParameter, 2> mawi_parameters{
    {{"hub", "probability that the hub, vertex n/3, is linked to a vertex", 0.84, 0, 1},
     {"extra", "further edges per vertex", 0.21, 0, 100}}};

}  // namespace

GeneratorEntry mawi_family() {
  return {.family = {.name = "mawi",
                     .description = "one hub linked to 84 % of the vertices, few other edges, symmetric",
                     .size_means = "rows",
                     .default_size = 30'000'000,
                     .max_size = max_rows,
                     .symmetric = true,
                     .parameters = mawi_parameters},
          .expected = expected_mawi,
          .structure = make_mawi};
}

}  // namespace tessera::io
