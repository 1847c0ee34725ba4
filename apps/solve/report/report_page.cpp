// The page: why something failed, then figures, then the details of each document, its matrix and its environment.
#include "report/report_page.hpp"

#include "report/figures.hpp"
#include "report/html.hpp"
#include "report/sections.hpp"

#include "tessera/version.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <set>
#include <string_view>
#include <utility>

namespace tessera::cli {

namespace report {

namespace {

/// Colours are after Okabe & Ito, whose colours colour-blind people tell apart; lighter ones in the dark.
constexpr std::string_view style = R"css(
:root { color-scheme: light dark; --paper: #fffffd; --ink: #1f1f1f; --soft: #5f5f5a; --rule: #dcdad2; --wash: #f6f5f0;
  --c0: #0072b2; --c1: #d55e00; --c2: #009e73; --c3: #b5568f; --c4: #a67600; --c5: #2f9bd6; --c6: #6b6b66; --bad: #b83a00;
  --p0: #8ec5ea; --p1: #f0c767; --p2: #d7a3c3; --p3: #c9c6bb; --p4: #b4cbdc; --p5: #e9a27a; --p6: #0072b2; --p7: #5fbf9f;
  --p8: #d7a3c3; --p9: #c9c6bb; --p10: #8f8d85; }
@media (prefers-color-scheme: dark) { :root { --paper: #17191c; --ink: #e8e6e0; --soft: #a5a29a; --rule: #3a3d42;
  --wash: #202328; --c0: #5db3e6; --c1: #f28c4a; --c2: #3fc79c; --c3: #dd97bf; --c4: #e8b53a; --c5: #94d0f4;
  --c6: #aaa8a0; --bad: #ff9a62; --p0: #3f6f8f; --p1: #8a6d22; --p2: #7d5470; --p3: #55565a; --p4: #41586b;
  --p5: #93562f; --p6: #5db3e6; --p7: #2f7d62; --p8: #7d5470; --p9: #55565a; --p10: #77756e; } .spy { filter: invert(1); } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2.5rem 2rem 3rem; max-width: 76rem; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
h1 { font-size: 1.75rem; line-height: 1.2; font-weight: 600; margin: 0 0 .25rem; letter-spacing: -.01em; }
h2 { font-size: 1.05rem; font-weight: 600; margin: 0 0 .6rem; }
h3 { font-size: 1.3rem; font-weight: 600; margin: 0; }
p { margin: 0 0 .6rem; max-width: 46rem; }
small, .note, .subject, footer { color: var(--soft); } small { font-size: .86em; font-weight: 400; }
.lede { font-size: 1.1rem; margin-top: .7rem; }
code { font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: .88em; }
section, article, footer { margin-top: 2.2rem; } article > section { margin-top: 1.6rem; }
article, footer { border-top: 1px solid var(--rule); padding-top: 1.2rem; }
.cause { border-left: 4px solid var(--bad); background: var(--wash); padding: .9rem 1.2rem .5rem; margin-top: 1.2rem; }
.cause h2 { color: var(--bad); font-size: 1.2rem; } .bad { color: var(--bad); } circle.bad { fill: var(--bad); }
ul { margin: 0 0 .6rem; padding-left: 1.2rem; } .warnings { list-style: none; padding: 0; max-width: 60rem; }
figure { margin: 0; display: grid; grid-template-columns: minmax(0, 46rem) minmax(0, 1fr); gap: 1rem 2rem; align-items: start; }
figcaption { color: var(--soft); font-size: .92em; } figcaption .legend { color: var(--ink); }
.plot { width: 100%; max-width: 46rem; height: auto; display: block; }
.legend { margin: 0 0 .6rem; padding-left: 1.6rem; } .legend li { margin-bottom: .15rem; }
.sample { width: 26px; height: 8px; vertical-align: middle; margin-right: .3rem; }
svg text { font-size: 12px; fill: var(--ink); paint-order: stroke; stroke: var(--paper); stroke-width: 3px; } svg .tick, svg .note { fill: var(--soft); font-size: 11px; }
path, polyline { fill: none; stroke-linejoin: round; }
.grid { stroke: var(--rule); } .axis { stroke: var(--soft); } .lead { stroke: var(--soft); stroke-width: .6; }
.target { stroke: var(--ink); stroke-dasharray: 5 4; stroke-width: 1; } .roof { stroke: var(--ink); stroke-width: 1.5; }
.curve { stroke-width: 1.7; } .c0 { stroke: var(--c0); } .c1 { stroke: var(--c1); } .c2 { stroke: var(--c2); }
.c3 { stroke: var(--c3); } .c4 { stroke: var(--c4); } .c5 { stroke: var(--c5); } .c6 { stroke: var(--c6); }
.d1 { stroke-dasharray: 7 3; } .d2 { stroke-dasharray: 2 3; } .d3 { stroke-dasharray: 9 3 2 3; }
circle.computed { fill: var(--paper); stroke-dasharray: none; } circle.final { stroke: var(--paper); stroke-width: 1; stroke-dasharray: none; }
circle.c0.final { fill: var(--c0); } circle.c1.final { fill: var(--c1); } circle.c2.final { fill: var(--c2); }
circle.c3.final { fill: var(--c3); } circle.c4.final { fill: var(--c4); } circle.c5.final { fill: var(--c5); }
circle.c6.final { fill: var(--c6); }
.p0 { fill: var(--p0); } .p1 { fill: var(--p1); } .p2 { fill: var(--p2); } .p3 { fill: var(--p3); } .p4 { fill: var(--p4); }
.p5 { fill: var(--p5); } .p6 { fill: var(--p6); } .p7 { fill: var(--p7); } .p8 { fill: var(--p8); } .p9 { fill: var(--p9); } .p10 { fill: var(--p10); }
.phase { stroke: var(--paper); stroke-width: 1; } svg text.in { fill: var(--ink); stroke: none; } svg text.in.p6 { fill: var(--paper); }
.key { display: inline-block; width: .8em; height: .8em; margin-right: .45em; background: var(--p); }
.key.p0 { --p: var(--p0); } .key.p1 { --p: var(--p1); } .key.p2 { --p: var(--p2); } .key.p3 { --p: var(--p3); }
.key.p4 { --p: var(--p4); } .key.p5 { --p: var(--p5); } .key.p6 { --p: var(--p6); } .key.p7 { --p: var(--p7); }
.key.p8 { --p: var(--p8); } .key.p9 { --p: var(--p9); } .key.p10 { --p: var(--p10); }
.interval { width: 120px; height: 18px; display: block; margin-left: auto; } .span { stroke: var(--c0); stroke-width: 2; }
.mark { fill: var(--c0); }
.facts { display: grid; grid-template-columns: repeat(auto-fill, minmax(16rem, 1fr)); gap: .55rem 2rem; margin: 0 0 1rem; }
.facts div { min-width: 0; } dt { color: var(--soft); font-size: .86em; } dd { margin: 0; } dd small { display: block; }
.pair { display: grid; grid-template-columns: minmax(0, 23rem) minmax(0, 1fr); gap: 1rem 2rem; }
.pair figure { display: block; } .pair figcaption { margin-top: .5rem; } .pair > div:only-child { grid-column: 1 / -1; }
.spy { border: 0; outline: 1px solid var(--soft); max-width: 100%; height: auto; image-rendering: pixelated; }
.wide { overflow-x: auto; margin-bottom: 1rem; } figure + .wide { margin-top: 1rem; }
table { border-collapse: collapse; font-size: .92em; } caption { text-align: left; font-weight: 600; padding: .4rem 0 .35rem; }
th, td { text-align: right; vertical-align: baseline; padding: .22rem .9rem .22rem 0; font-weight: 400; overflow-wrap: normal; }
th.text, td.text { text-align: left; } thead th { color: var(--soft); font-size: .9em; border-bottom: 1px solid var(--rule);
  vertical-align: bottom; } tbody tr + tr > * { border-top: 1px solid var(--wash); } td data, .ratio { white-space: nowrap; }
.lengths table { width: 100%; max-width: 34rem; } .lengths td:nth-child(2) { width: 50%; }
.bar { display: inline-block; min-width: 1px; height: .75em; background: var(--c0); }
td:has(> .bar) { min-width: 7rem; text-align: left; }
details { margin-top: .4rem; } summary { cursor: pointer; }
@media (max-width: 68rem) { figure { grid-template-columns: minmax(0, 1fr); } body { padding: 1.5rem 1.2rem 2rem; }
  .ratio small { display: none; } table { font-size: .88em; } th, td { padding-right: .5rem; } }
@media (max-width: 44rem) { .pair { grid-template-columns: minmax(0, 1fr); } }
@media print { :root { color-scheme: light; } body { padding: 0; max-width: none; font-size: 10.5pt; } .wide { overflow: visible; }
  figure, tr, .cause, .facts div { break-inside: avoid; } h2, caption { break-after: avoid; } details { display: none; }
  .bar, .key, .spy, rect { print-color-adjust: exact; } .plot { max-width: 34rem; } @page { margin: 15mm; } }
)css";

/// Nothing may be loaded, whatever a document holds.
constexpr std::string_view policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

/// Entries of one page with the names that it uses.
[[nodiscard]] std::vector<Entry> entries_of(const std::vector<Document>& documents) {
  const std::vector<std::string> labels = labels_of(documents);
  std::vector<Entry> entries;
  entries.reserve(documents.size());
  for (std::size_t i = 0; i < documents.size(); ++i) entries.push_back({&documents[i], labels[i]});
  return entries;
}

[[nodiscard]] std::string title_of(const std::vector<Entry>& entries) {
  std::set<std::string> names;
  for (const Entry& entry : entries) names.insert(matrix_name(entry.document->json));
  if (names.size() == 1 && !names.begin()->empty()) return *names.begin();
  if (entries.size() == 1) return "solve " + kind_of(*entries.front().document);
  return fmt::format("{} documents of solve", entries.size());
}

[[nodiscard]] std::string overview(const std::vector<Entry>& entries) {
  if (entries.size() < 2) return {};
  Table table;
  table.headings = {"document", "file", "status", "iterations", "‖b − A x‖", "target", "total time"};
  table.text_columns = 3;
  for (const Entry& entry : entries) {
    const Json& json = entry.document->json;
    const std::string status = escaped(text_at(json, "result/status"));
    const double change = number_at(json, "result/change");
    const double computed = number_at(json, "result/residual/true");
    const double target = number_at(json, "result/residual/target");
    table.rows.push_back({escaped(entry.label), escaped(entry.document->file),
                          has_failed(json) ? R"(<strong class="bad">)" + status + "</strong>" : status,
                          count(number_at(json, "result/iterations")),
                          residual(std::isnan(computed) ? change : computed),
                          residual(std::isnan(target) ? number_at(json, "result/tolerance") : target),
                          time(number_at(json, "timings_ms/total"))});
  }
  return section("Documents", html(table));
}

/// Each matrix once; an inspection of it adds its spy plot where the others have none.
[[nodiscard]] std::string matrices(const std::vector<Entry>& entries) {
  struct Described {
    std::string name;
    const Json* document = nullptr;
  };
  std::vector<Described> all;
  for (const Entry& entry : entries) {
    const Json& json = entry.document->json;
    if (find(json, "matrix") == nullptr) continue;
    const std::string name = matrix_name(json);
    const auto is_same = [&](const Described& each) {
      return each.name == name && number_at(*each.document, "matrix/nnz") == number_at(json, "matrix/nnz");
    };
    const auto has_plot = [](const Json& each) {
      return find(each, "matrix/density") != nullptr || find(each, "spy") != nullptr;
    };
    const auto found = std::find_if(all.begin(), all.end(), is_same);
    if (found == all.end()) {
      all.push_back({name, &json});
    } else if (has_plot(json) && !has_plot(*found->document)) {
      found->document = &json;
    }
  }
  std::string text;
  for (const auto& [name, document] : all) {
    text += matrix_section(*document, *find(*document, "matrix"), name);
    const Json* right = find(*document, "right");
    if (right != nullptr && find(*right, "rows") != nullptr) text += matrix_section(Json::object(), *right, "B");
  }
  return text;
}

[[nodiscard]] std::string details(const std::vector<Entry>& entries) {
  std::string text;
  for (const Entry& entry : entries) {
    std::string body = warnings_list(entry.document->json) + details_of(*entry.document);
    if (entries.size() == 1) return body;
    text += fmt::format("<article>\n<h3>{}</h3>\n<p class=\"subject\">{}</p>\n{}</article>\n", escaped(entry.label),
                        outcome_of(*entry.document), body);
  }
  return text;
}

[[nodiscard]] std::string environments(const std::vector<Entry>& entries) {
  std::string text;
  for (const Entry& entry : entries) {
    const std::string name = entries.size() == 1 ? "Environment" : "Environment of " + entry.label;
    text += section(name, environment_of(entry.document->json));
  }
  return text;
}

}  // namespace

}  // namespace report

std::string report_page(const std::vector<report::Document>& documents) {
  using namespace report;
  const std::vector<Entry> entries = entries_of(documents);
  const std::string title = title_of(entries);
  std::string causes;
  for (const Entry& entry : entries) causes += cause_of(*entry.document, entry.label);
  std::string lede;
  if (entries.size() == 1) {
    const Document& document = *entries.front().document;
    lede = fmt::format("<p class=\"subject\">{}</p>\n", escaped(subject_of(document)));
    if (causes.empty()) lede += fmt::format("<p class=\"lede\">{}</p>\n", outcome_of(document));
  }
  std::string body = causes + overview(entries) +
                     section("Convergence", residual_figure(entries) + change_figure(entries)) +
                     section("Time", time_figure(entries)) + details(entries) +
                     section("Roofline", roofline_figure(entries)) + matrices(entries) + environments(entries);
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{}</title>\n<style>{}</style>\n"
      "</head>\n<body>\n<header>\n<h1>{}</h1>\n{}</header>\n<main>\n{}</main>\n<footer>\n<p>Made by solve (Tessera) {} "
      "from its JSON documents, whose numbers stand in full in the data elements of this "
      "page.</p>\n</footer>\n</body>\n"
      "</html>\n",
      policy, escaped(title), style, escaped(title), lede, body, build_info().version);
}

}  // namespace tessera::cli
