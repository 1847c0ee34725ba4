/// Methods and incomplete factors on the command line: what they solve, what reports say, and what is refused.

#include "solve_process.hpp"
#include "support/system.hpp"
#include "tests/support/matrices_dir.hpp"

#include "tessera/matrix_market.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tessera::testing {

namespace {

using nlohmann::json;

/// Symmetric indefinite, with zeros on the diagonal: no preconditioner of the diagonal helps.
constexpr const char* saddle =
    "%%MatrixMarket matrix coordinate real general\n4 4 8\n1 1 2\n1 3 1\n2 2 3\n2 4 1\n3 1 1\n3 2 1\n4 1 1\n4 2 -1\n";

/// Singular, with full structural rank.
constexpr const char* singular =
    "%%MatrixMarket matrix coordinate real general\n3 3 9\n1 1 1\n1 2 2\n1 3 3\n2 1 4\n2 2 5\n2 3 6\n3 1 7\n3 2 8\n3 3 "
    "9\n";

class MethodsTest : public SolveTest {
 protected:
  [[nodiscard]] json solved(const std::string& line) const {
    const auto result = run(line + " --json");
    EXPECT_EQ(result.exit_code, 0) << line << "\n" << result.err;
    return json::parse(result.out);
  }

  void expect_error(const std::string& line, int code, const std::string& text) const {
    const auto result = run(line);
    EXPECT_EQ(result.exit_code, code) << line << "\n" << result.out << result.err;
    EXPECT_NE(result.err.find(text), std::string::npos) << line << "\n" << result.err;
  }
};

TEST_F(MethodsTest, EachSolvesANonsymmetricSystem) {
  for (const std::string method : {"bicgstab", "gmres", "idr", "direct"}) {
    const json document = solved("--convdiff 12 -b Arandom -m " + method + (method == "direct" ? "" : " -p jacobi"));
    EXPECT_EQ(document["result"]["method"], method);
    EXPECT_EQ(document["result"]["status"], "converged");
    EXPECT_LT(document["result"]["relative_error_vs_known"].get<double>(), 1e-6) << method;
  }
}

TEST_F(MethodsTest, ChebyshevTakesTheSpectrumThatIsKnown) {
  // The eigenvalues of poisson2d 20 are 4 - 2 cos(i t) - 2 cos(j t), t = pi / 21.
  const double low = 4.0 - 4.0 * std::cos(M_PI / 21.0);
  const double high = 8.0 - low;
  const std::string line = "--poisson2d 20 -b random -m chebyshev -p none ";
  const json known = solved(fmt::format("{} --spectrum {},{}", line, low, high))["result"];
  // ||r_k|| <= ||r_0|| / T_k((high + low) / (high - low)).
  const double most = std::ceil(std::acosh(1e8) / std::acosh((high + low) / (high - low)));
  EXPECT_LE(known["iterations"].get<double>(), most + 1.0);
  // No power step looks for the upper end.
  EXPECT_LE(known["spmv_count"].get<int>(), known["iterations"].get<int>() + 3);
  const json estimated = solved(line)["result"];
  EXPECT_GE(estimated["spmv_count"].get<int>(), 2 * known["spmv_count"].get<int>());
  const auto low_end = run(line + "--spectrum 0.1,4 --json");
  EXPECT_EQ(low_end.exit_code, 4) << low_end.err;
  EXPECT_EQ(json::parse(low_end.out)["result"]["status"], "diverged");
  EXPECT_EQ(json::parse(low_end.out)["config"]["spectrum"]["value"], "0.1,4");
}

TEST_F(MethodsTest, MixedPrecisionReachesTheToleranceOfDouble) {
  for (const std::string method : {"-m cg -p jacobi", "-m bicgstab -p ilu0", "-m gmres -p amg", "-m cg -p ic0", ""}) {
    const json result = solved("--poisson2d 40 --precision mixed --rtol 1e-12 " + method)["result"];
    EXPECT_EQ(result["status"], "converged");
    EXPECT_LE(result["residual"]["true"].get<double>(), result["residual"]["target"].get<double>());
    EXPECT_EQ(result["mixed"]["exact"], true);
    EXPECT_EQ(result["mixed"]["fallback"], "");
    EXPECT_EQ(result["mixed"]["single_iterations"], result["iterations"]);
    EXPECT_LT(result["relative_error_vs_known"].get<double>(), 1e-9) << method;
  }
  EXPECT_EQ(solved("--poisson2d 9")["result"]["mixed"], nullptr);
  const auto summary = run("--poisson2d 20 --precision mixed --rtol 1e-12");
  EXPECT_NE(summary.out.find(" iterations in fp32 (csr, values exact), "), std::string::npos) << summary.out;
  // Both copies of the matrix are counted.
  const auto bytes = [&](const std::string& line) {
    const auto forecast = run("--poisson2d 100 -m cg -p none --dry-run --json " + line);
    return json::parse(forecast.out)["memory_bytes"]["peak"].get<std::int64_t>();
  };
  EXPECT_GE(bytes("--precision mixed"), bytes("") + 4 * 49600);
}

/// The command that a failed run recommends, of a matrix by recipe or by an option.
TEST_F(MethodsTest, WhatIsRecommendedIsACommand) {
  for (const std::string problem : {"--generate poisson2d:40", "--poisson2d 40"}) {
    const ProcessResult failed = run(problem + " -m cg --max-iters 3 --device host");
    const std::string begin = "try: solve ";
    const std::size_t at = failed.err.find(begin);
    ASSERT_NE(at, std::string::npos) << failed.err;
    const std::size_t from = at + begin.size();
    const ProcessResult next = run(failed.err.substr(from, failed.err.find('\n', from) - from));
    EXPECT_EQ(next.exit_code, 0) << next.err;
  }
}

TEST_F(MethodsTest, DirectNeedsAStepOrTwoAndReportsItsFactors) {
  const json document = solved("--convdiff 10 -b Arandom -m direct --rtol 1e-12");
  EXPECT_LE(document["result"]["iterations"].get<int>(), 3);
  EXPECT_EQ(document["result"]["precond"], "direct");
  EXPECT_EQ(document["machine"]["device_reason"], "method direct runs on the host");
  const json& direct = document["preconditioner"]["direct"];
  EXPECT_GE(direct["factor_nnz"].get<std::int64_t>(), document["matrix"]["nnz"].get<std::int64_t>());
  EXPECT_GT(direct["flops"].get<double>(), 0.0);
  EXPECT_GT(document["memory_bytes"]["precond"].get<std::int64_t>(), 12 * direct["factor_nnz"].get<std::int64_t>() / 2);
  EXPECT_EQ(document["preconditioner"]["factors"], nullptr);
  const json symmetric = solved("--poisson2d 20 -m direct");
  EXPECT_EQ(symmetric["preconditioner"]["direct"]["method"], "cholesky");
  const std::string text = run("--poisson2d 20 -m direct").out;
  EXPECT_NE(text.find("\nmethod      direct, factors cholesky\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\nfactors     "), std::string::npos) << text;
}

TEST_F(MethodsTest, DirectRefusesWhatItCannotFactorize) {
  file("singular.mtx", singular);
  expect_error("singular.mtx -m direct", 5, "singular.mtx: ");
  expect_error("--poisson3d 20 -m direct --mem-limit 6MB", 6, "poisson3d 20");
  expect_error("--poisson2d 4 -m direct -p jacobi", 2, "option --precond does not apply to direct");
}

TEST_F(MethodsTest, RestartBoundsTheMemoryOfGmres) {
  const auto vectors = [&](const std::string& line) {
    return solved("--convdiff 12 -m gmres " + line)["memory_bytes"]["vectors"].get<std::int64_t>();
  };
  const std::int64_t vector = 12 * 12 * 12 * 8;
  EXPECT_EQ(vectors("-p jacobi --restart 30") - vectors("-p jacobi --restart 20"), 10 * vector);
  EXPECT_EQ(vectors("-p ilu0 --restart 30") - vectors("-p ilu0 --restart 20"), 20 * vector);
  EXPECT_EQ(vectors("-p ilu0") - vectors("-p ilu0 --restart 49"), 2 * vector);
  expect_error("--convdiff 12 -m idr --restart 20", 2, "option --restart does not apply to idr");
  expect_error("--convdiff 12 -m gmres --restart 1001", 2, "expected a whole number in [1, 1000]");
  const auto unused = run("--convdiff 6 --restart 20");
  EXPECT_EQ(unused.exit_code, 0);
  EXPECT_NE(unused.err.find("--restart belongs to gmres and has no effect: bicgstab was chosen"), std::string::npos)
      << unused.err;
}

TEST_F(MethodsTest, FactorsTakeFewerIterationsThanJacobi) {
  const auto iterations = [&](const std::string& line) { return solved(line)["result"]["iterations"].get<int>(); };
  const int jacobi = iterations("--convdiff 20 -m gmres -p jacobi");
  for (const std::string spec : {"ilu0", "iluk:1", "ilut:1e-3,20", "ilutp:1e-4:50", "bjacobi:4:ilut"}) {
    EXPECT_LT(iterations("--convdiff 20 -m gmres -p " + spec), jacobi) << spec;
  }
  const int symmetric = iterations("--poisson2d 60 -m cg -p jacobi");
  for (const std::string spec : {"ic0", "ict:1e-2,10", "bjacobi:2:ic0"}) {
    EXPECT_LT(iterations("--poisson2d 60 -m cg -p " + spec), symmetric) << spec;
  }
  EXPECT_LT(iterations("--poisson2d 60 -m cg -p ict:1e-4,50"), iterations("--poisson2d 60 -m cg -p ict:1e-1,3"));
}

/// A guess that solves: the named method is reported, not the first one of the ladder.
TEST_F(MethodsTest, TheNamedMethodIsReportedWhereNothingWasIterated) {
  file("ones.mtx", "%%MatrixMarket matrix array real general\n2 1\n1\n1\n");
  file("eye.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n2 2 1\n");
  for (const std::string method : {"bicgstab", "gmres", "cg", "idr"}) {
    const json document = solved("eye.mtx -b ones.mtx --x0 ones.mtx -m " + method);
    EXPECT_EQ(document["result"]["method"], method);
    EXPECT_EQ(document["result"]["iterations"], 0);
  }
}

TEST_F(MethodsTest, TheReportOfFactorsAddsUp) {
  const json document = solved("--convdiff 10 -m gmres -p ilu0 --precond-opt ordering=natural,matching=none");
  EXPECT_EQ(document["result"]["precond"], "ilu0");
  const json& precond = document["preconditioner"];
  const json& factors = precond["factors"];
  EXPECT_EQ(factors["kind"], "ilu0");
  EXPECT_EQ(factors["ordering"], "natural");
  EXPECT_EQ(factors["permuted"], false);
  EXPECT_EQ(factors["zero_pivots"], 0);
  EXPECT_EQ(factors["lower_nnz"].get<int>() + factors["upper_nnz"].get<int>(), document["matrix"]["nnz"].get<int>());
  EXPECT_NEAR(factors["fill"].get<double>(), 1.0, 1e-12);
  EXPECT_EQ(factors["lower_levels"], 28) << "planes i + j + k of a cube with natural order";
  EXPECT_EQ(precond["bytes"], document["memory_bytes"]["precond"]);
  EXPECT_EQ(precond["hierarchy"], nullptr);
  const std::string text = run("--convdiff 10 -m gmres -p ilut:1e-3,20").out;
  EXPECT_NE(text.find("gmres, precond ilut:1e-3:20\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\nfactors     fill "), std::string::npos) << text;
  EXPECT_NE(text.find("\nset-up      scaling "), std::string::npos) << text;
}

TEST_F(MethodsTest, KeysReachTheFactors) {
  const auto factors = [&](const std::string& line) {
    return solved("--convdiff 8 -m gmres " + line)["preconditioner"]["factors"];
  };
  EXPECT_EQ(factors("-p ilut")["ordering"], "amd");
  EXPECT_EQ(factors("-p ilut --precond-opt ordering=rcm")["ordering"], "rcm");
  EXPECT_EQ(factors("-p ilut --precond-opt scaling=none,matching=none")["scaling"], "none");
  EXPECT_EQ(factors("-p ilut --precond-opt matching=none")["scaling"], "ruiz");
  EXPECT_EQ(factors("-p bjacobi:5:ilu0")["blocks"], 5);
  file("saddle.mtx", saddle);
  EXPECT_EQ(
      solved("saddle.mtx -m gmres -p ilu0 --precond-opt matching=permute")["preconditioner"]["factors"]["permuted"],
      true);
}

TEST_F(MethodsTest, FactorsThatCannotBeMadeAreRefusedWithAHint) {
  expect_error("--convdiff 8 -m cg -p ic0", 5, "hint: --precond ilutp takes matrices that are not symmetric");
  expect_error("--poisson2d 40 -p ilut:0,500 --precond-opt fill-limit=1.5", 6, "fill-limit=N");
  expect_error("--poisson3d 20 -p ilut:0,5000 --mem-limit 5MB", 6, "mem-limit");
}

TEST_F(MethodsTest, WhatDoesNotFitTogetherIsWarnedOf) {
  const auto codes = [&](const std::string& line) {
    std::vector<std::string> found;
    const auto result = run(line + " --json --exit-zero");
    const json document = json::parse(result.out);
    for (const json& warning : document["warnings"]) found.push_back(warning["code"]);
    return found;
  };
  const auto has = [](const std::vector<std::string>& found, const std::string& code) {
    return std::find(found.begin(), found.end(), code) != found.end();
  };
  EXPECT_TRUE(has(codes("--poisson2d 20 -m cg -p ilu0"), "W012"));
  EXPECT_FALSE(has(codes("--poisson2d 20 -m cg -p ic0"), "W012"));
  EXPECT_FALSE(has(codes("--poisson2d 20 -m gmres -p ilu0"), "W012"));
  file("swap.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 1\n2 1 1\n");
  EXPECT_TRUE(has(codes("swap.mtx -m gmres -p ilu0 --precond-opt matching=none"), "W013"));
  EXPECT_FALSE(has(codes("swap.mtx -m gmres -p ilu0 --precond-opt matching=permute"), "W013"));
  EXPECT_FALSE(has(codes("swap.mtx -m gmres -p ilutp"), "W013"));
}

TEST_F(MethodsTest, CompareTakesParametersAfterColons) {
  const json document = solved(
      "compare --poisson2d 30 --kernels csr --solvers gmres,idr --preconds jacobi,ilut:1e-2:5,bjacobi:4:ilu0 --repeat "
      "3 -b Arandom");
  int rows = 0;
  for (const json& item : document["cases"]) {
    if (item["kind"] != "solve") continue;
    ++rows;
    EXPECT_EQ(item["result"]["status"], "converged") << item;
    const std::string name = item["precond"];
    EXPECT_TRUE(name == "jacobi" || name == "ilut:1e-2:5" || name == "bjacobi:4:ilu0") << name;
  }
  EXPECT_EQ(rows, 6);
}

/// diag(1, 1, 1e-12) with x = random: to 1e-8 the last entry is free.
TEST_F(MethodsTest, TheGateSaysThatAResidualIsNotEnough) {
  file("scaled.mtx", "%%MatrixMarket matrix coordinate real general\n3 3 5\n1 1 2\n1 2 1\n2 1 1\n2 2 3\n3 3 1e-12\n");
  const std::string line = "scaled.mtx -m bicgstab -p none -b Arandom";
  const json off = solved(line + " --error-gate off");
  EXPECT_EQ(off["result"]["error_estimate"], nullptr);
  EXPECT_EQ(off["result"]["error_gate"], "off");
  EXPECT_TRUE(off["warnings"].empty()) << off["warnings"];
  EXPECT_GT(off["result"]["relative_error_vs_known"].get<double>(), 1e-2);
  const json warned = solved(line);
  EXPECT_EQ(warned["result"]["error_gate"], "warn");
  ASSERT_EQ(warned["warnings"].size(), 1U) << warned["warnings"];
  const std::string code = warned["warnings"][0]["code"];
  EXPECT_TRUE(code == "W015" || code == "W016") << code;
  // With Jacobi all entries are of one size, so there is nothing to say.
  const json sound = solved("scaled.mtx -m gmres -p jacobi -b Arandom --error-gate repair");
  EXPECT_LT(sound["result"]["relative_error_vs_known"].get<double>(), 1e-5);
  EXPECT_TRUE(sound["warnings"].empty()) << sound["warnings"];
}

TEST_F(MethodsTest, AnUnattainableToleranceIsSaidToBeSo) {
  const auto result = run("--convdiff 8 -m direct -b random --rtol 1e-18 --json");
  EXPECT_EQ(result.exit_code, 4) << result.err;
  const json document = json::parse(result.out);
  EXPECT_EQ(document["result"]["backward_error"]["stable"], true);
  EXPECT_LT(document["result"]["backward_error"]["componentwise"].get<double>(), 1e-14);
  const auto text = run("--convdiff 8 -m direct -b random --rtol 1e-18");
  EXPECT_NE(text.out.find("; backward stable: the tolerance is unattainable in fp64\n"), std::string::npos) << text.out;
  EXPECT_EQ(text.err.find("another --precond"), std::string::npos) << text.err;
}

TEST_F(MethodsTest, ArandomIsATimesTheNumbersOfTheSeed) {
  const json document = solved("--convdiff 6 -m direct -b Arandom --seed 5 -o x.mtx");
  EXPECT_EQ(document["result"]["rhs"], "A*random");
  const std::vector<double> x = read_vector<double>(path("x.mtx"));
  const std::vector<double> exact = support::random_vector<double>(6 * 6 * 6, 5);
  ASSERT_EQ(x.size(), exact.size());
  double largest = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_NEAR(x[i], exact[i], 1e-10);
    largest = std::max(largest, std::fabs(x[i] - exact[i]));
  }
  EXPECT_NEAR(document["result"]["error_vs_known"].get<double>(), largest, 1e-15);
}

/// Matrices that neither Jacobi nor multigrid solves.
TEST_F(MethodsTest, IlutpSolvesRealMatrices) {
  TESSERA_REQUIRE_REAL_MATRICES();
  for (const std::string name : {"west0067", "orsirr_1", "olm1000", "tols4000"}) {
    const std::filesystem::path matrix = *real_matrices_dir() / (name + ".mtx.gz");
    if (!std::filesystem::exists(matrix)) continue;
    const json document = solved(matrix.string() + " -m gmres -p ilutp -b Arandom --error-gate repair");
    EXPECT_LT(document["result"]["relative_error_vs_known"].get<double>(), 1e-3) << name;
    EXPECT_LT(document["result"]["iterations"].get<int>(), 100) << name;
  }
}

}  // namespace

}  // namespace tessera::testing
