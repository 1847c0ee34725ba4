// One solve or ranking: how it ended and why, and what was prepared for it.
#include "report/html.hpp"
#include "report/sections.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace tessera::cli::report {

namespace {

/// As a sentence begins.
[[nodiscard]] std::string capitalised(std::string text) {
  if (!text.empty() && text.front() >= 'a' && text.front() <= 'z') {
    text.front() = static_cast<char>(text.front() - 'a' + 'A');
  }
  return text;
}

/// "Not converged", of max_iterations; "Stagnated", of stagnated.
[[nodiscard]] std::string headline(const std::string& word) {
  return word == "max_iterations" ? "Not converged" : capitalised(as_words(word));
}

[[nodiscard]] std::string code(const std::string& text) {
  return text.empty() ? text : "<code>" + escaped(text) + "</code>";
}

/// What the run itself advises: the command behind its last rung, or warning W018.
[[nodiscard]] std::string advice_of(const Json& json) {
  constexpr std::string_view prefix = "try: ";
  for (const Json& warning : array_at(json, "warnings")) {
    const std::string text = text_at(warning, "text");
    if (text_at(warning, "code") == "W018" && text.starts_with(prefix)) return text.substr(prefix.size());
  }
  return text_at(json, "ladder/next_command");
}

/// Faults that a comparison, a scoreboard, a product or a self-test found.
[[nodiscard]] std::vector<std::string> faults_of(const Json& json) {
  std::vector<std::string> faults;
  for (const Json& item : array_at(json, "cases")) {
    const std::string status = text_at(item, "result/status");
    if (status == "pass" || status == "converged") continue;
    const std::string reason = text_at(item, "result/reason");
    std::string name = text_at(item, "solver");
    if (const std::string precond = text_at(item, "result/precond"); !precond.empty()) name += " with " + precond;
    name += (name.empty() ? "" : ", ") + text_at(item, "kernel");
    faults.push_back(fmt::format("{}: {}{}{}", name, status, reason.empty() ? "" : ": ", reason));
  }
  for (const Json& item : array_at(json, "result/slower")) {
    if (item.is_string()) faults.push_back("slower than the baseline: " + item.get<std::string>());
  }
  for (const Json& reason : array_at(json, "result/reasons")) {
    if (reason.is_string()) faults.push_back(reason.get<std::string>());
  }
  for (const Json& check : array_at(json, "self_test")) {
    if (is_true_at(check, "passed") || is_true_at(check, "skipped")) continue;
    faults.push_back(text_at(check, "name") + ": " + text_at(check, "detail"));
  }
  if (find(json, "check/passed") != nullptr && !is_true_at(json, "check/passed")) {
    faults.push_back(fmt::format("(A B) x differs from A (B x) by {:.3g} times what rounding explains",
                                 number_at(json, "check/error_over_bound")));
  }
  return faults;
}

[[nodiscard]] std::string breakdown_text(const Json& event) {
  return fmt::format("Breakdown of {} at iteration {}: {}.", escaped(text_at(event, "kind")),
                     count(number_at(event, "iteration")),
                     text_at(event, "action") == "restart" ? "restarted" : "stopped");
}

}  // namespace

std::string cause_of(const Document& document, const std::string& label) {
  const Json& json = document.json;
  if (!has_failed(json)) return {};
  std::string text = fmt::format("<h2>{}", escaped(headline(text_at(json, "result/status"))));
  const double iterations = number_at(json, "result/iterations");
  if (std::isfinite(iterations)) text += fmt::format(" after {} iterations", count(iterations));
  text += fmt::format(" <small>{}</small></h2>\n", escaped(label));
  const std::string reason = text_at(json, "result/reason");
  if (!reason.empty()) text += "<p>" + escaped(capitalised(reason)) + ".</p>\n";
  std::string list;
  for (const std::string& fault : faults_of(json)) list += "<li>" + escaped(fault) + "</li>\n";
  constexpr std::size_t most_events = 5;
  const Json& events = array_at(json, "result/breakdowns");
  for (std::size_t i = 0; i < std::min(events.size(), most_events); ++i)
    list += "<li>" + breakdown_text(events[i]) + "</li>\n";
  if (events.size() > most_events) list += fmt::format("<li>{} more breakdowns.</li>\n", events.size() - most_events);
  if (const std::string proof = text_at(json, "ladder/proof"); !proof.empty())
    list += "<li>" + escaped(proof) + "</li>\n";
  if (!list.empty()) text += "<ul>\n" + list + "</ul>\n";
  const std::string advice = advice_of(json);
  if (!advice.empty()) text += "<p>Try " + code(advice) + "</p>\n";
  return "<section class=\"cause\">\n" + text + "</section>\n";
}

std::string outcome_of(const Document& document) {
  const Json& json = document.json;
  const std::string kind = kind_of(document);
  const std::string status = escaped(headline(text_at(json, "result/status")));
  if (kind == "run" && find(json, "result/least_squares") == nullptr) {
    const double computed = number_at(json, "result/residual/true");
    const double target = number_at(json, "result/residual/target");
    return fmt::format("{} after {} iterations: ‖b − A x‖ = {} {} {}.", status,
                       count(number_at(json, "result/iterations")), residual(computed),
                       computed <= target ? "≤" : "&gt;", residual(target));
  }
  if (kind == "run") {
    return fmt::format("{} after {} iterations, in the sense of least squares: ‖Aᵀ(b − A x)‖ = {}, ‖b − A x‖ = {}.",
                       status, count(number_at(json, "result/iterations")),
                       residual(number_at(json, "result/least_squares/normal_residual")),
                       residual(number_at(json, "result/residual/true")));
  }
  if (kind == "pagerank") {
    return fmt::format("{} after {} iterations: ‖x′ − x‖ = {}, tolerance {} in {}.", status,
                       count(number_at(json, "result/iterations")), residual(number_at(json, "result/change")),
                       residual(number_at(json, "result/tolerance")), escaped(text_at(json, "result/norm")));
  }
  if (kind == "centrality") {
    const bool is_hits = find(json, "result/residual") != nullptr;
    return fmt::format("{} after {} iterations: {} {}, tolerance {}.", status,
                       count(number_at(json, "result/iterations")), is_hits ? "change" : "error of a score at most",
                       residual(number_at(json, is_hits ? "result/residual" : "result/error_bound")),
                       residual(number_at(json, "result/tolerance")));
  }
  if (kind == "compare") {
    const std::string best = text_at(json, "result/best");
    return best.empty()
               ? status + "."
               : fmt::format("{}; best by {}: {}.", status, escaped(text_at(json, "result/sort")), escaped(best));
  }
  if (kind == "spgemm") {
    return fmt::format("{}: {} × {}, {} entries.", status, count(number_at(json, "result/rows")),
                       count(number_at(json, "result/cols")), count(number_at(json, "result/nnz")));
  }
  return status.empty() ? std::string() : status + ".";
}

namespace {

[[nodiscard]] std::string with_reason(const std::string& what, const std::string& reason) {
  return reason.empty() ? what : fmt::format("{} <small>{}</small>", what, escaped(reason));
}

[[nodiscard]] Facts run_facts(const Json& json) {
  const double seconds = number_at(json, "timings_ms/solve");
  Facts facts{
      {"Method", with_reason(escaped(text_at(json, "result/method")), text_at(json, "result/method_reason"))},
      {"Preconditioner", with_reason(escaped(text_at(json, "result/precond")), text_at(json, "result/precond_reason"))},
      {"Right-hand side", escaped(text_at(json, "result/rhs"))},
      {"‖b − A x‖", residual(number_at(json, "result/residual/true")) + " <small>target " +
                        residual(number_at(json, "result/residual/target")) + "</small>"},
      {"Products with A", count(number_at(json, "result/spmv_count"))},
      {"Time per iteration", time(number_at(json, "timings_ms/per_iteration_median"))},
      {"Restarts", count(number_at(json, "result/restarts"))}};
  const double error = number_at(json, "result/relative_error_vs_known");
  if (std::isfinite(error))
    facts.emplace_back("Error of x", residual(error) + " <small>relative to the known solution</small>");
  const double backward = number_at(json, "result/backward_error/componentwise");
  if (std::isfinite(backward))
    facts.emplace_back("Backward error", residual(backward) + " <small>componentwise</small>");
  const double rate = number_at(json, "derived/gbytes_per_s");
  if (rate > 0.0 && seconds > 0.0)
    facts.emplace_back("Rate of the solve", number(rate) + " GB/s <small>products alone, at least</small>");
  const double peak = number_at(json, "memory_bytes/peak_resident");
  if (peak > 0.0) facts.emplace_back("Memory at most", size(peak));
  return facts;
}

[[nodiscard]] std::string plan_facts(const Json& json) {
  const Json* plan = find(json, "plan");
  if (plan == nullptr) return {};
  Facts facts{{"Kernel", with_reason(escaped(text_at(*plan, "kernel")), text_at(*plan, "reason"))},
              {"Set-up", time(number_at(*plan, "build_ms"))},
              {"Memory", size(number_at(*plan, "bytes"))},
              {"Determinism", escaped(as_words(text_at(*plan, "determinism")))}};
  const double tiles = number_at(*plan, "tiles");
  if (tiles > 0) facts.emplace_back("Tiles", count(tiles));
  const double applies = number_at(*plan, "break_even_applies");
  if (std::isfinite(applies)) facts.emplace_back("Pays after", count(applies) + " products");
  return html(facts);
}

/// Levels of a hierarchy, with bars for their entries.
[[nodiscard]] std::string level_table(const Json& hierarchy) {
  Table table;
  table.caption = "Levels";
  table.headings = {"level", "entries", "", "rows", "per row", "aggregates", "strong", "λ(D⁻¹A)", "layout", "memory"};
  double most = 0.0;
  for (const Json& level : array_at(hierarchy, "levels")) most = std::max(most, number_at(level, "nnz"));
  int index = 0;
  for (const Json& level : array_at(hierarchy, "levels")) {
    const double rows = number_at(level, "rows");
    const double nnz = number_at(level, "nnz");
    const double aggregates = number_at(level, "aggregates");
    table.rows.push_back({fmt::format("{}", index++), count(nnz), bar(nnz, most), count(rows),
                          rows > 0 ? fmt::format("{:.1f}", nnz / rows) : "–", aggregates > 0 ? count(aggregates) : "–",
                          number(number_at(level, "strong")), number(number_at(level, "spectral_radius")),
                          escaped(text_at(level, "layout")), size(number_at(level, "bytes"))});
  }
  return html(table);
}

[[nodiscard]] std::string precond_facts(const Json& json) {
  const Json* precond = find(json, "preconditioner");
  if (precond == nullptr || text_at(*precond, "name") == "none") return {};
  Facts facts{{"Preconditioner", with_reason(escaped(text_at(*precond, "name")), text_at(*precond, "reason"))},
              {"Set-up", time(number_at(*precond, "setup_ms"))},
              {"Memory", size(number_at(*precond, "bytes"))}};
  std::string tables;
  if (const Json* hierarchy = find(*precond, "hierarchy"); hierarchy != nullptr) {
    facts.emplace_back("Operator complexity", number(number_at(*hierarchy, "operator_complexity")));
    facts.emplace_back("Grid complexity", number(number_at(*hierarchy, "grid_complexity")));
    facts.emplace_back("Coarsening", escaped(text_at(*hierarchy, "reason")));
    tables += level_table(*hierarchy);
  }
  for (const char* key : {"polynomial", "factors", "direct", "approximate_inverse"}) {
    const Json* details = find(*precond, key);
    if (details == nullptr || !details->is_object()) continue;
    const Facts more = scalars_of(*details);
    facts.insert(facts.end(), more.begin(), more.end());
  }
  return html(facts) + tables;
}

[[nodiscard]] std::string ladder_table(const Json& json) {
  const double taken = number_at(json, "ladder/rung");
  Table table;
  table.caption = "Rungs of the ladder, in the order in which they were tried";
  table.headings = {"rung", "status", "how it ended", "iterations", "‖r‖ / ‖b‖", "set-up", "solve"};
  table.text_columns = 3;
  double index = 0.0;
  for (const Json& rung : array_at(json, "ladder/rungs")) {
    const std::string name = escaped(text_at(rung, "name"));
    const bool is_taken = index++ == taken;
    const bool is_set_up = is_true_at(rung, "set_up");
    table.rows.push_back({is_taken ? "<strong>" + name + "</strong>" : name,
                          is_set_up ? escaped(text_at(rung, "status")) : "–", escaped(text_at(rung, "outcome")),
                          count(number_at(rung, "iterations")), residual(number_at(rung, "relative_residual")),
                          time(number_at(rung, "setup_ms")), time(number_at(rung, "solve_ms"))});
  }
  return html(table);
}

[[nodiscard]] std::string column_table(const Json& json) {
  constexpr std::size_t most_rows = 64;
  Table table;
  table.caption = "Right-hand sides";
  table.headings = {"column", "status", "iterations", "‖b − A x‖", "‖b‖"};
  table.text_columns = 2;
  const Json& columns = array_at(json, "columns");
  for (std::size_t i = 0; i < std::min(columns.size(), most_rows); ++i) {
    const Json& column = columns[i];
    table.rows.push_back({fmt::format("{}", i + 1), escaped(text_at(column, "status")),
                          count(number_at(column, "iterations")), residual(number_at(column, "true_residual")),
                          residual(number_at(column, "b_norm"))});
  }
  return html(table) + (columns.size() > most_rows ? fmt::format("<p class=\"note\">{} more in the document.</p>\n",
                                                                 columns.size() - most_rows)
                                                   : "");
}

/// \param score name of the number that ranks: "rank", "score"
[[nodiscard]] std::string ranking_table(const std::string& caption, const Json& top, std::string_view score) {
  Table table;
  table.caption = caption;
  table.headings = {"place", "", "vertex", std::string(score)};
  table.text_columns = 2;
  constexpr std::size_t most_rows = 100;
  const double highest = top.empty() ? 0.0 : number_at(top.front(), score);
  for (std::size_t i = 0; i < std::min(top.size(), most_rows); ++i) {
    const double value = number_at(top[i], score);
    const std::string name = text_at(top[i], "name");
    table.rows.push_back({fmt::format("{}", i + 1), bar(value, highest),
                          name.empty() ? count(number_at(top[i], "vertex")) : escaped(name),
                          number(value, fmt::format("{:.4e}", value))});
  }
  return top.empty() ? std::string() : R"(<div class="lengths">)" + html(table) + "</div>";
}

/// Of all personalizations.
[[nodiscard]] std::string pagerank_tables(const Json& json) {
  constexpr std::size_t most_vectors = 16;
  const Json& vectors = array_at(json, "vectors");
  if (vectors.empty())
    return ranking_table("Highest ranks; vertices count from 1", array_at(json, "result/top"), "rank");
  std::string text;
  for (std::size_t i = 0; i < std::min(vectors.size(), most_vectors); ++i) {
    text += ranking_table(fmt::format("Highest ranks for {}", escaped(text_at(vectors[i], "personalize"))),
                          array_at(vectors[i], "top"), "rank");
  }
  if (vectors.size() > most_vectors) {
    text += fmt::format("<p class=\"note\">{} more in the document.</p>\n", vectors.size() - most_vectors);
  }
  return text;
}

[[nodiscard]] std::string centrality_details(const Json& json) {
  Facts facts{{"Links", count(number_at(json, "result/edges"))}};
  if (find(json, "result/contraction") != nullptr) {
    facts.push_back({"Factor per iteration", number(number_at(json, "result/contraction"))});
  }
  if (find(json, "result/alpha") != nullptr) {
    facts.push_back({"α", number(number_at(json, "result/alpha"))});
    facts.push_back({"Upper bound of ρ(A)", number(number_at(json, "result/spectral_bound"))});
  }
  facts.push_back({"Time per iteration", time(number_at(json, "timings_ms/per_iteration_median"))});
  return section("Ranking", html(facts) + ranking_table("Highest hubs", array_at(json, "result/hubs"), "score") +
                                ranking_table("Highest authorities", array_at(json, "result/authorities"), "score") +
                                ranking_table("Highest scores", array_at(json, "result/top"), "score"));
}

}  // namespace

std::string details_of(const Document& document) {
  const Json& json = document.json;
  const std::string kind = kind_of(document);
  if (kind == "run") {
    return section("Solve", html(run_facts(json))) + section("Product", plan_facts(json)) +
           section("Preconditioner", precond_facts(json)) + section("Ladder", ladder_table(json)) +
           section("Columns", column_table(json));
  }
  if (kind == "pagerank") {
    const Facts facts{{"Damping", number(number_at(json, "result/damping"))},
                      {"Dangling vertices", count(number_at(json, "result/dangling_count")) + " <small>" +
                                                escaped(text_at(json, "result/dangling")) + "</small>"},
                      {"Teleport", escaped(text_at(json, "result/teleport"))},
                      {"Edges", count(number_at(json, "result/edges"))},
                      {"Time per iteration", time(number_at(json, "timings_ms/per_iteration_median"))}};
    return section("Ranking", html(facts) + pagerank_tables(json)) + section("Product", plan_facts(json));
  }
  if (kind == "centrality") return centrality_details(json) + section("Product", plan_facts(json));
  if (kind == "compare") return section("Comparison", comparison_tables(json));
  if (kind == "scoreboard") return scoreboard_sections(json);
  return other_details(document);
}

}  // namespace tessera::cli::report
