#include "io/draw.hpp"
#include "io/recipe.hpp"

#include <array>

namespace tessera::io {

namespace {

/// Chains as in de Bruijn graphs of a genome: vertex i is linked to i + 1, now and then to a random one; then all
/// vertices are renumbered, so that neighbours lie anywhere.
class KmerEdges {
 public:
  explicit KmerEdges(const Recipe& recipe)
      : n_(recipe.size()),
        chain_(recipe["chain"]),
        cross_(recipe["cross"]),
        chain_seed_(draw_seed(recipe.seed(), Draw::edge)),
        cross_seed_(draw_seed(recipe.seed(), Draw::second_edge)),
        renumber_(static_cast<std::uint64_t>(n_), draw_seed(recipe.seed(), Draw::permutation)) {}

  [[nodiscard]] Entry chain(std::int64_t i) const {
    if (i + 1 == n_ || SplitMix64(chain_seed_, static_cast<std::uint64_t>(i)).uniform() >= chain_) return {};
    return renumbered(i, i + 1);
  }

  [[nodiscard]] Entry cross(std::int64_t i) const {
    SplitMix64 random(cross_seed_, static_cast<std::uint64_t>(i));
    if (random.uniform() >= cross_) return {};
    const auto to = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(n_)));
    return to == i ? Entry{} : renumbered(i, to);
  }

 private:
  [[nodiscard]] Entry renumbered(std::int64_t from, std::int64_t to) const {
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

}  // namespace tessera::io
