/// \file
/// Numbers as people write them (1e-8, 1%, 300s, 8GiB), and typed reading of one option with errors that name the
/// option and quote the text.
#pragma once

#include "errors.hpp"
#include "options.hpp"

#include "tessera/nearest.hpp"
#include "tessera/spmv.hpp"

#include <fmt/format.h>
#include <system_error>

#include <array>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::cli {

// Each returns nothing for text that is not wholly a number of its kind, or that overflows.

/// "1e-8", "0.5", "1%" (0.01). Infinity and NaN are not accepted.
[[nodiscard]] std::optional<double> parse_number(std::string_view text);

/// A whole number >= 0: "10000", "1e6".
[[nodiscard]] std::optional<std::int64_t> parse_count(std::string_view text);

/// Seconds: "300", "300s", "5m", "2h", "500ms".
[[nodiscard]] std::optional<double> parse_seconds(std::string_view text);

/// Bytes: "1000000", "8GiB", "500MB", "64KiB", "1TiB"; B, K, M, G, T alone mean powers of 1024.
[[nodiscard]] std::optional<std::uint64_t> parse_bytes(std::string_view text);

/// \throws UsageError: option --name: expected WHAT, got "text"
[[noreturn]] void refuse_text(std::string_view name, std::string_view text, std::string_view expected);

/// Refuses a value that is planned and not part of this build; what follows its first colon does not matter.
/// \param available the values that this build has
void refuse_planned_value(std::string_view name, std::string_view text, std::string_view available);

/// For an option that takes a file or one of some words: text that is not a file and nearly a word is a typing error.
/// \param words vector of texts
/// \throws OptionError naming the nearest word
template <class Words>
void refuse_mistyped_word(std::string_view name, const std::string& text, const Words& words) {
  const std::string hint = did_you_mean(text, words);
  std::error_code ignored;
  if (hint.empty() || std::filesystem::exists(text, ignored)) return;
  throw OptionError(std::string(name), fmt::format("there is no file \"{}\"", text), hint);
}

/// Number within [low, high]; the option must have a default or be given.
[[nodiscard]] double number_option(const Options& options, std::string_view name, double low, double high);

/// Damping of PageRank, in [0, 1).
[[nodiscard]] double damping_option(const Options& options);

/// Whole number within [low, high].
[[nodiscard]] std::int64_t count_option(const Options& options, std::string_view name, std::int64_t low = 0,
                                        std::int64_t high = std::numeric_limits<std::int64_t>::max());

/// Whole number >= 1, or `automatic` for the word auto.
[[nodiscard]] std::int64_t count_or_auto_option(const Options& options, std::string_view name, std::int64_t automatic,
                                                std::int64_t high = std::numeric_limits<std::int64_t>::max());

/// Infinity for "none".
[[nodiscard]] double seconds_option(const Options& options, std::string_view name);
[[nodiscard]] std::uint64_t bytes_option(const Options& options, std::string_view name);

/// Index of the option's text among the choices. \throws UsageError naming the choices and the nearest
[[nodiscard]] std::size_t choose(const Options& options, std::string_view name,
                                 std::span<const std::string_view> choices);

/// Words separated by commas, in their order. \param option name without dashes, for messages
/// \throws UsageError for an empty word, a repeated one, and one that is not known (naming the nearest)
[[nodiscard]] std::vector<std::string> parse_word_list(std::string_view option, std::string_view text,
                                                       std::span<const std::string_view> known);

/// The words of --spmv: auto, measured, and all kernels.
[[nodiscard]] std::vector<std::string_view> kernel_names();
/// Whether it is a kernel, not a way to choose one.
[[nodiscard]] constexpr bool names_kernel(SpmvAlgorithm algorithm) noexcept {
  return algorithm != SpmvAlgorithm::automatic && algorithm != SpmvAlgorithm::measured;
}

/// Words of an option with what they mean.
template <class T, std::size_t N>
using Choices = std::array<std::pair<std::string_view, T>, N>;

/// The same with a value for each word.
template <class T, std::size_t N>
[[nodiscard]] T choice_option(const Options& options, std::string_view name, const Choices<T, N>& choices) {
  std::array<std::string_view, N> words;
  for (std::size_t i = 0; i < N; ++i) words[i] = choices[i].first;
  return choices[choose(options, name, words)].second;
}

}  // namespace tessera::cli
