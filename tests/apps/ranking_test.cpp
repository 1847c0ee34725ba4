/// Rankings: several distributions of jumps, names of vertices, CSV; solve hits and solve katz.

#include "solve_process.hpp"

#include "tessera/matrix_market.hpp"
#include "tessera/multi_vector_file.hpp"

#include <cmath>
#include <string>
#include <vector>

namespace tessera::testing {

namespace {

class RankingTest : public SolveTest {
 protected:
  void SetUp() override {
    SolveTest::SetUp();
    file("w.mtx",
         "%%MatrixMarket matrix coordinate real general\n5 5 7\n"
         "1 2 3\n1 3 1\n2 1 1\n3 3 2\n3 4 1\n5 1 1\n5 2 1\n");
    file("names.txt", "alice\nbob\ncarol, the \"hub\"\ndave\neve\n");
    // Vertices 2, 3 and 4 are alike.
    file("star.mtx", "%%MatrixMarket matrix coordinate pattern general\n4 4 6\n1 2\n1 3\n1 4\n2 1\n3 1\n4 1\n");
  }

  [[nodiscard]] std::vector<double> ranks(const std::string& arguments) const {
    const auto result = run("pagerank w.mtx --tol 1e-13 -o - -q " + arguments);
    EXPECT_EQ(result.exit_code, 0) << arguments << result.err;
    return parse_vector<double>(result.out, "stdout");
  }

  void expect_refused(const std::vector<std::string>& arguments, int code, const std::string& words) const {
    const auto result = run(arguments);
    EXPECT_EQ(result.exit_code, code) << result.out << result.err;
    EXPECT_NE(result.err.find(words), std::string::npos) << result.err;
  }
};

TEST_F(RankingTest, SeveralDistributionsGiveTheRanksOfEach) {
  const std::vector<std::vector<double>> alone{ranks("--personalize 1,4"), ranks("--personalize unit:5"),
                                               ranks("--personalize 2:1,3:2")};
  const std::string common = "pagerank w.mtx --tol 1e-13 -q -o all.mtx ";
  file("three.mtx", "%%MatrixMarket matrix array real general\n5 3\n1\n0\n0\n1\n0\n0\n0\n0\n0\n1\n0\n1\n2\n0\n0\n");
  for (const char* spelling : {"--personalize 1,4 --personalize unit:5 --personalize 2:1,3:2",
                               "--personalize 1,4;unit:5;2:1,3:2", "--personalize three.mtx"}) {
    SCOPED_TRACE(spelling);
    ASSERT_EQ(run(common + spelling).exit_code, 0);
    const auto all = read_multi_vector<double>(path("all.mtx"), 5);
    ASSERT_EQ(all.columns, 3);
    for (std::size_t k = 0; k < 3; ++k) {
      for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(all.elements[5 * k + i], alone[k][i], 1e-13);
    }
  }
}

TEST_F(RankingTest, SeveralDistributionsInTextJsonAndCsv) {
  const std::string line = "pagerank w.mtx --top 2 --personalize 1,4;5 ";
  const auto json = nlohmann::json::parse(run(line + "--json").out);
  ASSERT_EQ(json["vectors"].size(), 2U);
  EXPECT_EQ(json["vectors"][0]["personalize"], "1,4");
  EXPECT_EQ(json["vectors"][1]["status"], "converged");
  EXPECT_EQ(json["result"]["top"], json["vectors"][json["result"]["vector"].get<std::size_t>() - 1]["top"]);
  EXPECT_EQ(json["result"]["spmv_count"].get<int>(),
            json["vectors"][0]["spmv_count"].get<int>() + json["vectors"][1]["spmv_count"].get<int>());
  const std::string text = run(line).out;
  EXPECT_NE(text.find("vectors     2 distributions of jumps, 2 converged; of the worst, vector "), std::string::npos);
  EXPECT_NE(text.find("\nvector 1: 1,4:\n"), std::string::npos) << text;
  const std::string csv = run(line + "--csv -").out;
  EXPECT_TRUE(csv.starts_with("vector,rank,id,name,score\n1,1,")) << csv;
  EXPECT_NE(csv.find("\n2,2,"), std::string::npos) << csv;
  EXPECT_EQ(run(line + "-q").out.substr(0, 10), "    1    1") << "the number of the vector, and the place";
  ASSERT_EQ(run(line + "-q -o both.csv").exit_code, 0);
  EXPECT_TRUE(contents(path("both.csv")).starts_with("vertex,rank_1,rank_2\n1,"));
  const auto cut = run(line + "--max-iters 1 --json");
  EXPECT_EQ(cut.exit_code, 3);
  EXPECT_EQ(nlohmann::json::parse(cut.out)["vectors"][1]["status"], "max_iterations");
}

TEST_F(RankingTest, NamesAreShownAndUnderstood) {
  file("names.csv", "id,name\n3,\"carol, the \"\"hub\"\"\"\n1,alice\n5,eve\n2,bob\n");
  const auto by_number = ranks("--personalize 1,5:2");
  EXPECT_EQ(ranks("--labels names.txt --personalize alice,eve:2"), by_number);
  EXPECT_EQ(ranks("--labels names.csv --personalize 1,eve:2"), by_number);
  file("jumps.txt", "# jumps\nalice\neve,2\n");
  EXPECT_EQ(ranks("--labels names.txt --personalize @jumps.txt"), by_number);
  const std::string line = "pagerank w.mtx --personalize 3 --top 1 --labels ";
  EXPECT_TRUE(run(line + "names.txt -q").out.ends_with("  carol, the \"hub\"\n"));
  EXPECT_EQ(nlohmann::json::parse(run(line + "names.csv --json").out)["result"]["top"][0]["name"],
            "carol, the \"hub\"");
  const std::string csv = run(line + "names.txt --csv -").out;
  EXPECT_TRUE(csv.starts_with("rank,id,name,score\n1,3,\"carol, the \"\"hub\"\"\",0.")) << csv;
  ASSERT_EQ(run(line + "names.csv -q -o r.csv").exit_code, 0);
  EXPECT_TRUE(contents(path("r.csv")).starts_with("vertex,name,rank\n1,alice,"));
  EXPECT_NE(contents(path("r.csv")).find("\n4,,"), std::string::npos) << "vertex 4 has no name";
}

TEST_F(RankingTest, IdsOfAListOfEdgesSurvive) {
  file("links.csv", "from,to\nalice,bob\nbob,carol\ncarol,alice\ndave,alice\n");
  const auto json = nlohmann::json::parse(run("pagerank links.csv --personalize dave --json").out);
  EXPECT_EQ(json["result"]["top"][0]["name"], "alice");
  EXPECT_EQ(json["result"]["top"][1]["name"], "bob");
  EXPECT_NE(run("hits links.csv --csv - --top 1").out.find("\nauthorities,1,1,alice,0.999"), std::string::npos);
  expect_refused({"pagerank", "links.csv", "--personalize", "dvae"}, 2, "did you mean dave?");
  // Ids 10, 20 and 30: 1 is none of them, though the graph has a first vertex.
  file("numbers.tsv", "10\t20\n20\t30\n30\t10\n");
  expect_refused({"pagerank", "numbers.tsv", "--personalize", "1"}, 2, "there is no vertex \"1\"");
  EXPECT_TRUE(run("pagerank numbers.tsv --personalize 20 -q --top 1").out.ends_with("  20\n"));
}

TEST_F(RankingTest, EqualScoresAreInTheOrderOfTheVerticesAndNumbersAreInFull) {
  const std::string csv = run("pagerank star.mtx --csv -").out;
  const auto all = parse_vector<double>(run("pagerank star.mtx -q -o -").out, "stdout");
  std::string expected = "rank,id,name,score\n";
  for (std::size_t i = 0; i < 4; ++i) {
    expected += std::to_string(i + 1) + "," + std::to_string(i + 1) + ",,";
    const std::size_t begin = csv.find(expected) + expected.size();
    ASSERT_GE(begin, expected.size()) << csv;
    const std::string number = csv.substr(begin, csv.find('\n', begin) - begin);
    EXPECT_EQ(std::stod(number), all[i]);
    expected += number + "\n";
  }
}

TEST_F(RankingTest, NamesThatAreNotThereAreRefused) {
  const auto named = [&](const std::string& text) {
    return std::vector<std::string>{"pagerank", "w.mtx", "--labels", "names.txt", "--personalize", text};
  };
  expect_refused(named("alcie"), 2,
                 "option --personalize: item 1: there is no vertex \"alcie\"\n  hint: did you mean alice?");
  expect_refused(named("alice,9"), 2, "item 2: there is no vertex 9, the graph has 5");
  expect_refused(named("alice,alice:2"), 2, "vertex 1 is given twice, as items 1 and 2");
  expect_refused(named("alice:x"), 2, "the weight of vertex alice must be a finite number >= 0, got \"x\"");
  file("jumps.txt", "alice\n\nfrank\n");
  expect_refused(named("@jumps.txt"), 5, "jumps.txt:3:1: there is no vertex \"frank\"");
  file("jumps.txt", "alice\n1 2\n");
  expect_refused(named("@jumps.txt"), 5, "jumps.txt:2:1: vertex 1 is given already, in line 1");
  expect_refused(named("@nowhere.txt"), 5, "cannot read nowhere.txt: ");
  file("twins.txt", "a\na\nb\nc\nd\n");
  expect_refused({"pagerank", "w.mtx", "--labels", "twins.txt", "--personalize", "a"}, 2,
                 "several vertices have the name \"a\"");
}

TEST_F(RankingTest, FilesOfNamesOfAnotherFormAreRefused) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"1,a\n9,b\n", "names.csv:2:1: expected the number of a vertex, from 1 to 5, found \"9\""},
      {"1,a\n1,b\n", "names.csv:2:1: vertex 1 has a name already"},
      {"1,a\n\n2\n", "names.csv:3:1: expected \"id,name\", found \"2\""},
      {"1,\"a\n", "names.csv:1:3: a quoted name must end with its quote"},
      {"id,name\nx,b\n", "names.csv:2:1: expected the number of a vertex"}};
  for (const auto& [text, words] : cases) {
    file("names.csv", text);
    expect_refused({"hits", "w.mtx", "--labels", "names.csv"}, 5, words);
  }
  file("few.txt", "a\nb\n");
  expect_refused({"katz", "w.mtx", "--labels", "few.txt"}, 5, "few.txt names 2 vertices, the graph has 5");
}

/// Star of three leaves: x_hub = 1 + 3 a x_leaf, x_leaf = 1 + a x_hub; the hub links to all authorities alike.
TEST_F(RankingTest, HitsAndKatzOnAStar) {
  const auto hits = nlohmann::json::parse(run("hits star.mtx --tol 1e-13 --json").out);
  EXPECT_EQ(hits["schema"], "solve.centrality/1");
  EXPECT_EQ(hits["result"]["method"], "hits");
  // Singular vectors of the largest singular value, sqrt(3), have the hub alone or its leaves; equal hubs have both.
  EXPECT_NEAR(hits["result"]["hubs"][0]["score"].get<double>(), 0.25, 1e-12);
  EXPECT_NEAR(hits["result"]["authorities"][0]["score"].get<double>(), 0.5, 1e-12);
  const auto katz = nlohmann::json::parse(run("katz star.mtx --alpha 0.4 --tol 1e-13 --json").out);
  const double hub = (1.0 + 3.0 * 0.4) / (1.0 - 3.0 * 0.16);
  const double leaf = 1.0 + 0.4 * hub;
  const double norm = std::sqrt(hub * hub + 3.0 * leaf * leaf);
  EXPECT_EQ(katz["result"]["top"][0]["vertex"], 1);
  EXPECT_NEAR(katz["result"]["top"][0]["score"].get<double>(), hub / norm, 1e-12);
  EXPECT_NEAR(katz["result"]["top"][3]["score"].get<double>(), leaf / norm, 1e-12);
  EXPECT_LE(katz["result"]["error_bound"].get<double>(), 1e-13);
  const auto chosen = nlohmann::json::parse(run("katz star.mtx --json").out);
  EXPECT_NEAR(chosen["result"]["alpha"].get<double>(), 0.85 / std::sqrt(3.0), 1e-3);
}

TEST_F(RankingTest, HitsAndKatzWriteAndExitAsPageRankDoes) {
  ASSERT_EQ(run("hits w.mtx -q -o both.csv").exit_code, 0);
  EXPECT_TRUE(contents(path("both.csv")).starts_with("vertex,hub,authority\n1,"));
  ASSERT_EQ(run("katz w.mtx -q -o scores.mtx --labels names.txt").exit_code, 0);
  EXPECT_EQ(read_vector<double>(path("scores.mtx")).size(), 5U);
  EXPECT_TRUE(run("hits w.mtx --csv - --top 1").out.starts_with("vector,rank,id,name,score\nhubs,1,"));
  EXPECT_EQ(run("hits w.mtx --max-iters 1").exit_code, 3);
  const auto diverged = run("katz star.mtx --alpha 0.6");
  EXPECT_EQ(diverged.exit_code, 4);
  EXPECT_NE(diverged.out.find("alpha = 0.6 must be below 1 / rho(A), and rho(A) <= 1.73"), std::string::npos)
      << diverged.out;
  for (const char* command : {"hits", "katz"}) {
    EXPECT_EQ(run(std::string(command) + " w.mtx --dry-run").exit_code, 0);
    file("bad.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 -1\n2 1 1\n");
    expect_refused({command, "bad.mtx"}, 5,
                   "bad.mtx: link weights must be finite and not negative, but row 1, column 2");
    file("wide.mtx", "%%MatrixMarket matrix coordinate real general\n2 3 1\n1 2 1\n");
    expect_refused({command, "wide.mtx"}, 5, "wide.mtx: an adjacency matrix is square, but this one is 2 x 3");
    expect_refused({command, "w.mtx", "--damping", "0.5"}, 2, "option --damping does not apply to ");
  }
  expect_refused({"katz", "w.mtx", "--alpha", "0"}, 2, "auto or a number above 0");
  expect_refused({"pagerank", "w.mtx", "--alpha", "0.8"}, 2, "use --damping");
}

}  // namespace

}  // namespace tessera::testing
