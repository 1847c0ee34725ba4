#include "io/recipe.hpp"
#include "tessera/generators.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

namespace tessera {

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
  if (pattern && entry.structure == nullptr) most = 2 * (offsets + columns) + sizeof(float) * expected.drawn;
  return static_cast<std::uint64_t>(most);
}

template Csr<float> generate(const GeneratorSpec&, std::optional<ValueStorage>);
template Csr<double> generate(const GeneratorSpec&, std::optional<ValueStorage>);
template std::uint64_t generated_bytes<float>(const GeneratorSpec&, std::optional<ValueStorage>);
template std::uint64_t generated_bytes<double>(const GeneratorSpec&, std::optional<ValueStorage>);

}  // namespace tessera
