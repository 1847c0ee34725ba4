// Residuals over iterations, and where the time went.
#include "report/figures.hpp"
#include "report/html.hpp"
#include "report/svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

namespace tessera::cli::report {

namespace {

constexpr int plot_width = 720;
constexpr int plot_height = 340;
constexpr std::size_t most_columns = 2400;  ///< of all curves together, see thinned()

struct Curve {
  const Entry* entry = nullptr;
  std::vector<Point> points;    ///< all that a logarithm can show, relative to `base`
  std::vector<Point> computed;  ///< b - A x itself, where it was formed
  double base = 1.0;
  std::string base_name;                                             ///< empty: not relative
  double target = 0.0;                                               ///< relative to `base`; 0: none
  double final_residual = std::numeric_limits<double>::quiet_NaN();  ///< as `points`
};

[[nodiscard]] double number_in(const Json& row, std::size_t column) {
  const bool is_there = row.is_array() && column < row.size() && row[column].is_number();
  return is_there ? row[column].get<double>() : std::numeric_limits<double>::quiet_NaN();
}

[[nodiscard]] bool is_shown(double value) { return std::isfinite(value) && value > 0.0; }

/// Of pagerank, hits or katz.
[[nodiscard]] double final_change(const Json& json) {
  for (const char* path : {"result/change", "result/residual", "result/error_bound"}) {
    if (find(json, path) != nullptr) return number_at(json, path);
  }
  return std::numeric_limits<double>::quiet_NaN();
}

[[nodiscard]] Curve curve_of(const Entry& entry, bool is_ranking) {
  const Json& json = entry.document->json;
  Curve curve;
  curve.entry = &entry;
  if (!is_ranking) {
    const bool is_r0 = text_at(json, "result/residual/base") == "r0";
    const double base = number_at(json, is_r0 ? "result/residual/r0_norm" : "result/residual/b_norm");
    if (is_shown(base)) {
      curve.base = base;
      curve.base_name = is_r0 ? "‖r₀‖" : "‖b‖";
    }
  }
  // The target of least squares is one of ||A'r||.
  const double target = is_ranking                                      ? number_at(json, "result/tolerance")
                        : find(json, "result/least_squares") != nullptr ? 0.0
                                                                        : number_at(json, "result/residual/target");
  if (is_shown(target)) curve.target = target / curve.base;
  for (const Json& row : array_at(json, "history/rows")) {
    const double iteration = number_in(row, 0);
    const double recurrence = number_in(row, 2) / curve.base;
    const double computed = number_in(row, 3) / curve.base;
    if (!std::isfinite(iteration)) continue;
    if (is_shown(recurrence)) curve.points.push_back({iteration, recurrence});
    if (is_shown(computed)) curve.computed.push_back({iteration, computed});
  }
  curve.final_residual = is_ranking ? final_change(json) : number_at(json, "result/residual/true") / curve.base;
  return curve;
}

/// The whole plane: smallest and largest value of all curves and tolerances.
[[nodiscard]] std::optional<std::pair<Point, Point>> bounds_of(const std::vector<Curve>& curves) {
  Point low{0.0, 1e300};
  Point high{1.0, 0.0};
  const auto include = [&](const Point& point) {
    if (!is_shown(point.y)) return;
    low.y = std::min(low.y, point.y);
    high.x = std::max(high.x, point.x);
    high.y = std::max(high.y, point.y);
  };
  for (const Curve& curve : curves) {
    for (const Point& point : curve.points) include(point);
    for (const Point& point : curve.computed) include(point);
    include({0.0, curve.target});
    include({0.0, curve.final_residual});
  }
  if (!(high.y > 0.0)) return std::nullopt;
  return std::pair(low, high);
}

/// Rows of a history that tell its course: the first and the last, and few between.
[[nodiscard]] std::vector<std::size_t> telling_rows(std::size_t rows, std::size_t most) {
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < std::min(rows, most); ++i) {
    chosen.push_back(rows <= most ? i : i * (rows - 1) / (most - 1));
  }
  return chosen;
}

[[nodiscard]] std::string history_table(const std::vector<Curve>& curves, bool is_ranking) {
  const std::size_t most_rows = curves.size() > 8 ? 6 : 16;
  Table table;
  table.headings = is_ranking ? std::vector<std::string>{"run", "iteration", "change"}
                              : std::vector<std::string>{"run", "iteration", "‖r‖", "‖b − A x‖"};
  for (const Curve& curve : curves) {
    const Json& rows = array_at(curve.entry->document->json, "history/rows");
    for (const std::size_t row : telling_rows(rows.size(), most_rows)) {
      std::vector<std::string> cells{escaped(curve.entry->label), count(number_in(rows[row], 0)),
                                     residual(number_in(rows[row], 2))};
      if (!is_ranking) cells.push_back(residual(number_in(rows[row], 3)));
      table.rows.push_back(std::move(cells));
    }
  }
  return html(table);
}

[[nodiscard]] std::string legend(const std::vector<Curve>& curves) {
  if (curves.size() < 2) return {};
  std::string text = "<ol class=\"legend\">\n";
  for (std::size_t i = 0; i < curves.size(); ++i) {
    const std::string status = text_at(curves[i].entry->document->json, "result/status");
    text += fmt::format("<li>{} {}{}</li>\n", curve_sample(i), escaped(curves[i].entry->label),
                        status == "converged" ? "" : " <em>(" + escaped(status) + ")</em>");
  }
  return text + "</ol>\n";
}

void draw_targets(const std::vector<Curve>& curves, Plot& plot) {
  const double first = curves.front().target;
  const bool is_common = std::all_of(
      curves.begin(), curves.end(), [&](const Curve& curve) { return std::abs(curve.target - first) <= 1e-9 * first; });
  for (std::size_t i = 0; i < curves.size(); ++i) {
    if (curves[i].target == 0.0 || (is_common && i > 0)) continue;
    const std::string whose = is_common ? "" : fmt::format(" of {}", i + 1);
    plot.level(curves[i].target, is_common ? "target" : "target " + curve_class(i),
               fmt::format("tolerance{} {:.3g}", whose, curves[i].target));
  }
}

[[nodiscard]] std::string description(const std::vector<Curve>& curves, std::string_view what) {
  std::string text;
  for (const Curve& curve : curves) {
    text += fmt::format("{}{}: ", text.empty() ? "" : "; ", curve.entry->label);
    if (curve.points.empty()) {
      text += "no history";
    } else {
      text += fmt::format("{} from {:.2e} at iteration {} to {:.2e} at iteration {}", what, curve.points.front().y,
                          curve.points.front().x, curve.points.back().y, curve.points.back().x);
    }
  }
  return text;
}

/// Of several curves one of which is many times as long as another, the short ones are seen on a logarithmic axis only.
[[nodiscard]] bool wants_log_iterations(const std::vector<Curve>& curves) {
  constexpr double many = 10.0;
  double shortest = 1e300;
  double longest = 0.0;
  for (const Curve& curve : curves) {
    if (curve.points.empty()) continue;
    shortest = std::min(shortest, std::max(curve.points.back().x, 1.0));
    longest = std::max(longest, curve.points.back().x);
  }
  return longest > many * shortest;
}

[[nodiscard]] std::string residual_name(const std::vector<Curve>& curves) {
  const std::string& name = curves.front().base_name;
  const bool is_common =
      std::all_of(curves.begin(), curves.end(), [&](const Curve& curve) { return curve.base_name == name; });
  if (!is_common) return "‖r‖, relative";
  return name.empty() ? "‖r‖" : "‖r‖ / " + name;
}

[[nodiscard]] std::string history_figure(const std::vector<Curve>& curves, bool is_ranking) {
  const auto bounds = bounds_of(curves);
  if (!bounds) return {};
  const auto& [low, high] = *bounds;
  const bool is_log = wants_log_iterations(curves);
  // Iteration 0 lies at the left edge.
  const auto placed = [is_log](Point point) { return is_log ? Point{std::max(point.x, 1.0), point.y} : point; };
  Plot plot(is_ranking ? "changes" : "residuals", plot_width, plot_height,
            is_log ? Scale(1.0, high.x, true) : Scale(low.x, high.x, false), Scale(low.y, high.y, true),
            is_log ? "iteration, by its logarithm" : "iteration", is_ranking ? "change" : residual_name(curves));
  draw_targets(curves, plot);
  std::vector<Plot::Label> ends;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    const Curve& curve = curves[i];
    std::vector<Point> points;
    points.reserve(curve.points.size());
    for (const Point& point : curve.points) points.push_back(placed(point));
    plot.curve(points, i, std::clamp<std::size_t>(most_columns / curves.size(), 60, 600));
    for (const Point& point : thinned(curve.computed, 10)) {
      plot.dot(placed(point), curve_class(i) + " computed", fmt::format("‖b − A x‖ computed at iteration {}", point.x));
    }
    if (curve.points.empty() || !is_shown(curve.final_residual)) continue;
    const Point end = placed({curve.points.back().x, curve.final_residual});
    plot.dot(end, curve_class(i) + " final", curve.entry->label);
    ends.push_back({end, fmt::format("{}", i + 1), ""});
  }
  constexpr double beside_dot = 7.0;
  if (curves.size() > 1) plot.labels(ends, beside_dot, false);
  const std::string caption =
      is_ranking
          ? "Change of the ranks from iteration to iteration; of Katz centrality, its largest new term."
          : "Norm of the residual by the recurrence. Circles: ‖b − A x‖, computed; the filled one belongs to the x "
            "that was returned.";
  return figure(plot.svg(is_ranking ? "Change by iteration" : "Residual by iteration",
                         description(curves, is_ranking ? "change" : "residual")),
                "<p>" + caption + "</p>" + legend(curves), history_table(curves, is_ranking));
}

[[nodiscard]] std::string figure_of(const std::vector<Entry>& entries, bool is_ranking) {
  std::vector<Curve> curves;
  for (const Entry& entry : entries) {
    const std::string kind = kind_of(*entry.document);
    const bool ranks = kind == "pagerank" || kind == "centrality";
    if (is_ranking ? ranks : kind == "run") curves.push_back(curve_of(entry, is_ranking));
  }
  return curves.empty() ? std::string() : history_figure(curves, is_ranking);
}

struct Phase {
  std::string_view name;
  std::array<std::string_view, 2> keys;  ///< of timings_ms
};

/// In their order, as timings_ms of the documents names them.
constexpr std::array phases{Phase{"read or generate", {"read", "generate"}},
                            Phase{"analyse", {"inspect", ""}},
                            Phase{"upload", {"upload", ""}},
                            Phase{"plan", {"plan", ""}},
                            Phase{"rest of the ladder", {"ladder_rest", ""}},
                            Phase{"precondition", {"precond_setup", ""}},
                            Phase{"solve", {"solve", "multiply"}},
                            Phase{"verify", {"accuracy", "verify"}},
                            Phase{"download", {"download", ""}},
                            Phase{"advise", {"advice", ""}},
                            Phase{"write", {"write", ""}}};

/// A document has one of the keys.
[[nodiscard]] double phase_ms(const Json& json, const Phase& phase) {
  double sum = 0.0;
  for (const std::string_view key : phase.keys) {
    const double ms = key.empty() ? 0.0 : number_at(json, "timings_ms/" + std::string(key));
    if (is_shown(ms)) sum += ms;
  }
  return sum;
}

/// One bar, its parts beside each other.
[[nodiscard]] std::string time_bar(const Json& json, double longest, double top) {
  constexpr double height = 20.0;
  constexpr double least_width_for_name = 60.0;
  std::string text;
  double at = 0.0;
  for (std::size_t i = 0; i < phases.size(); ++i) {
    const double width = plot_width * phase_ms(json, phases[i]) / longest;
    if (!(width > 0.0)) continue;
    text +=
        fmt::format(R"(<rect class="phase p{}" x="{:.2f}" y="{}" width="{:.2f}" height="{}"><title>{}</title></rect>)",
                    i, at, top, width, height, phases[i].name);
    if (width >= least_width_for_name) {
      text += fmt::format(R"(<text class="in p{}" x="{:.1f}" y="{:.1f}" text-anchor="middle">{}</text>)", i,
                          at + width / 2, top + 14.5, phases[i].name);
    }
    at += width;
  }
  return text + "\n";
}

[[nodiscard]] std::string phase_key(std::size_t phase) {
  return fmt::format(R"(<i class="key p{}"></i>{})", phase, phases[phase].name);
}

[[nodiscard]] double total_ms(const Json& json) {
  double sum = 0.0;
  for (const Phase& phase : phases) sum += phase_ms(json, phase);
  return sum;
}

/// One document: a row per part, with its share.
[[nodiscard]] std::string share_table(const Json& json) {
  Table table;
  table.headings = {"part", "time", "share"};
  for (std::size_t i = 0; i < phases.size(); ++i) {
    const double ms = phase_ms(json, phases[i]);
    if (ms > 0.0)
      table.rows.push_back({phase_key(i), time(ms), fmt::format("{:.1f}\u00A0%", 100.0 * ms / total_ms(json))});
  }
  return html(table);
}

/// Several: a row per document.
[[nodiscard]] std::string time_table(const std::vector<const Entry*>& entries) {
  Table table;
  table.headings = {"run"};
  std::vector<std::size_t> used;
  for (std::size_t i = 0; i < phases.size(); ++i) {
    const bool is_used = std::any_of(entries.begin(), entries.end(), [&](const Entry* entry) {
      return phase_ms(entry->document->json, phases[i]) > 0.0;
    });
    if (!is_used) continue;
    used.push_back(i);
    table.headings.push_back(phase_key(i));
  }
  for (const Entry* entry : entries) {
    table.rows.push_back({escaped(entry->label)});
    for (const std::size_t i : used) {
      const double ms = phase_ms(entry->document->json, phases[i]);
      table.rows.back().push_back(ms > 0.0 ? time(ms) : "–");
    }
  }
  return html(table);
}

}  // namespace

std::string residual_figure(const std::vector<Entry>& entries) { return figure_of(entries, false); }
std::string change_figure(const std::vector<Entry>& entries) { return figure_of(entries, true); }

std::string time_figure(const std::vector<Entry>& entries) {
  std::vector<const Entry*> timed;
  double longest = 0.0;
  for (const Entry& entry : entries) {
    const double total = total_ms(entry.document->json);
    if (!(total > 0.0)) continue;
    timed.push_back(&entry);
    longest = std::max(longest, total);
  }
  if (timed.empty()) return {};
  constexpr int row_height = 40;
  const bool is_named = timed.size() > 1;
  const int step = is_named ? row_height : 24;
  std::string bars;
  std::string description;
  for (std::size_t i = 0; i < timed.size(); ++i) {
    const double top = static_cast<double>(i) * step + (is_named ? 17 : 1);
    if (is_named) bars += fmt::format(R"(<text x="0" y="{}">{}</text>)", top - 5, escaped(timed[i]->label));
    bars += time_bar(timed[i]->document->json, longest, top);
    for (const Phase& phase : phases) {
      const double ms = phase_ms(timed[i]->document->json, phase);
      if (!(ms > 0.0)) continue;
      description +=
          fmt::format("{}{}: {} {:.3g} ms", description.empty() ? "" : "; ", timed[i]->label, phase.name, ms);
    }
  }
  const std::string drawing =
      fmt::format(R"(<svg class="plot" viewBox="0 0 {} {}" role="img" aria-labelledby="times-title times-text">)"
                  "<title id=\"times-title\">Where the time went</title><desc id=\"times-text\">{}</desc>\n{}</svg>",
                  plot_width, static_cast<int>(timed.size()) * step, escaped(description), bars);
  if (is_named) return fmt::format("<figure>\n{}\n</figure>\n{}", drawing, time_table(timed));
  return fmt::format("<figure>\n{}\n<figcaption>{}</figcaption>\n</figure>\n", drawing,
                     share_table(timed.front()->document->json));
}

}  // namespace tessera::cli::report
