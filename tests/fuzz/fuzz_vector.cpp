// Text as a vector: plain numbers, array and coordinate files.
#include "tests/fuzz/fuzzing.hpp"

#include <cmath>
#include <cstdint>
#include <vector>

namespace tessera::fuzzing {
namespace {

template <class T>
void read(std::string_view text) {
  const std::string name = "fuzz.txt";
  const auto vector = accepted(name, [&] { return parse_vector<T>(text, name, limited()); });
  if (!vector) return;
  for (const T value : *vector) require(std::isfinite(value), "values are finite");
  if (vector->empty() || vector->size() > 10000) return;
  const std::string written = format_vector<T>(std::span<const T>(*vector));
  require(same_bytes<T>(parse_vector<T>(written, name), *vector), "the written vector reads back");
}

}  // namespace

void fuzz_vector(std::string_view bytes) {
  read<double>(bytes);
  read<float>(bytes);
}

}  // namespace tessera::fuzzing
