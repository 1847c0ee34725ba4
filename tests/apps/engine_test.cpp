/// solve --engine petsc under mpiexec, against the engine of Tessera.

#include "solve_process.hpp"

#include "tests/support/matrices_dir.hpp"

#include "tessera/matrix_market.hpp"

#include <cmath>
#include <cstdlib>

namespace tessera::testing {

namespace {

class EngineTest : public SolveTest {
 protected:
  void SetUp() override {
    SolveTest::SetUp();
    if (std::string(TESSERA_MPIEXEC).empty()) GTEST_SKIP() << "this build has no PETSc";
  }

  /// \param processes 0: without mpiexec
  [[nodiscard]] ProcessResult run_on(int processes, const std::string& line, std::vector<std::string> variables = {}) {
    std::vector<std::string> arguments;
    if (processes > 0) arguments = {TESSERA_MPIEXEC, "-q", "-n", std::to_string(processes)};
    for (const std::string& word : words(line)) arguments.push_back(word == "solve" ? TESSERA_SOLVE_BINARY : word);
    ProcessOptions options;
    options.directory = path("");
    options.variables = {"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
                         "OMPI_MCA_rmaps_base_oversubscribe=1", "OMPI_MCA_btl_vader_single_copy_mechanism=none",
                         // Processes share CPUs with other tests.
                         "OMPI_MCA_mpi_yield_when_idle=1", "OMP_NUM_THREADS=1"};
    for (std::string& variable : variables) options.variables.push_back(std::move(variable));
    return run_process(arguments, options);
  }

  [[nodiscard]] nlohmann::json document(int processes, const std::string& line) {
    const auto result = run_on(processes, "solve " + line + " --json --error-gate off --progress none");
    const auto json = nlohmann::json::parse(result.out, nullptr, false);
    EXPECT_FALSE(json.is_discarded()) << line << "\n" << result.out << result.err;
    if (!json.is_discarded()) {
      EXPECT_EQ(result.exit_code, json["result"]["exit_code"]) << line;
    }
    return json;
  }

  /// Facts of the matrix, status and solution of both engines.
  void expect_same(const std::string& line, const std::vector<int>& processes, double tolerance) {
    SCOPED_TRACE(line);
    const auto expected = document(0, line + " -o own.mtx");
    const std::vector<double> x = read_vector<double>(path("own.mtx"));
    for (const int count : processes) {
      SCOPED_TRACE(count);
      const auto json = document(count, line + " --engine petsc -o x.mtx");
      for (const char* fact : {"rows", "cols", "nnz", "symmetric", "max_row_nnz", "empty_rows", "duplicates_merged"}) {
        EXPECT_EQ(json["matrix"][fact], expected["matrix"][fact]) << fact;
      }
      EXPECT_NEAR(json["matrix"]["gini_row_nnz"], expected["matrix"]["gini_row_nnz"], 1e-12);
      EXPECT_EQ(json["engine"]["processes"], count);
      const auto& result = json["result"];
      EXPECT_EQ(result["status"], "converged") << result["reason"];
      EXPECT_EQ(result["method"], expected["result"]["method"]);
      EXPECT_EQ(result["precond"], expected["result"]["precond"]);
      EXPECT_LE(result["residual"]["true"], result["residual"]["target"]);
      EXPECT_NEAR(result["residual"]["b_norm"], expected["result"]["residual"]["b_norm"],
                  1e-12 * static_cast<double>(expected["result"]["residual"]["b_norm"]));
      expect_near(read_vector<double>(path("x.mtx")), x, tolerance);
    }
  }

  static void expect_near(const std::vector<double>& found, const std::vector<double>& expected, double tolerance) {
    ASSERT_EQ(found.size(), expected.size());
    double largest = 0.0;
    double scale = 0.0;
    for (std::size_t k = 0; k < found.size(); ++k) {
      largest = std::max(largest, std::fabs(found[k] - expected[k]));
      scale = std::max(scale, std::fabs(expected[k]));
    }
    EXPECT_LE(largest, tolerance * scale);
  }
};

TEST_F(EngineTest, GeneratedSystemsAsByTessera) {
  expect_same("--poisson3d 9 -m cg -p jacobi -b random --rtol 1e-12", {1, 2, 4}, 1e-9);
  expect_same("--convdiff 7 -m bicgstab -p ilu0 -b Arandom --x0 random --rtol 1e-12", {3}, 1e-9);
  expect_same("--poisson2d 15 -m minres -p jacobi -b unit:7 --rtol 1e-12", {2}, 1e-9);
}

TEST_F(EngineTest, FilesAsByTessera) {
  // Comments, blank lines, repeated entries, CRLF, no newline at the end; fewer rows than processes.
  file("a.mtx",
       "%%MatrixMarket matrix coordinate real general\n% c\n3 3 8\n1 1 4\n\n2 2 5\r\n% c\n 3  3 6\n1 2 -1\n2 1 1\n"
       "1 1 .5\n3 1 -1e-1\n2 3 1");
  expect_same("a.mtx -m gmres -p none -b random", {1, 4}, 1e-9);
  // Repeated positions of a pattern count once; the other triangle is the mirror image.
  file("p.mtx", "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 5\n1 1\n2 2\n3 3\n3 2\n3 2\n");
  expect_same("p.mtx -m gmres -p none -b unit:1", {2}, 1e-9);
  file("k.mtx", "%%MatrixMarket matrix coordinate integer skew-symmetric\n2 2 1\n2 1 3\n");
  expect_same("k.mtx -m gmres -p none", {2}, 1e-9);
}

TEST_F(EngineTest, BinaryFileInParts) {
  ASSERT_EQ(run("convert --poisson3d 9 a.tsb").exit_code, 0);
  ASSERT_EQ(run("convert a.tsb a.mtx").exit_code, 0);
  expect_same("a.tsb -m cg -p jacobi --rtol 1e-12", {3}, 1e-9);
  expect_same("a.mtx -m cg -p jacobi --rtol 1e-12", {3}, 1e-9);
  std::string bytes = contents(path("a.tsb"));
  bytes[bytes.size() - 100] = static_cast<char>(bytes[bytes.size() - 100] ^ 1);
  file("damaged.tsb", bytes);
  const auto own = run("damaged.tsb -m cg");
  const auto result = run_on(2, "solve damaged.tsb -m cg --engine petsc --progress none");
  EXPECT_EQ(result.exit_code, 5);
  EXPECT_EQ(result.err, own.err);
}

TEST_F(EngineTest, RealMatricesAsByTessera) {
  const auto folder = real_matrices_dir();
  if (!folder) GTEST_SKIP() << "TESSERA_TEST_DATA is not set";
  for (const auto& [name, options] : std::vector<std::pair<std::string, std::string>>{
           {"bcsstk08", "-m cg -p ic0"}, {"orsirr_1", "-m bicgstab -p jacobi"}}) {
    const std::string source = (*folder / (name + ".mtx.gz")).string();
    ASSERT_EQ(run("convert " + source + " " + name + ".mtx").exit_code, 0);
    expect_same(name + ".mtx --rtol 1e-12 -b random " + options, {1, 4}, 1e-5);
  }
}

TEST_F(EngineTest, FaultsOfFilesAreToldOnceWithTheirLine) {
  file("value.mtx", "%%MatrixMarket matrix coordinate real general\n% c\n4 4 5\n1 1 2\n2 2 2\n3 3 2\n4 4 2\n2 1 x\n");
  file("few.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 6\n1 1 2\n2 2 2\n1 2 2\n");
  file("many.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 2\n2 2 2\n\n2 1 1  \n1 2 3\n");
  file("both.mtx", "%%MatrixMarket matrix coordinate real symmetric\n4 4 4\n1 1 2\n2 1 1\n4 4 1\n3 4 1\n");
  for (const char* name : {"value.mtx", "few.mtx", "many.mtx", "both.mtx", "none.mtx"}) {
    SCOPED_TRACE(name);
    const auto own = run(std::string(name) + " -m cg");
    const auto result = run_on(3, std::string("solve --engine petsc -m cg --progress none ") + name);
    EXPECT_EQ(own.exit_code, 5);
    EXPECT_EQ(result.exit_code, 5);
    EXPECT_EQ(result.err, own.err);
    EXPECT_EQ(result.out, "");
  }
}

TEST_F(EngineTest, EndingsHaveTheirExitCodes) {
  EXPECT_EQ(document(2, "--poisson2d 30 -m cg --engine petsc --max-iters 3")["result"]["status"], "max_iterations");
  EXPECT_EQ(run_on(2, "solve --poisson2d 30 -m cg --engine petsc --max-iters 3").exit_code, 3);
  file("indefinite.mtx", "%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 1\n2 2 -1\n");
  const auto json = document(2, "indefinite.mtx -m cg -p none -b ones --engine petsc");
  EXPECT_EQ(json["result"]["exit_code"], 4);
  EXPECT_EQ(json["result"]["breakdown"], "indefinite");
  file("diagonal.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 1\n2 1 1\n");
  EXPECT_EQ(run_on(2, "solve diagonal.mtx -m gmres -p jacobi --engine petsc").exit_code, 5);
}

/// Eigenvalues in (0.09, 7.92): bounds that hold converge, an upper one that is too low diverges.
TEST_F(EngineTest, ChebyshevTakesTheSpectrumThatIsKnown) {
  const std::string line = "--poisson2d 14 -m chebyshev -p none --engine petsc --spectrum ";
  EXPECT_EQ(document(2, line + "0.08,7.95")["result"]["status"], "converged");
  EXPECT_NE(document(2, line + "0.08,4")["result"]["status"], "converged");
}

TEST_F(EngineTest, ResidualsAreDrawn) {
  const auto result = run_on(2, "solve --poisson2d 9 -m cg --engine petsc --plot");
  EXPECT_NE(result.out.find("plot        ||r|| by iteration; dotted: "), std::string::npos) << result.out << result.err;
}

/// D L D with the Laplacian L on a line and a D that spans six decades: the norm of MINRES in PETSc, that of M r, meets
/// its target before that of b - A x does.
TEST_F(EngineTest, ConvergedMeansTheTrueResidual) {
  constexpr int n = 60;
  const auto scale = [](int i) { return std::pow(10.0, 3.0 * std::sin(1.0 * i)); };
  std::ostringstream text;
  text << "%%MatrixMarket matrix coordinate real symmetric\n60 60 119\n";
  for (int i = 1; i <= n; ++i) {
    text << i << ' ' << i << ' ' << 2.0 * scale(i) * scale(i) << '\n';
    if (i > 1) text << i << ' ' << i - 1 << ' ' << -scale(i) * scale(i - 1) << '\n';
  }
  file("scaled.mtx", text.str());
  const auto json = document(2, "scaled.mtx -m minres -p jacobi -b ones --engine petsc");
  const auto& residual = json["result"]["residual"];
  EXPECT_EQ(json["result"]["status"] == "converged", residual["true"] <= residual["target"]);
  EXPECT_GT(json["result"]["replacements"], 0) << "the first round ended where it should: another matrix is needed";
}

TEST_F(EngineTest, PetscOptionsOverrule) {
  const auto result = run_on(2, "solve --convdiff 6 -m bicgstab --engine petsc --json",
                             {"PETSC_OPTIONS=-ksp_type fgmres -pc_type bjacobi"});
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["result"]["method"], "fgmres");
  EXPECT_EQ(json["result"]["method_reason"], "PETSC_OPTIONS");
  EXPECT_EQ(json["engine"]["pc_type"], "bjacobi");
  EXPECT_EQ(json["result"]["status"], "converged");
}

TEST_F(EngineTest, OptionsOfTheWorkingDirectoryAreNotTaken) {
  for (const char* name : {".petscrc", "petscrc"}) file(name, "-ksp_type fgmres\n");
  const auto json = document(2, "--convdiff 6 -m bicgstab --engine petsc");
  EXPECT_EQ(json["result"]["method"], "bicgstab");
}

TEST_F(EngineTest, OneSignalStopsAllAndKeepsWhatThereIs) {
  const auto result =
      run_on(2,
             "/usr/bin/timeout --foreground --preserve-status -s INT 3 solve --poisson2d 300 -m richardson "
             "--rtol 1e-15 --stagnation 100000000 --max-iters 100000000 --engine petsc --json=run.json -o x.mtx -q");
  EXPECT_EQ(result.exit_code, 130) << result.err;
  const auto json = nlohmann::json::parse(contents(path("run.json")));
  EXPECT_EQ(json["result"]["status"], "interrupted");
  EXPECT_GT(json["result"]["iterations"], 0);
  EXPECT_EQ(read_vector<double>(path("x.mtx")).size(), 300U * 300U);
}

TEST_F(EngineTest, CopiesWithoutItAreWarnedOnce) {
  const auto result = run_on(2, "solve --poisson2d 4");
  EXPECT_EQ(result.exit_code, 0);
  const std::string warning = "2 copies of solve were started";
  const std::size_t first = result.err.find(warning);
  ASSERT_NE(first, std::string::npos) << result.err;
  EXPECT_EQ(result.err.find(warning, first + 1), std::string::npos);
}

/// Refusals come before MPI starts, from one process alone.
TEST_F(EngineTest, RefusalsAreToldOnce) {
  const auto unknown = run_on(2, "solve --engine petsc --poisson2d 4 --rtoll 1");
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_EQ(unknown.err, "solve: error: unknown option --rtoll\n  hint: did you mean --rtol?\n");
  // --engine stands elsewhere than on the command line.
  const auto foreign = run_on(2, "solve --poisson2d 4 --precision fp32", {"SOLVE_ENGINE=petsc"});
  EXPECT_EQ(foreign.exit_code, 2);
  EXPECT_EQ(foreign.err,
            "solve: error: option --precision does not apply to --engine petsc\n  hint: PETSc computes in fp64\n");
}

/// As on a machine without PETSc, or where the library was left behind.
TEST_F(EngineTest, LibraryThatIsNotThere) {
  const auto result = run_on(0, "solve --poisson2d 4 --engine petsc", {"TESSERA_PETSC_LIBRARY=/nowhere/engine.so"});
  EXPECT_EQ(result.exit_code, 7);
  EXPECT_NE(result.err.find("--engine petsc cannot be used: /nowhere/engine.so: cannot open shared object file"),
            std::string::npos)
      << result.err;
  EXPECT_NE(run("doctor").out.find("petsc       PETSc 3."), std::string::npos);
}

/// Other runs do not load PETSc.
TEST_F(EngineTest, OrdinaryRunsNeedNoMpi) {
  const auto result = run_process({"/usr/bin/env", "LD_DEBUG=files", TESSERA_SOLVE_BINARY, "--poisson2d", "4"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_NE(result.err.find("libc.so"), std::string::npos);
  EXPECT_EQ(result.err.find("libpetsc"), std::string::npos);
  EXPECT_EQ(result.err.find("libmpi"), std::string::npos);
}

TEST(EngineWithoutPetsc, RefusesClearly) {
  if (!std::string(TESSERA_MPIEXEC).empty()) GTEST_SKIP() << "this build has PETSc";
  const auto result = solve(words("--poisson2d 4 --engine petsc"));
  EXPECT_EQ(result.exit_code, 7);
  EXPECT_EQ(result.err,
            "solve: error: --engine petsc cannot be used: this build has no PETSc\n  hint: --engine tessera works "
            "everywhere; solve doctor tells the versions of PETSc and MPI\n");
}

}  // namespace

}  // namespace tessera::testing
