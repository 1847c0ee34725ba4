/// Every exit code of the command, reached by a situation that users meet.

#include "solve_process.hpp"

namespace tessera::testing {

namespace {

class ExitCodeTest : public SolveTest {};

TEST_F(ExitCodeTest, ZeroWhenConverged) {
  const auto result = run("--poisson3d 8");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("converged after"), std::string::npos) << result.out;
}

TEST_F(ExitCodeTest, TwoForUsage) {
  for (const char* line : {"",
                           "--no-such-option",
                           "--poisson3d 8 --rtol abc",
                           "--poisson3d 8 --rtol -1",
                           "--poisson3d 8 --rtol nan",
                           "--poisson3d 8 --max-time 3x",
                           "--poisson3d 8 --mem-limit lots",
                           "--poisson3d 0",
                           "--poisson3d 8 --poisson2d 8",
                           "a.mtx --poisson3d 8",
                           "a.mtx b.mtx",
                           "--poisson3d 8 --rtol",
                           "--poisson3d 8 --rtol 1e-3 --rtol 1e-4",
                           "--poisson3d 8 -m nonsense",
                           "--poisson3d 8 -k nonsense",
                           "--poisson3d 8 -b unit:0",
                           "--poisson3d 2 -b unit:9",
                           "--poisson3d 8 --threads 0",
                           "--poisson3d 8 --threads 99999",
                           "--poisson3d 8 -q -v",
                           "--poisson3d 8 --json -o -",
                           "pagerank --powerlaw 16 --damping 1",
                           "pagerank --powerlaw 16 --tol 2",
                           "pagerank --powerlaw 64 --tol-per-node 1",
                           "pagerank --powerlaw 64 --tol 1e-9 --tol-per-node 1e-9",
                           "pagerank --powerlaw 64 --norm linf --tol-per-node 1e-9",
                           "list nonsense",
                           "doctor nonsense",
                           "run --method pagerank a.mtx",
                           "--poisson3d 8 --duplicates error",
                           "--poisson3d 8 --max-iters 1.5"}) {
    const auto result = run(line);
    EXPECT_EQ(result.exit_code, 2) << line << "\n" << result.out << result.err;
    EXPECT_TRUE(result.err.starts_with("solve: error: ")) << line << "\n" << result.err;
    EXPECT_TRUE(result.out.empty()) << line << "\n" << result.out;
  }
}

TEST_F(ExitCodeTest, ThreeAtTheIterationLimitWithTheResultWritten) {
  const auto result = run("--poisson3d 12 --max-iters 3 -o x.mtx");
  EXPECT_EQ(result.exit_code, 3) << result.err;
  EXPECT_NE(result.out.find("max_iterations"), std::string::npos) << result.out;
  EXPECT_TRUE(std::filesystem::exists(path("x.mtx")));
  EXPECT_EQ(run("--poisson3d 12 --max-iters 3 --exit-zero").exit_code, 0);
}

TEST_F(ExitCodeTest, ThreeAtTheTimeLimit) {
  const auto result = run("--poisson2d 300 -p none --max-time 0s");
  EXPECT_EQ(result.exit_code, 3) << result.out << result.err;
  EXPECT_NE(result.out.find("time_limit"), std::string::npos) << result.out;
}

TEST_F(ExitCodeTest, ThreeWhenPageRankRunsOutOfIterations) {
  const auto result = run("pagerank --powerlaw 256 --max-iters 2 -o ranks.mtx");
  EXPECT_EQ(result.exit_code, 3) << result.err;
  EXPECT_TRUE(std::filesystem::exists(path("ranks.mtx")));
}

/// Eigenvalues 3 and -1: pᵀ A p vanishes or turns negative in conjugate gradients.
TEST_F(ExitCodeTest, FourForABreakdown) {
  const std::string indefinite =
      file("indefinite.mtx", "%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 1\n2 2 1\n2 1 2\n");
  const std::string b = file("b.mtx", "%%MatrixMarket matrix array real general\n2 1\n1\n-1\n");
  const auto result = run({"-m", "cg", indefinite, "-b", b});
  EXPECT_EQ(result.exit_code, 4) << result.out << result.err;
  EXPECT_NE(result.out.find("breakdown"), std::string::npos) << result.out;
  EXPECT_NE(result.err.find("bicgstab"), std::string::npos) << result.err;
  EXPECT_EQ(run({"-m", "cg", indefinite, "-b", b, "--exit-zero"}).exit_code, 0);
}

TEST_F(ExitCodeTest, FiveForBadInput) {
  const std::string good = file("good.mtx", laplace4);
  const std::string wide = file("wide.mtx", "%%MatrixMarket matrix coordinate real general\n2 3 1\n1 1 1\n");
  const std::string broken = file("broken.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n2 2\n");
  const std::string twice = file("twice.mtx", "%%MatrixMarket matrix coordinate real general\n1 1 2\n1 1 1\n1 1 1\n");
  const std::string hole = file("hole.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n1 2 1\n");
  const std::string short_b = file("short.mtx", "%%MatrixMarket matrix array real general\n3 1\n1\n1\n1\n");
  const std::string negative = file("neg.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 -1\n");
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases{
      {{"missing.mtx"}, "missing.mtx"},
      {{"-m", "cg", wide}, "2 x 3"},
      {{broken}, "broken.mtx:4:"},
      {{twice, "--duplicates", "error"}, "twice.mtx"},
      {{hole, "-p", "jacobi"}, "row"},
      {{good, "-b", short_b}, "3 elements"},
      {{good, "--x0", short_b}, "3 elements"},
      {{good, "-b", "missing.mtx"}, "missing.mtx"},
      {{"pagerank", negative}, "-1"},
      {{"pagerank", wide}, "2 x 3"},
      {{"pagerank", good, "--unweighted", "--personalize", short_b}, "3 elements"}};
  for (const auto& [arguments, expected] : cases) {
    const auto result = run(arguments);
    EXPECT_EQ(result.exit_code, 5) << expected << "\n" << result.out << result.err;
    EXPECT_NE(result.err.find(expected), std::string::npos) << result.err;
    EXPECT_TRUE(result.out.empty()) << result.out;
  }
}

TEST_F(ExitCodeTest, FiveBeforeTheSolveWhenAnOutputCannotBeWritten) {
  for (const auto& [option, name] : {std::pair{"-o", "no/such/place/x.mtx"}, {"--history", "no/such/place/x.csv"}}) {
    const auto result = run({"--poisson3d", "8", option, name});
    EXPECT_EQ(result.exit_code, 5) << result.err;
    EXPECT_NE(result.err.find("no/such/place"), std::string::npos) << result.err;
    EXPECT_TRUE(result.out.empty()) << "nothing was solved: " << result.out;
  }
  EXPECT_EQ(run("--poisson3d 8 --json=no/such/place/x.json").exit_code, 5);
  std::filesystem::create_directory(path("directory"));
  EXPECT_EQ(run("--poisson3d 8 -o directory").exit_code, 5);
}

/// A disk that fills up only shows when writing: the other outputs must survive it.
TEST_F(ExitCodeTest, FiveWhenWritingFailsAndNothingElseIsLost) {
  const auto result = run({"--poisson3d", "8", "-o", "/dev/full", "--json=run.json", "--history", "h.csv"});
  EXPECT_EQ(result.exit_code, 5) << result.err;
  EXPECT_NE(result.out.find("converged"), std::string::npos) << result.out;
  const auto json = nlohmann::json::parse(contents(path("run.json")));
  EXPECT_EQ(json["result"]["status"], "converged");
  EXPECT_EQ(json["result"]["exit_code"], 5);
  EXPECT_FALSE(contents(path("h.csv")).empty());

  ProcessOptions full;
  full.stdout_to_full_disk = true;
  const auto summary = solve({"--poisson3d", "8", "-o", path("x.mtx")}, full);
  EXPECT_EQ(summary.exit_code, 5) << summary.err;
  EXPECT_TRUE(std::filesystem::exists(path("x.mtx")));
}

TEST_F(ExitCodeTest, SixOverTheMemoryLimitWithBothSizes) {
  for (const char* line : {"--poisson3d 100 --mem-limit 1MiB", "pagerank --powerlaw 1e5 --mem-limit 100KiB"}) {
    const auto result = run(line);
    EXPECT_EQ(result.exit_code, 6) << result.out << result.err;
    EXPECT_TRUE(result.out.empty());
  }
  const std::string good = file("good.mtx", laplace4);
  EXPECT_EQ(run({good, "--mem-limit", "100"}).exit_code, 6);
  EXPECT_EQ(run({good, "--mem-limit", "1GiB"}).exit_code, 0);
}

/// The product of the sizes overflows 64 bits: a refusal, not a crash.
TEST_F(ExitCodeTest, AbsurdModelProblemsAreRefused) {
  const auto result = run("--poisson3d 2000000000");
  EXPECT_TRUE(result.exit_code == 2 || result.exit_code == 6) << result.exit_code << result.err;
}

TEST_F(ExitCodeTest, SevenWithoutTheDevice) {
  for (const char* device : {"cuda:63", "cuda:64"}) {
    const auto result = run({"--poisson3d", "8", "--device", device});
    EXPECT_EQ(result.exit_code, 7) << result.err;
    EXPECT_NE(result.err.find(device), std::string::npos) << result.err;
  }
  EXPECT_EQ(run("--poisson3d 8 --device host").exit_code, 0);
  EXPECT_EQ(run("--poisson3d 8 --device tpu").exit_code, 2);
}

TEST_F(ExitCodeTest, ZeroFromAHealthyDoctor) {
  const auto result = run("doctor");
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_NE(result.out.find("PASS"), std::string::npos);
  EXPECT_EQ(result.out.find("FAIL"), std::string::npos) << result.out;
}

}  // namespace

}  // namespace tessera::testing
