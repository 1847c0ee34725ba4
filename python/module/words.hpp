/// \file
/// Values of enumerations by their words.
#pragma once

#include "tessera/error.hpp"

#include <nanobind/nanobind.h>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace tessera::python {

[[nodiscard]] inline nanobind::object text(std::string_view words) { return nanobind::str(words.data(), words.size()); }

/// The value whose word this is. \throws InvalidArgument naming the words
template <class Value, std::size_t n>
[[nodiscard]] Value named(const std::string& what, const std::string& word, const std::array<Value, n>& values) {
  std::string known;
  for (const Value value : values) {
    if (to_string(value) == word) return value;
    known += known.empty() ? "" : ", ";
    known += to_string(value);
  }
  throw InvalidArgument(what + " \"" + word + "\" is none of " + known);
}

}  // namespace tessera::python
