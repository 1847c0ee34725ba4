/// \file
/// Values of enumerations by their words.
#pragma once

#include "tessera/error.hpp"
#include "tessera/nearest.hpp"

#include <nanobind/nanobind.h>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::python {

[[nodiscard]] inline nanobind::object text(std::string_view words) { return nanobind::str(words.data(), words.size()); }

/// The value whose word this is. \throws InvalidArgument naming the words and, if there is one, the nearest
template <class Value, std::size_t n>
[[nodiscard]] Value named(const std::string& what, const std::string& word, const std::array<Value, n>& values) {
  std::string list;
  std::vector<std::string_view> known;
  for (const Value value : values) {
    if (to_string(value) == word) return value;
    known.push_back(to_string(value));
    list.append(list.empty() ? "" : ", ").append(known.back());
  }
  throw InvalidArgument(what + " \"" + word + "\" is none of " + list + nearest_hint(word, known));
}

}  // namespace tessera::python
