#include "support/json_text.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace tessera::support {

void put_number(Json& object, const std::string& key, double value) {
  object[key] = number_or_null(value);
  if (std::isnan(value)) object[key + "_nonfinite"] = "nan";
  if (std::isinf(value)) object[key + "_nonfinite"] = value > 0 ? "inf" : "-inf";
}

Json number_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

std::string line_text(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

namespace {

constexpr std::size_t indent = 2;

/// Arrays of plain values and empty containers stay on one line; everything else has a line for each element.
void append_indented(std::string& text, const Json& json, std::size_t depth) {
  const bool nested = std::any_of(json.begin(), json.end(), [](const Json& item) { return item.is_structured(); });
  if (json.empty() || !(json.is_object() || (json.is_array() && nested))) {
    text += line_text(json);
    return;
  }
  text += json.is_object() ? '{' : '[';
  bool first = true;
  for (const auto& [key, item] : json.items()) {
    text += first ? "\n" : ",\n";
    first = false;
    text.append((depth + 1) * indent, ' ');
    if (json.is_object()) text += line_text(key) + ": ";
    append_indented(text, item, depth + 1);
  }
  text += '\n';
  text.append(depth * indent, ' ');
  text += json.is_object() ? '}' : ']';
}

}  // namespace

std::string document_text(const Json& document) {
  std::string text;
  append_indented(text, document, 0);
  return text + '\n';
}

}  // namespace tessera::support
