// Generated graphs: kmer (chains of a de Bruijn graph), mawi (packet traces with a hub), road (a grid of streets).
#include "core/portable_math.hpp"
#include "io/recipe.hpp"
#include "io/stencil_matrix.hpp"
#include "io/structure.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace tessera::io {

namespace {

/// Chains as in de Bruijn graphs of a genome: vertex i is linked to i + 1 and sometimes to a random vertex; then all
/// vertices are renumbered at random.
class KmerEdges {
 public:
  explicit KmerEdges(const Recipe& recipe)
      : n_(recipe.size()),
        chain_(recipe["chain"]),
        cross_(recipe["cross"]),
        chain_seed_(draw_seed(recipe.seed(), Draw::edge)),
        cross_seed_(draw_seed(recipe.seed(), Draw::second_edge)),
        renumber_(static_cast<std::uint64_t>(n_), draw_seed(recipe.seed(), Draw::permutation)) {}

  [[nodiscard]] DrawnEntry chain(std::int64_t i) const {
    if (i + 1 == n_ || SplitMix64(chain_seed_, static_cast<std::uint64_t>(i)).uniform() >= chain_) return {};
    return renumbered(i, i + 1);
  }

  [[nodiscard]] DrawnEntry cross(std::int64_t i) const {
    SplitMix64 random(cross_seed_, static_cast<std::uint64_t>(i));
    if (random.uniform() >= cross_) return {};
    const auto to = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(n_)));
    return to == i ? DrawnEntry{} : renumbered(i, to);
  }

 private:
  [[nodiscard]] DrawnEntry renumbered(std::int64_t from, std::int64_t to) const {
    return {static_cast<index_t>(renumber_(static_cast<std::uint64_t>(from))),
            static_cast<index_t>(renumber_(static_cast<std::uint64_t>(to)))};
  }

  std::int64_t n_;
  double chain_;
  double cross_;
  std::uint64_t chain_seed_;
  std::uint64_t cross_seed_;
  Permutation renumber_;
};

Structure make_kmer(const Recipe& recipe) {
  const std::int64_t n = recipe.size();
  const KmerEdges edges(recipe);
  return structure_by_entries(n, n, 4 * n, [&](std::int64_t k) {
    if (k < 2 * n) return k < n ? edges.chain(k) : edges.chain(k - n).mirrored();
    k -= 2 * n;
    return k < n ? edges.cross(k) : edges.cross(k - n).mirrored();
  });
}

Expected expected_kmer(const Recipe& recipe) {
  const auto n = static_cast<double>(recipe.size());
  return {n, 2 * n * (recipe["chain"] + recipe["cross"]), true};
}

constexpr std::array<GeneratorParameter, 2> kmer_parameters{
    {{"chain", "probability of the edge from a vertex to the next", 0.98, 0, 1},
     {"cross", "probability of an edge from a vertex to a random one", 0.085, 0, 1}}};

}  // namespace

GeneratorEntry kmer_family() {
  return {.family = {.name = "kmer",
                     .description = "chains with a few random links, vertices shuffled, symmetric",
                     .size_means = "rows",
                     .default_size = 55'000'000,
                     .max_size = max_rows,
                     .symmetric = true,
                     .parameters = kmer_parameters},
          .expected = expected_kmer,
          .structure = make_kmer};
}

namespace {

/// Packet traces: one hub linked to most vertices, and edges between a few busy vertices and all others.
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

  [[nodiscard]] DrawnEntry to_hub(std::int64_t v) const {
    if (v == hub_ || SplitMix64(hub_seed_, static_cast<std::uint64_t>(v)).uniform() >= hub_probability_) return {};
    return {static_cast<index_t>(hub_), static_cast<index_t>(v)};
  }

  /// From a vertex whose rank is log-uniform to any vertex.
  [[nodiscard]] DrawnEntry extra(std::int64_t k) const {
    SplitMix64 random(extra_seed_, static_cast<std::uint64_t>(k));
    const auto rank = static_cast<std::int64_t>(portable_exp2(random.uniform() * log2_n_));
    const auto busy = static_cast<std::uint64_t>(std::clamp<std::int64_t>(rank, 1, n_) - 1);
    const DrawnEntry edge{static_cast<index_t>(renumber_(busy)),
                          static_cast<index_t>(random.below(static_cast<std::uint64_t>(n_)))};
    return edge.row == edge.column ? DrawnEntry{} : edge;
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

namespace {

std::int64_t side_of(const Recipe& recipe) {
  return std::min<std::int64_t>(std::llround(std::sqrt(static_cast<double>(recipe.size()))), max_square_side);
}

/// A square grid, x fastest. Each edge to the right and each edge down is kept with probability p.
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
