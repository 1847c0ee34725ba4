/// \file
/// Plots as inline SVG: scales with ticks, a plane with axes, curves thinned to what a screen shows, intervals small
/// enough for a cell of a table. Colours are classes of the page's style sheet, so that it decides on light and dark.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::cli::report {

/// Values to pixels, linearly or by their logarithm.
class Scale {
 public:
  /// An empty range is widened; with `is_log` both ends are > 0, and become powers of ten.
  Scale(double low, double high, bool is_log);
  void place(double from, double to) {
    from_ = from;
    to_ = to;
  }
  [[nodiscard]] double operator()(double value) const;
  [[nodiscard]] double low() const { return low_; }
  [[nodiscard]] double high() const { return high_; }
  /// Round values in the range, at most about `most`.
  [[nodiscard]] std::vector<double> ticks(std::size_t most) const;
  /// "0.5"; of a logarithmic scale "10⁻³".
  [[nodiscard]] std::string text(double tick) const;

 private:
  double low_ = 0.0;
  double high_ = 1.0;
  bool is_log_ = false;
  double from_ = 0.0;
  double to_ = 1.0;
};

struct Point {
  double x = 0.0;
  double y = 0.0;
};

/// M4 (Jugel et al.): of the points that share one of `columns` columns of the range of x, the first, the last, the
/// lowest and the highest, in their order. As polylines both look the same where a column is a pixel.
[[nodiscard]] std::vector<Point> thinned(const std::vector<Point>& points, std::size_t columns);

/// Class of the i-th of several curves: colours that colour-blind people tell apart (Okabe & Ito), then dashes.
[[nodiscard]] std::string curve_class(std::size_t index);
/// A piece of the curve, for a legend.
[[nodiscard]] std::string curve_sample(std::size_t index);

/// A plane with axes, gridlines and labels.
class Plot {
 public:
  /// \param name of the plot in this page, for ids \param x_label, y_label text
  Plot(std::string name, int width, int height, Scale x, Scale y, const std::string& x_label,
       const std::string& y_label);

  [[nodiscard]] double across(double x) const { return x_(x); }
  [[nodiscard]] double down(double y) const { return y_(y); }
  [[nodiscard]] const Scale& x() const { return x_; }
  [[nodiscard]] const Scale& y() const { return y_; }

  /// \param columns see thinned()
  void curve(const std::vector<Point>& points, std::size_t index, std::size_t columns);
  void dot(Point at, std::string_view classes, std::string_view title);
  /// A line from the left to the right edge, with a label above its left end.
  void level(double y, std::string_view classes, std::string_view label);
  void line(Point from, Point to, std::string_view classes);
  /// \param anchor "start", "middle" or "end" \param shift in pixels
  void text(Point at, Point shift, std::string_view anchor, std::string_view words, std::string_view classes = {});
  /// Labels behind points, moved apart where they would overlap, each with a line to its point.
  struct Label {
    Point at;
    std::string words;
    std::string classes;
  };
  void labels(std::vector<Label> labels, double gap, bool is_led);

  /// \param title, description text, for those who do not see it
  [[nodiscard]] std::string svg(std::string_view title, std::string_view description) const;

 private:
  std::string name_;
  int width_;
  int height_;
  Scale x_;
  Scale y_;
  std::string elements_;
};

/// The middle of a distribution: a line from low to high and a dot, at most 100 % of a cell wide.
struct Interval {
  double low = 0.0;
  double middle = 0.0;
  double high = 0.0;
};

/// Intervals of the rows of a table on one scale.
class IntervalColumn {
 public:
  /// \param reference a vertical line, such as 1 for ratios
  IntervalColumn(const std::vector<Interval>& intervals, std::optional<double> reference);
  /// Ticks, for the heading.
  [[nodiscard]] std::string axis(std::string_view title) const;
  [[nodiscard]] std::string cell(const Interval& interval, std::string_view classes = {}) const;

 private:
  Scale scale_;
  std::optional<double> reference_;
};

}  // namespace tessera::cli::report
