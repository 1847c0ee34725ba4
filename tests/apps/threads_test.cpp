/// Threads by default: the environment, what is said about them, and one thread in words.
#include "solve_process.hpp"

#include <cstdlib>

namespace tessera::testing {
namespace {

using Json = nlohmann::json;

class ThreadsTest : public SolveTest {
 protected:
  void TearDown() override {
    ::unsetenv("OMP_NUM_THREADS");
    SolveTest::TearDown();
  }

  /// machine of the document of a small run with this OMP_NUM_THREADS.
  [[nodiscard]] static Json machine_with(const char* value, const std::vector<std::string>& more = {}) {
    ::setenv("OMP_NUM_THREADS", value, 1);
    std::vector<std::string> arguments{"--poisson2d", "120", "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const ProcessResult result = solve(arguments);
    EXPECT_EQ(result.exit_code, 0) << value << ": " << result.err;
    return Json::parse(result.out).at("machine");
  }
};

TEST_F(ThreadsTest, VariableLowersTheNumberOrIsIgnored) {
  ::unsetenv("OMP_NUM_THREADS");
  const Json plain = machine_with("");
  for (const char* value : {"50000", "100000", "99999999999999999999", "many", "0", "-1", "2.5"}) {
    EXPECT_EQ(machine_with(value), plain) << value;
  }
  EXPECT_EQ(machine_with("1").at("threads"), 1);
}

TEST_F(ThreadsTest, OptionIsStrongerThanTheVariable) {
  const Json machine = machine_with("1", {"--threads", "3"});
  EXPECT_EQ(machine.at("threads"), 3);
  EXPECT_EQ(machine.at("threads_reason"), "as asked");
}

TEST_F(ThreadsTest, OneThreadIsNoPlural) {
  const ProcessResult result = solve({"--poisson2d", "20", "-v", "--threads", "1"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_NE((result.out + result.err).find("1 thread "), std::string::npos) << result.out;
  EXPECT_EQ((result.out + result.err).find("1 threads"), std::string::npos) << result.out;
}

}  // namespace
}  // namespace tessera::testing
