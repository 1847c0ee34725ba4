#include "commands.hpp"
#include "json_text.hpp"
#include "nearest.hpp"
#include "outputs.hpp"
#include "usage_error.hpp"

#include "tessera/spmv.hpp"
#include "tessera/text_file.hpp"

#include <fmt/format.h>

#include <array>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::cli {

namespace {

using Entry = std::pair<std::string_view, std::string_view>;

struct Topic {
  std::string_view name;
  std::vector<Entry> entries;
};

[[nodiscard]] std::vector<Topic> all_topics() {
  Topic kernels{"kernels", {}};
  for (const SpmvAlgorithm algorithm : spmv_algorithms()) {
    kernels.entries.emplace_back(to_string(algorithm), describe(algorithm));
  }
  return {
      {"methods",
       {{"cg", "conjugate gradients, for symmetric positive definite matrices"},
        {"bicgstab", "stabilised bi-conjugate gradients, for any square matrix"},
        {"pagerank", "the power method on the transition matrix of a graph"}}},
      {"preconds", {{"none", "the identity"}, {"jacobi", "the inverse of the diagonal"}}},
      std::move(kernels),
      {"formats",
       {{"matrix-market", "coordinate and array files; real, integer, pattern; general, symmetric, skew-symmetric"},
        {"matrix-market-gzip", "the same, compressed; recognised by content when read, by .gz when written"},
        {"text-vector", "one number a line, for right-hand sides, initial guesses and personalization"}}},
  };
}

[[nodiscard]] std::vector<Topic> chosen_topics(const Options& options) {
  std::vector<Topic> topics = all_topics();
  if (options.words().empty()) return topics;
  if (options.words().size() > 1) throw UsageError("list takes one topic");
  const std::string& wanted = options.words().front();
  for (Topic& topic : topics) {
    if (topic.name == wanted) return {std::move(topic)};
  }
  constexpr std::array<std::string_view, 4> known{"methods", "preconds", "kernels", "formats"};
  throw UsageError(fmt::format("list: expected one of {}, got \"{}\"", fmt::join(known, ", "), wanted),
                   did_you_mean(wanted, known));
}

[[nodiscard]] std::string list_text(const std::vector<Topic>& topics) {
  std::string text;
  for (const Topic& topic : topics) {
    if (topics.size() > 1) text += fmt::format("{}{}:\n", text.empty() ? "" : "\n", topic.name);
    for (const auto& [name, description] : topic.entries) text += fmt::format("{:<20}{}\n", name, description);
  }
  return text;
}

[[nodiscard]] std::string list_json(const std::vector<Topic>& topics) {
  Json json{{"schema", "solve.list/1"}};
  for (const Topic& topic : topics) {
    Json entries = Json::array();
    for (const auto& [name, description] : topic.entries) {
      entries.push_back({{"name", name}, {"description", description}});
    }
    json[std::string(topic.name)] = std::move(entries);
  }
  return document_text(std::move(json));
}

}  // namespace

ExitCode list_command(const Options& options) {
  const std::vector<Topic> topics = chosen_topics(options);
  const auto json = options.text("json");
  if (json && json != "-") {
    write_text_file(*json, list_json(topics));
  } else {
    write_stdout(json ? list_json(topics) : list_text(topics));
  }
  return ExitCode::success;
}

}  // namespace tessera::cli
