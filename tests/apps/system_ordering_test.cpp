/// solve --ordering on one device: x, b and the guess are in the numbering of the file, whatever the solver works in.

#include "scattered_path.hpp"
#include "solve_process.hpp"

#include <fmt/format.h>

#include <sstream>
#include <string>
#include <vector>

namespace tessera::testing {

namespace {

using nlohmann::json;

class SystemOrderingTest : public SolveTest {
 protected:
  [[nodiscard]] std::vector<double> numbers(const std::string& name) const {
    std::istringstream text(contents(path(name)));
    std::vector<double> result;
    for (double number = 0.0; text >> number;) result.push_back(number);
    return result;
  }
};

/// Both to 1e-12 of a matrix whose inverse has the norm 1 at most, and ‖b‖ < 32.
TEST_F(SystemOrderingTest, XIsInTheNumberingOfTheFile) {
  file("a.mtx", scattered_path());
  for (const std::string method :
       {"-m cg -p jacobi", "-m bicgstab -p ilu0", "", "-m cg --precision mixed", "-m direct", "-m cg -p amg"}) {
    SCOPED_TRACE(method);
    const std::string system = fmt::format("a.mtx {} -b random --rtol 1e-12 --device host ", method);
    ASSERT_EQ(run(system + "-o natural.txt").exit_code, 0);
    const std::vector<double> natural = numbers("natural.txt");
    ASSERT_EQ(natural.size(), 1000U);
    for (const std::string ordering : {"rcm", "degree"}) {
      const auto result = run(fmt::format("{}--ordering {} --json -o x.txt", system, ordering));
      ASSERT_EQ(result.exit_code, 0) << result.err;
      EXPECT_EQ(json::parse(result.out)["ordering"]["name"], ordering);
      const std::vector<double> x = numbers("x.txt");
      ASSERT_EQ(x.size(), natural.size());
      for (std::size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(x[i], natural[i], 1e-10) << i;
    }
  }
}

TEST_F(SystemOrderingTest, SoAreGuessesRightHandSidesAndKnownSolutions) {
  file("a.mtx", scattered_path());
  ASSERT_EQ(run("a.mtx -m cg -b random --rtol 1e-12 --device host -o x.mtx").exit_code, 0);
  const auto again = run("a.mtx -m cg -b random --rtol 1e-9 --device host --x0 x.mtx --ordering rcm --json");
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(json::parse(again.out)["result"]["iterations"], 0);
  // As a right-hand side: A x = b of a file.
  ASSERT_EQ(run("a.mtx -m cg -b x.mtx --rtol 1e-12 --device host -o natural.txt").exit_code, 0);
  ASSERT_EQ(run("a.mtx -m cg -b x.mtx --rtol 1e-12 --device host --ordering rcm -o rcm.txt").exit_code, 0);
  const std::vector<double> natural = numbers("natural.txt");
  const std::vector<double> rcm = numbers("rcm.txt");
  ASSERT_EQ(rcm.size(), natural.size());
  for (std::size_t i = 0; i < rcm.size(); ++i) ASSERT_NEAR(rcm[i], natural[i], 1e-10) << i;
  const auto known = run("a.mtx -m cg -b Arandom --rtol 1e-12 --device host --ordering rcm --json");
  EXPECT_LT(json::parse(known.out)["result"]["error_vs_known"].get<double>(), 1e-9) << known.out;
}

TEST_F(SystemOrderingTest, SeveralRightHandSides) {
  file("a.mtx", scattered_path());
  const std::string system = "a.mtx -m cg -b random:3 --rtol 1e-12 --device host ";
  ASSERT_EQ(run(system + "-o natural.mtx").exit_code, 0);
  ASSERT_EQ(run(system + "--ordering rcm -o rcm.mtx").exit_code, 0);
  // As a right-hand side of 3 columns, whose solution is their difference from that of the natural numbering.
  const auto lines = [](const std::string& text) {
    std::istringstream stream(text);
    std::vector<double> result;
    for (std::string line; std::getline(stream, line);) {
      if (line.empty() || line[0] == '%' || line.find(' ') != std::string::npos) continue;
      result.push_back(std::stod(line));
    }
    return result;
  };
  const std::vector<double> natural = lines(contents(path("natural.mtx")));
  const std::vector<double> rcm = lines(contents(path("rcm.mtx")));
  ASSERT_EQ(natural.size(), 3000U);
  ASSERT_EQ(rcm.size(), 3000U);
  for (std::size_t i = 0; i < rcm.size(); ++i) ASSERT_NEAR(rcm[i], natural[i], 1e-10) << i;
}

TEST_F(SystemOrderingTest, IsReportedWhereItIsNamed) {
  const auto plain = run("--poisson2d 12 -m cg --device host --json");
  EXPECT_FALSE(json::parse(plain.out).contains("ordering"));
  const auto natural = run("--poisson2d 12 -m cg --device host --ordering natural --json");
  EXPECT_EQ(json::parse(natural.out)["ordering"]["name"], "natural");
  const auto named = run("--poisson2d 12 -m cg --device host --ordering rcm --json");
  const json facts = json::parse(named.out)["ordering"];
  EXPECT_EQ(facts["name"], "rcm");
  EXPECT_EQ(facts["reason"], "");
  EXPECT_FALSE(facts.contains("halo"));
  EXPECT_GE(json::parse(named.out)["timings_ms"]["plan"].get<double>(), facts["ms"].get<double>());
  const auto shown = run("--poisson2d 12 -m cg --device host --ordering degree");
  EXPECT_NE(shown.out.find("ordering    degree, "), std::string::npos) << shown.out;
}

/// And the permutation of 1600 numbers.
TEST_F(SystemOrderingTest, TheMatrixTwiceIsCounted) {
  const auto one = run("--poisson2d 40 -m cg -p none --device host --json");
  const auto two = run("--poisson2d 40 -m cg -p none --device host --ordering rcm --json");
  const auto bytes = [](const ProcessResult& result) {
    return json::parse(result.out)["memory_bytes"]["matrix"].get<std::int64_t>();
  };
  EXPECT_EQ(bytes(two), 2 * bytes(one) + 1600 * 4) << two.out;
  EXPECT_EQ(json::parse(two.out)["ordering"]["bytes"], bytes(one) + 1600 * 4);
}

}  // namespace

}  // namespace tessera::testing
