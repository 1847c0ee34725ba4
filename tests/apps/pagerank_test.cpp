/// solve pagerank on graphs whose ranks are known.

#include "solve_process.hpp"
#include "tests/support/matrices_dir.hpp"

#include "tessera/csr.hpp"
#include "tessera/matrix_market.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <sstream>

namespace tessera::testing {

namespace {

class PageRankCommandTest : public SolveTest {};

/// 1 -> 2, 2 -> 1, 3 -> 1, and 4 dangling.
constexpr const char* small_graph = "%%MatrixMarket matrix coordinate pattern general\n4 4 3\n1 2\n2 1\n3 1\n";

[[nodiscard]] std::vector<double> stdout_vector(const ProcessResult& result) {
  return parse_vector<double>(result.out, "stdout");
}

/// The definition, in long double, by 300 power steps (0.85^300 < 1e-21) from the uniform vector.
[[nodiscard]] std::vector<long double> reference_ranks(const CsrView<double>& graph, long double damping) {
  const auto n = static_cast<std::size_t>(graph.rows);
  std::vector<long double> x(n, 1.0L / static_cast<long double>(n));
  for (int step = 0; step < 300; ++step) {
    std::vector<long double> next(n, 0.0L);
    long double dangling = 0.0L;
    for (std::size_t i = 0; i < n; ++i) {
      long double weight = 0.0L;
      for (offset_t k = graph.row_offsets[i]; k < graph.row_offsets[i + 1]; ++k) {
        weight += static_cast<long double>(graph.value(k));
      }
      if (weight == 0.0L) dangling += x[i];
      for (offset_t k = graph.row_offsets[i]; k < graph.row_offsets[i + 1] && weight != 0.0L; ++k) {
        const auto target = static_cast<std::size_t>(graph.columns[static_cast<std::size_t>(k)]);
        next[target] += x[i] * static_cast<long double>(graph.value(k)) / weight;
      }
    }
    const auto size = static_cast<long double>(n);
    for (long double& value : next) value = damping * (value + dangling / size) + (1.0L - damping) / size;
    x = std::move(next);
  }
  return x;
}

TEST_F(PageRankCommandTest, BothSpellingsAreTheSame) {
  file("g.mtx", small_graph);
  const auto first = run("pagerank g.mtx -o - -q");
  EXPECT_EQ(first.exit_code, 0) << first.err;
  EXPECT_EQ(first.out, run("--method pagerank g.mtx -o - -q").out);
}

/// Stationary vectors of the four policies, solved by hand for damping 1/2.
/// Unknowns a, b for vertices 1, 2; c for 3 (only teleports reach it), d for 4 (likewise, but for its own policy).
TEST_F(PageRankCommandTest, DanglingPoliciesMeetTheirDefinition) {
  file("g.mtx", small_graph);
  const auto ranks = [&](const std::string& policy) {
    return stdout_vector(run("pagerank g.mtx --damping 0.5 --tol 1e-14 -o - -q --dangling " + policy));
  };
  // uniform: c = d = (1 + d) / 8 = 1/7; a = c + (b + c) / 2, b = c + a / 2: a = 8/21, b = 1/3.
  const std::vector<double> uniform{8.0 / 21, 1.0 / 3, 1.0 / 7, 1.0 / 7};
  // self: d = 1/8 + d/2 = 1/4; c = 1/8; a = 1/8 + (b + 1/8) / 2, b = 1/8 + a / 2: a = 1/3, b = 7/24.
  const std::vector<double> self{1.0 / 3, 7.0 / 24, 1.0 / 8, 1.0 / 4};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(ranks("uniform")[i], uniform[i], 1e-12) << i;
    EXPECT_NEAR(ranks("teleport")[i], uniform[i], 1e-12) << i;
    EXPECT_NEAR(ranks("self")[i], self[i], 1e-12) << i;
  }
  const auto drop = ranks("drop");
  EXPECT_NEAR(std::accumulate(drop.begin(), drop.end(), 0.0), 1.0, 1e-14);
}

TEST_F(PageRankCommandTest, QuietKeepsTheListThatWasAskedFor) {
  file("g.mtx", small_graph);
  const auto list = run("pagerank g.mtx -q --top 2");
  EXPECT_EQ(std::count(list.out.begin(), list.out.end(), '\n'), 2) << list.out;
  EXPECT_TRUE(list.out.starts_with("    1           1  ")) << list.out;
  EXPECT_EQ(list.err, "");
  EXPECT_EQ(run("pagerank g.mtx -q").out, "");
}

TEST_F(PageRankCommandTest, RanksAreWrittenAsCsv) {
  file("g.mtx", small_graph);
  ASSERT_EQ(run("pagerank g.mtx -q -o r.csv").exit_code, 0);
  ASSERT_EQ(run("pagerank g.mtx -q -o r.txt").exit_code, 0);
  std::istringstream csv(contents(path("r.csv")));
  std::istringstream plain(contents(path("r.txt")));
  std::string row;
  std::string rank;
  std::getline(csv, row);
  EXPECT_EQ(row, "vertex,rank");
  for (int vertex = 1; vertex <= 4; ++vertex) {
    ASSERT_TRUE(std::getline(csv, row) && std::getline(plain, rank));
    EXPECT_EQ(row, std::to_string(vertex) + "," + rank);
  }
  EXPECT_FALSE(std::getline(csv, row));
}

TEST_F(PageRankCommandTest, SumAndTopFollowTheConvention) {
  file("g.mtx", small_graph);
  const auto to_n = stdout_vector(run("pagerank g.mtx --sum n -o - -q"));
  EXPECT_NEAR(std::accumulate(to_n.begin(), to_n.end(), 0.0), 4.0, 1e-12);
  const auto json = nlohmann::json::parse(run("pagerank g.mtx --top 2 --sum n --json").out);
  EXPECT_EQ(json["schema"], "solve.pagerank/1");
  ASSERT_EQ(json["result"]["top"].size(), 2U);
  EXPECT_EQ(json["result"]["top"][0]["vertex"], 1) << "vertices count from 1";
  EXPECT_NEAR(json["result"]["top"][0]["rank"].get<double>(), to_n[0], 1e-15);
  EXPECT_NEAR(json["result"]["sum"].get<double>(), 4.0, 1e-12);
  EXPECT_EQ(json["result"]["dangling_count"], 1);
  EXPECT_EQ(json["result"]["edges"], 3);
}

TEST_F(PageRankCommandTest, PersonalizationDrawsRankToItsVertices) {
  file("g.mtx", small_graph);
  file("p.txt", "0\n0\n0\n5\n");
  const auto ranks = stdout_vector(run("pagerank g.mtx --personalize p.txt -o - -q"));
  EXPECT_NEAR(ranks[3], 1.0, 1e-12) << "all jumps lead to a vertex without links, whose rank jumps again";
}

TEST_F(PageRankCommandTest, WeightsCountUnlessToldNotTo) {
  file("w.mtx", "%%MatrixMarket matrix coordinate real general\n3 3 4\n1 2 9\n1 3 1\n2 1 1\n3 1 1\n");
  const auto weighted = stdout_vector(run("pagerank w.mtx -o - -q"));
  const auto plain = stdout_vector(run("pagerank w.mtx --unweighted -o - -q"));
  EXPECT_GT(weighted[1], 2 * weighted[2]);
  EXPECT_NEAR(plain[1], plain[2], 1e-12);
}

TEST_F(PageRankCommandTest, ToleranceThatSaysNothingIsRefusedWithTheReason) {
  const auto result = run("pagerank --powerlaw 1024 --tol-per-node 0.01");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("any two distributions"), std::string::npos) << result.err;
  const auto fine = nlohmann::json::parse(run("pagerank --powerlaw 1024 --tol-per-node 1e-8 --json").out);
  EXPECT_NEAR(fine["result"]["tolerance"].get<double>(), 1024e-8, 1e-18);
}

TEST_F(PageRankCommandTest, RealGraphsAgreeWithAnIndependentReference) {
  TESSERA_REQUIRE_REAL_MATRICES();
  for (const char* name : {"wb-cs-stanford", "wiki-Vote"}) {
    const auto graph_file = *real_matrices_dir() / (std::string(name) + ".mtx.gz");
    const auto result = run({"pagerank", graph_file.string(), "--tol", "1e-14", "-o", "-", "-q"});
    ASSERT_EQ(result.exit_code, 0) << name << result.err;
    const auto ranks = stdout_vector(result);
    const auto graph = read_matrix_market<double>(graph_file);
    const auto reference = reference_ranks(graph.matrix.view(), 0.85L);
    ASSERT_EQ(ranks.size(), reference.size());
    long double distance = 0.0L;
    for (std::size_t i = 0; i < ranks.size(); ++i)
      distance += std::fabs(static_cast<long double>(ranks[i]) - reference[i]);
    // The last change is at most 1e-14; the fixed point is within d / (1 - d) < 6 times that.
    EXPECT_LE(distance, 1e-12L) << name;
    EXPECT_NEAR(std::accumulate(ranks.begin(), ranks.end(), 0.0), 1.0, 1e-12) << name;
  }
}

}  // namespace

}  // namespace tessera::testing
