/// Ctrl-C and SIGTERM in the middle of a long solve.

#include "solve_process.hpp"

#include "tessera/matrix_market.hpp"

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
  const std::vector<std::pair<int, int>> signals{{SIGINT, 130}, {SIGTERM, 143}};
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

}  // namespace

}  // namespace tessera::testing
