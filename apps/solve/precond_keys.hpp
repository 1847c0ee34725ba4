/// \file
/// Keys of --precond-opt: what both amg and incomplete factors have, and how their values are read.
#pragma once

#include "errors.hpp"
#include "option_values.hpp"
#include "settings.hpp"

#include "tessera/nearest.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::cli {

/// One key of --precond-opt.
struct PrecondKey {
  std::string_view name;
  std::string_view value;     ///< what it takes, for help and messages
  std::string_view fallback;  ///< default, as the user would type it; empty when there is none
  std::string_view help;
};

/// A key with its text, as the user gave them.
struct KeyValue {
  std::string name;
  std::string text;
};

/// In the order of AmgOptions.
[[nodiscard]] std::span<const PrecondKey> amg_keys();
/// In the order of IncompleteFactorOptions.
[[nodiscard]] std::span<const PrecondKey> factor_keys();

/// Takes a value if the key is one of amg. \throws OptionError for a value out of range
void set_amg_key(const KeyValue& given, PrecondSettings& settings);
/// Takes a value if the key is one of incomplete factors. \throws OptionError for a value out of range
void set_factor_key(const KeyValue& given, IncompleteFactorOptions& options);

/// Whether factors of a kind use a key: pivot belongs to ilutp, shift to ic0 and ict.
[[nodiscard]] bool uses_key(FactorKind kind, std::string_view name);
/// "ilu0, iluk, ilut or ilutp": the preconditioners that use a key of factors.
[[nodiscard]] std::string users_of(std::string_view factor_key);

/// The key with this name; nullptr when there is none.
[[nodiscard]] const PrecondKey* find_key(std::span<const PrecondKey> among, std::string_view name);

// Each reads the text of a key. \throws OptionError: option --precond-opt NAME: expected WHAT, got "TEXT"

[[noreturn]] void refuse_value(const KeyValue& given, std::string_view expected);

[[nodiscard]] int whole_number(const KeyValue& given, const PrecondKey& key, std::int64_t low, std::int64_t high);

/// \param within whether a value lies in the range
template <class Within>
[[nodiscard]] double number(const KeyValue& given, const PrecondKey& key, const Within& within) {
  const auto value = parse_number(given.text);
  if (!value || !within(*value)) refuse_value(given, key.value);
  return *value;
}

template <class T, std::size_t N>
[[nodiscard]] T word(const KeyValue& given, const Choices<T, N>& choices) {
  for (const auto& [name, value] : choices) {
    if (name == given.text) return value;
  }
  std::vector<std::string_view> words;
  for (const auto& choice : choices) words.push_back(choice.first);
  throw OptionError("precond-opt",
                    fmt::format("option --precond-opt {}: expected one of {}, got \"{}\"", given.name,
                                fmt::join(words, ", "), given.text),
                    did_you_mean(given.text, words));
}

}  // namespace tessera::cli
