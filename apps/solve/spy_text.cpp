#include "inspect.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

namespace tessera::cli {

namespace {

/// From sparse to dense; a blank is a cell without entries.
constexpr std::string_view shades = ".:-=+*#@";

/// Shades share out the range between the least and the most dense cell evenly on a logarithmic scale.
class Shading {
 public:
  explicit Shading(const SpyGrid& grid) {
    for (int r = 0; r < grid.rows; ++r) {
      for (int c = 0; c < grid.cols; ++c) {
        const double density = grid.density(r, c);
        if (density == 0.0) continue;
        low_ = low_ == 0.0 ? density : std::min(low_, density);
        high_ = std::max(high_, density);
      }
    }
  }

  [[nodiscard]] char of(double density) const {
    if (density == 0.0) return ' ';
    if (low_ == high_) return shades.back();
    const double place = std::log(density / low_) / std::log(high_ / low_);
    const auto shade = static_cast<std::size_t>(place * static_cast<double>(shades.size()));
    return shades[std::min(shade, shades.size() - 1)];
  }

  [[nodiscard]] std::string legend(const SpyGrid& grid) const {
    const std::string size = fmt::format("{} x {} cells", grid.rows, grid.cols);
    if (high_ == 0.0) return size + ", all empty";
    if (low_ == high_) return fmt::format("{}, {} = {:.3g} % full", size, shades.back(), 100.0 * high_);
    return fmt::format("{}, {} to {} = {:.2g} % to {:.3g} % full (logarithmic), blank = empty", size, shades.front(),
                       shades.back(), 100.0 * low_, 100.0 * high_);
  }

 private:
  double low_ = 0.0;
  double high_ = 0.0;
};

}  // namespace

std::string spy_text(const SpyGrid& grid, std::size_t margin) {
  const Shading shading(grid);
  const std::string edge = fmt::format("{:{}}+{:-<{}}+\n", "", margin, "", grid.cols);
  std::string text = fmt::format("{:<{}}{}\n", "spy", margin, shading.legend(grid)) + edge;
  for (int r = 0; r < grid.rows; ++r) {
    text.append(margin, ' ').push_back('|');
    for (int c = 0; c < grid.cols; ++c) text += shading.of(grid.density(r, c));
    text += "|\n";
  }
  return text + edge;
}

std::string histogram_text(const std::vector<index_t>& histogram, std::size_t margin) {
  const auto first_used = std::find_if(histogram.begin(), histogram.end(), [](index_t count) { return count > 0; });
  if (first_used == histogram.end()) return {};
  // Powers of two, of four where that would take too many lines.
  constexpr std::size_t many_bins = 12;
  const std::size_t width = histogram.size() > many_bins ? 2 : 1;
  std::vector<std::pair<std::string, index_t>> bars;
  auto bin = static_cast<std::size_t>(first_used - histogram.begin());
  while (bin < histogram.size()) {
    const std::size_t end = bin == 0 ? 1 : std::min(bin + width, histogram.size());
    const offset_t first = bin == 0 ? 0 : offset_t{1} << (bin - 1);
    const offset_t last = (offset_t{1} << (end - 1)) - 1;
    const index_t count = std::accumulate(histogram.begin() + static_cast<std::ptrdiff_t>(bin),
                                          histogram.begin() + static_cast<std::ptrdiff_t>(end), index_t{0});
    bars.emplace_back(first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last), count);
    bin = end;
  }
  index_t most = 0;
  for (const auto& [range, count] : bars) most = std::max(most, count);
  constexpr double longest_bar = 40.0;
  std::string text;
  for (const auto& [range, count] : bars) {
    const double length = longest_bar * static_cast<double>(count) / static_cast<double>(most);
    // A bin that holds anything shows.
    const auto bar = static_cast<std::size_t>(count == 0 ? 0.0 : std::max(1.0, std::round(length)));
    text +=
        fmt::format("{:{}}{:>15} {:>11}{}{}\n", "", margin, range, count, bar == 0 ? "" : " ", std::string(bar, '#'));
  }
  return text;
}

}  // namespace tessera::cli
