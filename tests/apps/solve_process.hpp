/// \file
/// The command `solve` as tests call it, in a scratch directory of their own.
#pragma once

#include "process.hpp"

#include <gtest/gtest.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace tessera::testing {

/// `solve ARGUMENTS`, the binary that the build made.
[[nodiscard]] inline ProcessResult solve(std::vector<std::string> arguments, const ProcessOptions& options = {}) {
  arguments.insert(arguments.begin(), TESSERA_SOLVE_BINARY);
  return run_process(arguments, options);
}

/// Why a GPU cannot be used differs between builds and machines.
[[nodiscard]] inline std::string without_reason(const std::string& text) {
  static const std::regex reason(R"((device cuda:\d+ cannot be used: ).*)");
  return std::regex_replace(text, reason, "$1<reason>");
}

/// Words separated by blanks.
[[nodiscard]] inline std::vector<std::string> words(const std::string& line) {
  std::istringstream stream(line);
  return {std::istream_iterator<std::string>(stream), std::istream_iterator<std::string>()};
}

[[nodiscard]] inline std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// Gives each test an empty directory that vanishes with it.
class SolveTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    std::string name = std::string(info->test_suite_name()) + "." + info->name() + "." + std::to_string(::getpid());
    for (char& c : name) c = c == '/' ? '_' : c;
    directory_ = std::filesystem::temp_directory_path() / ("tessera-" + name);
    std::filesystem::create_directories(directory_);
  }
  void TearDown() override {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }

  [[nodiscard]] std::string path(const std::string& name) const { return (directory_ / name).string(); }

  /// Writes a file into the directory and returns its path.
  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }

  /// Runs in the directory, so that relative names mean files there.
  [[nodiscard]] ProcessResult run(const std::vector<std::string>& arguments) const {
    ProcessOptions options;
    options.directory = directory_;
    return solve(arguments, options);
  }
  [[nodiscard]] ProcessResult run(const std::string& line) const { return run(words(line)); }
  /// With variables of the environment, such as "SOLVE_RTOL=1e-3".
  [[nodiscard]] ProcessResult run_with(std::vector<std::string> variables, const std::string& line) const {
    variables.insert(variables.begin(), "/usr/bin/env");
    variables.emplace_back(TESSERA_SOLVE_BINARY);
    for (std::string& word : words(line)) variables.push_back(std::move(word));
    ProcessOptions options;
    options.directory = directory_;
    return run_process(variables, options);
  }

  /// What the program holds besides: code and libraries as this machine maps them, read from runs on the smallest of
  /// inputs, and 2 MiB for what grows beside the arrays: further code, threads, buffers of streams.
  [[nodiscard]] std::uint64_t program_bytes() const {
    std::uint64_t smallest = 0;
    for (const char* line : {"--poisson2d 2", "pagerank --generate web:10"}) {
      const auto done = run(line);
      EXPECT_EQ(done.exit_code, 0) << done.err;
      smallest = std::max(smallest, done.peak_bytes);
    }
    return smallest + (std::uint64_t{2} << 20);
  }

 private:
  std::filesystem::path directory_;
};

/// 1D Laplacian of size 4.
inline constexpr const char* laplace4 =
    "%%MatrixMarket matrix coordinate real symmetric\n4 4 7\n1 1 2\n2 2 2\n3 3 2\n4 4 2\n2 1 -1\n3 2 -1\n4 3 -1\n";

}  // namespace tessera::testing
