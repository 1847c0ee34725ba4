#include "json_number.hpp"

#include <cmath>

namespace tessera::cli {

void put_number(Json& object, const std::string& key, double value) {
  object[key] = number_or_null(value);
  if (std::isnan(value)) object[key + "_nonfinite"] = "nan";
  if (std::isinf(value)) object[key + "_nonfinite"] = value > 0 ? "inf" : "-inf";
}

Json number_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

}  // namespace tessera::cli
