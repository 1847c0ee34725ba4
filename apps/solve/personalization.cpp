#include "personalization.hpp"

#include "errors.hpp"
#include "option_table.hpp"
#include "option_values.hpp"
#include "problem.hpp"

#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>

namespace tessera::cli {

namespace {

constexpr std::string_view option = "personalize";
constexpr std::string_view unit = "unit:";

[[noreturn]] void refuse(const std::string& reason, const std::string& hint = {}) {
  throw OptionError(std::string(option), fmt::format("option --{}: {}", option, reason), hint);
}

/// Whether the text up to the first ',' or ':' is a whole number; "./5" is a file.
[[nodiscard]] bool is_list(std::string_view text) {
  std::string_view first = text.substr(0, text.find_first_of(",:"));
  if (first.starts_with('-') || first.starts_with('+')) first.remove_prefix(1);
  const bool digits = std::all_of(first.begin(), first.end(), [](char c) { return c >= '0' && c <= '9'; });
  return digits && !first.empty();
}

/// VERTEX or VERTEX:WEIGHT. \param place "item 2", for messages
[[nodiscard]] WeightedVertex parse_item(std::string_view item, const std::string& place) {
  const std::size_t colon = std::min(item.find(':'), item.size());
  const auto vertex = parse_count(item.substr(0, colon));
  if (!vertex || *vertex < 1) {
    refuse(fmt::format("{}: expected a vertex (a whole number from 1) or VERTEX:WEIGHT, got \"{}\"", place, item),
           "a file of that name is written with its folder: ./NAME");
  }
  if (colon == item.size()) return {*vertex - 1, 1.0};
  const auto weight = parse_number(item.substr(colon + 1));
  if (!weight || *weight < 0.0) {
    refuse(fmt::format("{}: the weight of vertex {} must be a finite number >= 0, got \"{}\"", place, *vertex,
                       item.substr(colon + 1)));
  }
  return {*vertex - 1, *weight};
}

[[nodiscard]] std::vector<WeightedVertex> parse_list(std::string_view text) {
  std::vector<WeightedVertex> vertices;
  std::map<std::int64_t, std::size_t> item_of;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::size_t item = vertices.size() + 1;
    vertices.push_back(parse_item(text.substr(begin, end - begin), fmt::format("item {}", item)));
    const std::int64_t vertex = vertices.back().vertex;
    const auto [earlier, is_new] = item_of.emplace(vertex, item);
    if (!is_new) {
      refuse(fmt::format("vertex {} is given twice, as items {} and {}", vertex + 1, earlier->second, item));
    }
    begin = end + 1;
  }
  if (std::none_of(vertices.begin(), vertices.end(), [](const WeightedVertex& v) { return v.weight > 0.0; })) {
    refuse("all weights are 0, but at least one must be positive");
  }
  return vertices;
}

/// The reader has refused what is not finite, with its line.
void check_weights(const std::string& path, const std::vector<double>& weights) {
  const auto bad = std::find_if(weights.begin(), weights.end(), [](double weight) { return !(weight >= 0.0); });
  if (bad != weights.end()) {
    throw InvalidMatrix(
        fmt::format("{}: weight {} is {}, but none may be negative", path, bad - weights.begin() + 1, *bad));
  }
  if (std::none_of(weights.begin(), weights.end(), [](double weight) { return weight > 0.0; })) {
    throw InvalidMatrix(fmt::format("{}: all weights are 0, but at least one must be positive", path));
  }
}

}  // namespace

Personalization parse_personalization(const std::string& text) {
  if (text.starts_with(unit)) {
    const auto vertex = parse_count(std::string_view(text).substr(unit.size()));
    if (!vertex || *vertex < 1) refuse_text(option, text, "unit:i with i from 1 to the number of vertices");
    return {{}, {{*vertex - 1, 1.0}}};
  }
  if (is_list(text)) return {{}, parse_list(text)};
  refuse_mistyped_word(option, text, option_words(*find_option(option)));
  return {text, {}};
}

std::vector<double> jump_weights(const Personalization& personalization, index_t vertices,
                                 const MachineSettings& machine) {
  if (!personalization.file.empty()) {
    std::vector<double> weights = read_vector_of<double>(personalization.file, vertices, machine, "personalization");
    check_weights(personalization.file, weights);
    return weights;
  }
  std::vector<double> weights(static_cast<std::size_t>(vertices), 0.0);
  for (std::size_t i = 0; i < personalization.vertices.size(); ++i) {
    const auto& [vertex, weight] = personalization.vertices[i];
    if (vertex >= vertices) {
      refuse(fmt::format("item {}: there is no vertex {}, the graph has {}", i + 1, vertex + 1, vertices));
    }
    weights[static_cast<std::size_t>(vertex)] = weight;
  }
  return weights;
}

}  // namespace tessera::cli
