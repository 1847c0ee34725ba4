#include "json_text.hpp"

#include <cmath>
#include <string_view>
#include <utility>

namespace tessera::cli {

void put_number(Json& object, const std::string& key, double value) {
  object[key] = number_or_null(value);
  if (std::isnan(value)) object[key + "_nonfinite"] = "nan";
  if (std::isinf(value)) object[key + "_nonfinite"] = value > 0 ? "inf" : "-inf";
}

Json number_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

std::string line_text(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

std::string document_text(Json document) {
  std::string rows = "[";
  if (document.contains("history")) {
    for (const Json& row : std::exchange(document["history"]["rows"], Json::array())) {
      rows += (rows.size() > 1 ? ",\n      " : "\n      ") + line_text(row);
    }
  }
  constexpr int indent = 2;
  std::string text = document.dump(indent, ' ', false, Json::error_handler_t::replace) + '\n';
  // Quotes inside strings are escaped, so this finds the key itself.
  constexpr std::string_view empty_rows = "\"rows\": []";
  if (const auto place = text.find(empty_rows); place != std::string::npos && rows.size() > 1) {
    text.replace(place, empty_rows.size(), "\"rows\": " + rows + "\n    ]");
  }
  return text;
}

}  // namespace tessera::cli
