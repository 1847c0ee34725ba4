/// \file
/// Numbers in JSON documents: NaN and infinity never appear as bare tokens.
#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace tessera::cli {

/// Keeps keys in the order in which they were put.
using Json = nlohmann::ordered_json;

/// object[key] = value; for NaN and infinity null, with a sibling key "<key>_nonfinite": "nan", "inf" or "-inf".
void put_number(Json& object, const std::string& key, double value);

/// The same for an element of an array, which has no room for the sibling.
[[nodiscard]] Json number_or_null(double value);

}  // namespace tessera::cli
