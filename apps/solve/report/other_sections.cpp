// The matrix, its products, what else a document holds, and where it was made.
#include "report/figures.hpp"
#include "report/html.hpp"
#include "report/sections.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

namespace tessera::cli::report {

namespace {

[[nodiscard]] std::string value_text(const Json& value) {
  if (value.is_string()) return escaped(value.get<std::string>());
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_number_integer()) return count(value.get<double>());
  return value.is_number() ? number(value.get<double>()) : std::string("–");
}

}  // namespace

Facts scalars_of(const Json& object) {
  Facts facts;
  for (const auto& [key, value] : object.items()) {
    if (value.is_primitive() && !value.is_null()) facts.emplace_back(as_words(key), value_text(value));
  }
  return facts;
}

std::string matrix_section(const Json& document, const Json& matrix, const std::string& name) {
  const double rows = number_at(matrix, "rows");
  const double cols = number_at(matrix, "cols");
  Facts facts{
      {"Size", count(rows) + " × " + count(cols)},
      {"Entries", count(number_at(matrix, "nnz")) + ", " + number(number_at(matrix, "mean_row_nnz")) + " per row"},
      {"Longest row", count(number_at(matrix, "max_row_nnz"))},
      {"Gini coefficient of the rows", number(number_at(matrix, "gini_row_nnz"))},
      {"Values",
       escaped(text_at(matrix, "value")) + (is_true_at(matrix, "symmetric") ? ", numerically symmetric" : "")},
      {"Empty rows", count(number_at(matrix, "empty_rows"))}};
  if (const double merged = number_at(matrix, "duplicates_merged"); merged > 0)
    facts.emplace_back("Repeated entries", count(merged));
  return section("Matrix " + name, "<div class=\"pair\">\n" + spy_figure(document, matrix) + "<div>\n" + html(facts) +
                                       row_length_table(matrix) + "</div>\n</div>\n");
}

namespace {

[[nodiscard]] std::string structure_facts(const Json& json) {
  const double lower = number_at(json, "structure/lower_bandwidth");
  const double upper = number_at(json, "structure/upper_bandwidth");
  return html(Facts{
      {"Symmetry of the values", escaped(as_words(text_at(json, "symmetry/values")))},
      {"Bandwidths", count(lower) + " below, " + count(upper) + " above"},
      {"Magnitudes", number(number_at(json, "values/min_abs")) + " to " + number(number_at(json, "values/max_abs"))},
      {"Diagonal", count(number_at(json, "diagonal/missing")) + " missing, " + count(number_at(json, "diagonal/zero")) +
                       " zero, " + count(number_at(json, "diagonal/negative")) + " negative"},
      {"Weakly dominant rows", count(number_at(json, "diagonal/weakly_dominant_rows"))},
      {"Components",
       find(json, "structure/components") == nullptr ? "" : count(number_at(json, "structure/components/count"))},
      {"Entries in hub rows", count(number_at(json, "rows/hub_nnz"))}});
}

[[nodiscard]] std::string advice_facts(const Json& json) {
  const auto reasoned = [&](const char* what, const char* why) {
    const std::string text = text_at(json, what);
    return text.empty() ? text : fmt::format("{} <small>{}</small>", escaped(text), escaped(text_at(json, why)));
  };
  const std::string command = text_at(json, "advice/command");
  return html(Facts{{"Method", reasoned("advice/method", "advice/method_reason")},
                    {"Preconditioner", reasoned("advice/precond", "advice/precond_reason")},
                    {"Kernel", reasoned("advice/kernel", "advice/kernel_reason")},
                    {"To type", command.empty() ? command : "<code>" + escaped(command) + "</code>"}});
}

[[nodiscard]] std::string kernel_costs(const Json& json) {
  Table table;
  table.headings = {"kernel", "set-up", "memory", "why not"};
  table.last_is_text = true;
  for (const Json& kernel : array_at(json, "kernels")) {
    table.rows.push_back({escaped(text_at(kernel, "kernel")), time(number_at(kernel, "build_ms")),
                          size(number_at(kernel, "bytes")), escaped(text_at(kernel, "problem"))});
  }
  return html(table);
}

[[nodiscard]] std::string planned_rungs(const Json& json) {
  Table table;
  table.headings = {"rung", "why"};
  table.text_columns = 2;
  for (const Json& rung : array_at(json, "ladder/rungs")) {
    table.rows.push_back({escaped(text_at(rung, "name")), escaped(text_at(rung, "reason"))});
  }
  return html(table);
}

/// Value and its relative standard error, as a prediction has them.
[[nodiscard]] std::string estimate_text(const Json& json, const std::string& key) {
  const double error = number_at(json, key + "/relative_error");
  const std::string value =
      number(number_at(json, key + "/value"), fmt::format("{:.4g}", number_at(json, key + "/value")));
  return std::isnan(error) ? value
                           : value + " <small>± " + number(error, fmt::format("{:.2g} %", 100 * error)) + "</small>";
}

[[nodiscard]] std::string product_tables(const Json& json) {
  Table products;
  products.caption = "Products";
  products.headings = {"workflow",  "reason",      "scalar products", "entries",
                       "expansion", "compression", "memory at most",  "time"};
  products.text_columns = 2;
  Table parts;
  parts.caption = "Parts of the time";
  for (const Json& product : array_at(json, "products")) {
    products.rows.push_back({escaped(text_at(product, "workflow")), escaped(text_at(product, "reason")),
                             count(number_at(product, "products")), count(number_at(product, "nnz")),
                             number(number_at(product, "expansion")), number(number_at(product, "compression")),
                             size(number_at(product, "peak_bytes")), time(number_at(product, "timings_ms/total"))});
    const Json* times = find(product, "timings_ms");
    if (times == nullptr || !times->is_object()) continue;
    std::vector<std::string> headings{"product"};
    std::vector<std::string> cells{fmt::format("{}", parts.rows.size() + 1)};
    for (const auto& [key, value] : times->items()) {
      if (!value.is_number()) continue;
      headings.push_back(escaped(key));
      cells.push_back(time(value.get<double>()));
    }
    if (parts.rows.empty()) parts.headings = headings;
    if (headings == parts.headings) parts.rows.push_back(std::move(cells));
  }
  Table predictions;
  predictions.caption = "Predictions, with their relative standard errors";
  predictions.headings = {"product", "scalar products", "entries", "formed", "memory"};
  const Json& formed = array_at(json, "products");
  const Json& predicted = array_at(json, "prediction/products");
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    const double nnz = predicted.size() == formed.size() ? number_at(formed[i], "nnz") : std::nan("");
    predictions.rows.push_back({escaped(text_at(predicted[i], "name")), estimate_text(predicted[i], "products"),
                                estimate_text(predicted[i], "nnz"), count(nnz),
                                size(number_at(predicted[i], "bytes"))});
  }
  return html(products) + html(parts) + html(predictions);
}

/// Every value of an array of objects with the same scalars.
[[nodiscard]] std::string object_table(const std::string& caption, const Json& array) {
  Table table;
  table.caption = caption;
  for (const auto& [key, value] : array.front().items()) {
    if (value.is_primitive()) table.headings.push_back(escaped(as_words(key)));
  }
  constexpr std::size_t most_rows = 200;
  table.text_columns = table.headings.size();
  for (std::size_t i = 0; i < std::min(array.size(), most_rows); ++i) {
    std::vector<std::string> cells;
    for (const auto& [key, value] : array.front().items()) {
      if (!value.is_primitive()) continue;
      const Json* cell = find(array[i], key);
      cells.push_back(cell == nullptr ? "–" : value_text(*cell));
    }
    table.rows.push_back(std::move(cells));
  }
  return table.headings.empty() ? std::string() : html(table);
}

/// What a document holds, key by key.
[[nodiscard]] std::string all_values(const Json& json) {
  constexpr std::array<std::string_view, 6> shown_elsewhere{"tool",    "machine",  "config",
                                                            "command", "warnings", "matrix"};
  std::string text = html(scalars_of(json));
  for (const auto& [key, value] : json.items()) {
    if (std::find(shown_elsewhere.begin(), shown_elsewhere.end(), key) != shown_elsewhere.end()) continue;
    if (value.is_object()) text += section(as_words(key), html(scalars_of(value)));
    if (value.is_array() && !value.empty() && value.front().is_object()) text += object_table(as_words(key), value);
  }
  return text;
}

}  // namespace

std::string other_details(const Document& document) {
  const Json& json = document.json;
  const std::string kind = kind_of(document);
  if (kind == "inspect") {
    return section("Advice", advice_facts(json)) + section("Structure", structure_facts(json)) +
           section("Kernels", kernel_costs(json)) + section("Ladder", planned_rungs(json));
  }
  if (kind == "spgemm") return section("Sparse product", product_tables(json));
  return all_values(json);
}

std::string warnings_list(const Json& json) {
  std::string list;
  for (const Json& warning : array_at(json, "warnings")) {
    if (text_at(warning, "code") == "W018") continue;  // what to try stands beside the cause
    list +=
        fmt::format("<li><b>{}</b> {}</li>\n", escaped(text_at(warning, "code")), escaped(text_at(warning, "text")));
  }
  return list.empty() ? list : section("Warnings", "<ul class=\"warnings\">\n" + list + "</ul>\n");
}

std::string environment_of(const Json& json) {
  const std::string gpu = text_at(json, "machine/gpu/name");
  const double threads = number_at(json, "machine/threads");
  std::string settings;
  if (const Json* config = find(json, "config"); config != nullptr && config->is_object()) {
    for (const auto& [name, setting] : config->items()) {
      const std::string source = text_at(setting, "source");
      const Json* value = find(setting, "value");
      // Those of the command line stand in the command.
      const bool is_typed = source == "command line" || name == "command" || name == "matrix";
      if (is_typed || source == "default" || source.empty() || value == nullptr) continue;
      settings += fmt::format("{}{} = {}", settings.empty() ? "" : ", ", name,
                              value->is_string() ? value->get<std::string>() : value->dump());
    }
  }
  const std::string command = command_line(json);
  const std::string typed = command.empty() ? command : "<p><code>" + escaped(command) + "</code></p>\n";
  // A scoreboard has a program and a machine per build.
  if (find(json, "tool") == nullptr) return typed + html(Facts{{"Started", escaped(text_at(json, "started"))}});
  return typed +
         html(Facts{
             {"Settings from elsewhere", escaped(settings)},
             {"Started", escaped(text_at(json, "started"))},
             {"Program", escaped(fmt::format("{} {}, commit {}", text_at(json, "tool/name"),
                                             text_at(json, "tool/version"), text_at(json, "tool/commit")))},
             {"Build", escaped(fmt::format("{}, CUDA {}, {} ({})", text_at(json, "tool/build/compiler"),
                                           text_at(json, "tool/build/cuda"), text_at(json, "tool/build/type"),
                                           text_at(json, "tool/build/flags")))},
             {"Host", escaped(fmt::format("{}, {}", text_at(json, "machine/host"), text_at(json, "machine/cpu")))},
             {"Threads", std::isnan(threads) ? ""
                                             : count(threads) + " <small>" +
                                                   escaped(text_at(json, "machine/threads_reason")) + "</small>"},
             {"GPU", escaped(gpu)},
             {"Why this device", escaped(text_at(json, "machine/device_reason"))}});
}

}  // namespace tessera::cli::report
