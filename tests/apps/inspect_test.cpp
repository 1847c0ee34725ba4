/// solve inspect: what it says about matrices whose facts are known.

#include "solve_process.hpp"
#include "tests/support/matrices_dir.hpp"

#include "inspect.hpp"

#include <algorithm>
#include <sstream>
#include <tuple>

namespace tessera::testing {

namespace {

using nlohmann::json;

class InspectTest : public SolveTest {
 protected:
  [[nodiscard]] json facts(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "inspect");
    arguments.emplace_back("--json");
    const auto result = run(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return json::parse(result.out);
  }
};

[[nodiscard]] std::string general(const std::string& rest) {
  return "%%MatrixMarket matrix coordinate real general\n" + rest;
}

TEST_F(InspectTest, ThePoissonProblem) {
  const json j = facts({"--poisson2d", "30"});
  EXPECT_EQ(j["schema"], "solve.inspect/1");
  EXPECT_EQ(j["matrix"]["rows"], 900);
  EXPECT_EQ(j["matrix"]["nnz"], 5 * 900 - 4 * 30);
  EXPECT_EQ(j["symmetry"]["positions"], true);
  EXPECT_EQ(j["symmetry"]["values"], "symmetric");
  EXPECT_EQ(j["diagonal"]["min_abs"], 4.0);
  EXPECT_EQ(j["diagonal"]["weakly_dominant_rows"], 900);
  EXPECT_EQ(j["diagonal"]["strictly_dominant_rows"], 4 * 29) << "the boundary";
  EXPECT_EQ(j["structure"]["lower_bandwidth"], 30);
  EXPECT_EQ(j["structure"]["components"]["count"], 1);
  EXPECT_EQ(j["rows"]["log2_histogram"], json::parse("[0,0,4,896]"));
  EXPECT_EQ(j["advice"]["method"], "cg");
  EXPECT_EQ(j["advice"]["precond"], "jacobi");
  EXPECT_EQ(j["advice"]["command"], "solve --poisson2d 30");
  EXPECT_EQ(j["warnings"], json::array());
  EXPECT_GE(j["kernels"].size(), 3U);
}

/// The advice is a line to type: it is typed.
TEST_F(InspectTest, TheAdviceConverges) {
  file("it's mine.mtx", laplace4);
  EXPECT_EQ(facts({"it's mine.mtx"})["advice"]["command"], "solve 'it'\\''s mine.mtx'");
  for (const std::vector<std::string>& problem :
       {std::vector<std::string>{"--poisson3d", "8"}, {"--convdiff", "6"}, {file("a.mtx", laplace4)}}) {
    const std::string command = facts(problem)["advice"]["command"];
    ASSERT_TRUE(command.starts_with("solve ")) << command;
    EXPECT_EQ(run(command.substr(6)).exit_code, 0) << command;
  }
}

TEST_F(InspectTest, WhatTheFileSaid) {
  const json j = facts({file("a.mtx", laplace4)});
  EXPECT_EQ(j["file"], json::parse(R"({"format":"coordinate","field":"real","symmetry":"symmetric","entries":7})"));
  EXPECT_EQ(facts({"--poisson2d", "3"})["file"], nullptr);
}

TEST_F(InspectTest, SymmetryHasFourClasses) {
  const auto values = [&](const std::string& text) {
    return facts({file("s.mtx", general(text))})["symmetry"]["values"];
  };
  EXPECT_EQ(values("2 2 4\n1 1 1\n1 2 3\n2 1 3\n2 2 1\n"), "symmetric");
  EXPECT_EQ(values("2 2 4\n1 1 1\n1 2 3\n2 1 3.0000000000001\n2 2 1\n"), "symmetric_up_to_rounding");
  EXPECT_EQ(values("2 2 4\n1 1 1\n1 2 3\n2 1 3.00000001\n2 2 1\n"), "none");
  EXPECT_EQ(values("2 2 2\n1 2 3\n2 1 -3\n"), "skew_symmetric");
  EXPECT_EQ(values("2 2 3\n1 1 1\n1 2 3\n2 1 -3\n"), "none") << "a skew-symmetric matrix has a zero diagonal";
  EXPECT_EQ(values("2 3 1\n1 2 3\n"), "none");
}

TEST_F(InspectTest, SkewSymmetryIsSaidByName) {
  file("k.mtx", "%%MatrixMarket matrix coordinate real skew-symmetric\n4 4 3\n2 1 1\n3 2 -2\n4 3 1\n");
  file("g.mtx", general("4 4 6\n2 1 1\n1 2 -1\n3 2 -2\n2 3 2\n4 3 1\n3 4 -1\n"));
  for (const std::string name : {"k.mtx", "g.mtx"}) {
    const std::string inspected = run("inspect " + name).out;
    EXPECT_NE(inspected.find("positions symmetric, values skew-symmetric exactly"), std::string::npos) << inspected;
    const std::string solved = run(name).out;
    EXPECT_NE(solved.find("6 nonzeros (skew-symmetric), 1.5 per row"), std::string::npos) << solved;
  }
  EXPECT_EQ(facts({"k.mtx"})["file"]["symmetry"], "skew-symmetric");
}

TEST_F(InspectTest, WarningsNameWhatWillGoWrong) {
  const auto codes = [&](const std::string& text) {
    std::string found;
    const json j = facts({file("w.mtx", text)});
    for (const json& warning : j["warnings"]) found += warning["code"].get<std::string>() + " ";
    return found;
  };
  EXPECT_EQ(codes(laplace4), "");
  EXPECT_EQ(codes(general("2 2 3\n1 1 1\n2 2 1\n2 2 1\n")), "W001 W106 ");
  EXPECT_EQ(codes(general("2 2 4\n1 1 1\n1 2 3\n2 1 3.0000000000001\n2 2 1\n")), "W101 ");
  EXPECT_EQ(codes(general("2 2 4\n1 1 1\n1 2 1\n2 1 1e9\n2 2 1e9\n")), "W102 ");
  EXPECT_EQ(codes(general("2 2 3\n1 2 3\n2 1 4\n2 2 1\n")), "W103 ");
  EXPECT_EQ(codes(general("2 2 4\n1 1 -1\n1 2 3\n2 1 3\n2 2 1\n")), "W104 ");
  EXPECT_EQ(codes(general("2 2 2\n1 1 1\n1 2 3\n")), "W103 W105 ");
  EXPECT_EQ(codes(general("2 2 2\n1 1 2\n2 2 3\n")), "W106 ");
}

TEST_F(InspectTest, AGraphIsForPageRank) {
  const std::string chain = "%%MatrixMarket matrix coordinate pattern general\n3 3 2\n1 2\n2 3\n";
  const json j = facts({file("chain.mtx", chain)});
  EXPECT_EQ(j["advice"]["method"], "pagerank");
  EXPECT_EQ(j["advice"]["precond"], nullptr);
  EXPECT_EQ(j["advice"]["command"], "solve pagerank " + path("chain.mtx"));
  EXPECT_EQ(j["structure"]["components"]["count"], 1);
  EXPECT_EQ(j["structure"]["strong_components"]["count"], 3);
  EXPECT_EQ(facts({"--powerlaw", "200"})["advice"]["method"], "pagerank");
  EXPECT_EQ(facts({file("a.mtx", laplace4), "--unweighted"})["advice"]["method"], "cg") << "a full diagonal: no graph";
}

TEST_F(InspectTest, ARectangleIsForLeastSquares) {
  const json j = facts({file("wide.mtx", general("2 3 2\n1 1 1\n2 3 5\n"))});
  EXPECT_EQ(j["advice"]["method"], "lsmr");
  EXPECT_EQ(j["advice"]["command"], "solve " + path("wide.mtx"));
  EXPECT_EQ(j["structure"]["components"], nullptr);
  EXPECT_EQ(j["symmetry"]["positions"], false);
}

TEST_F(InspectTest, TheSmallestMatrices) {
  EXPECT_EQ(facts({file("none.mtx", general("0 0 0\n"))})["matrix"]["rows"], 0);
  EXPECT_EQ(facts({file("zero.mtx", general("3 2 0\n"))})["matrix"]["nnz"], 0);
  EXPECT_EQ(facts({file("one.mtx", general("1 1 1\n1 1 -5\n"))})["diagonal"]["negative"], 1);
  for (const char* name : {"none.mtx", "zero.mtx", "one.mtx"}) {
    const auto result = run(std::string("inspect ") + name);
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(result.out.find(" nan"), std::string::npos) << result.out;
    EXPECT_EQ(result.out.find(" inf"), std::string::npos) << result.out;
  }
}

TEST_F(InspectTest, ThePlotHasTheShapeOfTheMatrix) {
  const auto plot = [&](const std::string& text, const std::string& cells) {
    const json spy = facts({file("p.mtx", text), "--spy", cells})["spy"];
    return std::pair<int, int>(spy["rows"], spy["cols"]);
  };
  EXPECT_EQ(plot(general("100 100 1\n1 1 1\n"), "10"), std::pair(10, 20));
  EXPECT_EQ(plot(general("100 400 1\n1 1 1\n"), "10"), std::pair(3, 20));
  EXPECT_EQ(plot(general("400 100 1\n1 1 1\n"), "10"), std::pair(10, 5));
  EXPECT_EQ(plot(general("3 3 1\n1 1 1\n"), "10"), std::pair(3, 3));
  EXPECT_EQ(plot(general("1 2147483647 1\n1 1 1\n"), "10"), std::pair(1, 20));
  EXPECT_EQ(facts({"--poisson2d", "9", "--no-spy"})["spy"], nullptr);
  EXPECT_EQ(run("inspect --poisson2d 9 --no-spy").out.find("spy"), std::string::npos);
}

TEST_F(InspectTest, UsageErrors) {
  EXPECT_EQ(run("inspect").exit_code, 2);
  EXPECT_EQ(run("inspect --poisson2d 9 --spy 0").exit_code, 2);
  EXPECT_EQ(run("inspect --poisson2d 9 --spy 201").exit_code, 2);
  EXPECT_EQ(run("inspect --poisson2d 9 --spy 9 --no-spy").exit_code, 2);
  EXPECT_EQ(run("inspect --poisson2d 9 --rtol 1e-3").exit_code, 2);
  EXPECT_EQ(run("inspect missing.mtx").exit_code, 5);
  EXPECT_EQ(run("inspect --poisson2d 500 --mem-limit 1MiB").exit_code, 6);
  EXPECT_TRUE(run("inspect --poisson2d 9 -q").out.empty());
}

TEST(SpyText, ShadesAndBlanks) {
  const SpyGrid grid{4, 4, 2, 2, {1, 0, 0, 4}};
  EXPECT_EQ(cli::spy_text(grid, 4),
            "spy 2 x 2 cells, . to @ = 25 % to 100 % full (logarithmic), blank = empty\n"
            "    +--+\n    |. |\n    | @|\n    +--+\n");
  const SpyGrid empty{4, 4, 1, 1, {0}};
  EXPECT_EQ(cli::spy_text(empty, 4), "spy 1 x 1 cells, all empty\n    +-+\n    | |\n    +-+\n");
}

TEST(HistogramText, BinsAreThoseOfTheRowLengths) {
  EXPECT_EQ(cli::histogram_text({}, 0), "");
  EXPECT_EQ(cli::histogram_text({0, 0, 4, 2}, 0),
            "            2-3           4 ########################################\n"
            "            4-7           2 ####################\n");
  // Thirteen bins are shown two by two, and none is lost.
  const std::string wide = cli::histogram_text({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}, 0);
  EXPECT_NE(wide.find("1-3           5"), std::string::npos) << wide;
  EXPECT_NE(wide.find("1024-4095          25"), std::string::npos) << wide;
}

/// Which layout a GPU would take, told without one.
TEST_F(InspectTest, LayoutsOfFewerBytes) {
  const auto layouts_of = [&](std::vector<std::string> arguments) {
    const json j = facts(std::move(arguments));
    std::string taken;
    for (const json& layout : j["layouts"]) {
      if (layout["taken"] == true) {
        taken += layout["kernel"].get<std::string>() + ", " + layout["layout"].get<std::string>() + "; ";
      }
      EXPECT_EQ(layout["bytes_per_nonzero"].is_null(), layout["qualifies"] == false) << layout;
    }
    return taken;
  };
  EXPECT_EQ(layouts_of({"--poisson2d", "30"}), "patterns, row templates; sell, dictionary; tiles, values in full; ");
  EXPECT_EQ(layouts_of({"--poisson2d", "30", "--unweighted"}),
            "patterns, no values; sell, no values; tiles, no values; ");
  EXPECT_EQ(layouts_of({file("zero.mtx", general("3 2 0\n"))}), "");
  const std::string grid = run("inspect --poisson2d 30").out;
  EXPECT_NE(grid.find("\nlayouts     patterns: 9 row templates name all rows: 0.234 bytes per nonzero\n"),
            std::string::npos)
      << grid;
  EXPECT_NE(grid.find("\n            else dictionary 1.4, symmetric half in single precision 2.78, "),
            std::string::npos)
      << grid;
  const std::string graph = run("inspect --powerlaw 2000").out;
  EXPECT_NE(graph.find("\nlayouts     patterns: no row patterns: the table holds "), std::string::npos) << graph;
}

/// Sixty lines hold every report; the facts are those that the collection publishes.
TEST_F(InspectTest, RealMatrices) {
  TESSERA_REQUIRE_REAL_MATRICES();
  const std::filesystem::path directory = *real_matrices_dir();
  for (const char* name : {"orsirr_1", "musae_git", "lp_ship04l", "bips98_606", "netlib_maros-r7", "karate"}) {
    const auto result = run({"inspect", directory / (std::string(name) + ".mtx.gz")});
    EXPECT_EQ(result.exit_code, 0) << name << result.err;
    EXPECT_LE(std::count(result.out.begin(), result.out.end(), '\n'), 60) << result.out;
  }
  const auto of = [&](const char* name) { return facts({directory / (std::string(name) + ".mtx.gz")}); };
  const json oil = of("orsirr_1");
  EXPECT_EQ(oil["symmetry"]["positions"], true);
  EXPECT_EQ(oil["symmetry"]["values"], "none");
  EXPECT_EQ(oil["diagonal"]["missing"], 0);
  const json descriptor = of("bips98_606");
  EXPECT_EQ(descriptor["matrix"]["nnz"], 34738);
  EXPECT_EQ(descriptor["rows"]["max_nnz"], 30);
  EXPECT_GT(descriptor["diagonal"]["missing"], 0);
  EXPECT_EQ(of("lp_ship04l")["structure"]["empty_rows"], 42);
  EXPECT_EQ(of("memplus")["values"]["explicit_zeros"], 27003);
  EXPECT_EQ(of("wiki-Vote")["structure"]["strong_components"]["largest"], 1300);
}

}  // namespace

}  // namespace tessera::testing
