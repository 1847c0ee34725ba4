#include "core/portable_math.hpp"
#include "io/recipe.hpp"
#include "io/structure.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace tessera::io {

namespace {

constexpr double shortest_row = 2.2;
constexpr double row_exponent = 1.1;
constexpr std::int64_t least_reach = 300;

/// Cap of the row length: proportional to n (100 000 at 15 million rows), at least 100 so that some rows stay long.
std::int64_t longest_row(const Recipe& recipe) {
  const std::int64_t n = recipe.size();
  return std::min(n, std::clamp<std::int64_t>(n / 150, 100, 100'000));
}

/// Web pages: row lengths follow a power law, most links stay near, the others go to pages by popularity (Zipf).
class WebRows {
 public:
  explicit WebRows(const Recipe& recipe)
      : n_(recipe.size()),
        cap_(static_cast<double>(longest_row(recipe))),
        local_(recipe["local"]),
        zipf_power_(1.0 - recipe["zipf"]),
        zipf_range_(portable_pow(static_cast<double>(n_) + 1.0, zipf_power_) - 1.0),
        seed_(draw_seed(recipe.seed(), Draw::row)),
        renumber_(static_cast<std::uint64_t>(n_), draw_seed(recipe.seed(), Draw::permutation)) {}

  /// Links drawn in a row.
  [[nodiscard]] std::int64_t length(std::int64_t row) const {
    SplitMix64 random = stream(row);
    return drawn_length(random);
  }

  void fill(std::int64_t row, index_t* out) const {
    SplitMix64 random = stream(row);
    const std::int64_t count = drawn_length(random);
    const std::int64_t reach = std::max(least_reach, 2 * count);
    const std::int64_t first = std::max<std::int64_t>(row - reach, 0);
    const std::int64_t last = std::min(row + reach, n_ - 1);
    for (std::int64_t k = 0; k < count; ++k) {
      const bool near = random.uniform() < local_;
      out[k] = near ? static_cast<index_t>(
                          first + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(last - first + 1))))
                    : popular(random.uniform());
    }
  }

 private:
  [[nodiscard]] SplitMix64 stream(std::int64_t row) const { return {seed_, static_cast<std::uint64_t>(row)}; }

  /// Pareto by inversion, from a number in (0, 1].
  [[nodiscard]] std::int64_t drawn_length(SplitMix64& random) const {
    const double u = 1.0 - random.uniform();
    return static_cast<std::int64_t>(std::min(cap_, shortest_row * portable_pow(u, -1.0 / row_exponent)));
  }

  /// Inverse of the distribution function (x^(1-s) - 1) / ((n+1)^(1-s) - 1) of the rank x in [1, n + 1).
  [[nodiscard]] index_t popular(double u) const {
    const double x = portable_pow(1.0 + u * zipf_range_, 1.0 / zipf_power_);
    const std::int64_t rank = std::clamp<std::int64_t>(static_cast<std::int64_t>(x), 1, n_);
    return static_cast<index_t>(renumber_(static_cast<std::uint64_t>(rank - 1)));
  }

  std::int64_t n_;
  double cap_;
  double local_;
  double zipf_power_;
  double zipf_range_;
  std::uint64_t seed_;
  Permutation renumber_;
};

Structure make_web(const Recipe& recipe) {
  const WebRows rows(recipe);
  Structure draft = structure_by_rows(
      recipe.size(), recipe.size(), [&](std::int64_t row) { return rows.length(row); },
      [&](std::int64_t row, index_t* out) { rows.fill(row, out); });
  return sorted_without_duplicates(std::move(draft));
}

/// Mean of the capped Pareto distribution.
Expected expected_web(const Recipe& recipe) {
  const auto n = static_cast<double>(recipe.size());
  const auto cap = static_cast<double>(longest_row(recipe));
  if (cap <= shortest_row) return {n, n * cap, true};
  const double tail = cap * portable_pow(shortest_row / cap, row_exponent);
  const double mean = (shortest_row * row_exponent - tail) / (row_exponent - 1.0);
  return {n, n * mean, true};
}

constexpr std::array<GeneratorParameter, 2> web_parameters{
    {{"local", "share of the links that stay near", 0.8, 0, 1},
     {"zipf", "exponent of the popularity of the others", 0.8, 0, 0.99}}};

}  // namespace

GeneratorEntry web_family() {
  return {.family = {.name = "web",
                     .description = "power-law rows, most links near, the others to popular pages",
                     .size_means = "rows",
                     .default_size = 15'000'000,
                     .max_size = max_rows,
                     .parameters = web_parameters},
          .expected = expected_web,
          .structure = make_web};
}

}  // namespace tessera::io
