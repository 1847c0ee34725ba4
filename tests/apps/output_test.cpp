/// Outputs of the command: standard output, standard error and files.

#include "solve_process.hpp"
#include "tests/support/eigen_bridge.hpp"

#include "tessera/generators.hpp"
#include "tessera/matrix_market.hpp"

#include <algorithm>
#include <sstream>

namespace tessera::testing {

namespace {

class OutputTest : public SolveTest {};

[[nodiscard]] std::ptrdiff_t line_count(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

TEST_F(OutputTest, TheSummaryIsAtMostTwelveLinesOnStandardOutput) {
  const auto result = run("--poisson3d 8 --plan-info");
  EXPECT_LE(line_count(result.out), 12) << result.out;
  EXPECT_TRUE(result.err.empty()) << result.err;
  for (const char* key :
       {"matrix ", "method ", "kernel ", "plan ", "break-even", "status ", "residual ", "error ", "time "}) {
    EXPECT_NE(result.out.find(key), std::string::npos) << key << "\n" << result.out;
  }
}

TEST_F(OutputTest, QuietPrintsNothing) {
  const auto result = run("--poisson3d 8 -q --max-iters 1");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_TRUE(result.out.empty());
  EXPECT_TRUE(result.err.empty()) << result.err;
}

TEST_F(OutputTest, VerboseSpeaksOnStandardErrorOnly) {
  const auto plain = run("--poisson3d 8 -v");
  EXPECT_NE(plain.err.find("planning"), std::string::npos) << plain.err;
  EXPECT_EQ(plain.out.find("planning"), std::string::npos);
  const auto more = run("--poisson3d 8 -vv");
  EXPECT_NE(more.err.find("--rtol 1e-8 (default)"), std::string::npos) << more.err;
}

/// 2^53 + 1 and 2^24 + 1 are the first integers that do not fit.
TEST_F(OutputTest, ARoundedIntegerIsOneWarningOfEveryCommand) {
  file("i.mtx",
       "%%MatrixMarket matrix coordinate integer general\n% c\n2 2 3\n1 1 16777217\n"
       "2 2 9007199254740993\n1 2 9007199254740995\n");
  const std::string in_double =
      "solve: warning: i.mtx:5: the integer 9007199254740993 was rounded to 9007199254740992: fp64 holds integers up "
      "to "
      "2^53; others may follow\n";
  for (const std::string command : {"", "pagerank ", "inspect ", "spgemm ", "compare --repeat 3 --kernels csr "}) {
    const auto result = run(command + "i.mtx");
    EXPECT_EQ(result.exit_code, 0) << command << result.err;
    EXPECT_NE(result.err.find(in_double), std::string::npos) << command << result.err;
    EXPECT_EQ(result.err.find("rounded"), result.err.rfind("rounded")) << "once\n" << result.err;
  }
  EXPECT_NE(run("convert i.mtx i.tsb").err.find(in_double), std::string::npos);
  EXPECT_NE(run("inspect i.mtx --precision fp32")
                .err.find("i.mtx:4: the integer 16777217 was rounded to 16777216: fp32 holds integers up to 2^24"),
            std::string::npos);
  EXPECT_EQ(run("inspect i.mtx --unweighted").err.find("rounded"), std::string::npos);
}

TEST_F(OutputTest, JsonAloneIsOneDocumentAndNothingElse) {
  const auto result = run("--poisson3d 8 --json");
  EXPECT_TRUE(result.err.empty()) << result.err;
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["schema"], "solve.run/1");
  EXPECT_EQ(json["matrix"]["rows"], 512);
  EXPECT_EQ(json["matrix"]["nnz"], 8 * 8 * 8 * 7 - 6 * 8 * 8);
  EXPECT_EQ(json["matrix"]["symmetric"], true);
  EXPECT_EQ(json["config"]["rtol"]["value"], 1e-8);
  EXPECT_EQ(json["config"]["rtol"]["source"], "default");
  EXPECT_EQ(json["config"]["poisson3d"]["value"], 8);
  EXPECT_EQ(json["config"]["poisson3d"]["source"], "command line");
  EXPECT_EQ(json["result"]["exit_code"], 0);
  EXPECT_LE(json["result"]["residual"]["true"].get<double>(), json["result"]["residual"]["target"].get<double>());
  EXPECT_EQ(json["history"]["rows"].size(), json["result"]["iterations"].get<std::size_t>() + 1);
}

/// A matrix named after --json must be read, not overwritten.
TEST_F(OutputTest, JsonDoesNotTakeTheMatrixForItsFile) {
  const std::string matrix = file("A.mtx", laplace4);
  const auto result = run({"--json", matrix});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(nlohmann::json::parse(result.out)["matrix"]["rows"], 4);
  EXPECT_EQ(contents(matrix), laplace4);
}

TEST_F(OutputTest, JsonFileAndTextAgree) {
  const auto result = run("--convdiff 8 --json run.json");
  const auto json = nlohmann::json::parse(contents(path("run.json")));
  const auto iterations = std::to_string(json["result"]["iterations"].get<int>());
  EXPECT_NE(result.out.find("converged after " + iterations + " iterations"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find(json["plan"]["kernel"].get<std::string>() + ", set-up"), std::string::npos) << result.out;
  EXPECT_EQ(json["result"]["method"], "bicgstab");
}

TEST_F(OutputTest, TheVectorOnStandardOutputMovesTheSummary) {
  const auto result = run("--poisson3d 8 -o -");
  const auto x = parse_vector<double>(result.out, "stdout");
  EXPECT_EQ(x.size(), 512U);
  for (const double value : x) EXPECT_NEAR(value, 1.0, 1e-6);
  EXPECT_NE(result.err.find("converged"), std::string::npos) << result.err;
  const auto quiet = run("--poisson3d 8 -o - -q");
  EXPECT_TRUE(quiet.err.empty()) << quiet.err;
}

/// The file holds what the summary claims: residual by Eigen, with the right-hand side A*ones.
TEST_F(OutputTest, TheWrittenSolutionHasTheReportedResidual) {
  ASSERT_EQ(run("--convdiff 9 -o x.mtx --json run.json").exit_code, 0);
  const auto matrix = convection_diffusion<double>(9, 9, 9, {1.0, 0.5, 0.25});
  const auto A = to_eigen(matrix.view());
  const std::vector<double> x = read_vector<double>(path("x.mtx"));
  const Eigen::VectorXd b = A * Eigen::VectorXd::Ones(A.cols());
  const Eigen::VectorXd r = b - A * Eigen::Map<const Eigen::VectorXd>(x.data(), A.cols());
  const auto json = nlohmann::json::parse(contents(path("run.json")));
  EXPECT_LE(r.norm(), 1e-8 * b.norm() * (1 + 1e-6));
  EXPECT_NEAR(json["result"]["residual"]["true"].get<double>(), r.norm(), 1e-6 * r.norm());
}

TEST_F(OutputTest, HistoryIsComplete) {
  ASSERT_EQ(run("--poisson2d 40 -p none --history h.csv --json run.json").exit_code, 0);
  const auto json = nlohmann::json::parse(contents(path("run.json")));
  const std::string csv = contents(path("h.csv"));
  EXPECT_TRUE(csv.starts_with("iteration,seconds,recurrence,true\n"));
  EXPECT_EQ(line_count(csv), json["result"]["iterations"].get<int>() + 2);
}

TEST_F(OutputTest, CompressedSolutionReadsBack) {
  ASSERT_EQ(run("--poisson2d 10 -o x.mtx.gz").exit_code, 0);
  EXPECT_EQ(contents(path("x.mtx.gz")).substr(0, 2), "\x1f\x8b");
  EXPECT_EQ(read_vector<double>(path("x.mtx.gz")).size(), 100U);
}

TEST_F(OutputTest, InputsAndOtherOutputsAreNotOverwritten) {
  const std::string matrix = file("A.mtx", laplace4);
  for (const std::string line : {"A.mtx -o A.mtx", "A.mtx -o ./A.mtx", "A.mtx --json=A.mtx", "A.mtx --history A.mtx",
                                 "A.mtx -o same --history ./same"}) {
    const auto result = run(line);
    EXPECT_EQ(result.exit_code, 2) << line << result.err;
  }
  EXPECT_EQ(contents(matrix), laplace4);
}

TEST_F(OutputTest, SuffixesTellTheFormatOrAreRefusedBeforeTheSolve) {
  ASSERT_EQ(run("--poisson2d 3 -b Arandom -o x.txt").exit_code, 0);
  ASSERT_EQ(run("--poisson2d 3 -b Arandom -o x.mtx").exit_code, 0);
  EXPECT_EQ(line_count(contents(path("x.txt"))), 9);
  EXPECT_EQ(read_vector<double>(path("x.txt")), read_vector<double>(path("x.mtx")));
  for (const std::string line : {"-o x.npy", "-o x.csv", "-o x.csv.gz", "-o x.tsb", "--history h.png"}) {
    const auto result = run("--poisson2d 3 " + line);
    EXPECT_EQ(result.exit_code, 2) << line;
    EXPECT_NE(result.err.find("files of that suffix are not written\n  hint: names that end in ."), std::string::npos)
        << result.err;
  }
  for (const std::string name : {"x", "x_1.5", "x.gz"}) {
    EXPECT_EQ(run("--poisson2d 3 -o " + name).exit_code, 0) << name;
    EXPECT_EQ(read_vector<double>(path(name)).size(), 9U) << name;
  }
}

TEST_F(OutputTest, TheDefaultRightHandSideIsNotInTheNullSpace) {
  for (const std::string third : {"-0.30000000000000004", "-0.3"}) {
    file("L.mtx", "%%MatrixMarket matrix coordinate real general\n3 3 9\n1 1 " + third +
                      "\n1 2 0.1\n1 3 0.2\n2 1 0.1\n2 2 " + third + "\n2 3 0.2\n3 1 0.1\n3 2 0.2\n3 3 " + third + "\n");
    const auto json = nlohmann::json::parse(run("L.mtx -m gmres -p none --exit-zero --json").out);
    EXPECT_EQ(json["result"]["rhs"], "A*random") << third;
    EXPECT_GT(json["result"]["residual"]["b_norm"].get<double>(), 1e-3) << third;
  }
  file("ring.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 4\n1 1 1\n1 2 -1\n2 1 -1\n2 2 1\n");
  const std::string named = run("ring.mtx -b Aones").err;
  EXPECT_NE(named.find("the right-hand side A*ones is zero"), std::string::npos) << named;
  EXPECT_NE(named.find("-b Arandom asks for more"), std::string::npos) << named;
  const std::string chosen = run("ring.mtx").err;
  EXPECT_NE(chosen.find("A times ones is 0, so the right-hand side is A times random"), std::string::npos) << chosen;
  EXPECT_EQ(run("--poisson2d 4").err.find("A times ones"), std::string::npos);

  const auto solved = nlohmann::json::parse(run("ring.mtx --json --exit-zero").out);
  EXPECT_EQ(solved["config"]["rhs"]["value"], "Arandom");
  const std::string line = "compare ring.mtx --kernels csr --repeat 3 --solvers bicgstab --preconds none --exit-zero";
  const auto compared = run(line + " --json");
  EXPECT_NE(compared.err.find("A times ones is 0, so the right-hand side is A times random"), std::string::npos)
      << compared.err;
  const auto json = nlohmann::json::parse(compared.out);
  EXPECT_EQ(json["config"]["rhs"]["value"], "Arandom");
  EXPECT_GT(json["cases"].back()["result"]["iterations"].get<int>(), 0) << "zero would need none";
  const auto kept = run(line + " --json -b Aones");
  EXPECT_EQ(kept.err.find("A times random"), std::string::npos) << kept.err;
  EXPECT_EQ(nlohmann::json::parse(kept.out)["config"]["rhs"]["value"], "Aones");
}

TEST_F(OutputTest, DevicesAreWrittenNotReplaced) {
  EXPECT_EQ(run("--poisson2d 4 -o /dev/null --history /dev/null --json=/dev/null").exit_code, 0);
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST_F(OutputTest, NumbersThatAreNotFiniteNeverAppearBare) {
  const std::string overflow = file(
      "big.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 4\n1 1 1e308\n1 2 1e308\n2 1 1e308\n2 2 1e300\n");
  const auto result = run({overflow, "--json"});
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_EQ(json["result"]["status"], "not_finite");
  ASSERT_TRUE(json["result"]["residual"]["true"].is_null()) << result.out;
  EXPECT_EQ(json["result"]["residual"]["true_nonfinite"], "nan");
}

TEST_F(OutputTest, ProgressAsJsonLines) {
  const auto result = run("--poisson2d 30 --progress json");
  std::istringstream lines(result.err);
  int phases = 0;
  for (std::string line; std::getline(lines, line);) {
    phases += nlohmann::json::parse(line)["event"] == "phase" ? 1 : 0;
  }
  EXPECT_GE(phases, 4) << result.err;
}

TEST_F(OutputTest, LongRunsShowPlainProgressAndShortOnesNone) {
  EXPECT_TRUE(run("--poisson2d 20 --progress plain").err.empty());
  const auto result = run("--poisson2d 600 -p none --rtol 1e-30 --max-time 3s --max-iters 100000000");
  EXPECT_NE(result.err.find("resid "), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("elapsed 0:0"), std::string::npos) << result.err;
  EXPECT_TRUE(run("--poisson2d 600 -p none --rtol 1e-30 --max-time 1s --progress none -q").err.empty());
}

TEST_F(OutputTest, TheKernelsAgree) {
  for (const char* kernel : {"csr", "merge", "merbit", "csr5"}) {
    const auto result = run({"--poisson3d", "10", "-k", kernel, "--json"});
    const auto json = nlohmann::json::parse(result.out);
    EXPECT_EQ(json["plan"]["kernel"], kernel);
    EXPECT_LE(json["result"]["error_vs_known"].get<double>(), 1e-5);
  }
}

TEST_F(OutputTest, RightHandSidesAndGuesses) {
  for (const char* line : {"-b ones", "-b random", "-b unit:5", "-b random --x0 rhs", "-b ones --x0 random",
                           "--precision fp32 --rtol 1e-5", "-m bicgstab -p jacobi --shadow random",
                           "--norm-base r0 --x0 random", "--replace-residual 10", "--determinism gpu", "--threads 1"}) {
    const auto result = run(std::string("--poisson3d 6 ") + line);
    EXPECT_EQ(result.exit_code, 0) << line << "\n" << result.out << result.err;
  }
}

TEST_F(OutputTest, RandomMeansTheSameEveryTimeForOneSeed) {
  const auto solution = [&](const char* seed) {
    return run({"--poisson2d", "6", "-b", "random", "--seed", seed, "-o", "-", "-q"}).out;
  };
  EXPECT_EQ(solution("7"), solution("7"));
  EXPECT_NE(solution("7"), solution("8"));
}

TEST_F(OutputTest, AZeroRightHandSideIsPointedOut) {
  const std::string cycle =
      file("zero.mtx", "%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 1\n2 2 1\n2 1 -1\n");
  const auto result = run({cycle});
  EXPECT_NE(result.err.find("warning"), std::string::npos) << result.out << result.err;
}

}  // namespace

}  // namespace tessera::testing
