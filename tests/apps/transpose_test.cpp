/// --transpose.

#include "solve_process.hpp"

#include <cmath>
#include <string>
#include <vector>

namespace tessera::testing {

namespace {

/// [4 1 0; 0 5 2; 0 0 6]
constexpr const char* upper =
    "%%MatrixMarket matrix coordinate real general\n3 3 5\n1 1 4\n1 2 1\n2 2 5\n2 3 2\n3 3 6\n";

class TransposeTest : public SolveTest {
 protected:
  /// The solution that `solve ARGUMENTS -o -` prints.
  [[nodiscard]] std::vector<double> solution(const std::string& line) const {
    const auto result = run(line + " -o - -q");
    EXPECT_EQ(result.exit_code, 0) << result.err;
    std::istringstream text(result.out);
    std::string row;
    std::vector<double> values;
    bool sized = false;
    while (std::getline(text, row)) {
      if (row.starts_with("%")) continue;
      if (sized) values.push_back(std::stod(row));
      sized = true;
    }
    return values;
  }
};

void expect_near(const std::vector<double>& actual, const std::vector<double>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 1e-9) << i;
}

TEST_F(TransposeTest, SolvesTheTransposedSystem) {
  file("u.mtx", upper);
  file("b.txt", "4\n6\n8\n");
  // By hand: A^T x = b is 4 x1 = 4, x1 + 5 x2 = 6, 2 x2 + 6 x3 = 8; A x = b ends with x3 = 8 / 6.
  expect_near(solution("u.mtx -b b.txt --transpose --rtol 1e-12"), {1, 1, 1});
  const double last = 8.0 / 6;
  const double middle = (6 - 2 * last) / 5;
  expect_near(solution("u.mtx -b b.txt --rtol 1e-12"), {(4 - middle) / 4, middle, last});
}

TEST_F(TransposeTest, IsSaidInSummaryAndDocument) {
  file("u.mtx", upper);
  const auto text = run("u.mtx --transpose");
  EXPECT_NE(text.out.find("u.mtx, transposed: 3 x 3"), std::string::npos) << text.out;
  EXPECT_EQ(run("u.mtx").out.find("transposed"), std::string::npos);
  const auto document = nlohmann::json::parse(run("u.mtx --transpose --json").out);
  EXPECT_EQ(document["matrix"]["transposed"], true);
  EXPECT_EQ(document["matrix"]["path"], "u.mtx");
  EXPECT_EQ(document["config"]["transpose"]["value"], true);
  EXPECT_EQ(nlohmann::json::parse(run("u.mtx --json").out)["matrix"]["transposed"], false);
}

TEST_F(TransposeTest, RectangularMatricesAreNamedByTheirTransposedSize) {
  file("r.mtx", "%%MatrixMarket matrix coordinate real general\n2 3 2\n1 1 4\n2 3 1\n");
  const auto result = run("r.mtx --transpose -m cg");
  EXPECT_EQ(result.exit_code, 5);
  EXPECT_NE(result.err.find("3 x 2"), std::string::npos) << result.err;
  const auto look = run("inspect r.mtx --transpose");
  EXPECT_EQ(look.exit_code, 0) << look.err;
  EXPECT_NE(look.out.find("r.mtx, transposed: 3 x 2, 2 nonzeros"), std::string::npos) << look.out;
}

TEST_F(TransposeTest, NeedsMemoryForBoth) {
  const auto result = run("--poisson2d 300 --transpose --mem-limit 8MB");
  EXPECT_EQ(result.exit_code, 6);
  EXPECT_NE(result.err.find("the transpose of poisson2d 300"), std::string::npos) << result.err;
}

TEST_F(TransposeTest, ReversesTheLinksOfAGraph) {
  // 1 -> 2, 1 -> 3, 2 -> 3: the most linked vertex is 3, and 1 when all links are reversed.
  file("g.mtx", "%%MatrixMarket matrix coordinate pattern general\n3 3 3\n1 2\n1 3\n2 3\n");
  file("g_reversed.mtx", "%%MatrixMarket matrix coordinate pattern general\n3 3 3\n2 1\n3 1\n3 2\n");
  const auto forward = solution("pagerank g.mtx");
  const auto backward = solution("pagerank g.mtx --transpose");
  ASSERT_EQ(backward.size(), 3U);
  EXPECT_GT(forward[2], forward[0]);
  EXPECT_GT(backward[0], backward[2]);
  EXPECT_EQ(backward, solution("pagerank g_reversed.mtx"));
  const auto text = run("pagerank g.mtx --transpose");
  EXPECT_NE(text.out.find("g.mtx, reversed: 3 vertices"), std::string::npos) << text.out;
}

}  // namespace

}  // namespace tessera::testing
