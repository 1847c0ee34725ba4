/// solve bench: what is kept when it is cut off, limits of a run, and what it takes for a matrix.

#include "solve_process.hpp"

#include "bench/isolated_run.hpp"

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <set>
#include <thread>
#include <vector>

namespace tessera::testing {

namespace {

using nlohmann::json;

class BenchTest : public SolveTest {
 protected:
  [[nodiscard]] std::vector<json> lines(const std::string& name) const {
    std::vector<json> result;
    std::istringstream stream(contents(path(name)));
    for (std::string line; std::getline(stream, line);) result.push_back(json::parse(line));
    return result;
  }
  void generate(const std::string& spec, const std::string& name) const {
    ASSERT_EQ(run("convert --generate " + spec + " " + name).exit_code, 0);
  }
  [[nodiscard]] std::string table(const std::string& name) const {
    return run("bench --summary " + name + " --table md --measure products").out;
  }
  [[nodiscard]] ProcessResult run_until(const std::string& line, int signal, const std::string& stderr_holds) const {
    ProcessOptions options;
    options.directory = path("");
    options.signal_when = {signal, stderr_holds};
    return solve(words(line), options);
  }
};

/// Two quick matrices around one whose runs take long enough to be in the middle of.
TEST_F(BenchTest, GoesOnAfterAKillAndEndsWithTheSameTable) {
  std::filesystem::create_directory(path("folder"));
  generate("poisson2d:20", "folder/a.mtx");
  generate("poisson2d:220", "folder/b.tsb");
  generate("convdiff:6", "folder/c.mtx");
  const std::string line = "bench folder --methods bicgstab,cg --preconds jacobi --threads 1 --json ";
  const auto whole = run(line + "whole.jsonl");
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  ASSERT_EQ(lines("whole.jsonl").size(), 6U);

  const auto killed = run_until(line + "cut.jsonl", SIGKILL, "[2/6]");
  ASSERT_EQ(killed.signal, SIGKILL) << killed.err;
  const std::string kept = contents(path("cut.jsonl"));
  ASSERT_EQ(lines("cut.jsonl").size(), 2U) << kept;

  const auto resumed = run(line + "cut.jsonl");
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_NE(resumed.err.find("2 of 6 runs are in cut.jsonl"), std::string::npos) << resumed.err;
  EXPECT_EQ(lines("cut.jsonl").size(), 6U);
  EXPECT_TRUE(contents(path("cut.jsonl")).starts_with(kept)) << "runs that ended are not made again";
  const std::string expected = table("whole.jsonl");
  EXPECT_NE(expected.find("| c | 216 |"), std::string::npos) << expected;
  EXPECT_EQ(table("cut.jsonl"), expected);
}

TEST_F(BenchTest, CtrlCKeepsWhatEndedAndSaysHowToGoOn) {
  const std::string line =
      "bench poisson2d:20 poisson2d:700 --rtol 1e-30 --stagnation 100000000 --max-iters 2000 "
      "--methods cg --preconds none --threads 1 --json runs.jsonl";
  for (const auto& [signal, code] : std::vector<std::pair<int, int>>{{SIGINT, 130}, {SIGTERM, 143}}) {
    std::filesystem::remove(path("runs.jsonl"));
    const auto result = run_until(line, signal, "[1/2]");
    EXPECT_EQ(result.exit_code, code) << result.err;
    EXPECT_NE(result.err.find("after 1 of 2 runs; the same command goes on"), std::string::npos) << result.err;
    EXPECT_NE(result.out.find("poisson2d:20"), std::string::npos) << result.out;
    EXPECT_EQ(lines("runs.jsonl").size(), 1U) << "not the run that was stopped";
  }
}

TEST_F(BenchTest, ALineThatWasCutOffIsSetAsideAndMadeAgain) {
  const std::string line = "bench poisson2d:8 --methods auto,cg --json runs.jsonl";
  ASSERT_EQ(run(line).exit_code, 0);
  const std::string whole = contents(path("runs.jsonl"));
  const std::size_t second = whole.find('\n') + 1;
  for (const std::size_t length : {second + 1, second + 40, whole.size() - 2}) {
    file("runs.jsonl", whole.substr(0, length));
    const auto result = run(line);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_NE(result.err.find("the last line of runs.jsonl was cut off: it is in runs.jsonl.cut"), std::string::npos);
    EXPECT_NE(result.err.find("1 of 2 runs are in runs.jsonl"), std::string::npos) << result.err;
    EXPECT_EQ(contents(path("runs.jsonl.cut")), whole.substr(second, length - second) + "\n");
    EXPECT_TRUE(contents(path("runs.jsonl")).starts_with(whole.substr(0, second)));
    EXPECT_EQ(lines("runs.jsonl").size(), 2U);
    std::filesystem::remove(path("runs.jsonl.cut"));
  }
  file("runs.jsonl", whole.substr(0, whole.size() - 1));  // whole but for its end
  EXPECT_NE(run(line).err.find("2 of 2 runs"), std::string::npos);
  EXPECT_EQ(contents(path("runs.jsonl")), whole);
}

TEST_F(BenchTest, AFileOfSomethingElseIsLeftAlone) {
  for (const std::string text : {"%%MatrixMarket", R"({"schema":"solve.run/1"})", "{\n \"rtol\": 1\n}\n", "{\"a"}) {
    file("other.json", text);
    const auto result = run("bench poisson2d:4 --json other.json");
    EXPECT_EQ(result.exit_code, 5) << text;
    EXPECT_NE(result.err.find("expected a line of solve bench --json"), std::string::npos) << result.err;
    EXPECT_EQ(contents(path("other.json")), text);
  }
}

TEST_F(BenchTest, RunsAreKnownByContentsConfigurationAndOptions) {
  file("A.mtx", laplace4);
  const auto made = [&](const std::string& line) {
    const std::size_t before = lines("runs.jsonl").size();
    EXPECT_EQ(run("bench " + line + " --json runs.jsonl").exit_code, 0) << line;
    return lines("runs.jsonl").size() - before;
  };
  file("runs.jsonl", "");
  EXPECT_EQ(made("A.mtx"), 1U);
  EXPECT_EQ(made("A.mtx"), 0U);
  std::filesystem::copy_file(path("A.mtx"), path("B.mtx"));
  EXPECT_EQ(made("B.mtx"), 0U) << "the same contents";
  EXPECT_EQ(made("A.mtx B.mtx ./A.mtx"), 0U);
  EXPECT_EQ(made("A.mtx --rtol 1e-4"), 1U);
  EXPECT_EQ(made("A.mtx --rtol 0.0001"), 0U) << "the same number";
  EXPECT_EQ(made("A.mtx --methods auto,cg"), 1U);
  EXPECT_EQ(made("A.mtx --repeat 3"), 2U);
  EXPECT_EQ(made("A.mtx --max-time 5m"), 0U) << "no run had come to the limit";
  file("A.mtx", std::string(laplace4) + "\n");
  EXPECT_EQ(made("A.mtx"), 1U) << "other contents";
  EXPECT_EQ(made("poisson2d:4"), 1U);
  EXPECT_EQ(made("poisson2d:4e0"), 0U) << "the same recipe";
}

TEST_F(BenchTest, AMatrixThatCannotBeReadIsALineAndTheOthersGoOn) {
  file("bad.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 x\n");
  file("good.mtx", laplace4);
  const auto result = run("bench . --json runs.jsonl");
  EXPECT_EQ(result.exit_code, 5) << result.err;
  const auto runs = lines("runs.jsonl");
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0]["result"]["status"], "bad_input");
  EXPECT_EQ(runs[0]["result"]["reason"], "bad.mtx:3:5: expected a real number, found \"x\"");
  EXPECT_FALSE(runs[0]["result"]["solved"]);
  EXPECT_TRUE(runs[1]["result"]["solved"]);
  EXPECT_NE(result.out.find("bad.mtx:3:5: expected a real number"), std::string::npos) << result.out;
}

/// A method that a matrix does not suit is a result, not a fault of the bench.
TEST_F(BenchTest, WhatIsSolvedRestsOnTheTrueResidual) {
  file("A.mtx", "%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 1\n2 2 -1\n2 1 2\n");
  EXPECT_EQ(
      run("bench A.mtx --methods cg,minres,richardson --preconds none --json runs.jsonl --max-iters 30").exit_code, 0);
  for (const json& each : lines("runs.jsonl")) {
    const bool solved = each["result"]["solved"];
    EXPECT_EQ(solved, each["configuration"]["method"] == "minres") << each;
    EXPECT_EQ(each["result"]["residual"].get<double>() <= 1e-8, solved) << each;
  }
}

TEST_F(BenchTest, ATimeLimitEndsARunAndAWiderOneMakesItAgain) {
  // The second takes seconds to set up, where nothing looks at flags: a dense Cholesky factor, nearly.
  const std::string line =
      "bench poisson2d:300 poisson2d:4 --methods cg,direct --preconds none --rtol 1e-30 "
      "--stagnation 100000000 --max-iters 100000000 --threads 1 --json runs.jsonl";
  EXPECT_EQ(run(line + " --max-time 0.3s").exit_code, 0);
  const auto runs = lines("runs.jsonl");
  ASSERT_EQ(runs.size(), 4U);
  EXPECT_EQ(runs[0]["result"]["status"], "time_limit") << runs[0];
  EXPECT_GT(runs[0]["result"]["iterations"], 0) << "what it had is written";
  EXPECT_GE(runs[0]["times_ms"]["wall"], 300.0);
  EXPECT_LT(runs[0]["times_ms"]["wall"], 20'000.0);
  EXPECT_NE(run(line + " --max-time 0.2s").err.find("4 of 4 runs"), std::string::npos);
  const auto again = run(line + " --max-time 0.4s");
  EXPECT_EQ(again.err.find("4 of 4 runs"), std::string::npos) << again.err;
  EXPECT_EQ(lines("runs.jsonl").back()["limits"]["seconds"], 0.4);
}

TEST_F(BenchTest, AMemoryLimitEndsARun) {
  EXPECT_EQ(run("bench poisson2d:300 --methods cg --mem-limit 2MiB --json runs.jsonl").exit_code, 0);
  const auto runs = lines("runs.jsonl");
  ASSERT_EQ(runs.size(), 1U);
  const std::string status = runs[0]["result"]["status"];
  EXPECT_TRUE(status == "out_of_memory" || status == "memory_limit") << status;
}

TEST(IsolatedRunTest, EndsAreToldApart) {
  using End = cli::IsolatedRun::End;
  const auto after = [](const std::function<int()>& body, const cli::RunLimits& limits = {}) {
    return cli::run_isolated(body, limits);
  };
  const auto calm = after([] {
    static_cast<void>(::write(1, "out", 3));
    static_cast<void>(::write(2, "solve: error: no\n", 17));
    return 7;
  });
  EXPECT_EQ(calm.end, End::exited);
  EXPECT_EQ(calm.exit_code, 7);
  EXPECT_EQ(calm.out, "out");
  EXPECT_EQ(error_of(calm), "no");

  const auto crashed = after([]() -> int { std::abort(); });
  EXPECT_EQ(crashed.end, End::crashed);
  EXPECT_EQ(crashed.signal, SIGABRT);

  const auto hangs = [] {
    static_cast<void>(std::signal(SIGINT, SIG_IGN));
    while (true) std::this_thread::sleep_for(std::chrono::seconds(1));
    return 0;
  };
  const auto hung = after(hangs, {.seconds = 0.1});
  EXPECT_EQ(hung.end, End::time_limit);
  EXPECT_EQ(hung.signal, SIGKILL);
  EXPECT_LT(hung.wall_ms, 30'000.0);

  const auto grows = [] {
    std::vector<std::vector<char>> pieces;
    while (true) {
      pieces.emplace_back(std::size_t{4} << 20, 'x');
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return 0;
  };
  const auto grown = after(grows, {.seconds = 60.0, .resident_bytes = std::uint64_t{200} << 20});
  EXPECT_EQ(grown.end, End::memory_limit);
  EXPECT_GT(grown.peak_bytes, std::uint64_t{190} << 20);
}

TEST_F(BenchTest, AListNamesFilesBesideItAndRecipes) {
  std::filesystem::create_directory(path("sub"));
  file("sub/A.mtx", laplace4);
  file("sub/list.txt", "# comment\nA.mtx   # beside the list\n\npoisson2d:6\n");
  EXPECT_EQ(run("bench sub/list.txt --json runs.jsonl").exit_code, 0);
  const auto runs = lines("runs.jsonl");
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0]["matrix"]["name"], "sub/A.mtx");
  EXPECT_EQ(runs[0]["matrix"]["rows"], 4);
  EXPECT_EQ(runs[1]["matrix"]["rows"], 36);
}

/// Settings of a run in ./solve.toml or the environment are those of every run; an output of one is that of none.
TEST_F(BenchTest, ConfigurationsReachEveryRunButNotTheirOutputs) {
  file("solve.toml", "method = \"idr\"\noutput = \"x.mtx\"\nrtol = 1e-3\n");
  EXPECT_EQ(run("bench poisson2d:10 --methods cg --json runs.jsonl").exit_code, 0);
  const auto runs = lines("runs.jsonl");
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0]["result"]["method"], "cg");
  EXPECT_GT(runs[0]["result"]["residual"].get<double>(), 1e-8);
  EXPECT_EQ(runs[0]["configuration"]["options"], "rtol=0.001");
  EXPECT_FALSE(std::filesystem::exists(path("x.mtx")));
}

TEST_F(BenchTest, EveryMethodAndPreconditionerIsNamedAsOfRun) {
  const auto result =
      run("bench poisson2d:6 --methods direct,lsmr,gmres --preconds auto,none,ilut:1e-3:20 --kernels "
          "auto,csr --restart 5 --json -");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  std::set<std::string> configurations;
  std::istringstream stream(result.out);
  for (std::string line; std::getline(stream, line);) {
    const json document = json::parse(line);
    EXPECT_TRUE(document["result"]["solved"]) << line;
    const auto& each = document["configuration"];
    configurations.insert(each["method"].get<std::string>() + " " + each["precond"].get<std::string>());
  }
  EXPECT_EQ(configurations, (std::set<std::string>{"direct auto", "lsmr auto", "lsmr none", "gmres auto", "gmres none",
                                                   "gmres ilut:1e-3:20"}));
}

}  // namespace

}  // namespace tessera::testing
