#include "tessera/nearest.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace tessera {

namespace {

[[nodiscard]] char small(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

/// Insertions, deletions, replacements and swaps of neighbours that turn one word into the other (optimal string
/// alignment). Capitals count as small letters.
[[nodiscard]] std::size_t edit_distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> before(to.size() + 1);
  std::vector<std::size_t> above(to.size() + 1);
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(above.begin(), above.end(), std::size_t{0});
  for (std::size_t i = 1; i <= from.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= to.size(); ++j) {
      const bool same = small(from[i - 1]) == small(to[j - 1]);
      row[j] = std::min({above[j - 1] + (same ? 0 : 1), above[j] + 1, row[j - 1] + 1});
      const bool swapped =
          i > 1 && j > 1 && small(from[i - 1]) == small(to[j - 2]) && small(from[i - 2]) == small(to[j - 1]);
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above.back();
}

/// The only candidate that `word` is the beginning of.
[[nodiscard]] std::string_view completion(std::string_view word, std::span<const std::string_view> candidates) {
  constexpr std::size_t least = 3;
  const auto begins = [&](std::string_view candidate) { return candidate.starts_with(word); };
  const auto found = std::find_if(candidates.begin(), candidates.end(), begins);
  const bool only = word.size() >= least && std::count_if(candidates.begin(), candidates.end(), begins) == 1;
  return only ? *found : std::string_view();
}

}  // namespace

std::string_view nearest_name(std::string_view word, std::span<const std::string_view> candidates) {
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string_view candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    // Nothing that shares no letter with the word.
    if (distance < best_distance && distance < std::max(word.size(), candidate.size())) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best.empty() ? completion(word, candidates) : best;
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates) {
  const std::string_view found = nearest_name(word, candidates);
  return found.empty() ? std::string() : "did you mean " + std::string(found) + "?";
}

std::string did_you_mean(std::string_view word, std::span<const std::string> candidates) {
  const std::vector<std::string_view> views(candidates.begin(), candidates.end());
  return did_you_mean(word, views);
}

std::string nearest_hint(std::string_view word, std::span<const std::string_view> candidates) {
  const std::string_view found = nearest_name(word, candidates);
  return found.empty() ? std::string() : "; did you mean '" + std::string(found) + "'?";
}

}  // namespace tessera
