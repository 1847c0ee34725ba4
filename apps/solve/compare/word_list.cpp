#include "compare/word_list.hpp"

#include "usage_error.hpp"

#include "core/nearest.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tessera::cli {

std::vector<std::string> parse_word_list(std::string_view option, std::string_view text,
                                         std::span<const std::string_view> known) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    begin = end + 1;
    if (std::find(known.begin(), known.end(), word) == known.end()) {
      throw UsageError(fmt::format("option --{}: expected words of {}, separated by commas, got \"{}\"", option,
                                   fmt::join(known, ", "), word),
                       did_you_mean(word, known));
    }
    if (std::find(words.begin(), words.end(), word) != words.end()) {
      throw UsageError(fmt::format("option --{}: {} is given twice", option, word));
    }
    words.emplace_back(word);
  }
  return words;
}

}  // namespace tessera::cli
