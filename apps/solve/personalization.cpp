#include "personalization.hpp"

#include "errors.hpp"
#include "option_table.hpp"
#include "option_values.hpp"
#include "problem.hpp"

#include "tessera/error.hpp"
#include "tessera/multi_vector_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <system_error>
#include <unordered_map>

namespace tessera::cli {

namespace {

using Kind = Personalization::Kind;

constexpr std::string_view option = "personalize";
constexpr std::string_view unit = "unit:";

[[noreturn]] void refuse(const std::string& reason, const std::string& hint = {}) {
  throw OptionError(std::string(option), fmt::format("option --{}: {}", option, reason), hint);
}

/// A vertex that jumps lead to.
struct WeightedVertex {
  std::int64_t vertex = 0;  ///< 0-based
  double weight = 1.0;      ///< finite and >= 0
};

/// Whether the text up to the first ',' or ':' is a whole number; "./5" is a file.
[[nodiscard]] bool is_list(std::string_view text) {
  std::string_view first = text.substr(0, text.find_first_of(",:"));
  if (first.starts_with('-') || first.starts_with('+')) first.remove_prefix(1);
  const bool digits = std::all_of(first.begin(), first.end(), [](char c) { return c >= '0' && c <= '9'; });
  return digits && !first.empty();
}

/// Refuses an item. \param reason begins in lower case \param hint may be empty
using Refusal = std::function<void(const std::string& reason, const std::string& hint)>;

/// The vertices of a list or of a file, one item after the other.
class Items {
 public:
  /// \param separators before a weight \param vertices of the graph; 0: not known yet
  Items(std::string_view separators, std::int64_t vertices, const VertexNames& names)
      : separators_(separators), vertices_(vertices), names_(names) {}

  /// \param number of the item, for one that names its vertex again
  void add(std::string_view item, std::int64_t number, const Refusal& refusal) {
    const WeightedVertex entry = parse(item, refusal);
    const auto [earlier, is_new] = number_of_.emplace(entry.vertex, number);
    if (!is_new) repeat(entry.vertex, earlier->second, number);
    entries_.push_back(entry);
  }

  [[nodiscard]] bool all_zero() const {
    return std::none_of(entries_.begin(), entries_.end(), [](const WeightedVertex& v) { return v.weight > 0.0; });
  }
  [[nodiscard]] const std::vector<WeightedVertex>& entries() const noexcept { return entries_; }

  std::function<void(std::int64_t vertex, std::int64_t earlier, std::int64_t number)> repeat;

 private:
  /// A name, a number, or one of both with a weight.
  [[nodiscard]] WeightedVertex parse(std::string_view item, const Refusal& refusal) const {
    if (const auto vertex = named(item, refusal)) return {*vertex, 1.0};
    const std::size_t end = std::min(item.find_last_of(separators_), item.size());
    const std::string_view name = item.substr(0, end);
    auto vertex = named(name, refusal);
    if (!vertex) vertex = numbered(name, item, refusal);
    if (end == item.size()) return {*vertex, 1.0};
    const auto weight = parse_number(item.substr(end + 1));
    if (!weight || *weight < 0.0) {
      refusal(
          fmt::format("the weight of vertex {} must be a finite number >= 0, got \"{}\"", name, item.substr(end + 1)),
          {});
    }
    return {*vertex, weight.value_or(0.0)};
  }

  [[nodiscard]] std::optional<std::int64_t> named(std::string_view name, const Refusal& refusal) const {
    const auto vertex = names_.find(name);
    if (vertex == VertexNames::ambiguous) {
      refusal(fmt::format("several vertices have the name \"{}\"", name), "name it by its number");
    }
    return vertex;
  }

  [[nodiscard]] std::int64_t numbered(std::string_view name, std::string_view item, const Refusal& refusal) const {
    // 0: no number.
    const std::int64_t number = names_.has_numbers() ? 0 : parse_count(name).value_or(0);
    if (number < 1) {
      if (!names_.empty()) refusal(fmt::format("there is no vertex \"{}\"", name), names_.nearest(name));
      refusal(fmt::format("expected a vertex (a whole number from 1) or VERTEX:WEIGHT, got \"{}\"", item),
              "a file of that name is written with its folder: ./NAME");
    }
    if (vertices_ > 0 && number > vertices_) {
      refusal(fmt::format("there is no vertex {}, the graph has {}", number, vertices_), {});
    }
    return number - 1;
  }

  std::string_view separators_;
  std::int64_t vertices_;
  const VertexNames& names_;
  std::unordered_map<std::int64_t, std::int64_t> number_of_;
  std::vector<WeightedVertex> entries_;
};

/// \param vertices 0: not known yet
[[nodiscard]] std::vector<WeightedVertex> parse_list(std::string_view text, std::int64_t vertices,
                                                     const VertexNames& names) {
  Items items(":", vertices, names);
  items.repeat = [](std::int64_t vertex, std::int64_t earlier, std::int64_t number) {
    refuse(fmt::format("vertex {} is given twice, as items {} and {}", vertex + 1, earlier, number));
  };
  std::int64_t number = 0;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    ++number;
    items.add(text.substr(begin, end - begin), number, [&](const std::string& reason, const std::string& hint) {
      refuse(fmt::format("item {}: {}", number, reason), hint);
    });
    begin = end + 1;
  }
  if (items.all_zero()) refuse("all weights are 0, but at least one must be positive");
  return items.entries();
}

[[nodiscard]] std::vector<WeightedVertex> read_list(const std::string& path, std::int64_t vertices,
                                                    const VertexNames& names) {
  Items items(",\t ", vertices, names);
  std::int64_t number = 0;
  items.repeat = [&](std::int64_t vertex, std::int64_t earlier, std::int64_t again) {
    throw ParseError(path, again, 1, fmt::format("vertex {} is given already, in line {}", vertex + 1, earlier));
  };
  for (const auto& [line_number, line] : read_lines(path)) {
    number = line_number;
    if (line.starts_with('#')) continue;
    items.add(line, number, [&](const std::string& reason, const std::string& hint) {
      throw ParseError(path, number, 1, hint.empty() ? reason : fmt::format("{}; {}", reason, hint));
    });
  }
  if (items.entries().empty()) throw InvalidMatrix(fmt::format("{}: names no vertices", path));
  if (items.all_zero()) {
    throw InvalidMatrix(fmt::format("{}: all weights are 0, but at least one must be positive", path));
  }
  return items.entries();
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

/// A file of one column or several.
void read_weights(const std::string& path, index_t vertices, const MachineSettings& machine,
                  std::vector<JumpWeights>& all) {
  const auto columns = columns_of_file(path, vertices);
  // The header of a compressed file is read with the rest.
  if (columns ? *columns == 1 : !path.ends_with(".gz")) {
    all.push_back({path, read_vector_of<double>(path, vertices, machine, "personalization")});
    return check_weights(path, all.back().weights);
  }
  ReadOptions options;
  options.device = machine.host;
  options.memory_limit_bytes = machine.host_limit_bytes();
  const MultiVector<double> file = read_multi_vector<double>(path, vertices, options);
  for (std::int64_t k = 0; k < file.columns; ++k) {
    const std::string title = file.columns == 1 ? path : fmt::format("{}, column {}", path, k + 1);
    const auto column = file.elements.begin() + k * file.rows;
    all.push_back({title, std::vector<double>(column, column + file.rows)});
    check_weights(title, all.back().weights);
  }
}

[[nodiscard]] std::vector<double> spread(const std::vector<WeightedVertex>& entries, index_t vertices) {
  std::vector<double> weights(static_cast<std::size_t>(vertices), 0.0);
  for (const auto& [vertex, weight] : entries) weights[static_cast<std::size_t>(vertex)] = weight;
  return weights;
}

[[nodiscard]] Personalization parse_one(const std::string& text, bool may_have_names) {
  if (text.starts_with(unit)) {
    const std::string vertex = text.substr(unit.size());
    const auto number = parse_count(vertex);
    if (!number || *number < 1) refuse_text(option, text, "unit:i with i from 1 to the number of vertices");
    return {Kind::list, vertex};
  }
  if (text.starts_with('@')) return {Kind::list_file, text.substr(1)};
  if (is_list(text)) {
    if (!may_have_names) static_cast<void>(parse_list(text, 0, {}));
    return {Kind::list, text};
  }
  std::error_code ignored;
  if (!may_have_names) {
    refuse_mistyped_word(option, text, option_words(*find_option(option)));
    return {Kind::vector_file, text};
  }
  return {std::filesystem::exists(text, ignored) ? Kind::vector_file : Kind::words, text};
}

}  // namespace

std::vector<Personalization> parse_personalizations(const std::string& text, bool may_have_names) {
  std::vector<Personalization> all;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(';', begin), text.size());
    all.push_back(parse_one(text.substr(begin, end - begin), may_have_names));
    begin = end + 1;
  }
  return all;
}

std::vector<JumpWeights> jump_weights(const std::vector<Personalization>& personalizations, index_t vertices,
                                      const VertexNames& names, const MachineSettings& machine) {
  std::vector<JumpWeights> all;
  for (const auto& [kind, text] : personalizations) {
    if (kind == Kind::vector_file || (kind == Kind::words && names.empty())) {
      read_weights(text, vertices, machine, all);
    } else if (kind == Kind::list_file) {
      all.push_back({"@" + text, spread(read_list(text, vertices, names), vertices)});
    } else {
      all.push_back({text, spread(parse_list(text, vertices, names), vertices)});
    }
  }
  return all;
}

}  // namespace tessera::cli
