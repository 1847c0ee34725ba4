/// Least squares on the command line: what auto takes, what summary, JSON and files say, forecasts, and refusals.

#include "solve_process.hpp"

#include <cmath>
#include <cstddef>
#include <sstream>
#include <string>
#include <vector>

namespace tessera::testing {

namespace {

using nlohmann::json;

/// A straight line through (0, 1), (1, 3), (2, 4), (3, 4): 1.5 + x, and ||r||^2 = 1.
constexpr const char* line_fit =
    "%%MatrixMarket matrix coordinate real general\n4 2 7\n1 1 1\n2 1 1\n3 1 1\n4 1 1\n2 2 1\n3 2 2\n4 2 3\n";
constexpr const char* heights = "%%MatrixMarket matrix array real general\n4 1\n1\n3\n4\n4\n";

class LeastSquaresTest : public SolveTest {
 protected:
  void SetUp() override {
    SolveTest::SetUp();
    file("a.mtx", line_fit);
    file("b.mtx", heights);
  }

  [[nodiscard]] json solved(const std::string& line, int code = 0) const {
    const auto result = run(line + " --json");
    EXPECT_EQ(result.exit_code, code) << line << "\n" << result.err;
    return json::parse(result.out);
  }

  /// The elements of an array of the Matrix Market.
  [[nodiscard]] std::vector<double> elements_of(const std::string& name) const {
    std::istringstream text(contents(path(name)));
    std::string line;
    while (text.peek() == '%') std::getline(text, line);
    std::getline(text, line);
    std::vector<double> values;
    for (double value = 0.0; text >> value;) values.push_back(value);
    return values;
  }

  void expect_error(const std::string& line, int code, const std::string& text) const {
    const auto result = run(line);
    EXPECT_EQ(result.exit_code, code) << line << "\n" << result.out << result.err;
    EXPECT_NE(result.err.find(text), std::string::npos) << line << "\n" << result.err;
  }
};

TEST_F(LeastSquaresTest, AutoFitsALine) {
  const json document = solved("a.mtx -b b.mtx -o x.mtx --history h.csv");
  const json& result = document["result"];
  EXPECT_EQ(result["method"], "lsmr");
  EXPECT_EQ(result["method_reason"], "least squares: 4 x 2");
  EXPECT_EQ(result["status"], "converged");
  EXPECT_NEAR(result["residual"]["true"].get<double>(), 1.0, 1e-12);
  const json& least_squares = result["least_squares"];
  EXPECT_EQ(least_squares["test"], "normal_residual");
  EXPECT_EQ(least_squares["damping"], 0.0);
  EXPECT_LE(least_squares["optimality"].get<double>(), 1e-8);
  EXPECT_NEAR(least_squares["x_norm"].get<double>(), std::hypot(1.5, 1.0), 1e-7);
  const std::vector<double> x = elements_of("x.mtx");
  ASSERT_EQ(x.size(), 2U);
  EXPECT_NEAR(x[0], 1.5, 1e-7);
  EXPECT_NEAR(x[1], 1.0, 1e-7);
  EXPECT_EQ(contents(path("h.csv")).find("iteration,seconds,recurrence,true\n0,"), 0U);
}

TEST_F(LeastSquaresTest, DampingIsRidgeRegression) {
  // (AᵀA + 4 I) x = Aᵀ b with AᵀA = (4 6; 6 14), Aᵀ b = (12, 23).
  for (const std::string method : {"lsmr", "cgls"}) {
    for (const std::string precond : {"none", "jacobi"}) {
      const json document = solved("a.mtx -b b.mtx --damp 2 -o x.mtx -m " + method + " -p " + precond);
      const std::vector<double> x = elements_of("x.mtx");
      EXPECT_NEAR(x[0], (18.0 * 12.0 - 6.0 * 23.0) / 108.0, 1e-7) << method;
      EXPECT_NEAR(x[1], (8.0 * 23.0 - 6.0 * 12.0) / 108.0, 1e-7) << method;
      EXPECT_EQ(document["result"]["least_squares"]["damping"], 2.0);
      EXPECT_EQ(document["result"]["precond"], precond);
      EXPECT_EQ(document["config"]["damp"]["value"], 2.0);
    }
  }
}

TEST_F(LeastSquaresTest, SummarySaysBothResiduals) {
  const auto result = run("a.mtx -b b.mtx --damp 0.5");
  EXPECT_EQ(result.exit_code, 0);
  for (const char* text :
       {"lsmr (auto: least squares: 4 x 2), precond none (auto: x is the solution of least norm), damp 0.5",
        "||A'(b - A x) - damp^2 x|| = ", "test        ||A'r|| / (||A|| ||r||) = ", "products with A'",
        "cond(A) at least"}) {
    EXPECT_NE(result.out.find(text), std::string::npos) << text << "\n" << result.out;
  }
  const auto consistent = run("a.mtx");
  EXPECT_NE(consistent.out.find("= rtol * ||b||: the system is consistent"), std::string::npos) << consistent.out;
}

TEST_F(LeastSquaresTest, SquareTransposedAndWide) {
  EXPECT_EQ(solved("--poisson2d 6 -m lsmr")["result"]["status"], "converged");
  const json damped = solved("--poisson2d 6 --damp 0.1");
  EXPECT_EQ(damped["result"]["method_reason"], "--damp asks for least squares");
  const json wide = solved("a.mtx --transpose -b ones -o x.mtx");
  EXPECT_EQ(wide["matrix"]["rows"], 2);
  EXPECT_EQ(elements_of("x.mtx").size(), 4U);
  EXPECT_EQ(wide["result"]["least_squares"]["test"], "residual");
  file("x0.mtx", "%%MatrixMarket matrix array real general\n2 1\n1.5\n1\n");
  EXPECT_LE(solved("a.mtx -b b.mtx --x0 x0.mtx")["result"]["iterations"].get<int>(), 1);
}

TEST_F(LeastSquaresTest, Endings) {
  const json limited = solved("--poisson2d 20 -m cgls -b random --max-iters 3", 3);
  EXPECT_EQ(limited["result"]["status"], "max_iterations");
  EXPECT_EQ(limited["result"]["least_squares"]["test"], "none");
  EXPECT_EQ(limited["ladder"], nullptr);
  const auto text = run("--poisson2d 20 -m cgls -b random --max-iters 3");
  EXPECT_NE(text.out.find("max_iterations after 3 iterations"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find(": iteration limit 3 reached\n"), std::string::npos) << text.out;
  expect_error("a.mtx --mem-limit 1KiB", 6, "out of memory");
}

TEST_F(LeastSquaresTest, ForecastNamesTheTranspose) {
  const json document = solved("a.mtx --dry-run -p jacobi -m lsmr");
  std::vector<std::string> names;
  for (const json& phase : document["phases"]) names.push_back(phase["phase"].get<std::string>());
  for (const char* name : {"plan", "transpose", "vectors", "precond"}) {
    EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << name;
  }
  EXPECT_GT(document["iteration"]["bytes"].get<double>(), 0.0);
  EXPECT_EQ(run("a.mtx --dry-run").exit_code, 0);
}

TEST_F(LeastSquaresTest, InspectAdvises) {
  const json document = solved("inspect a.mtx");
  EXPECT_EQ(document["advice"]["method"], "lsmr");
  EXPECT_EQ(document["advice"]["command"], "solve a.mtx");
}

TEST_F(LeastSquaresTest, Refusals) {
  for (const std::string method : {"cg", "bicgstab", "gmres", "idr", "richardson", "direct"}) {
    expect_error("a.mtx -m " + method, 5,
                 "the matrix is 4 x 2, " + method + " needs a square one; --method lsmr solves min ||A x - b||");
    expect_error("a.mtx --dry-run -m " + method, 5, method + " needs a square one");
    expect_error("a.mtx --damp 1 -m " + method, 2, "option --damp does not apply to " + method);
  }
  expect_error("a.mtx -p amg", 2, "option --precond amg does not apply to lsmr");
  expect_error("a.mtx -m cgls --atol 1", 2, "option --atol does not apply to cgls");
  expect_error("a.mtx --restart 5", 2, "option --restart does not apply to lsmr");
  expect_error("a.mtx --dry-run --error-gate off", 2, "option --error-gate does not apply to lsmr");
  for (const std::string dry : {"", " --dry-run"}) {
    expect_error("a.mtx --precision mixed" + dry, 2, "--precision mixed does not apply to lsmr");
    expect_error("--poisson2d 3 --damp 1 --precision mixed" + dry, 2, "--precision mixed does not apply to lsmr");
  }
  expect_error("a.mtx --x0 rhs", 2, "option --x0 rhs: b has 4 elements, x has 2");
  expect_error("a.mtx --damp -1", 2, "option --damp: ");
  expect_error("a.mtx --x0 b.mtx", 5, "initial guess b.mtx has 4 elements, expected 2, the columns of the matrix");
}

}  // namespace

}  // namespace tessera::testing
