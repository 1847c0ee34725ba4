// Generated matrices by name: the table of families, specs as text ("rmat:20,seed=3"), their check, and generate().
#include "io/recipe.hpp"
#include "tessera/error.hpp"
#include "tessera/generators.hpp"
#include "tessera/nearest.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace tessera {

std::span<const io::GeneratorEntry> io::generator_entries() {
  static const std::array<GeneratorEntry, 23> entries{
      lap2d_family(),     fem3d_family(),         rmat_family(),          road_family(),       kmer_family(),
      mawi_family(),      web_family(),           band_family(),          rowskew_family(),    poisson2d_family(),
      poisson3d_family(), anisotropic2d_family(), anisotropic3d_family(), rotaniso2d_family(), helmholtz2d_family(),
      stokes2d_family(),  convdiff_family(),      recirc3d_family(),      jump3d_family(),     elasticity3d_family(),
      circuit_family(),   plgraph_family(),       powerlaw_family()};
  return entries;
}

std::span<const GeneratorFamily> generator_families() {
  static const std::vector<GeneratorFamily> families = [] {
    std::vector<GeneratorFamily> result;
    for (const io::GeneratorEntry& entry : io::generator_entries()) result.push_back(entry.family);
    return result;
  }();
  return families;
}

namespace io {

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
  if (size < family.min_size || size > family.max_size) {
    throw InvalidArgument(fmt::format("{}: size ({}) must be in [{}, {}], got {}", family.name, family.size_means,
                                      family.min_size, family.max_size, size));
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

}  // namespace io

namespace {

/// Reads one spec and says in every complaint which text it is about.
class SpecParser {
 public:
  SpecParser(std::string_view text, std::uint64_t seed) : text_(text) { spec_.seed = seed; }

  GeneratorSpec parse() {
    const std::size_t end = text_.find_first_of(":,");
    spec_.family = text_.substr(0, end);
    if (end != std::string_view::npos) parse_parts(text_.substr(end + 1));
    try {
      static_cast<void>(io::Recipe(spec_));
    } catch (const InvalidArgument& error) {
      refuse(error.what());
    }
    return spec_;
  }

 private:
  void parse_parts(std::string_view rest) {
    while (true) {
      const std::size_t comma = rest.find(',');
      parse_part(rest.substr(0, comma));
      if (comma == std::string_view::npos) return;
      rest.remove_prefix(comma + 1);
    }
  }

  void parse_part(std::string_view part) {
    if (part.empty()) refuse("a size or NAME=NUMBER is missing after ':' or ','");
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos) {
      if (spec_.size) refuse(fmt::format("'{}' is a second size", part));
      spec_.size = whole_number("size", part);
      return;
    }
    const std::string_view name = part.substr(0, equals);
    const std::string_view value = part.substr(equals + 1);
    if (name == "seed") {
      if (seed_given_) refuse("parameter 'seed' is given twice");
      seed_given_ = true;
      spec_.seed = seed(value);
    } else if (!spec_.parameters.emplace(name, number(fmt::format("parameter '{}'", name), value)).second) {
      refuse(fmt::format("parameter '{}' is given twice", name));
    }
  }

  [[nodiscard]] double number(const std::string& what, std::string_view text) const {
    double value = 0.0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) {
      refuse(fmt::format("{} must be a number, got '{}'", what, text));
    }
    return value;
  }

  /// 55000000 or 55e6.
  [[nodiscard]] std::int64_t whole_number(const std::string& what, std::string_view text) const {
    const double value = number(what, text);
    constexpr double most = 0x1p53;
    if (value != std::floor(value) || std::fabs(value) > most) {
      refuse(fmt::format("{} must be a whole number up to 2^53, got '{}'", what, text));
    }
    return static_cast<std::int64_t>(value);
  }

  [[nodiscard]] std::uint64_t seed(std::string_view text) const {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) {
      refuse(fmt::format("parameter 'seed' must be an integer in [0, 2^64), got '{}'", text));
    }
    return value;
  }

  [[noreturn]] void refuse(const std::string& reason) const {
    throw InvalidArgument(fmt::format("generator '{}': {}", text_, reason));
  }

  std::string_view text_;
  GeneratorSpec spec_;
  bool seed_given_ = false;
};

}  // namespace

GeneratorSpec parse_generator(std::string_view text, std::uint64_t seed) { return SpecParser(text, seed).parse(); }

std::string to_string(const GeneratorSpec& spec) {
  const io::Recipe recipe(spec);
  std::string text = spec.family + ':';
  // A scale stands in for the size.
  if (!spec.parameters.contains("scale")) text += fmt::format("{},", recipe.size());
  for (const auto& [name, value] : spec.parameters) text += fmt::format("{}={},", name, value);
  return text + fmt::format("seed={}", spec.seed);
}

namespace {

const io::GeneratorEntry& entry_of(const io::Recipe& recipe) {
  const auto entries = io::generator_entries();
  return *std::find_if(entries.begin(), entries.end(),
                       [&](const io::GeneratorEntry& entry) { return entry.family.name == recipe.family().name; });
}

template <class T>
Csr<T> matrix_of(const io::GeneratorEntry& entry, const io::Recipe& recipe) {
  if constexpr (std::is_same_v<T, float>) {
    return entry.matrix_float(recipe);
  } else {
    return entry.matrix_double(recipe);
  }
}

/// Its positions, which are the same for both types of values.
template <class T>
Csr<T> without_values(const Csr<float>& matrix) {
  return Csr<T>::pattern(matrix.rows(), matrix.cols(), Array<offset_t>::copy_of(matrix.row_offsets().span()),
                         Array<index_t>::copy_of(matrix.columns().span()), Check::trusted);
}

}  // namespace

template <class T>
Csr<T> generate(const GeneratorSpec& spec, std::optional<ValueStorage> storage) {
  const io::Recipe recipe(spec);
  const io::GeneratorEntry& entry = entry_of(recipe);
  const ValueStorage wanted = storage.value_or(entry.family.storage);
  if (entry.structure == nullptr) {
    return wanted == ValueStorage::pattern ? without_values<T>(entry.matrix_float(recipe))
                                           : matrix_of<T>(entry, recipe);
  }
  io::Structure structure = entry.structure(recipe);
  if (wanted == ValueStorage::pattern) {
    return Csr<T>::pattern(structure.rows, structure.cols, std::move(structure.offsets), std::move(structure.columns),
                           Check::trusted);
  }
  const auto values = entry.family.symmetric ? io::Values::symmetric : io::Values::independent;
  return io::matrix_with_random_values<T>(std::move(structure), spec.seed, values);
}

std::vector<double> generator_coordinates(const GeneratorSpec& spec) {
  const io::Recipe recipe(spec);
  const io::GeneratorEntry& entry = entry_of(recipe);
  if (entry.coordinates != nullptr) return entry.coordinates(recipe);
  throw InvalidArgument(fmt::format("{}: matrices of this family have no coordinates; elasticity3d has", spec.family));
}

template <class T>
std::uint64_t generated_bytes(const GeneratorSpec& spec, std::optional<ValueStorage> storage) {
  const io::Recipe recipe(spec);
  const io::GeneratorEntry& entry = entry_of(recipe);
  const io::Expected expected = entry.expected(recipe);
  const bool pattern = storage.value_or(entry.family.storage) == ValueStorage::pattern;
  const double offsets = sizeof(offset_t) * (expected.rows + 1);
  const double columns = sizeof(index_t) * expected.drawn;
  const double values = sizeof(T) * expected.drawn;
  // While duplicates are removed, drawn and kept columns coexist; while values are left out, both matrices.
  const double structure = expected.with_duplicates ? 2 * (offsets + columns) : offsets + columns;
  double most = pattern ? structure : std::max(structure, offsets + columns + values);
  if (entry.structure == nullptr) {
    const double made = offsets + columns + (pattern ? sizeof(float) * expected.drawn : values);
    most = made + std::max(pattern ? offsets + columns : 0.0, expected.scratch_bytes);
    if (expected.renumbered) most = 2 * made + sizeof(index_t) * expected.rows;
  }
  return static_cast<std::uint64_t>(most);
}

template Csr<float> generate(const GeneratorSpec&, std::optional<ValueStorage>);
template Csr<double> generate(const GeneratorSpec&, std::optional<ValueStorage>);
template std::uint64_t generated_bytes<float>(const GeneratorSpec&, std::optional<ValueStorage>);
template std::uint64_t generated_bytes<double>(const GeneratorSpec&, std::optional<ValueStorage>);

}  // namespace tessera
