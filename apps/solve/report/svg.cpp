// Plots as inline SVG.
#include "report/svg.hpp"

#include "report/html.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace tessera::cli::report {

namespace {

constexpr double left_edge = 62.0;
constexpr double right_edge = 34.0;
constexpr double top_edge = 24.0;
constexpr double bottom_edge = 40.0;
constexpr int cell_width = 120;
constexpr int cell_height = 18;
constexpr double cell_margin = 6.0;

/// 1, 2 or 5 times a power of ten: the smallest such step with at most `most` steps in the range.
[[nodiscard]] double nice_step(double range, std::size_t most) {
  const double least = range / static_cast<double>(std::max<std::size_t>(most, 1));
  const double power = std::pow(10.0, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= least) return factor * power;
  }
  return 10.0 * power;
}

[[nodiscard]] std::string superscript(int exponent) {
  constexpr std::string_view digits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string text = exponent < 0 ? "⁻" : "";
  for (const char c : fmt::format("{}", std::abs(exponent))) text += digits[c - '0'];
  return text;
}

}  // namespace

Scale::Scale(double low, double high, bool is_log) : low_(low), high_(high), is_log_(is_log) {
  if (is_log_) {
    constexpr double largest = 300.0;  // what lies beyond is drawn outside the plane
    low_ = std::pow(10.0, std::clamp(std::floor(std::log10(low)), -largest, largest));
    high_ = std::pow(10.0, std::clamp(std::ceil(std::log10(high)), -largest, largest));
    if (!(high_ > low_)) high_ = 10.0 * low_;
  } else if (!(high_ > low_)) {
    high_ = low_ + 1.0;
  }
}

double Scale::operator()(double value) const {
  const double share = is_log_ ? std::log10(value / low_) / std::log10(high_ / low_) : (value - low_) / (high_ - low_);
  return from_ + share * (to_ - from_);
}

std::vector<double> Scale::ticks(std::size_t most) const {
  std::vector<double> ticks;
  if (is_log_) {
    const int first = static_cast<int>(std::lround(std::log10(low_)));
    const int last = static_cast<int>(std::lround(std::log10(high_)));
    const int step = std::max(1, static_cast<int>(std::ceil((last - first) / static_cast<double>(most))));
    for (int exponent = last; exponent >= first; exponent -= step) ticks.push_back(std::pow(10.0, exponent));
    std::reverse(ticks.begin(), ticks.end());
    return ticks;
  }
  const double step = nice_step(high_ - low_, most);
  const double first = std::ceil(low_ / step);
  const auto steps = static_cast<int>(std::floor(high_ / step + 1e-9) - first);
  for (int i = 0; i <= steps; ++i) ticks.push_back((first + i) * step);
  return ticks;
}

std::string Scale::text(double tick) const {
  if (is_log_) {
    const int exponent = static_cast<int>(std::lround(std::log10(tick)));
    // As they are where all of them are short.
    if (low_ >= 1e-3 && high_ <= 1e4) return fmt::format("{:.{}f}", tick, std::max(0, -exponent));
    return "10" + superscript(exponent);
  }
  return fmt::format("{:.6g}", tick);
}

std::vector<Point> thinned(const std::vector<Point>& points, std::size_t columns) {
  constexpr std::size_t kept_per_column = 4;
  if (points.size() <= kept_per_column * columns) return points;
  const auto [first, last] =
      std::minmax_element(points.begin(), points.end(), [](const Point& a, const Point& b) { return a.x < b.x; });
  const double begin = first->x;
  const double width = std::max(last->x - begin, 1e-300) / static_cast<double>(columns);
  const auto column_of = [&](const Point& point) {
    return std::min(static_cast<std::size_t>((point.x - begin) / width), columns - 1);
  };
  std::vector<Point> kept;
  for (std::size_t i = 0; i < points.size();) {
    std::size_t end = i + 1;
    std::size_t lowest = i;
    std::size_t highest = i;
    for (; end < points.size() && column_of(points[end]) == column_of(points[i]); ++end) {
      if (points[end].y < points[lowest].y) lowest = end;
      if (points[end].y > points[highest].y) highest = end;
    }
    std::vector<std::size_t> chosen{i, lowest, highest, end - 1};
    std::sort(chosen.begin(), chosen.end());
    chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
    for (const std::size_t place : chosen) kept.push_back(points[place]);
    i = end;
  }
  return kept;
}

std::string curve_class(std::size_t index) {
  constexpr std::size_t colors = 7;
  constexpr std::size_t dashes = 4;
  return fmt::format("curve c{} d{}", index % colors, index / colors % dashes);
}

std::string curve_sample(std::size_t index) {
  return fmt::format(
      R"(<svg class="sample" viewBox="0 0 26 8" aria-hidden="true"><path class="{}" d="M0 4H26"/></svg>)",
      curve_class(index));
}

Plot::Plot(std::string name, int width, int height, Scale x, Scale y, const std::string& x_label,
           const std::string& y_label)
    : name_(std::move(name)), width_(width), height_(height), x_(x), y_(y) {
  x_.place(left_edge, width_ - right_edge);
  y_.place(height_ - bottom_edge, top_edge);
  constexpr std::size_t most_ticks = 8;
  const double bottom = y_(y_.low());
  for (const double tick : y_.ticks(most_ticks)) {
    line({x_.low(), tick}, {x_.high(), tick}, "grid");
    text({x_.low(), tick}, {-7, 4}, "end", y_.text(tick), "tick");
  }
  for (const double tick : x_.ticks(most_ticks)) {
    elements_ += fmt::format(R"(<path class="axis" d="M{:.1f} {:.1f}v4"/>)", x_(tick), bottom);
    text({tick, y_.low()}, {0, 17}, "middle", x_.text(tick), "tick");
  }
  line({x_.low(), y_.low()}, {x_.high(), y_.low()}, "axis");
  elements_ += fmt::format(R"(<text x="{:.1f}" y="{}" text-anchor="middle">{}</text>)",
                           (left_edge + width_ - right_edge) / 2, height_ - 5, escaped(x_label));
  elements_ += fmt::format("<text x=\"6\" y=\"12\">{}</text>\n", escaped(y_label));
}

void Plot::curve(const std::vector<Point>& points, std::size_t index, std::size_t columns) {
  if (points.empty()) return;
  std::vector<Point> pixels;
  pixels.reserve(points.size());
  for (const Point& point : points) pixels.push_back({across(point.x), down(point.y)});
  elements_ += fmt::format(R"(<polyline class="{}" points=")", curve_class(index));
  for (const Point& pixel : thinned(pixels, columns)) elements_ += fmt::format("{:.1f},{:.1f} ", pixel.x, pixel.y);
  elements_.back() = '"';
  elements_ += "/>\n";
}

void Plot::dot(Point at, std::string_view classes, std::string_view title) {
  elements_ += fmt::format("<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\"><title>{}</title></circle>\n",
                           classes, across(at.x), down(at.y), escaped(title));
}

void Plot::level(double y, std::string_view classes, std::string_view label) {
  line({x_.low(), y}, {x_.high(), y}, classes);
  text({x_.low(), y}, {6, -5}, "start", label, "note");
}

void Plot::line(Point from, Point to, std::string_view classes) {
  elements_ += fmt::format(R"(<path class="{}" d="M{:.1f} {:.1f}L{:.1f} {:.1f}"/>)", classes, across(from.x),
                           down(from.y), across(to.x), down(to.y));
}

void Plot::text(Point at, Point shift, std::string_view anchor, std::string_view words, std::string_view classes) {
  elements_ += fmt::format(R"(<text class="{}" x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>)", classes,
                           across(at.x) + shift.x, down(at.y) + shift.y, anchor, escaped(words));
}

void Plot::labels(std::vector<Label> labels, double gap, bool is_led) {
  constexpr double line_height = 13.0;
  std::sort(labels.begin(), labels.end(), [&](const Label& a, const Label& b) { return down(a.at.y) < down(b.at.y); });
  std::vector<double> heights;
  for (const Label& label : labels) {
    const double wanted = down(label.at.y);
    heights.push_back(heights.empty() ? wanted : std::max(wanted, heights.back() + line_height));
  }
  // What was pushed below the plane goes up again.
  constexpr double above_axis = 7.0;
  double lowest = height_ - bottom_edge - above_axis;
  for (std::size_t i = heights.size(); i-- > 0; lowest = heights[i] - line_height) {
    heights[i] = std::min(heights[i], lowest);
  }
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const double x = across(labels[i].at.x);
    if (is_led) {
      elements_ += fmt::format(R"(<path class="lead" d="M{:.1f} {:.1f}L{:.1f} {:.1f}"/>)", x + 5, down(labels[i].at.y),
                               x + gap - 3, heights[i]);
    }
    elements_ += fmt::format("<text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", labels[i].classes, x + gap,
                             heights[i] + 4, escaped(labels[i].words));
  }
}

std::string Plot::svg(std::string_view title, std::string_view description) const {
  return fmt::format(R"(<svg class="plot" viewBox="0 0 {} {}" role="img" aria-labelledby="{}-title {}-text">)"
                     "<title id=\"{}-title\">{}</title><desc id=\"{}-text\">{}</desc>\n{}</svg>",
                     width_, height_, name_, name_, name_, escaped(title), name_, escaped(description), elements_);
}

namespace {

/// From 0, so that lengths compare; by logarithms where the largest value is many times the smallest.
[[nodiscard]] Scale scale_of(const std::vector<Interval>& intervals, std::optional<double> reference) {
  constexpr double wide = 30.0;
  double low = reference.value_or(1e300);
  double high = reference.value_or(0.0);
  for (const Interval& interval : intervals) {
    for (const double value : {interval.low, interval.middle, interval.high}) {
      if (!std::isfinite(value) || value <= 0.0) continue;
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  const bool is_log = high > wide * low;
  Scale scale(is_log ? low : 0.0, is_log ? high : 1.02 * high, is_log);
  scale.place(cell_margin, cell_width - cell_margin);
  return scale;
}

}  // namespace

IntervalColumn::IntervalColumn(const std::vector<Interval>& intervals, std::optional<double> reference)
    : scale_(scale_of(intervals, reference)), reference_(reference) {}

std::string IntervalColumn::axis(std::string_view title) const {
  constexpr std::size_t most_ticks = 3;
  std::string ticks;
  for (const double tick : scale_.ticks(most_ticks)) {
    ticks += fmt::format(R"(<path class="axis" d="M{0:.1f} 14v4"/><text class="tick" x="{0:.1f}" y="11" )"
                         R"(text-anchor="middle">{1}</text>)",
                         scale_(tick), scale_.text(tick));
  }
  return fmt::format(R"({}<svg class="interval" viewBox="0 0 {} {}" aria-hidden="true">{}</svg>)", escaped(title),
                     cell_width, cell_height, ticks);
}

std::string IntervalColumn::cell(const Interval& interval, std::string_view classes) const {
  constexpr double middle = cell_height / 2.0;
  std::string marks;
  if (reference_) marks += fmt::format(R"(<path class="grid" d="M{:.1f} 0v{}"/>)", scale_(*reference_), cell_height);
  const auto is_drawn = [&](double value) { return std::isfinite(value) && std::isfinite(scale_(value)); };
  if (is_drawn(interval.low) && is_drawn(interval.high)) {
    marks += fmt::format(R"(<path class="span" d="M{:.1f} {}H{:.1f}"/>)", scale_(interval.low), middle,
                         scale_(interval.high));
  }
  if (is_drawn(interval.middle)) {
    marks +=
        fmt::format(R"(<circle class="mark {}" cx="{:.1f}" cy="{}" r="3"/>)", classes, scale_(interval.middle), middle);
  }
  return fmt::format(R"(<svg class="interval" viewBox="0 0 {} {}" aria-hidden="true">{}</svg>)", cell_width,
                     cell_height, marks);
}

}  // namespace tessera::cli::report
