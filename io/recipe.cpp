#include "io/recipe.hpp"

#include "core/nearest.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace tessera::io {

namespace {

template <class Named>
std::vector<std::string_view> names_of(std::span<const Named> things) {
  std::vector<std::string_view> names;
  for (const Named& thing : things) names.push_back(thing.name);
  return names;
}

template <class Named>
const Named* find_named(std::span<const Named> things, std::string_view name) {
  const auto found = std::find_if(things.begin(), things.end(), [&](const Named& thing) { return thing.name == name; });
  return found == things.end() ? nullptr : &*found;
}

const GeneratorFamily& known_family(std::string_view name) {
  if (const GeneratorFamily* family = find_named(generator_families(), name)) return *family;
  const std::vector<std::string_view> names = names_of(generator_families());
  throw InvalidArgument(fmt::format("unknown family '{}' of generated matrices: known are {}{}", name,
                                    fmt::join(names, ", "), nearest_hint(name, names)));
}

const GeneratorParameter& known_parameter(const GeneratorFamily& family, std::string_view name) {
  if (const GeneratorParameter* parameter = find_named(family.parameters, name)) return *parameter;
  std::vector<std::string_view> names = names_of(family.parameters);
  names.emplace_back("seed");
  throw InvalidArgument(fmt::format("{}: unknown parameter '{}': known are {}{}", family.name, name,
                                    fmt::join(names, ", "), nearest_hint(name, names)));
}

void check_parameter(const GeneratorFamily& family, std::string_view name, double value) {
  const GeneratorParameter& parameter = known_parameter(family, name);
  if (!(value >= parameter.least && value <= parameter.most)) {
    throw InvalidArgument(fmt::format("{}: parameter '{}' must be in [{}, {}], got {}", family.name, name,
                                      parameter.least, parameter.most, value));
  }
  if (parameter.whole && value != std::floor(value)) {
    throw InvalidArgument(fmt::format("{}: parameter '{}' must be a whole number, got {}", family.name, name, value));
  }
}

std::int64_t checked_size(const GeneratorFamily& family, const GeneratorSpec& spec) {
  const std::int64_t size = spec.size.value_or(family.default_size);
  if (size < 1 || size > family.max_size) {
    throw InvalidArgument(
        fmt::format("{}: size ({}) must be in [1, {}], got {}", family.name, family.size_means, family.max_size, size));
  }
  if (spec.size && spec.parameters.contains("scale")) {
    throw InvalidArgument(fmt::format("{}: give a size or parameter 'scale', not both", family.name));
  }
  return size;
}

}  // namespace

Recipe::Recipe(const GeneratorSpec& spec)
    : spec_(spec), family_(&known_family(spec.family)), size_(checked_size(*family_, spec)) {
  for (const auto& [name, value] : spec_.parameters) check_parameter(*family_, name, value);
}

double Recipe::operator[](std::string_view parameter) const {
  const auto given = spec_.parameters.find(parameter);
  return given != spec_.parameters.end() ? given->second : known_parameter(*family_, parameter).standard;
}

std::int64_t Recipe::whole(std::string_view parameter) const { return static_cast<std::int64_t>((*this)[parameter]); }

}  // namespace tessera::io
