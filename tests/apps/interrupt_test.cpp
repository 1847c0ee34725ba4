/// Signals in the middle of a long solve, and where a command is blocked or has nothing to write.

#include "solve_process.hpp"

#include "tessera/matrix_market.hpp"

#include <sys/stat.h>

namespace tessera::testing {

namespace {

class InterruptTest : public SolveTest {
 protected:
  /// A solve of minutes, signalled once an iteration other than the starting point is reported.
  [[nodiscard]] ProcessResult interrupted(int signal) const {
    ProcessOptions options;
    options.directory = path("");
    options.signal_when = {signal, "\"event\":\"iteration\",\"iteration\":1"};
    return solve(words("--poisson2d 700 -p none --rtol 1e-30 --stagnation 100000000 --max-iters 100000000 "
                       "--progress json --json -o x.mtx --history h.csv"),
                 options);
  }
};

TEST_F(InterruptTest, WritesPartialResultsAndSaysSo) {
  const std::vector<std::pair<int, int>> signals{{SIGHUP, 129}, {SIGINT, 130}, {SIGTERM, 143}};
  for (const auto& [signal, code] : signals) {
    const auto result = interrupted(signal);
    ASSERT_FALSE(result.timed_out);
    EXPECT_EQ(result.exit_code, code) << result.err;
    const auto json = nlohmann::json::parse(result.out);
    EXPECT_EQ(json["result"]["status"], "interrupted");
    EXPECT_EQ(json["result"]["exit_code"], code);
    EXPECT_GT(json["result"]["iterations"], 0);
    EXPECT_EQ(read_vector<double>(path("x.mtx")).size(), 700U * 700U);
    EXPECT_GT(contents(path("h.csv")).size(), 100U);
  }
}

/// One signal, a second after the start: `timeout` sends it.
class OneSignalTest : public SolveTest {
 protected:
  [[nodiscard]] ProcessResult after_a_second(const std::string& signal, const std::string& line) const {
    std::vector<std::string> arguments{"/usr/bin/timeout",  "--foreground", "--preserve-status", "-s", signal, "1",
                                       TESSERA_SOLVE_BINARY};
    for (const std::string& word : words(line)) arguments.push_back(word);
    ProcessOptions options;
    options.directory = path("");
    options.timeout = std::chrono::seconds(60);  // without the watchdog: never, or after minutes
    return run_process(arguments, options);
  }
  void expect_end(const std::string& line) const {
    for (const auto& [signal, code] :
         std::vector<std::pair<std::string, int>>{{"HUP", 129}, {"INT", 130}, {"TERM", 143}}) {
      const auto result = after_a_second(signal, line);
      EXPECT_FALSE(result.timed_out) << line << ", SIG" << signal;
      EXPECT_EQ(result.exit_code, code) << line << ", SIG" << signal << ": " << result.err;
    }
  }
};

TEST_F(OneSignalTest, EndsTheWaitForAPipe) {
  ASSERT_EQ(::mkfifo(path("p").c_str(), 0600), 0);
  expect_end("inspect p");
  expect_end("--poisson2d 4 -q -o p");
}

TEST_F(OneSignalTest, EndsALongProductWithoutAnOutput) {
  expect_end("spgemm --generate rmat:scale=16 --threads 1 -o c.mtx");
  EXPECT_TRUE(std::filesystem::is_empty(path("")));
}

TEST_F(SolveTest, AFileSizeLimitIsARefusal) {
  const std::string line = "ulimit -f 8; exec \"$0\" --poisson2d 100 -q -o x.mtx";
  ProcessOptions options;
  options.directory = path("");
  const auto result = run_process({"/bin/bash", "-c", line, TESSERA_SOLVE_BINARY}, options);
  EXPECT_EQ(result.signal, 0);
  EXPECT_EQ(result.exit_code, 5);
  EXPECT_NE(result.err.find("File too large"), std::string::npos) << result.err;
  EXPECT_TRUE(std::filesystem::is_empty(path("")));
}

}  // namespace

}  // namespace tessera::testing
