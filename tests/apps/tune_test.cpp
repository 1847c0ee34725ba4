/// solve tune: what it tries, what it writes, and that a solve then does the same.

#include "solve_process.hpp"

#include "bench/tune_search.hpp"

#include <algorithm>
#include <cmath>

namespace tessera::testing {

namespace {

using nlohmann::json;

class TuneTest : public SolveTest {
 protected:
  /// The value of a key of a file that tune wrote.
  [[nodiscard]] std::string value(const std::string& name, const std::string& key) const {
    std::istringstream stream(contents(path(name)));
    for (std::string line; std::getline(stream, line);) {
      if (line.starts_with(key + " = \"")) return line.substr(key.size() + 4, line.size() - key.size() - 5);
    }
    return {};
  }
};

TEST_F(TuneTest, WritesWhatASolveThenDoes) {
  const auto tuned = run("tune --poisson2d 40 --rtol 1e-6 --threads 1");
  ASSERT_EQ(tuned.exit_code, 0) << tuned.err;
  const std::string method = value("solve.toml", "method");
  const std::string precond = value("solve.toml", "precond");
  ASSERT_FALSE(method.empty()) << contents(path("solve.toml"));
  EXPECT_NE(tuned.out.find("solve.toml: " + method), std::string::npos) << tuned.out;
  EXPECT_EQ(value("solve.toml", "rtol"), "1e-06");

  const auto solved = run("--poisson2d 40 --json");
  ASSERT_EQ(solved.exit_code, 0) << solved.err;
  const json document = json::parse(solved.out);
  EXPECT_EQ(document["config"]["method"]["source"], "./solve.toml");
  EXPECT_EQ(document["config"]["method"]["value"], method);
  EXPECT_EQ(document["config"]["precond"]["value"], precond.empty() ? "auto" : precond);
  EXPECT_TRUE(method == "auto" || document["result"]["method"] == method) << document["result"]["method"];
  EXPECT_EQ(document["result"]["residual"]["rtol"], 1e-6);
  EXPECT_EQ(run("--poisson2d 40 --print-config").exit_code, 0) << "every line is known";
}

/// The choice is the first row, and no other that solved the system is faster.
TEST_F(TuneTest, ShowsWhatWasTriedFastestFirst) {
  file("A.mtx", laplace4);
  const auto result = run("tune A.mtx -o a.toml");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(result.out.starts_with("A.mtx: 4 x 4, 10 nonzeros, symmetric, positive diagonal\n")) << result.out;
  std::istringstream stream(result.out);
  std::vector<double> times;
  bool has_automatic = false;
  for (std::string line; std::getline(stream, line);) {
    if (!line.ends_with(" solved")) continue;
    const auto row = words(line);
    times.push_back(std::stod(row[row.size() - 4]));
    has_automatic = has_automatic || row.front() == "auto";
  }
  EXPECT_TRUE(has_automatic) << result.out;
  EXPECT_GT(times.size(), 3U) << result.out;
  EXPECT_TRUE(std::is_sorted(times.begin(), times.end())) << result.out;
}

TEST_F(TuneTest, AnExistingFileIsReplacedOnlyByForce) {
  file("solve.toml", "rtol = 1e-5\n");
  EXPECT_EQ(run("tune --poisson2d 5").exit_code, 2);
  EXPECT_EQ(contents(path("solve.toml")), "rtol = 1e-5\n");
  ASSERT_EQ(run("tune --poisson2d 5 --force -q").exit_code, 0);
  EXPECT_EQ(value("solve.toml", "rtol"), "1e-05") << "it was in force during the search";
  EXPECT_FALSE(value("solve.toml", "method").empty());
}

TEST_F(TuneTest, WhereNothingSolvesTheSystemNothingIsWritten) {
  file("A.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1\n");
  const auto result = run("tune A.mtx -b ones --budget 5s");
  EXPECT_EQ(result.exit_code, 3) << result.out;
  EXPECT_NE(result.err.find("nothing solved A.mtx within --budget 5s, so solve.toml was not written"),
            std::string::npos)
      << result.err;
  EXPECT_FALSE(std::filesystem::exists(path("solve.toml")));
}

TEST_F(TuneTest, AMatrixThatCannotBeReadIsRefusedAsByRun) {
  file("bad.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 x\n");
  const auto result = run("tune bad.mtx");
  EXPECT_EQ(result.exit_code, 5);
  EXPECT_EQ(result.err, run("bad.mtx").err);
  EXPECT_EQ(run("tune missing.mtx").exit_code, 5);
  EXPECT_FALSE(std::filesystem::exists(path("solve.toml")));
}

TEST_F(TuneTest, CtrlCEndsTheSearchAndWritesNothing) {
  const std::vector<std::string> arguments{
      "/usr/bin/timeout",   "--foreground", "--preserve-status", "-s", "INT",      "1",
      TESSERA_SOLVE_BINARY, "tune",         "--poisson3d",       "60", "--budget", "60s"};
  ProcessOptions options;
  options.directory = path("");
  const auto result = run_process(arguments, options);
  EXPECT_EQ(result.exit_code, 130) << result.err;
  EXPECT_TRUE(std::filesystem::is_empty(path("")));
}

TEST_F(TuneTest, LeastSquaresHaveMethodsOfTheirOwn) {
  file("tall.mtx", "%%MatrixMarket matrix coordinate real general\n3 2 4\n1 1 1\n2 1 2\n2 2 1\n3 2 5\n");
  ASSERT_EQ(run("tune tall.mtx -o t.toml").exit_code, 0);
  const std::string method = value("t.toml", "method");
  EXPECT_TRUE(method == "lsmr" || method == "cgls" || method == "auto") << method;
  EXPECT_EQ(run("tall.mtx -c t.toml").exit_code, 0);
}

[[nodiscard]] bool tries(const cli::TuneCandidates& candidates, const std::string& method, const std::string& precond) {
  return std::any_of(candidates.tried.begin(), candidates.tried.end(), [&](const cli::TuneCandidate& each) {
    return each.configuration.method == method && (precond.empty() || each.configuration.precond == precond);
  });
}

TEST(TuneCandidatesTest, FollowTheFacts) {
  cli::TuneFacts facts{
      .rows = 9, .cols = 9, .nnz = 20, .is_symmetric = true, .has_full_diagonal = true, .has_positive_diagonal = true};
  const auto definite = tune_candidates(facts);
  EXPECT_TRUE(tries(definite, "cg", "ic0"));
  EXPECT_TRUE(tries(definite, "direct", "auto"));
  EXPECT_TRUE(definite.skipped.empty());
  EXPECT_EQ(definite.tried.front().configuration, (cli::BenchConfiguration{"auto", "auto", "auto"}));

  facts.has_positive_diagonal = false;
  EXPECT_FALSE(tries(tune_candidates(facts), "cg", ""));
  EXPECT_TRUE(tries(tune_candidates(facts), "minres", ""));

  facts.has_full_diagonal = false;
  const auto holes = tune_candidates(facts);
  EXPECT_FALSE(tries(holes, "bicgstab", "jacobi"));
  EXPECT_EQ(holes.skipped.back(), "jacobi, poly: a diagonal entry is missing or zero");

  facts.is_symmetric = false;
  EXPECT_FALSE(tries(tune_candidates(facts), "minres", ""));
  EXPECT_TRUE(tries(tune_candidates(facts), "bicgstab", "ilu0"));
}

TEST(TuneCandidatesTest, NeighboursShareMethodOrPreconditioner) {
  const cli::TuneFacts facts{.rows = 9, .cols = 9, .nnz = 20, .has_full_diagonal = true};
  const cli::TuneCandidate best{{"gmres", "ilut:1e-3:20", "auto"}};
  for (const cli::TuneCandidate& each : tune_neighbours(best, facts)) {
    EXPECT_NE(each, best);
    EXPECT_TRUE(each.configuration.method == "gmres" || each.configuration.precond == "ilut:1e-3:20");
    EXPECT_NE(each.configuration.method, "cg") << "the matrix is not symmetric";
  }
  EXPECT_TRUE(tune_neighbours({{"direct", "auto", "auto"}}, facts).empty());
}

/// A decade per 0.1 s from 1 to 1e-4: 1e-8 is reached after 0.8 s.
TEST(TunePredictionTest, IsTheRateOfTheLaterHalf) {
  json document;
  document["result"]["residual"]["target"] = 1e-8;
  auto& rows = document["history"]["rows"] = json::array();
  for (int i = 0; i < 5; ++i) rows.push_back({i, 0.1 * i, std::pow(10.0, -i), nullptr});
  const auto predicted = [&] { return cli::predicted_ms(cli::Json::parse(document.dump()), 50.0); };
  EXPECT_NEAR(predicted(), 850.0, 1e-6);
  // A plateau first, then the same rate: the later half counts.
  for (int i = 0; i < 5; ++i) rows.insert(rows.begin(), json::array({0, -0.1 * (i + 1), 1.0, nullptr}));
  EXPECT_NEAR(predicted(), 850.0, 130.0);
  for (auto& row : rows) row[2] = 0.5;
  EXPECT_TRUE(std::isinf(predicted())) << "no progress";
  rows.erase(rows.begin() + 3, rows.end());
  EXPECT_TRUE(std::isinf(predicted())) << "too short";
}

}  // namespace

}  // namespace tessera::testing
