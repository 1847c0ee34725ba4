// A history of residuals in dots of Braille, eight per character, or in ASCII, two per character.
#include "report/history_plot.hpp"

#include "summary_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace tessera::cli {

namespace {

constexpr std::size_t lines = 12;

/// Dots in a plane of characters.
class Canvas {
 public:
  Canvas(std::size_t columns, bool is_utf8)
      : columns_(columns), is_utf8_(is_utf8), across_(is_utf8 ? 2 : 1), down_(is_utf8 ? 4 : 2) {
    dots_.resize(width() * height());
  }
  [[nodiscard]] std::size_t width() const { return columns_ * across_; }
  [[nodiscard]] std::size_t height() const { return lines * down_; }
  void set(std::size_t x, std::size_t y) { dots_[y * width() + x] = true; }

  /// One line of characters, without blanks at its end.
  [[nodiscard]] std::string row(std::size_t line) const {
    std::string text;
    std::size_t end = 0;
    for (std::size_t column = 0; column < columns_; ++column) {
      const std::string cell = is_utf8_ ? braille(column, line) : ascii(column, line);
      text += cell;
      if (cell != " ") end = text.size();
    }
    return text.substr(0, end);
  }

 private:
  [[nodiscard]] bool dot(std::size_t column, std::size_t line, std::size_t x, std::size_t y) const {
    return dots_[(line * down_ + y) * width() + column * across_ + x];
  }

  /// U+2800 and a bit per dot: 1 2 4 64 down the left side, 8 16 32 128 down the right one.
  [[nodiscard]] std::string braille(std::size_t column, std::size_t line) const {
    constexpr std::array<std::array<unsigned, 4>, 2> bits{{{1, 2, 4, 64}, {8, 16, 32, 128}}};
    unsigned pattern = 0;
    for (std::size_t x = 0; x < across_; ++x) {
      for (std::size_t y = 0; y < down_; ++y) pattern |= dot(column, line, x, y) ? bits[x][y] : 0U;
    }
    if (pattern == 0) return " ";
    // The UTF-8 of U+2800 to U+28FF: E2, A0 to A3, 80 to BF.
    return {static_cast<char>(0xE2), static_cast<char>(0xA0U | pattern >> 6U),
            static_cast<char>(0x80U | (pattern & 0x3FU))};
  }

  [[nodiscard]] std::string ascii(std::size_t column, std::size_t line) const {
    const bool upper = dot(column, line, 0, 0);
    const bool lower = dot(column, line, 0, 1);
    return upper && lower ? ":" : upper ? "'" : lower ? "." : " ";
  }

  std::size_t columns_;
  bool is_utf8_;
  std::size_t across_;
  std::size_t down_;
  std::vector<bool> dots_;
};

struct Range {
  double low = 0.0;
  double high = 0.0;
  [[nodiscard]] std::size_t place(double value, std::size_t places) const {
    const double share = high > low ? (value - low) / (high - low) : 0.0;
    return static_cast<std::size_t>(std::lround(std::clamp(share, 0.0, 1.0) * static_cast<double>(places - 1)));
  }
};

struct Dot {
  double iteration = 0.0;
  double level = 0.0;  ///< log10 of the residual
};

[[nodiscard]] std::vector<Dot> dots_of(const std::vector<HistoryEntry>& history) {
  std::vector<Dot> dots;
  for (const HistoryEntry& entry : history) {
    if (!std::isfinite(entry.recurrence) || !(entry.recurrence > 0.0)) continue;
    dots.push_back({static_cast<double>(entry.iteration), std::log10(entry.recurrence)});
  }
  return dots;
}

void draw_curve(const std::vector<Dot>& dots, const Range& iterations, const Range& levels, Canvas& canvas) {
  const auto x_of = [&](const Dot& dot) { return iterations.place(dot.iteration, canvas.width()); };
  const auto y_of = [&](const Dot& dot) { return canvas.height() - 1 - levels.place(dot.level, canvas.height()); };
  for (std::size_t i = 0; i < dots.size(); ++i) {
    const Dot& from = dots[i == 0 ? 0 : i - 1];
    const Dot& to = dots[i];
    const auto x_steps = static_cast<double>(x_of(to)) - static_cast<double>(x_of(from));
    const auto y_steps = static_cast<double>(y_of(to)) - static_cast<double>(y_of(from));
    const auto steps = static_cast<std::size_t>(std::max({std::abs(x_steps), std::abs(y_steps), 1.0}));
    for (std::size_t step = 0; step <= steps; ++step) {
      const double share = static_cast<double>(step) / static_cast<double>(steps);
      canvas.set(static_cast<std::size_t>(std::lround(static_cast<double>(x_of(from)) + share * x_steps)),
                 static_cast<std::size_t>(std::lround(static_cast<double>(y_of(from)) + share * y_steps)));
    }
  }
}

}  // namespace

std::string history_plot(const std::vector<HistoryEntry>& history, std::string_view what, double target,
                         std::size_t width, bool is_utf8) {
  constexpr std::size_t margin = 9;  // "  1e-07 |"
  const std::vector<Dot> dots = dots_of(history);
  if (dots.empty()) return line("plot", fmt::format("nothing to draw: {} is never above 0", what));
  Range iterations{dots.front().iteration, dots.front().iteration};
  Range levels{dots.front().level, dots.front().level};
  for (const Dot& dot : dots) {
    iterations = {std::min(iterations.low, dot.iteration), std::max(iterations.high, dot.iteration)};
    levels = {std::min(levels.low, dot.level), std::max(levels.high, dot.level)};
  }
  const bool has_target = std::isfinite(target) && target > 0.0;
  if (has_target) levels = {std::min(levels.low, std::log10(target)), std::max(levels.high, std::log10(target))};
  levels = {std::floor(levels.low), std::max(std::ceil(levels.high), std::floor(levels.low) + 1.0)};

  Canvas canvas(std::max<std::size_t>(width, 40) - margin, is_utf8);
  if (has_target) {
    constexpr std::size_t spacing = 4;
    const std::size_t y = canvas.height() - 1 - levels.place(std::log10(target), canvas.height());
    for (std::size_t x = 0; x < canvas.width(); x += spacing) canvas.set(x, y);
  }
  draw_curve(dots, iterations, levels, canvas);

  std::string text = line("plot", fmt::format("{} by iteration{}", what,
                                              has_target ? fmt::format("; dotted: {:.2e}", target) : std::string()));
  const std::size_t dots_per_line = canvas.height() / lines;
  std::array<std::string, lines> labels;
  const auto decades = static_cast<int>(levels.high - levels.low);
  for (int decade = 0; decade <= decades; ++decade) {
    const double level = levels.high - decade;
    const std::size_t row = (canvas.height() - 1 - levels.place(level, canvas.height())) / dots_per_line;
    // + 0.0: -0 is 0.
    if (labels[row].empty()) labels[row] = fmt::format("1e{:+03.0f}", level + 0.0);
  }
  for (std::size_t row = 0; row < lines; ++row) {
    const std::string_view edge = labels[row].empty() ? (is_utf8 ? "│" : "|") : (is_utf8 ? "┤" : "+");
    text += fmt::format("{:>{}} {}{}\n", labels[row], margin - 2, edge, canvas.row(row));
  }
  const std::string first = fmt::format("{:.0f}", iterations.low);
  const std::string last = fmt::format("{:.0f}", iterations.high);
  const std::size_t room = std::max<std::size_t>(width, 40) - margin;
  return text + fmt::format("{:{}}{}{:>{}}\n", "", margin, first, last, room - first.size());
}

}  // namespace tessera::cli
