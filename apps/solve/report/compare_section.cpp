// A comparison: tables with intervals, and the place of each product below the bandwidth of the memory.
#include "report/figures.hpp"
#include "report/html.hpp"
#include "report/sections.hpp"
#include "report/svg.hpp"

#include "text_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <utility>

namespace tessera::cli::report {

Interval ratio_at(const Json& item, const std::string& key) {
  return {number_at(item, key + "/low"), number_at(item, key + "/ratio"), number_at(item, key + "/high")};
}

namespace {

/// Milliseconds, or what fits the times of a column better.
struct Unit {
  std::string_view name = "ms";
  double per_ms = 1.0;
};

[[nodiscard]] Unit unit_for(double typical_ms) {
  if (typical_ms < 1.0) return {"µs", 1e3};
  if (typical_ms >= 1e3) return {"s", 1e-3};
  return {};
}

[[nodiscard]] std::string in_unit(double ms, const Unit& unit) { return number(ms, short_number(unit.per_ms * ms)); }

/// Median and middle half of the times that a case holds at `key`, in ms.
[[nodiscard]] Interval times_at(const Json& item, const std::string& key) {
  return {number_at(item, key + "/q1"), number_at(item, key + "/median"), number_at(item, key + "/q3")};
}

[[nodiscard]] std::string ratio_text(const Interval& ratio) {
  if (std::isnan(ratio.middle)) return "–";
  return R"(<span class="ratio">)" + number(ratio.middle) + " <small>(" + number(ratio.low) + "–" + number(ratio.high) +
         ")</small></span>";
}

/// Number of applications or solves after which the set-up pays; null means never, nothing means not asked.
[[nodiscard]] std::string pays_text(const Json& object, const char* key) {
  if (!object.is_object() || !object.contains(key)) return "–";
  const double after = number_at(object, key);
  return std::isnan(after) ? "never" : count(after);
}

[[nodiscard]] std::vector<const Json*> cases_of(const Json& json, std::string_view kind) {
  std::vector<const Json*> cases;
  for (const Json& item : array_at(json, "cases")) {
    if (text_at(item, "kind") == kind) cases.push_back(&item);
  }
  return cases;
}

[[nodiscard]] Unit unit_of(const std::vector<const Json*>& cases, const std::string& key) {
  std::vector<double> medians;
  for (const Json* item : cases) {
    const double median = number_at(*item, key + "/median");
    if (median > 0.0) medians.push_back(median);
  }
  std::sort(medians.begin(), medians.end());
  return unit_for(medians.empty() ? 1.0 : medians[medians.size() / 2]);
}

[[nodiscard]] IntervalColumn column_of(const std::vector<const Json*>& cases,
                                       const std::function<Interval(const Json&)>& interval_of,
                                       std::optional<double> reference) {
  std::vector<Interval> intervals;
  intervals.reserve(cases.size());
  for (const Json* item : cases) intervals.push_back(interval_of(*item));
  return {intervals, reference};
}

[[nodiscard]] Interval scaled(Interval interval, double factor) {
  return {factor * interval.low, factor * interval.middle, factor * interval.high};
}

[[nodiscard]] std::string kernel_name(const Json& item) {
  return escaped(text_at(item, "kernel")) + (is_true_at(item, "reference") ? " <small>(reference)</small>" : "");
}

/// Times of the products, warm or cold.
[[nodiscard]] std::string product_table(const std::vector<const Json*>& all, const std::string& cache,
                                        bool has_baseline) {
  const std::string key = "product_ms/" + cache;
  std::vector<const Json*> cases;
  std::copy_if(all.begin(), all.end(), std::back_inserter(cases),
               [&](const Json* item) { return number_at(*item, key + "/median") > 0.0; });
  const Unit unit = unit_of(cases, key);
  const auto time_of = [&](const Json& item) { return scaled(times_at(item, key), unit.per_ms); };
  const auto ratio_of = [&](const Json& item) { return ratio_at(item, key + "/speed_up"); };
  const IntervalColumn times = column_of(cases, time_of, std::nullopt);
  const IntervalColumn ratios = column_of(cases, ratio_of, 1.0);
  Table table;
  table.caption = cache == "warm" ? "Products, fastest in total first" : "Products with emptied caches";
  table.headings = {"kernel", times.axis(fmt::format("median and middle half, {}", unit.name)), std::string(unit.name),
                    ratios.axis("times as fast, 95 % interval"), "times as fast"};
  if (cache == "warm") table.headings.insert(table.headings.end(), {"GB/s", "% of a copy"});
  if (has_baseline) table.headings.emplace_back("time / baseline");
  for (const Json* item : cases) {
    std::vector<std::string> cells{kernel_name(*item), times.cell(time_of(*item)),
                                   in_unit(number_at(*item, key + "/median"), unit), ratios.cell(ratio_of(*item)),
                                   ratio_text(ratio_of(*item))};
    if (cache == "warm") {
      cells.push_back(number(number_at(*item, "derived/gbytes_per_s")));
      cells.push_back(number(number_at(*item, "derived/percent_of_copy")));
    }
    if (has_baseline) cells.push_back(ratio_text(ratio_at(*item, key + "/baseline")));
    table.rows.push_back(std::move(cells));
  }
  return html(table);
}

/// What the set-up costs and when it pays, and the check.
[[nodiscard]] std::string set_up_table(const Json& json, const std::vector<const Json*>& cases) {
  Table table;
  table.caption = "Set-up and check";
  const double applies = number_at(json, "result/applies");
  table.headings = {"kernel",        "check",       "set-up",
                    "memory",        "pays after",  fmt::format("set-up and {:.0f} products", applies),
                    "error / bound", "bits repeat", "determinism"};
  table.text_columns = 2;
  for (const Json* item : cases) {
    const Json* plan = find(*item, "plan");
    const Json* repeats = find(*item, "verification/bits_repeat");
    table.rows.push_back(
        {kernel_name(*item), escaped(text_at(*item, "result/status")), time(number_at(*item, "setup_ms/median")),
         size(number_at(*item, "plan/bytes")), plan == nullptr ? "–" : pays_text(*plan, "break_even_applies"),
         time(number_at(*item, "applies_total_ms")), number(number_at(*item, "verification/error_over_bound")),
         repeats == nullptr                              ? "–"
         : is_true_at(*item, "verification/bits_repeat") ? "yes"
                                                         : "no",
         escaped(as_words(text_at(*item, "plan/determinism")))});
  }
  return html(table);
}

[[nodiscard]] std::string solve_table(const std::vector<const Json*>& cases, const std::string& solver,
                                      bool has_baseline) {
  const Unit unit = unit_of(cases, "total_ms");
  const auto time_of = [&](const Json& item) { return scaled(times_at(item, "total_ms"), unit.per_ms); };
  const auto ratio_of = [](const Json& item) { return ratio_at(item, "total_ms/speed_up"); };
  const IntervalColumn times = column_of(cases, time_of, std::nullopt);
  const IntervalColumn ratios = column_of(cases, ratio_of, 1.0);
  Table table;
  table.caption = "Solves by " + solver;
  table.headings = {"precond",
                    "kernel",
                    "status",
                    "iterations",
                    times.axis(fmt::format("set-up and solve, {}", unit.name)),
                    std::string(unit.name),
                    ratios.axis("times as fast, 95 % interval"),
                    "times as fast",
                    "residual"};
  table.text_columns = 3;
  if (has_baseline) table.headings.emplace_back("time / baseline");
  for (const Json* item : cases) {
    const std::string status = text_at(*item, "result/status");
    const bool is_good = status == "converged";
    const double reported = number_at(*item, "result/residual/true");
    std::vector<std::string> cells{
        escaped(text_at(*item, "result/precond")),
        kernel_name(*item),
        is_good ? escaped(status) : R"(<strong class="bad">)" + escaped(status) + "</strong>",
        count(number_at(*item, "result/iterations")),
        times.cell(time_of(*item), is_good ? "" : "bad"),
        in_unit(number_at(*item, "total_ms/median"), unit),
        ratios.cell(ratio_of(*item)),
        ratio_text(ratio_of(*item)),
        residual(std::isnan(reported) ? number_at(*item, "result/residual/change") : reported)};
    if (has_baseline) cells.push_back(ratio_text(ratio_at(*item, "total_ms/baseline")));
    table.rows.push_back(std::move(cells));
  }
  return html(table);
}

}  // namespace

std::string comparison_tables(const Json& json) {
  const bool has_baseline = !text_at(json, "result/baseline").empty();
  std::string text;
  const std::vector<const Json*> products = cases_of(json, "product");
  text += product_table(products, "warm", has_baseline);
  text += product_table(products, "cold", has_baseline);
  text += set_up_table(json, products);
  std::vector<std::pair<std::string, std::vector<const Json*>>> solvers;
  for (const Json* item : cases_of(json, "solve")) {
    const std::string solver = text_at(*item, "solver");
    const auto found =
        std::find_if(solvers.begin(), solvers.end(), [&](const auto& each) { return each.first == solver; });
    if (found == solvers.end()) {
      solvers.emplace_back(solver, std::vector{item});
    } else {
      found->second.push_back(item);
    }
  }
  for (const auto& [solver, cases] : solvers) text += solve_table(cases, solver, has_baseline);
  if (text.empty()) return text;
  return text +
         R"(<p class="note">Times as fast: how many times as fast as the reference, with the interval that holds the )"
         "ratio of "
         "the medians with a probability of 95 %.</p>\n";
}

namespace {

/// A product in the plane of the roofline.
struct Roofed {
  Point at;
  std::string words;
  std::size_t series = 0;
};

struct Roof {
  double gbytes_per_s = 0.0;
  std::size_t series = 0;
};

[[nodiscard]] std::string roofline_svg(const std::vector<Roofed>& products, const std::vector<Roof>& roofs) {
  constexpr int width = 720;
  constexpr int height = 360;
  double left = 1e300;
  double right = 0.0;
  double low = 1e300;
  double high = 0.0;
  for (const Roofed& product : products) {
    left = std::min(left, product.at.x);
    right = std::max(right, product.at.x);
    low = std::min(low, product.at.y);
    high = std::max(high, product.at.y);
  }
  for (const Roof& roof : roofs) high = std::max(high, roof.gbytes_per_s * right);
  Plot plot("roofline", width, height, Scale(left / 3, right * 3, true), Scale(low, high, true), "flop per byte",
            "GFLOP/s");
  for (const Roof& roof : roofs) {
    const double bandwidth = roof.gbytes_per_s;
    const double from = std::max(plot.x().low(), plot.y().low() / bandwidth);
    const double to = std::min(plot.x().high(), plot.y().high() / bandwidth);
    if (!(from < to)) continue;
    plot.line({from, bandwidth * from}, {to, bandwidth * to}, "roof");
    plot.text({to, bandwidth * to}, {-16, -2}, "end", fmt::format("copy, {:.3g} GB/s", bandwidth), "note");
  }
  std::vector<Plot::Label> labels;
  for (const Roofed& product : products) {
    plot.dot(product.at, curve_class(product.series) + " final",
             fmt::format("{}: {:.3g} GFLOP/s", product.words, product.at.y));
    labels.push_back({product.at, product.words, ""});
  }
  constexpr double gap = 40.0;
  plot.labels(std::move(labels), gap, true);
  std::string description;
  for (const Roofed& product : products) {
    description += fmt::format("{}{}: {:.3g} GFLOP/s at {:.3g} flop per byte", description.empty() ? "" : "; ",
                               product.words, product.at.y, product.at.x);
  }
  return plot.svg("Roofline of the products", description);
}

}  // namespace

std::string roofline_figure(const std::vector<Entry>& entries) {
  std::vector<Roofed> products;
  std::vector<Roof> roofs;
  Table table;
  table.headings = {"kernel", "flop per byte", "GFLOP/s", "% of a copy"};
  std::size_t series = 0;
  const auto is_comparison = [](const Entry& entry) { return kind_of(*entry.document) == "compare"; };
  const bool is_one = std::count_if(entries.begin(), entries.end(), is_comparison) == 1;
  for (const Entry& entry : entries) {
    const Json& json = entry.document->json;
    const double bytes = number_at(json, "result/least_bytes");
    if (!is_comparison(entry) || !(bytes > 0.0)) continue;
    constexpr double flops_per_nonzero = 2.0;
    const double intensity = flops_per_nonzero * number_at(json, "matrix/nnz") / bytes;
    if (!(intensity > 0.0)) continue;
    for (const Json* item : cases_of(json, "product")) {
      const double rate = number_at(*item, "derived/gflops");
      if (!(rate > 0.0)) continue;
      const std::string name = text_at(*item, "kernel");
      products.push_back({{intensity, rate}, is_one ? name : fmt::format("{} ({})", name, series + 1), series});
      table.rows.push_back({escaped(is_one ? name : name + ", " + entry.label), short_number(intensity), number(rate),
                            number(number_at(*item, "derived/percent_of_copy"))});
    }
    const double copy = number_at(json, "result/copy_gbytes_per_s");
    if (copy > 0.0) roofs.push_back({copy, series});
    ++series;
  }
  if (products.empty()) return {};
  return figure(
      roofline_svg(products, roofs),
      "<p>Rate of each product at the flops per byte that it needs at least: 2 per entry over the matrix and both "
      "vectors, each moved once. The slope is the bandwidth of a copy of as many bytes, measured in the same "
      "run.</p>",
      html(table));
}

}  // namespace tessera::cli::report
