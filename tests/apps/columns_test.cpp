/// Several right-hand sides on the command line: files of columns, reports per column, exit codes, refusals.

#include "solve_process.hpp"
#include "tools.hpp"

#include "tessera/multi_vector_file.hpp"

#include <cmath>
#include <sstream>
#include <string>
#include <vector>

namespace tessera::testing {

namespace {

using nlohmann::json;

/// A laplace4 B: the solutions are (1 1 1 1), (1 2 3 4) and 0.
constexpr const char* three_sides =
    "%%MatrixMarket matrix array real general\n4 3\n1\n0\n0\n1\n0\n0\n0\n5\n0\n0\n0\n0\n";

class ColumnsTest : public SolveTest {
 protected:
  void SetUp() override {
    SolveTest::SetUp();
    file("A.mtx", laplace4);
    file("B.mtx", three_sides);
  }
  void expect_error(const std::string& line, int code, const std::string& text) const {
    const auto result = run(line);
    EXPECT_EQ(result.exit_code, code) << line;
    EXPECT_NE(result.err.find(text), std::string::npos) << line << "\n" << result.err;
  }
  [[nodiscard]] MultiVector<double> read(const std::string& name) const {
    return read_multi_vector<double>(path(name), 4);
  }
};

TEST_F(ColumnsTest, EveryMethodSolvesAllColumns) {
  const double expected[] = {1, 1, 1, 1, 1, 2, 3, 4, 0, 0, 0, 0};
  for (const std::string method : {"", "-m cg -p none", "-m bicgstab", "-m gmres -p jacobi", "-m idr", "-m direct",
                                   "-m richardson -p amg", "-m cg -p ic0"}) {
    const auto result = run("A.mtx -b B.mtx -o X.mtx --rtol 1e-10 --json " + method);
    ASSERT_EQ(result.exit_code, 0) << method << "\n" << result.err;
    const json document = json::parse(result.out);
    ASSERT_EQ(document["columns"].size(), 3u) << method;
    for (const json& column : document["columns"]) EXPECT_EQ(column["status"], "converged") << method;
    const auto worst = document["result"]["column"].get<std::size_t>() - 1;
    EXPECT_EQ(document["result"]["reason"], document["columns"][worst]["reason"]);
    const MultiVector<double> x = read("X.mtx");
    ASSERT_EQ(x.columns, 3);
    for (std::size_t k = 0; k < x.elements.size(); ++k) EXPECT_NEAR(x.elements[k], expected[k], 1e-8) << method;
  }
}

TEST_F(ColumnsTest, DocumentsAreAsPublished) {
  TESSERA_NEED_TOOL("python3-jsonschema", TESSERA_PYTHON, "-c", "import jsonschema");
  ASSERT_EQ(run("A.mtx -b B.mtx --json=one.json -q").exit_code, 0);
  ASSERT_EQ(run("--poisson2d 9 -b random:12 -m cg --max-iters 2 --json=two.json -q").exit_code, 3);
  ASSERT_EQ(run("--poisson2d 9 -b random:12 --dry-run --json=three.json -q").exit_code, 0);
  const auto result = run_process({"/usr/bin/env", TESSERA_PYTHON, TESSERA_SOURCE_DIR "/scripts/validate-json.py",
                                   path("one.json"), path("two.json"), path("three.json")});
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
}

TEST_F(ColumnsTest, TheWorstColumnDecides) {
  // The first column is an eigenvector, which CG solves at once.
  std::string sides = "%%MatrixMarket matrix array real general\n9 2\n";
  for (const double factor : {1.0, 0.0}) {
    for (int i = 1; i <= 3; ++i) {
      for (int j = 1; j <= 3; ++j) {
        const double mode = std::sin(M_PI * i / 4.0) * std::sin(M_PI * j / 4.0);
        std::ostringstream number;
        number.precision(17);
        number << factor * mode + (1.0 - factor) * (i + 7 * j * j);
        sides += number.str() + "\n";
      }
    }
  }
  file("B.mtx", sides);
  const auto result = run("--poisson2d 3 -b B.mtx -m cg -p none --max-iters 1 --json --history h.csv");
  EXPECT_EQ(result.exit_code, 3) << result.err;
  const json document = json::parse(result.out);
  EXPECT_EQ(document["columns"][0]["status"], "converged");
  EXPECT_EQ(document["columns"][1]["status"], "max_iterations");
  EXPECT_EQ(document["result"]["column"], 2);
  EXPECT_EQ(document["result"]["status"], "max_iterations");
  EXPECT_EQ(document["result"]["exit_code"], 3);
  const std::string history = contents(path("h.csv"));
  EXPECT_TRUE(history.starts_with("column,iteration,seconds,recurrence,true\n1,0,")) << history;
  EXPECT_NE(history.find("\n1,1,"), std::string::npos) << history;
  EXPECT_NE(history.find("\n2,1,"), std::string::npos) << history;
}

TEST_F(ColumnsTest, TheSummaryHasARowPerColumn) {
  const auto few = run("A.mtx -b B.mtx -m cg -p none --device host");
  EXPECT_EQ(few.exit_code, 0) << few.err;
  EXPECT_NE(few.out.find("columns     3 right-hand sides: 3 converged; at most 4 iterations; of the worst, column "),
            std::string::npos)
      << few.out;
  const auto many = run("--poisson2d 9 -b random:12 -m cg -p none --max-iters 5");
  EXPECT_EQ(many.exit_code, 3) << many.err;
  EXPECT_NE(many.out.find("12 max_iterations"), std::string::npos) << many.out;
  EXPECT_NE(many.out.find("\n2 columns more"), std::string::npos) << many.out;
}

TEST_F(ColumnsTest, FilesOfEveryForm) {
  file("C.mtx", "%%MatrixMarket matrix coordinate real general\n4 3 3\n1 1 1\n4 1 1\n4 2 5\n");
  ASSERT_EQ(run("A.mtx -b C.mtx -o X.mtx.gz -m cg -p none").exit_code, 0);
  ASSERT_EQ(run("A.mtx -b B.mtx -o Y.mtx -m cg -p none").exit_code, 0);
  EXPECT_EQ(read("X.mtx.gz").elements, read("Y.mtx").elements);
  // A solution as the next guess.
  const auto warm = run("A.mtx -b B.mtx --x0 X.mtx.gz -m cg -p none --json");
  for (const json& column : json::parse(warm.out)["columns"]) EXPECT_EQ(column["iterations"], 0);
  // One row is one right-hand side, but of a system of one row.
  file("one.mtx", "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 2\n");
  file("row.mtx", "%%MatrixMarket matrix array real general\n1 2\n2\n4\n");
  EXPECT_EQ(json::parse(run("one.mtx -b row.mtx --json").out)["columns"].size(), 2u);
  file("long.mtx", "%%MatrixMarket matrix array real general\n1 4\n1\n0\n0\n1\n");
  EXPECT_FALSE(json::parse(run("A.mtx -b long.mtx --json").out).contains("columns"));
}

TEST_F(ColumnsTest, RefusalsHaveNumbers) {
  expect_error("--poisson2d 3 -b B.mtx", 5,
               "right-hand side B.mtx has 4 rows and 3 columns, expected 9 rows, the rows of the matrix");
  expect_error("A.mtx -b random:2 --x0 B.mtx", 5, "initial guess B.mtx has 3 columns, the right-hand side has 2");
  expect_error("A.mtx -b random:0", 2, "expected random:K with K right-hand sides, from 1, got \"random:0\"");
  expect_error("A.mtx -b B.mtx -o x.txt", 2, "--output x.txt holds one column, the right-hand side has 3");
  expect_error("A.mtx -b B.mtx --error-gate warn", 2,
               "option --error-gate applies to one right-hand side, there are 3");
  expect_error("--poisson2d 300 -b random:30 --mem-limit 20M", 6, "the vectors of cg needs 217 MiB");
  for (const std::string dry : {"", " --dry-run"}) {
    expect_error("A.mtx -b B.mtx --precision mixed -m cg" + dry, 2,
                 "--precision mixed applies to one right-hand side, there are 3");
    expect_error("A.mtx -b random:2 --precision mixed" + dry, 2, "--precision mixed applies to one right-hand side");
    expect_error("A.mtx -b B.mtx -m lsmr" + dry, 2, "lsmr takes one right-hand side at a time, there are 3");
  }
  expect_error("compare A.mtx --solvers cg -b random:3", 2, "compare takes one right-hand side");
  file("none.mtx", "%%MatrixMarket matrix array real general\n4 0\n");
  expect_error("A.mtx -b none.mtx", 5, "expected a vector (one row or one column), found a 4 x 0 matrix");
}

}  // namespace

}  // namespace tessera::testing
