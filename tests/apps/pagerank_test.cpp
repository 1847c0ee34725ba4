/// solve pagerank on graphs whose ranks are known.

#include "solve_process.hpp"
#include "tests/support/matrices_dir.hpp"

#include "tessera/csr.hpp"
#include "tessera/matrix_market.hpp"

#include <fmt/format.h>

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

/// The definition, in long double, by 300 power steps (0.85^300 < 1e-21) from the uniform vector. Ranks of vertices
/// without links go where jumps go.
/// \param jumps their distribution, with sum 1; empty: uniform
[[nodiscard]] std::vector<long double> reference_ranks(const CsrView<double>& graph, long double damping,
                                                       std::vector<long double> jumps = {}) {
  const auto n = static_cast<std::size_t>(graph.rows);
  const std::vector<long double> uniform(n, 1.0L / static_cast<long double>(n));
  if (jumps.empty()) jumps = uniform;
  std::vector<long double> x = uniform;
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
    for (std::size_t i = 0; i < n; ++i) {
      next[i] = damping * (next[i] + dangling * jumps[i]) + (1.0L - damping) * jumps[i];
    }
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

/// The ranks of --personalize TEXT on a weighted graph of five vertices against the definition with these jumps.
TEST_F(PageRankCommandTest, NamedVerticesMeetTheDefinition) {
  file("w.mtx",
       "%%MatrixMarket matrix coordinate real general\n5 5 7\n"
       "1 2 3\n1 3 1\n2 1 1\n3 3 2\n3 4 1\n5 1 1\n5 2 1\n");
  const auto graph = read_matrix_market<double>(path("w.mtx"));
  const std::vector<std::pair<std::string, std::vector<long double>>> cases{
      {"unit:5", {0, 0, 0, 0, 1}},
      {"5", {0, 0, 0, 0, 1}},
      {"1,4", {0.5L, 0, 0, 0.5L, 0}},
      {"4,1", {0.5L, 0, 0, 0.5L, 0}},
      {"1:2,4:1", {2.0L / 3, 0, 0, 1.0L / 3, 0}},
      {"2:1e308,3:1e308", {0, 0.5L, 0.5L, 0, 0}},
      {"5:50%,3,1:0", {0, 0, 2.0L / 3, 0, 1.0L / 3}}};
  for (const auto& [text, jumps] : cases) {
    const auto result = run("pagerank w.mtx --tol 1e-15 -o - -q --personalize " + text);
    ASSERT_EQ(result.exit_code, 0) << text << result.err;
    const auto ranks = stdout_vector(result);
    const auto reference = reference_ranks(graph.matrix.view(), 0.85L, jumps);
    ASSERT_EQ(ranks.size(), reference.size());
    // The last change is at most 1e-15; the fixed point is within d / (1 - d) < 6 times that, and rounding.
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      EXPECT_LE(std::fabs(static_cast<long double>(ranks[i]) - reference[i]), 2e-14L) << text << ": " << i;
    }
  }
}

TEST_F(PageRankCommandTest, AListIsWorthTheFileThatItSpells) {
  file("g.mtx", small_graph);
  file("p.txt", "2\n0\n0.25\n0\n");
  file("7.txt", "1\n1\n1\n1\n");
  const std::string line = "pagerank g.mtx -o - -q --personalize ";
  EXPECT_EQ(run(line + "1:2,3:0.25").out, run(line + "p.txt").out);
  EXPECT_EQ(run(line + "7.txt").out, run("pagerank g.mtx -o - -q").out) << "a file whose name begins with a digit";
  file("solve.toml", "personalize = 4\n");
  EXPECT_EQ(run("pagerank g.mtx -o - -q").out, run(line + "unit:4").out);
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

/// Ranks, jumps, names and lists are those of the file, whatever the numbering inside.
TEST_F(PageRankCommandTest, OtherNumberingsDoNotShow) {
  file("w.mtx",
       "%%MatrixMarket matrix coordinate real general\n6 6 9\n"
       "1 2 3\n1 3 1\n2 1 1\n3 3 2\n3 4 1\n6 1 1\n6 2 1\n6 3 1\n6 4 2\n");
  file("names.txt", "a\nb\nc\nd\ne\nf\n");
  const auto graph = read_matrix_market<double>(path("w.mtx"));
  const std::vector<std::pair<std::string, std::vector<long double>>> cases{
      {"", {}}, {" --personalize 5:3,6:1", {0, 0, 0, 0, 0.75L, 0.25L}}};
  for (const std::string ordering : {"natural", "rcm", "degree"}) {
    for (const std::string device : {"host", "host,host"}) {
      for (const auto& [personalize, jumps] : cases) {
        SCOPED_TRACE(fmt::format("{} {}{}", ordering, device, personalize));
        const std::string line = fmt::format(
            "pagerank w.mtx --tol 1e-15 --labels names.txt --device {} --ordering {}{}", device, ordering, personalize);
        const auto ranks = stdout_vector(run(line + " -o - -q"));
        const auto reference = reference_ranks(graph.matrix.view(), 0.85L, jumps);
        ASSERT_EQ(ranks.size(), reference.size());
        // As above: the last change is at most 1e-15.
        for (std::size_t i = 0; i < ranks.size(); ++i) {
          EXPECT_LE(std::fabs(static_cast<long double>(ranks[i]) - reference[i]), 2e-14L) << i;
        }
        const auto json = nlohmann::json::parse(run(line + " --json").out);
        EXPECT_EQ(json["ordering"]["name"], ordering);
        EXPECT_EQ(json["ordering"]["bytes"], ordering == "natural" ? 0 : 6 * 4);
        const auto best = std::max_element(ranks.begin(), ranks.end()) - ranks.begin();
        EXPECT_EQ(json["result"]["top"][0]["vertex"], best + 1);
        EXPECT_EQ(json["result"]["top"][0]["name"], std::string(1, static_cast<char>('a' + best)));
      }
    }
  }
}

/// An iteration is the same in every numbering, so the ranks of an ended one are, too.
TEST_F(PageRankCommandTest, AnotherNumberingEndedEarly) {
  const std::string line = "pagerank --generate rmat:scale=8 --max-iters 2 --sum n --device host -q -o - --ordering ";
  const auto natural = run(line + "natural");
  ASSERT_EQ(natural.exit_code, 3) << natural.err;
  const auto expected = stdout_vector(natural);
  for (const std::string ordering : {"rcm", "degree"}) {
    const auto result = run(line + ordering);
    EXPECT_EQ(result.exit_code, 3);
    const auto ranks = stdout_vector(result);
    ASSERT_EQ(ranks.size(), expected.size());
    for (std::size_t i = 0; i < ranks.size(); ++i) ASSERT_NEAR(ranks[i], expected[i], 1e-12 * 256) << ordering << i;
  }
}

TEST_F(PageRankCommandTest, SeveralVectorsInAnotherNumbering) {
  const std::string line = "pagerank --generate rmat:scale=8 --tol 1e-14 --personalize 3;7,9 -q -o ";
  ASSERT_EQ(run(line + "natural.txt").exit_code, 0);
  ASSERT_EQ(run(line + "degree.txt --ordering degree").exit_code, 0);
  std::istringstream natural(contents(path("natural.txt")));
  std::istringstream degree(contents(path("degree.txt")));
  int count = 0;
  for (double a = 0.0, b = 0.0; natural >> a && degree >> b; ++count) ASSERT_NEAR(a, b, 1e-12) << count;
  EXPECT_EQ(count, 2 * 256);
}

TEST_F(PageRankCommandTest, OtherNumberingsAreShownAndNameVerticesOfTheFile) {
  const auto shown = run("pagerank --generate web:100 --ordering degree");
  EXPECT_NE(shown.out.find("\nordering    degree, "), std::string::npos) << shown.out;
  EXPECT_EQ(run("pagerank --generate web:100").out.find("\nordering"), std::string::npos);
  file("bad.mtx", "%%MatrixMarket matrix coordinate real general\n3 3 4\n1 2 1\n3 1 1\n3 2 -1\n2 2 1\n");
  const auto refused = run("pagerank bad.mtx --ordering degree");
  EXPECT_EQ(refused.exit_code, 5);
  EXPECT_NE(refused.err.find("row 3, column 2 holds -1"), std::string::npos) << refused.err;
  const auto large = run("pagerank --generate rmat:scale=14 --ordering degree --mem-limit 9MB --device host");
  EXPECT_EQ(large.exit_code, 6) << large.out;
  EXPECT_NE(large.err.find("the graph in another numbering"), std::string::npos) << large.err;
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
