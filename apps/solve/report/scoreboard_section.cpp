// Two builds by bench_end_to_end, as scripts/compare-builds writes them: times with intervals, then what else changed.
#include "report/html.hpp"
#include "report/sections.hpp"
#include "report/svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

namespace tessera::cli::report {

namespace {

[[nodiscard]] std::string verdict_text(const Json& item) {
  const std::string word = text_at(item, "verdict");
  if (word == "same") return {};
  if (word == "slower" || word == "faster") return word + ", not confirmed";
  return word == "worse" ? R"(<strong class="bad">worse</strong>)" : escaped(word);
}

/// Three digits after the point: half a percent matters.
[[nodiscard]] std::string ratio_text(const Interval& ratio) {
  const auto text = [](double value) { return number(value, fmt::format("{:.3f}", value)); };
  return fmt::format(R"(<span class="ratio">{} <small>({}–{})</small></span>)", text(ratio.middle), text(ratio.low),
                     text(ratio.high));
}

[[nodiscard]] IntervalColumn ratio_column(const std::vector<const Json*>& items) {
  std::vector<Interval> intervals;
  intervals.reserve(items.size());
  for (const Json* item : items) intervals.push_back(ratio_at(*item, "time"));
  return {intervals, 1.0};
}

/// The slowest first.
[[nodiscard]] std::vector<const Json*> with_ratios(const Json& array) {
  std::vector<const Json*> items;
  for (const Json& item : array) {
    if (!std::isnan(number_at(item, "time/ratio"))) items.push_back(&item);
  }
  std::stable_sort(items.begin(), items.end(), [](const Json* a, const Json* b) {
    return number_at(*a, "time/ratio") > number_at(*b, "time/ratio");
  });
  return items;
}

/// \param name key of the first column \param headings, cells of the columns between name and ratio
[[nodiscard]] std::string ratio_table(const Json& array, const std::string& name,
                                      const std::vector<std::string>& headings,
                                      const std::function<std::vector<std::string>(const Json&)>& cells) {
  const std::vector<const Json*> items = with_ratios(array);
  const IntervalColumn ratios = ratio_column(items);
  Table table;
  table.headings = {name};
  table.headings.insert(table.headings.end(), headings.begin(), headings.end());
  table.headings.insert(table.headings.end(), {ratios.axis("new / old"), "new / old", "rounds", "verdict"});
  table.last_is_text = true;
  for (const Json* item : items) {
    std::vector<std::string> row{escaped(text_at(*item, name))};
    for (std::string& cell : cells(*item)) row.push_back(std::move(cell));
    const Interval ratio = ratio_at(*item, "time");
    const bool is_worse = text_at(*item, "verdict") == "worse";
    row.insert(row.end(), {ratios.cell(ratio, is_worse ? "bad" : ""), ratio_text(ratio),
                           count(number_at(*item, "time/rounds")), verdict_text(*item)});
    table.rows.push_back(std::move(row));
  }
  return html(table);
}

/// How the rounds of a row ended by one build: "converged", "no answer in 22 s", or a false claim.
[[nodiscard]] std::string ending_of(const Json& row) {
  const std::string claim = text_at(row, "new/false_claim");
  const Json& problems = array_at(row, "new/problems");
  const std::string text = problems.empty() ? text_at(row, "new/outcome/status") : text_at(problems.front(), "text");
  const bool is_good = claim.empty() && number_at(row, "new/solved_rounds") > 0.0;
  const std::string words = escaped(claim.empty() ? text : "false claim: " + claim);
  return is_good ? words : R"(<strong class="bad">)" + words + "</strong>";
}

/// Times of one build.
[[nodiscard]] std::string recorded_table(const Json& rows) {
  Table table;
  table.headings = {"row", "time", "set-up", "rounds", "ended"};
  table.last_is_text = true;
  for (const Json& row : rows) {
    table.rows.push_back({escaped(text_at(row, "row")), time(number_at(row, "new/ms")),
                          time(number_at(row, "new/setup_ms")), count(number_at(row, "new/rounds")), ending_of(row)});
  }
  return html(table);
}

/// An item per line: its words, or the values of an object at `keys`.
[[nodiscard]] std::string list_of(const Json& array, const std::vector<std::string_view>& keys) {
  std::string list;
  for (const Json& item : array) {
    std::string words = item.is_string() ? item.get<std::string>() : std::string();
    for (const std::string_view key : keys) {
      if (const std::string text = text_at(item, key); !text.empty()) words += (words.empty() ? "" : ": ") + text;
    }
    const bool is_worse = is_true_at(item, "worse");
    list += fmt::format("<li{}>{}</li>\n", is_worse ? R"( class="bad")" : "", escaped(words));
  }
  return list.empty() ? list : "<ul>\n" + list + "</ul>\n";
}

[[nodiscard]] std::string builds_table(const Json& json) {
  Table table;
  table.headings = {"build", "version", "commit", "compiler", "type", "measured", "machine"};
  table.text_columns = table.headings.size();
  for (const char* build : {"old", "new"}) {
    const Json* made = find(json, build);
    if (made == nullptr) continue;
    const auto text = [&](std::string_view key) { return escaped(text_at(*made, key)); };
    const std::string gpu = text("machine/gpu/name");
    table.rows.push_back({build, text("tessera/version"), text("tessera/commit"), text("tessera/compiler"),
                          text("tessera/build_type"), text("date"), gpu.empty() ? text("machine/cpu") : gpu});
  }
  return html(table);
}

}  // namespace

std::string scoreboard_sections(const Json& json) {
  const Json& rows = array_at(json, "rows");
  const auto row_cells = [](const Json& row) {
    return std::vector{time(number_at(row, "old/ms")), time(number_at(row, "new/ms"))};
  };
  const auto area_cells = [](const Json& area) { return std::vector{count(number_at(area, "rows"))}; };
  std::string text;
  // Reasons of a failure stand above as its cause.
  if (!has_failed(json)) text += section("Why", list_of(array_at(json, "result/reasons"), {}));
  text += section("Areas", ratio_table(array_at(json, "areas"), "area", {"rows"}, area_cells));
  text += section("Rows", find(json, "old") == nullptr ? recorded_table(rows)
                                                       : ratio_table(rows, "row", {"old", "new"}, row_cells));
  const std::vector<std::string_view> words{"row", "build", "text"};
  text += section("Systems lost", list_of(array_at(json, "lost"), {})) +
          section("Systems found", list_of(array_at(json, "found"), {})) +
          section("False claims", list_of(array_at(json, "false_claims"), words)) +
          section("Memory", list_of(array_at(json, "memory"), words)) +
          section("Longer set-up", list_of(array_at(json, "set_up"), words)) +
          section("Bits differ between repetitions", list_of(array_at(json, "unstable_bits"), {}));
  Table choices;
  choices.headings = {"row", "choice", "old", "new"};
  choices.text_columns = choices.headings.size();
  for (const Json& change : array_at(json, "changed_choices")) {
    choices.rows.push_back({escaped(text_at(change, "row")), escaped(text_at(change, "key")),
                            escaped(text_at(change, "old")), escaped(text_at(change, "new"))});
  }
  text += section("Other choices", html(choices));
  for (const auto& [title, key] :
       {std::pair{"Other bits", "changed_bits"}, std::pair{"Not measured", "not_measured"},
        std::pair{"Not repeated", "not_repeated"}, std::pair{"Rows of the old build alone", "only_old"},
        std::pair{"Rows of the new build alone", "only_new"}}) {
    text += section(title, list_of(array_at(json, key), {}));
  }
  return text + section("Builds", builds_table(json));
}

}  // namespace tessera::cli::report
