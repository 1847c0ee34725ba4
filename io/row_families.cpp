// Generated matrices with given row lengths: band, rowskew.
#include "io/recipe.hpp"
#include "io/structure.hpp"

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

namespace {

/// Many short rows, some of moderate length, and a few that hold most of the matrix.
class SkewedRows {
 public:
  explicit SkewedRows(const Recipe& recipe)
      : n_(recipe.size()),
        heavy_rows_(std::min(n_ / 10, recipe.whole("heavy"))),
        heavy_length_(n_ / 10),
        heavy_seed_(draw_seed(recipe.seed(), Draw::heavy_row)),
        length_seed_(draw_seed(recipe.seed(), Draw::row)),
        column_seed_(draw_seed(recipe.seed(), Draw::edge)) {}

  [[nodiscard]] std::int64_t length(std::int64_t row) const {
    if (is_heavy(row)) return heavy_length_;
    SplitMix64 random(length_seed_, static_cast<std::uint64_t>(row));
    const double u = random.uniform();
    constexpr std::uint64_t least = 4;
    constexpr std::uint64_t most = 60;
    if (u >= 0.9) return std::min(n_, static_cast<std::int64_t>(least + random.below(most - least + 1)));
    return std::min<std::int64_t>(n_, u < 0.3 ? 0 : (u < 0.6 ? 1 : 2));
  }

  /// One column, anywhere, in each of `length` equal parts of the row.
  void fill(std::int64_t row, index_t* out) const {
    const std::int64_t count = length(row);
    SplitMix64 random(column_seed_, static_cast<std::uint64_t>(row));
    for (std::int64_t part = 0; part < count; ++part) out[part] = static_cast<index_t>(pick(n_, count, part, random));
  }

 private:
  static std::int64_t pick(std::int64_t n, std::int64_t parts, std::int64_t part, SplitMix64& random) {
    const host::Range range = host::part_of(n, parts, part);
    return range.begin + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(range.size())));
  }

  /// One heavy row in each of heavy_rows_ equal parts of the matrix.
  [[nodiscard]] bool is_heavy(std::int64_t row) const {
    if (heavy_rows_ == 0) return false;
    const std::int64_t part = ((row + 1) * heavy_rows_ - 1) / n_;
    SplitMix64 random(heavy_seed_, static_cast<std::uint64_t>(part));
    return pick(n_, heavy_rows_, part, random) == row;
  }

  std::int64_t n_;
  std::int64_t heavy_rows_;
  std::int64_t heavy_length_;
  std::uint64_t heavy_seed_;
  std::uint64_t length_seed_;
  std::uint64_t column_seed_;
};

Structure make_rowskew(const Recipe& recipe) {
  const SkewedRows rows(recipe);
  return structure_by_rows(
      recipe.size(), recipe.size(), [&](std::int64_t row) { return rows.length(row); },
      [&](std::int64_t row, index_t* out) { rows.fill(row, out); });
}

Expected expected_rowskew(const Recipe& recipe) {
  const auto n = static_cast<double>(recipe.size());
  const std::int64_t tenth = recipe.size() / 10;
  const auto heavy = static_cast<double>(std::min(tenth, recipe.whole("heavy")));
  constexpr double light_mean = 0.3 * 1 + 0.3 * 2 + 0.1 * 32;
  return {n, (n - heavy) * std::min(light_mean, n) + heavy * static_cast<double>(tenth)};
}

constexpr std::array<GeneratorParameter, 1> rowskew_parameters{
    {{"heavy", "rows of n/10 entries, at most n/10 of them", 200, 0, 1e6, true}}};

}  // namespace

GeneratorEntry rowskew_family() {
  return {.family = {.name = "rowskew",
                     .description = "rows of 0, 1, 2 and up to 60 entries, and 200 rows of a tenth of all columns",
                     .size_means = "rows",
                     .default_size = 2'000'000,
                     .max_size = max_rows,
                     .parameters = rowskew_parameters},
          .expected = expected_rowskew,
          .structure = make_rowskew};
}

}  // namespace tessera::io
