#include "inspect.hpp"
#include "ladder_report.hpp"
#include "summary_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string_view>
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

std::string histogram_text(const std::vector<index_t>& histogram, std::size_t margin, std::size_t longest) {
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
  std::string text;
  for (const auto& [range, count] : bars) {
    const double length = static_cast<double>(longest) * static_cast<double>(count) / static_cast<double>(most);
    // A bin that holds anything shows.
    const auto bar = static_cast<std::size_t>(count == 0 ? 0.0 : std::max(1.0, std::round(length)));
    text +=
        fmt::format("{:{}}{:>15} {:>11}{}{}\n", "", margin, range, count, bar == 0 ? "" : " ", std::string(bar, '#'));
  }
  return text;
}

namespace {

constexpr std::size_t margin = 12;  ///< where the text of a line begins

[[nodiscard]] double percent(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 100.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

/// "1.2e-03 ... 4.5e+06 (ratio 3.7e+09)".
[[nodiscard]] std::string range_text(double low, double high) {
  if (high == 0.0) return "all zero";
  if (low == high) return fmt::format("all {:.4g}", low);
  return fmt::format("{:.4g} ... {:.4g} (ratio {:.2g})", low, high, high / low);
}

[[nodiscard]] std::string matrix_line(const InspectOutcome& outcome, std::size_t width) {
  const MatrixStatistics& m = outcome.matrix;
  std::string text = fmt::format("{}{}: {} x {}, {} nonzeros", shown_problem(outcome, width),
                                 outcome.transposed ? ", transposed" : "", m.rows, m.cols, m.nnz);
  const double positions = static_cast<double>(m.rows) * static_cast<double>(m.cols);
  if (positions > 0) text += fmt::format(" ({:.3g} % full)", 100.0 * static_cast<double>(m.nnz) / positions);
  return line("matrix", text);
}

[[nodiscard]] std::string file_line(const InspectOutcome& outcome) {
  if (!outcome.header) return {};
  const MatrixMarketHeader& header = *outcome.header;
  std::string text = fmt::format("{} {} {}, {} entries", to_string(header.format), to_string(header.field),
                                 to_string(header.symmetry), header.entries);
  text += outcome.duplicates == 0
              ? std::string(", no duplicates")
              : fmt::format(", {} {}", counted(outcome.duplicates, "duplicate"), outcome.pattern ? "merged" : "summed");
  return line("file", text + cache_text(outcome));
}

[[nodiscard]] std::string values_line(const InspectOutcome& outcome) {
  if (outcome.pattern) return line("values", "none stored: every nonzero counts as 1");
  const MatrixStatistics& m = outcome.matrix;
  const MatrixDetails& d = outcome.details;
  return line("values", fmt::format("{}, |a| {}; {} negative, {} stored zeros",
                                    outcome.precision == Precision::fp64 ? "fp64" : "fp32",
                                    range_text(d.min_abs, d.max_abs), d.negative, m.explicit_zeros));
}

[[nodiscard]] std::string symmetry_line(const InspectOutcome& outcome) {
  if (!outcome.components) return line("symmetry", "none: the matrix is not square");
  const MatrixDetails& d = outcome.details;
  std::string text = d.mirrored == d.off_diagonal ? std::string("positions symmetric")
                                                  : fmt::format("{:.3g} % of the off-diagonal positions mirrored",
                                                                percent(d.mirrored, d.off_diagonal));
  if (outcome.pattern) return line("symmetry", text);
  switch (value_symmetry(outcome)) {
    case ValueSymmetry::exact:
      return line("symmetry", text + ", values symmetric exactly (tolerance 0)");
    case ValueSymmetry::rounding:
      return line("symmetry",
                  fmt::format("{}, values up to rounding: |a_ij - a_ji| <= {:.2g} max |a| (tolerance {:.2g})", text,
                              d.asymmetry, symmetry_tolerance(outcome.precision)));
    case ValueSymmetry::skew:
      return line("symmetry", text + ", values skew-symmetric exactly (tolerance 0)");
    case ValueSymmetry::none:
      break;
  }
  return line("symmetry", fmt::format("{}, values not: {:.3g} % equal their mirror, max |a_ij - a_ji| = {:.2g} max |a|",
                                      text, percent(d.equal_pairs, d.off_diagonal), d.asymmetry));
}

[[nodiscard]] std::string diagonal_line(const InspectOutcome& outcome) {
  const MatrixStatistics& m = outcome.matrix;
  const index_t n = std::min(m.rows, m.cols);
  std::string text =
      m.full_diagonal() ? fmt::format("full ({})", n) : fmt::format("{} missing of {}", m.diagonal_missing, n);
  text += fmt::format(", {} zero, {} negative", m.diagonal_zero, m.diagonal_negative);
  if (m.diagonal_missing < n) text += fmt::format("; |a_ii| {}", range_text(m.diagonal_min_abs, m.diagonal_max_abs));
  return line("diagonal", text);
}

[[nodiscard]] std::string dominance_line(const InspectOutcome& outcome) {
  const MatrixStatistics& m = outcome.matrix;
  return line("dominance",
              fmt::format("|a_ii| >= sum of the rest of the row in {} of {} rows, > in {}", m.weakly_dominant_rows,
                          std::min(m.rows, m.cols), outcome.details.strictly_dominant_rows));
}

[[nodiscard]] std::string scaling_line(const InspectOutcome& outcome) {
  const MatrixDetails& d = outcome.details;
  return line("scaling", fmt::format("2-norms of the rows {}", range_text(d.row_norm_min, d.row_norm_max)));
}

[[nodiscard]] std::string band_line(const InspectOutcome& outcome) {
  const MatrixDetails& d = outcome.details;
  const double mean =
      outcome.matrix.rows == 0 ? 0.0 : static_cast<double>(d.profile) / static_cast<double>(outcome.matrix.rows);
  return line("band", fmt::format("{} below and {} above the diagonal; profile {} ({:.3g} per row)", d.lower_bandwidth,
                                  d.upper_bandwidth, d.profile, mean));
}

[[nodiscard]] std::string structure_lines(const InspectOutcome& outcome) {
  const MatrixStatistics& m = outcome.matrix;
  std::string text = line("empty", fmt::format("{} rows, {} columns", m.empty_rows, m.empty_cols));
  if (!outcome.components) return text;
  const ComponentCounts& weak = *outcome.components;
  const ComponentCounts& strong = *outcome.strong_components;
  const auto describe = [](const ComponentCounts& counts, std::string_view kind) {
    if (counts.count <= 1) return fmt::format("{} {}component{}", counts.count, kind, counts.count == 1 ? "" : "s");
    return fmt::format("{} {}components (largest {}, {} of one row)", counts.count, kind, counts.largest,
                       counts.singletons);
  };
  std::string parts = describe(weak, "");
  if (strong.count != weak.count) parts += "; " + describe(strong, "strong ");
  return text + line("connected", parts);
}

[[nodiscard]] std::string row_lines(const InspectOutcome& outcome, std::size_t width) {
  const MatrixStatistics& m = outcome.matrix;
  const MatrixDetails& d = outcome.details;
  std::string text =
      line("rows", fmt::format("length {} ... {}, mean {:.4g}, standard deviation {:.3g}, Gini {:.2f}", m.min_row_nnz,
                               m.max_row_nnz, m.mean_row_nnz, m.stddev_row_nnz, m.gini_row_nnz));
  if (d.hub_rows > 0) {
    text += line("hubs", fmt::format("{} longer than 16 x mean hold {:.3g} % of the nonzeros; the longest {:.3g} %",
                                     counted(d.hub_rows, "row"), percent(d.hub_nnz, m.nnz), 100.0 * m.max_row_share));
  }
  constexpr std::size_t range_and_count = 28;
  constexpr std::size_t longest_bar = 40;
  const std::size_t room = width == 0 ? longest_bar : std::min(longest_bar, width - margin - range_and_count);
  return text + histogram_text(m.row_length_histogram, margin, std::max<std::size_t>(room, 1));
}

[[nodiscard]] std::string tiles_line(const InspectOutcome& outcome) {
  if (outcome.matrix.nnz == 0) return {};
  return line("tiles", fmt::format("{:.0f} of 8 x 8, {:.3g} % full: tiles pay from 28 % on", outcome.tiles.tiles,
                                   100.0 * outcome.tiles.fill));
}

[[nodiscard]] std::string kernel_lines(const InspectOutcome& outcome) {
  std::string text = line("memory", fmt::format("matrix {}", size_text(outcome.memory.matrix)));
  std::string plans;
  for (const KernelCost& cost : outcome.kernels) {
    if (!plans.empty()) plans += ", ";
    plans += cost.plan ? fmt::format("{} {} ({})", to_string(cost.algorithm), size_text(cost.plan->bytes),
                                     time_text(cost.plan->build_ms))
                       : fmt::format("{} does not {}", to_string(cost.algorithm), cost.refused ? "apply" : "fit");
  }
  text += line("plans", plans) + layouts_text(outcome.layouts);
  if (outcome.predictions && !outcome.predictions->kernels.empty()) {
    text += line("predicted", predictions_text(*outcome.predictions));
  }
  return text;
}

/// "dictionary 1.2, values in full 8.2 bytes per nonzero; no symmetric half: ..."; what is not taken.
[[nodiscard]] std::string other_layouts(const std::vector<detail::LayoutOutlook>& layouts, SpmvAlgorithm algorithm) {
  std::string possible;
  std::string refused;
  for (const detail::LayoutOutlook& layout : layouts) {
    if (layout.algorithm != algorithm || layout.taken) continue;
    if (layout.qualifies) {
      possible += fmt::format("{}{} {:.3g}", possible.empty() ? "" : ", ", layout.layout, layout.bytes_per_nonzero);
    } else {
      refused += fmt::format("{}no {}: {}", refused.empty() ? "" : "; ", layout.layout, layout.reason);
    }
  }
  if (!possible.empty()) possible += " bytes per nonzero";
  return possible + (possible.empty() || refused.empty() ? "" : "; ") + refused;
}

/// Of a kernel, or nothing.
[[nodiscard]] const detail::LayoutOutlook* taken_layout(const std::vector<detail::LayoutOutlook>& layouts,
                                                        SpmvAlgorithm algorithm) {
  const auto found = std::find_if(layouts.begin(), layouts.end(), [algorithm](const detail::LayoutOutlook& layout) {
    return layout.algorithm == algorithm && layout.taken;
  });
  return found == layouts.end() ? nullptr : &*found;
}

/// Nothing where the finest level would be the only one.
[[nodiscard]] std::string amg_line(const InspectOutcome& outcome) {
  if (!outcome.amg || outcome.amg->prediction.levels.size() < 2) return {};
  const support::AmgPrediction& amg = outcome.amg->prediction;
  std::string rows;
  for (const support::PredictedLevel& level : amg.levels) {
    rows += fmt::format("{}{}", rows.empty() ? "" : ", ", level.rows);
  }
  return line("amg",
              fmt::format("{:.3g} strong neighbours per row: about {} levels ({} rows), operator complexity {:.2f}",
                          amg.strong_neighbours, amg.levels.size(), rows, amg.operator_complexity));
}

[[nodiscard]] std::string advice_lines(const InspectOutcome& outcome) {
  const Advice& advice = outcome.advice;
  std::string text = line("kernel", fmt::format("{}: {}", to_string(outcome.plan.algorithm), outcome.plan.reason));
  text += line("method", advice.method.empty() ? "none: " + advice.method_reason
                                               : fmt::format("{}: {}", advice.method, advice.method_reason));
  if (!advice.precond.empty()) text += line("precond", fmt::format("{}: {}", advice.precond, advice.precond_reason));
  if (!advice.command.empty()) text += line("try", advice.command);
  return text;
}

}  // namespace

std::string layouts_text(const std::vector<detail::LayoutOutlook>& layouts) {
  using enum SpmvAlgorithm;
  if (layouts.empty()) return {};
  const auto* const by_patterns = taken_layout(layouts, patterns);
  const auto* const by_sell = taken_layout(layouts, sell);
  const std::string other = other_layouts(layouts, patterns);
  std::string text = line("layouts", fmt::format("patterns: {}", by_patterns != nullptr ? by_patterns->reason : other));
  if (by_patterns != nullptr && !other.empty()) text += line("", "else " + other);
  std::string rest = fmt::format("sell: {}", by_sell != nullptr ? by_sell->reason : other_layouts(layouts, sell));
  // The values are those of patterns.
  for (const detail::LayoutOutlook& layout : layouts) {
    if (by_sell == nullptr || layout.algorithm != sell || layout.qualifies) continue;
    const bool said = by_patterns != nullptr && other.find(layout.reason) != std::string::npos;
    if (!said) rest += fmt::format("; no {}: {}", layout.layout, layout.reason);
  }
  if (const auto* const by_tiles = taken_layout(layouts, tiles)) rest += fmt::format(". tiles: {}", by_tiles->reason);
  return text + line("", rest);
}

std::string inspect_text(const InspectOutcome& outcome, std::size_t width) {
  std::string text = matrix_line(outcome, width) + file_line(outcome) + values_line(outcome) + symmetry_line(outcome);
  text += diagonal_line(outcome) + dominance_line(outcome) + scaling_line(outcome);
  text += band_line(outcome) + structure_lines(outcome) + tiles_line(outcome) + row_lines(outcome, width);
  if (outcome.spy) text += spy_text(*outcome.spy, margin);
  text += kernel_lines(outcome) + amg_line(outcome) + advice_lines(outcome);
  if (outcome.ladder) text += planned_ladder_lines(outcome.ladder->facts, outcome.ladder->given_up);
  return text + line("time", fmt::format("{} {}, inspect {}", outcome.from_file ? "read" : "generate",
                                         time_text(outcome.read_ms), time_text(outcome.inspect_ms)));
}

}  // namespace tessera::cli
