/// The tables of refusals/: what is refused, with which exit code, and in exactly which words.

#include "solve_process.hpp"

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <utility>

namespace tessera::testing {

namespace {

namespace fs = std::filesystem;

struct Step {
  std::string verb;
  std::string rest;
  std::string text;  ///< of a file
};

struct Refusal {
  std::string name;
  std::vector<Step> steps;
  std::string arguments;
  int exit_code = -1;
  std::string err;
};

[[nodiscard]] std::pair<std::string, std::string> split(const std::string& line) {
  const std::size_t blank = line.find(' ');
  return {line.substr(0, blank), blank == std::string::npos ? std::string() : line.substr(blank + 1)};
}

[[nodiscard]] std::vector<Refusal> read_table(const std::string& name) {
  std::ifstream file(fs::path(TESSERA_REFUSALS_DIR) / name);
  std::vector<Refusal> table;
  for (std::string line; std::getline(file, line);) {
    const auto [verb, rest] = split(line);
    if (verb == "==") {
      table.push_back({rest, {}, {}, -1, {}});
    } else if (table.empty() || verb.empty() || verb.starts_with('#')) {
      continue;
    } else if (verb == "|") {
      table.back().steps.back().text += rest + "\n";
    } else if (verb == "run") {
      table.back().arguments = rest;
    } else if (verb == "exit") {
      table.back().exit_code = std::stoi(rest);
    } else if (verb == "err") {
      table.back().err += rest + "\n";
    } else {
      table.back().steps.push_back({verb, rest, {}});
    }
  }
  return table;
}

[[nodiscard]] std::string from_hex(const std::string& digits) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

void put(const fs::path& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

class RefusalsTest : public SolveTest {
 protected:
  void prepare(const Step& step, const fs::path& directory) const {
    const auto [name, value] = split(step.rest);
    const fs::path target = directory / name;
    if (step.verb == "file") {
      put(target, step.text);
    } else if (step.verb == "hex") {
      put(target, from_hex(value));
    } else if (step.verb == "directory") {
      fs::create_directory(target);
    } else if (step.verb == "cut") {
      fs::resize_file(target, std::stoul(value));
    } else if (step.verb == "flip") {
      std::string bytes = contents(target);
      char& byte = bytes.at(std::stoul(value));
      byte = static_cast<char>(~byte);
      put(target, bytes);
    } else if (step.verb == "append") {
      put(target, contents(target) + value);
    } else if (step.verb == "make") {
      ProcessOptions options;
      options.directory = directory;
      ASSERT_EQ(solve(words(step.rest), options).exit_code, 0) << step.rest;
    } else {
      ADD_FAILURE() << "the table says \"" << step.verb << "\", which means nothing";
    }
  }

  void check(const std::string& table_name, std::size_t least) const {
    const std::vector<Refusal> table = read_table(table_name);
    ASSERT_GE(table.size(), least);
    std::set<std::string> names;
    std::set<std::string> messages;
    for (const Refusal& refusal : table) {
      SCOPED_TRACE(table_name + ": " + refusal.name);
      EXPECT_TRUE(names.insert(refusal.name).second) << "twice";
      EXPECT_TRUE(messages.insert(refusal.err).second) << "the same cause twice";
      ProcessOptions options;
      options.directory = path(std::to_string(names.size()));
      fs::create_directory(options.directory);
      for (const Step& step : refusal.steps) prepare(step, options.directory);
      const ProcessResult result = solve(words(refusal.arguments), options);
      EXPECT_EQ(result.exit_code, refusal.exit_code);
      EXPECT_EQ(without_reason(result.err), refusal.err);
      EXPECT_TRUE(result.err.starts_with("solve: error: ")) << result.err;
      EXPECT_TRUE(result.out.empty()) << result.out;
    }
  }
};

TEST_F(RefusalsTest, Files) { check("files.txt", 45); }

TEST_F(RefusalsTest, Options) { check("options.txt", 60); }

}  // namespace

}  // namespace tessera::testing
