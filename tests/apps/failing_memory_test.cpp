// Every allocation may fail: the command ends with its exit code for that, never by a signal.
#include "solve_process.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

namespace tessera::testing {
namespace {

class FailingMemory : public SolveTest {
 protected:
  void SetUp() override {
    SolveTest::SetUp();
    if (std::string(TESSERA_FAILING_MALLOC).empty()) GTEST_SKIP() << "sanitizers have a malloc of their own";
  }

  /// \param at the request that fails \param forever and all later ones
  [[nodiscard]] ProcessResult run_failing(const std::string& line, long at, long least_bytes, bool forever) const {
    ProcessOptions options;
    options.directory = path(".");
    options.variables = {std::string("LD_PRELOAD=") + TESSERA_FAILING_MALLOC, "FAILING_MALLOC_AT=" + std::to_string(at),
                         "FAILING_MALLOC_BYTES=" + std::to_string(least_bytes),
                         std::string("FAILING_MALLOC_FOREVER=") + (forever ? "1" : "0")};
    return solve(words(line), options);
  }

  /// \param most requests to try, evenly; TESSERA_TORTURE=N: that many from the first on
  void expect_exit_code(const std::string& line, long least_bytes, long most, bool forever) const {
    const char* torture = std::getenv("TESSERA_TORTURE");
    const long last = torture == nullptr ? most : std::atol(torture);
    constexpr long few = 15;
    const long step = torture == nullptr ? std::max(most / few, 1L) : 1;
    int out_of_memory = 0;
    for (long at = 1; at <= last; at += step) {
      const ProcessResult result = run_failing(line, at, least_bytes, forever);
      // A file that cannot be opened for lack of memory is one that cannot be written.
      const bool allowed = result.exit_code == 0 || result.exit_code == 5 || result.exit_code == 6;
      EXPECT_TRUE(result.signal == 0 && allowed) << line << ", request " << at << ": exit " << result.exit_code
                                                 << ", signal " << result.signal << ", " << result.err;
      out_of_memory += result.exit_code == 6 ? 1 : 0;
    }
    EXPECT_GT(out_of_memory, 0) << line << ": nothing failed";
  }
};

constexpr const char* small_solve = "--poisson2d 40 -o x.mtx --json=j.json --threads 1 -q";

// Destructors of JSON documents allocate: requests 43 to 59 ended in std::terminate.
TEST_F(FailingMemory, OfASolve) { expect_exit_code(small_solve, 1024, 60, false); }

// The handler of main() asked for memory to say that there is none.
TEST_F(FailingMemory, FromARequestOn) { expect_exit_code("inspect --poisson2d 40 --threads 1", 1, 600, true); }

TEST_F(FailingMemory, OfOtherCommands) {
  expect_exit_code("pagerank --generate web:500 --json=p.json --threads 1 -q", 1024, 60, false);
  expect_exit_code("spgemm --poisson2d 30 --json=s.json --threads 1 -q", 1024, 45, false);
}

}  // namespace
}  // namespace tessera::testing
