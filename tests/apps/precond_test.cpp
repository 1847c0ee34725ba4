/// Preconditioners on the command line: amg and its keys, the choice of auto, and what reports say.

#include "solve_process.hpp"

#include <cstdint>

namespace tessera::testing {

namespace {

using nlohmann::json;

constexpr const char* real_general = "%%MatrixMarket matrix coordinate real general\n";

/// Tridiagonal with a constant diagonal and -1 beside it. \param last entry of the last row's diagonal
[[nodiscard]] std::string tridiagonal(int n, double diagonal, double last) {
  std::ostringstream text;
  text << "%%MatrixMarket matrix coordinate real symmetric\n" << n << ' ' << n << ' ' << 2 * n - 1 << '\n';
  for (int i = 1; i <= n; ++i) {
    text << i << ' ' << i << ' ' << (i == n ? last : diagonal) << '\n';
    if (i > 1) text << i << ' ' << i - 1 << " -1\n";
  }
  return text.str();
}

/// An array file, column after column.
template <class Value>
[[nodiscard]] std::string array_file(int rows, int cols, const Value& value) {
  std::ostringstream text;
  text << "%%MatrixMarket matrix array real general\n" << rows << ' ' << cols << '\n';
  for (int j = 0; j < cols; ++j) {
    for (int i = 0; i < rows; ++i) text << value(i, j) << '\n';
  }
  return text.str();
}

class PrecondTest : public SolveTest {
 protected:
  [[nodiscard]] json solved(const std::string& line) const {
    const auto result = run(line + " --json");
    EXPECT_EQ(result.exit_code, 0) << line << "\n" << result.err;
    return json::parse(result.out);
  }

  void expect_error(const std::string& line, int code, const std::string& text) const {
    const auto result = run(line);
    EXPECT_EQ(result.exit_code, code) << line << "\n" << result.err;
    EXPECT_NE(result.err.find(text), std::string::npos) << line << "\n" << result.err;
  }
};

TEST_F(PrecondTest, AmgTakesFewIterationsWhereJacobiTakesMany) {
  for (const std::string problem : {"--poisson2d 60", "--poisson3d 20", "--poisson2d 60 --precision fp32"}) {
    const json amg = solved(problem + " -p amg");
    const json jacobi = solved(problem + " -p jacobi");
    EXPECT_EQ(amg["result"]["status"], "converged");
    EXPECT_EQ(amg["result"]["precond"], "amg");
    EXPECT_LT(2 * amg["result"]["iterations"].get<int>(), jacobi["result"]["iterations"].get<int>()) << problem;
  }
}

TEST_F(PrecondTest, FsaiReportsItsFactor) {
  const json document = solved("--poisson2d 30 -m cg -p fsai:2");
  EXPECT_EQ(document["result"]["precond"], "fsai:2");
  const json& precond = document["preconditioner"];
  EXPECT_TRUE(precond["symmetric"].get<bool>());
  const json& inverse = precond["approximate_inverse"];
  EXPECT_EQ(inverse["kind"], "fsai");
  EXPECT_EQ(inverse["level"], 2);
  EXPECT_EQ(inverse["filter"], 0.1);
  // The triangle of A has 900 + 2 * 30 * 29 entries.
  EXPECT_DOUBLE_EQ(inverse["fill"].get<double>(), inverse["nnz"].get<double>() / 2640.0);
  EXPECT_TRUE(document["warnings"].empty()) << document["warnings"];
  const json jacobi = solved("--poisson2d 30 -m cg -p jacobi");
  EXPECT_LT(document["result"]["iterations"].get<int>(), jacobi["result"]["iterations"].get<int>());
  const std::string text = run("--poisson2d 30 -m cg -p fsai:2").out;
  EXPECT_NE(text.find("inverse "), std::string::npos) << text;
  EXPECT_NE(text.find(" of the triangle, longest row "), std::string::npos) << text;
}

TEST_F(PrecondTest, ApproximateInversesRefuseAndWarn) {
  file("general.mtx", std::string(real_general) + "3 3 5\n1 1 4\n2 2 4\n3 3 4\n1 3 1\n3 1 2\n");
  expect_error("general.mtx -m cg -p fsai", 5,
               "general.mtx: fsai:2: fsai needs a symmetric matrix: entry (3, 1) is 2, but entry (1, 3) is 1");
  expect_error("general.mtx -m cg -p fsai", 5, "hint: --precond spai or ilutp takes matrices");
  file("indefinite.mtx", tridiagonal(5, 0.5, 0.5));
  expect_error("indefinite.mtx -m cg -p fsai", 5,
               "fsai:2: fsai needs a positive definite matrix: the submatrix of the "
               "pattern of row 2 is not");
  file("empty-row.mtx", std::string(real_general) + "3 3 2\n1 1 4\n2 2 4\n");
  expect_error("empty-row.mtx -m bicgstab -p spai", 5, "spai:1: spai: row 3 of M would be 0 or not finite");
  expect_error("--poisson2d 30 -m cg -p spai", 0,
               "spai:1 is not symmetric here, which cg asks for; fsai is, --method bicgstab takes any");
  expect_error("--poisson2d 200 -p fsai --mem-limit 8MiB", 6, "the set-up of fsai:2 (estimated)");
}

TEST_F(PrecondTest, AmgServesBicgstabOnANonsymmetricMatrix) {
  const json amg = solved("--convdiff 16 -p amg");
  EXPECT_EQ(amg["result"]["method"], "bicgstab");
  EXPECT_LT(amg["result"]["iterations"].get<int>(), 20);
}

TEST_F(PrecondTest, PolynomialsSayWhatTheyMultiplyBy) {
  const json jacobi = solved("--poisson2d 40 -p jacobi");
  const json poly = solved("--poisson2d 40 -p poly:4");
  const json& implicit = poly["preconditioner"]["polynomial"];
  EXPECT_EQ(poly["result"]["precond"], "poly:4");
  EXPECT_EQ(implicit["kind"], "chebyshev");
  EXPECT_EQ(implicit["products"], 3);
  EXPECT_EQ(implicit["lambda_max"], 2.0);
  EXPECT_EQ(implicit["explicit_nnz"], 0);
  EXPECT_LT(2 * poly["result"]["iterations"].get<int>(), jacobi["result"]["iterations"].get<int>());
  const json neumann = solved("--poisson2d 40 -p neumann:2,explicit,1e-2 --precision fp32");
  const json& matrix = neumann["preconditioner"]["polynomial"];
  EXPECT_EQ(neumann["result"]["precond"], "neumann:2:explicit:1e-2");
  EXPECT_EQ(matrix["kind"], "neumann");
  EXPECT_EQ(matrix["products"], 1);
  EXPECT_GT(matrix["explicit_nnz"].get<int>(), 2 * 7840) << "of 7840 entries of A";
  const std::string text = run("--poisson2d 40 -p poly:4").out;
  EXPECT_NE(text.find("3 products with A per application"), std::string::npos) << text;
  const std::string warned = run("--convdiff 8 -m cg -p poly:4 --max-iters 3").err;
  EXPECT_NE(warned.find("poly:4 is not symmetric here"), std::string::npos) << warned;
}

/// A cycle by itself converges too, in more iterations than inside CG.
TEST_F(PrecondTest, RichardsonIteratesAmgByItself) {
  const json alone = solved("--poisson2d 60 -p amg -m richardson");
  const json inside = solved("--poisson2d 60 -p amg -m cg");
  EXPECT_EQ(alone["result"]["method"], "richardson");
  EXPECT_EQ(alone["result"]["status"], "converged");
  EXPECT_GE(alone["result"]["iterations"].get<int>(), inside["result"]["iterations"].get<int>());
  EXPECT_LT(alone["result"]["iterations"].get<int>(), 80);
}

/// The sums that make the complexities, added up again.
TEST_F(PrecondTest, TheReportAddsUp) {
  const json document = solved("--poisson2d 60 -p amg");
  const json& precond = document["preconditioner"];
  const json& levels = precond["hierarchy"]["levels"];
  ASSERT_GE(levels.size(), 2U);
  double rows = 0.0;
  double entries = 0.0;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    rows += levels[i]["rows"].get<double>();
    entries += levels[i]["nnz"].get<double>();
    const bool coarsest = i + 1 == levels.size();
    EXPECT_EQ(levels[i]["aggregates"], coarsest ? json(0) : levels[i + 1]["rows"]);
  }
  EXPECT_EQ(levels[0]["rows"], document["matrix"]["rows"]);
  EXPECT_EQ(levels[0]["nnz"], document["matrix"]["nnz"]);
  EXPECT_LE(levels.back()["rows"].get<int>(), 150);
  EXPECT_NEAR(precond["hierarchy"]["grid_complexity"].get<double>(), rows / 3600.0, 1e-12);
  EXPECT_NEAR(precond["hierarchy"]["operator_complexity"].get<double>(),
              entries / document["matrix"]["nnz"].get<double>(), 1e-12);
  EXPECT_EQ(precond["bytes"], document["memory_bytes"]["precond"]);
  EXPECT_GT(precond["bytes"].get<std::uint64_t>(), 0U);
  EXPECT_EQ(precond["setup_ms"], document["timings_ms"]["precond_setup"]);
  EXPECT_EQ(precond["symmetric"], true);
}

TEST_F(PrecondTest, OtherPreconditionersHaveNoHierarchy) {
  const json jacobi = solved("--poisson2d 10 -p jacobi")["preconditioner"];
  EXPECT_EQ(jacobi["name"], "jacobi");
  EXPECT_EQ(jacobi["bytes"], 100 * 8);
  EXPECT_EQ(jacobi["hierarchy"], nullptr);
  EXPECT_EQ(solved("--poisson2d 10 -p none")["preconditioner"]["name"], "none");
}

TEST_F(PrecondTest, KeysReachTheSetUp) {
  const auto levels = [&](const std::string& keys) {
    return solved("--poisson2d 60 -p amg " + keys)["preconditioner"]["hierarchy"]["levels"].size();
  };
  EXPECT_EQ(levels("--precond-opt max-levels=1"), 1U);
  EXPECT_EQ(levels("--precond-opt max-levels=2"), 2U);
  EXPECT_GT(levels("--precond-opt coarsest-rows=5"), levels("--precond-opt coarsest-rows=1000"));
  const auto iterations = [&](const std::string& keys) {
    return solved("--poisson2d 60 -p amg " + keys)["result"]["iterations"].get<int>();
  };
  const int usual = iterations("");
  EXPECT_LT(iterations("--precond-opt sweeps=3"), usual);
  EXPECT_GT(iterations("--precond-opt prolongator-damping=0"), usual);
  EXPECT_EQ(iterations("--precond-opt sweeps=1 --precond-opt precision=single,check=no"), usual);
  for (const std::string keys : {"cycle=w", "cycle=k", "smoother=l1-jacobi", "smoother=spai0", "smoother=chebyshev",
                                 "smoother=chebyshev,chebyshev-degree=3,chebyshev-ratio=4", "precision=full",
                                 "power-steps=0", "damping=1", "strength=0.1"}) {
    EXPECT_LT(iterations("--precond-opt " + keys), 3 * usual) << keys;
  }
}

TEST_F(PrecondTest, KeysComeFromFilesAndAreRepeatable) {
  file("solve.toml", "precond = \"amg\"\nprecond-opt = \"max-levels=2,cycle=w\"\n");
  const json document = solved("--poisson2d 60");
  EXPECT_EQ(document["preconditioner"]["hierarchy"]["levels"].size(), 2U);
  EXPECT_EQ(document["config"]["precond-opt"]["place"], "solve.toml:2");
  const json typed = solved("--poisson2d 60 --precond-opt max-levels=1");
  EXPECT_EQ(typed["preconditioner"]["hierarchy"]["levels"].size(), 1U) << "the command line is stronger";
  EXPECT_EQ(solved("--poisson2d 60 -p jacobi")["result"]["precond"], "jacobi") << "keys of a file may rest unused";
  const std::string config = run("--poisson2d 60 --precond-opt max-levels=3 --precond-opt sweeps=2 --print-config").out;
  EXPECT_NE(config.find("precond-opt = \"max-levels=3,sweeps=2\"\n"), std::string::npos) << config;
}

/// The constant vector is what amg takes by itself; given vectors keep weak entries in A, here there are none.
TEST_F(PrecondTest, NearNullspaceIsReadFromAFile) {
  file("ones.mtx", array_file(3600, 1, [](int, int) { return 1; }));
  const std::string line = "--poisson2d 60 -p amg -b random";
  const int usual = solved(line)["result"]["iterations"].get<int>();
  EXPECT_LT(solved(line + " --precond-opt near-nullspace=ones.mtx")["result"]["iterations"].get<int>(), 2 * usual);
  // A vector that A does not map to nearly 0.
  file("waves.mtx", array_file(3600, 1, [](int i, int) { return i % 2 == 0 ? 1 : -1; }));
  EXPECT_GT(solved(line + " --precond-opt near-nullspace=waves.mtx")["result"]["iterations"].get<int>(), 2 * usual);
  expect_error("--poisson2d 50 -p amg --precond-opt near-nullspace=ones.mtx", 5,
               "near-nullspace of amg ones.mtx: 3600 rows, expected 2500");
  expect_error("--poisson2d 50 -p amg --precond-opt near-nullspace=none.mtx", 5, "none.mtx");
}

TEST_F(PrecondTest, CoordinatesNeedBlocks) {
  file("places.mtx", array_file(50, 2, [](int i, int j) { return j == 0 ? i % 10 : i / 10; }));
  const std::string line = "--poisson2d 10 -p amg --precond-opt coordinates=places.mtx";
  EXPECT_EQ(run(line + " --block 2").exit_code, 0) << run(line + " --block 2").err;
  expect_error(line, 2, "nodes have 2 or 3 unknowns, but --block is auto");
  expect_error(line + " --block 3", 5, "--block 3: the matrix has 100 rows");
  file("places.mtx", array_file(50, 3, [](int i, int) { return i; }));
  expect_error(line + " --block 2", 5, "3 columns, but nodes have 2 unknowns");
}

TEST_F(PrecondTest, AutoTakesAmgWhereItPaysAndSaysWhy) {
  const json large = solved("--poisson2d 200");
  EXPECT_EQ(large["result"]["precond"], "amg");
  const json& rungs = large["ladder"]["rungs"];
  ASSERT_EQ(rungs.size(), 2U);
  EXPECT_EQ(rungs[0]["precond"], "jacobi");
  EXPECT_EQ(rungs[0]["iterations"], 48);
  EXPECT_NE(rungs[0]["outcome"].get<std::string>().find("amg pays above"), std::string::npos) << rungs[0];
  EXPECT_EQ(large["ladder"]["rung"], 1);
  EXPECT_EQ(large["ladder"]["structural_rank"], nullptr) << "no analysis was needed";

  const json small = solved("--poisson2d 40");
  EXPECT_EQ(small["result"]["precond"], "jacobi");
  EXPECT_EQ(small["result"]["precond_reason"], "full diagonal");
}

TEST_F(PrecondTest, AutoKeepsJacobiWhereItIsQuick) {
  file("quick.mtx", tridiagonal(30000, 4.0, 4.0));
  for (const std::string problem : {"quick.mtx", "--convdiff 20"}) {
    const json document = solved(problem);
    EXPECT_EQ(document["result"]["precond"], "jacobi") << problem;
    EXPECT_EQ(document["ladder"]["rungs"].size(), 1U) << problem;
  }
}

TEST_F(PrecondTest, AutoFallsBackAndANameIsRefused) {
  file("negative.mtx", tridiagonal(30000, 4.0, -4.0));
  EXPECT_EQ(solved("negative.mtx")["result"]["precond"], "jacobi");
  expect_error("negative.mtx -p amg", 5, "negative.mtx: ");
  expect_error("negative.mtx -p amg", 5, "30000");
  // Indefinite with a positive diagonal: CG finds out, and the rungs for all matrices follow.
  file("indefinite.mtx", tridiagonal(30000, 1.0, 1.0));
  const auto result = run("indefinite.mtx -b random --json --exit-zero");
  const json indefinite = json::parse(result.out);
  const json& rungs = indefinite["ladder"]["rungs"];
  ASSERT_GE(rungs.size(), 2U) << indefinite;
  EXPECT_EQ(rungs[0]["status"], "breakdown");
  for (std::size_t i = 1; i < rungs.size(); ++i) EXPECT_NE(rungs[i]["method"], "cg") << rungs[i];
}

TEST_F(PrecondTest, AHierarchyThatDoesNotCoarsenIsWarnedOf) {
  std::string diagonal = real_general + std::string("400 400 400\n");
  for (int i = 1; i <= 400; ++i)
    diagonal += std::to_string(i) + " " + std::to_string(i) + " " + std::to_string(i) + "\n";
  file("diagonal.mtx", diagonal);
  const json document = solved("diagonal.mtx -p amg");
  EXPECT_EQ(document["preconditioner"]["hierarchy"]["coarsens"], false);
  ASSERT_EQ(document["warnings"].size(), 1U);
  EXPECT_EQ(document["warnings"][0]["code"], "W011");
}

TEST_F(PrecondTest, TheLimitOnMemoryHoldsForTheHierarchy) {
  expect_error("--poisson3d 30 -p amg --mem-limit 5MB", 6, "the hierarchy of amg");
  EXPECT_EQ(run("--poisson3d 30 -p jacobi --mem-limit 5MB").exit_code, 0);
}

TEST_F(PrecondTest, CompareSaysWhenTheSetUpPays) {
  const json document =
      solved("compare --poisson2d 60 --kernels csr,merge --solvers cg --preconds jacobi,amg --repeat 3");
  int rows = 0;
  for (const json& item : document["cases"]) {
    if (item["kind"] != "solve") continue;
    ++rows;
    EXPECT_EQ(item["precond"], item["result"]["precond"]);
    EXPECT_EQ(item["reference"], item["kernel"] == "csr" && item["precond"] == "jacobi");
    EXPECT_EQ(item.contains("break_even_solves"), item["precond"] == "amg");
    EXPECT_EQ(item.contains("break_even_applies"), item["kernel"] == "merge");
  }
  EXPECT_EQ(rows, 4);
  const std::string text =
      run("compare --poisson2d 60 --kernels csr --solvers cg --preconds jacobi,amg --repeat 3").out;
  EXPECT_NE(text.find("precond pays"), std::string::npos) << text;
  EXPECT_NE(text.find("\ncg, until"), std::string::npos) << text;
}

TEST_F(PrecondTest, CompareKnowsItsBaselineByPreconditioner) {
  const std::string line = "compare --poisson2d 40 --kernels csr --solvers cg --preconds jacobi,amg --repeat 3";
  EXPECT_EQ(run(line + " --json=before.json").exit_code, 0);
  const json document = solved(line + " --baseline before.json");
  for (const json& item : document["cases"]) {
    if (item["kind"] == "solve") {
      EXPECT_TRUE(item["total_ms"].contains("baseline")) << item;
    }
  }
  for (const json& warning : document["warnings"]) EXPECT_NE(warning["code"], "W022") << warning;
}

}  // namespace

}  // namespace tessera::testing
