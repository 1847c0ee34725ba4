/// \file
/// JSON as this program writes it: NaN and infinity never appear as bare tokens, text that is not UTF-8 does no harm.
#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace tessera::support {

/// Keeps keys in the order in which they were put.
using Json = nlohmann::ordered_json;

/// object[key] = value; for NaN and infinity null, with a sibling key "<key>_nonfinite": "nan", "inf" or "-inf".
void put_number(Json& object, const std::string& key, double value);

/// The same for an element of an array, which has no room for the sibling.
[[nodiscard]] Json number_or_null(double value);

/// One line. Bytes of a file name that are not UTF-8 become replacement characters.
[[nodiscard]] std::string line_text(const Json& json);

/// Indented; an array of plain values takes one line, so that tables stay readable.
[[nodiscard]] std::string document_text(const Json& document);

}  // namespace tessera::support
