/// solve --device host,host: what summary and JSON say of a run on several devices. The GPUs' part is in
/// tests/solvers/several_devices_cuda_test.cpp.

#include "scattered_path.hpp"
#include "solve_process.hpp"

#include <algorithm>
#include <sstream>
#include <string>

namespace tessera::testing {

namespace {

using nlohmann::json;

class SeveralDevicesTest : public SolveTest {
 protected:
  /// x in the numbering of the file, of one and of several devices: both to 1e-12 of a matrix whose inverse has the
  /// norm 1 at most.
  void expect_same_solution(const std::string& one_file, const std::string& several_file, int expected_rows) const {
    std::istringstream one(contents(path(one_file)));
    std::istringstream several(contents(path(several_file)));
    double of_one = 0.0;
    double of_several = 0.0;
    int rows = 0;
    for (; one >> of_one && several >> of_several; ++rows) ASSERT_NEAR(of_one, of_several, 1e-9) << rows;
    EXPECT_EQ(rows, expected_rows);
  }
  /// As where METIS is not installed. \param library taken for it
  [[nodiscard]] ProcessResult without_metis(const std::string& line,
                                            const std::string& library = "libno-metis.so") const {
    ProcessOptions options;
    options.directory = path("");
    options.variables = {"TESSERA_METIS_LIBRARY=" + library};
    return solve(words(line), options);
  }
};

TEST_F(SeveralDevicesTest, TheDocumentSaysWhatEachDeviceHas) {
  const auto result = run("--poisson2d 30 -m cg -p none --device host,host,host --json");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json document = json::parse(result.out);
  EXPECT_EQ(document["result"]["status"], "converged");
  EXPECT_EQ(document["result"]["precond"], "none");
  const json& devices = document["devices"];
  ASSERT_EQ(devices.size(), 3U);
  std::int64_t rows = 0;
  std::int64_t nnz = 0;
  for (const json& device : devices) {
    EXPECT_EQ(device["device"], "host");
    EXPECT_EQ(device["first_row"], rows);
    rows += device["rows"].get<std::int64_t>();
    nnz += device["nnz"].get<std::int64_t>();
  }
  EXPECT_EQ(rows, 900);
  EXPECT_EQ(nnz, document["matrix"]["nnz"]);
  // A neighbour above, one below.
  EXPECT_EQ(devices[1]["neighbours"], 2);
  EXPECT_EQ(devices[1]["halo"], 60);
}

TEST_F(SeveralDevicesTest, TheSolutionIsThatOfOneDevice) {
  const auto one = run("--poisson2d 20 -m cg -p jacobi --rtol 1e-10 --device host -o one.mtx");
  const auto two = run("--poisson2d 20 -m cg -p jacobi --rtol 1e-10 --device host,host -o two.mtx");
  ASSERT_EQ(one.exit_code, 0) << one.err;
  ASSERT_EQ(two.exit_code, 0) << two.err;
  EXPECT_NE(two.out.find("device      host: rows 201 to 400, "), std::string::npos) << two.out;
  const auto again = run("--poisson2d 20 -m cg -p jacobi --rtol 1e-10 --device host,host -o again.mtx");
  EXPECT_EQ(contents(path("again.mtx")), contents(path("two.mtx")));
  EXPECT_NE(contents(path("two.mtx")), std::string());
}

TEST_F(SeveralDevicesTest, BicgstabSolvesAsOnOneDevice) {
  const std::string system = "--convdiff 12 -m bicgstab -p jacobi --rtol 1e-10 --json ";
  const auto one = run(system + "--device host");
  const auto two = run(system + "--device host,host");
  ASSERT_EQ(one.exit_code, 0) << one.err;
  ASSERT_EQ(two.exit_code, 0) << two.err;
  const json of_one = json::parse(one.out);
  const json of_two = json::parse(two.out);
  EXPECT_EQ(of_two["result"]["method"], "bicgstab");
  EXPECT_EQ(of_two["devices"].size(), 2U);
  EXPECT_NEAR(of_two["result"]["iterations"].get<double>(), of_one["result"]["iterations"].get<double>(), 3.0);
  EXPECT_LE(of_two["result"]["relative_error_vs_known"].get<double>(), 1e-7);
}

TEST_F(SeveralDevicesTest, AmgSolvesAsOnOneDevice) {
  const std::string options = " -p amg --precond-opt smoother=chebyshev,coarsest-rows=30 --rtol 1e-10 --json ";
  for (const std::string system : {"--poisson2d 260 -m cg", "--convdiff 12 -m bicgstab"}) {
    const auto one = run(system + options + "--device host");
    const auto two = run(system + options + "--device host,host");
    ASSERT_EQ(one.exit_code, 0) << one.err;
    ASSERT_EQ(two.exit_code, 0) << two.err;
    const json of_one = json::parse(one.out);
    const json of_two = json::parse(two.out);
    EXPECT_EQ(of_two["result"]["precond"], "amg");
    EXPECT_NEAR(of_two["result"]["iterations"].get<double>(), of_one["result"]["iterations"].get<double>(), 1.0);
    EXPECT_LE(of_two["result"]["relative_error_vs_known"].get<double>(), 1e-7);
    const json& hierarchy = of_two["preconditioner"]["hierarchy"];
    ASSERT_EQ(hierarchy["levels"].size(), of_one["preconditioner"]["hierarchy"]["levels"].size());
    for (std::size_t l = 0; l < hierarchy["levels"].size(); ++l) {
      EXPECT_EQ(hierarchy["levels"][l]["nnz"], of_one["preconditioner"]["hierarchy"]["levels"][l]["nnz"]);
    }
    // 67 600 rows are enough to be shared out, 1728 are not.
    EXPECT_EQ(hierarchy["shared_levels"], system.starts_with("--poisson") ? 1 : 0);
    EXPECT_FALSE(of_one["preconditioner"]["hierarchy"].contains("shared_levels"));
    EXPECT_GT(of_two["preconditioner"]["bytes"], 0);
  }
  const auto text = run("--poisson2d 260 -m cg -p amg --device host,host");
  EXPECT_NE(text.out.find("the rows of the finest level are shared out, every device has the other "),
            std::string::npos)
      << text.out;
}

TEST_F(SeveralDevicesTest, SinglePrecisionIsSaidAndWritten) {
  const auto result = run("--poisson2d 20 -m cg --precision fp32 --rtol 1e-5 --device host,host --json -o x.mtx");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(json::parse(result.out)["config"]["precision"]["value"], "fp32");
  EXPECT_NE(contents(path("x.mtx")), std::string());
}

TEST_F(SeveralDevicesTest, RanksAreThoseOfOneDevice) {
  const std::string graph = "pagerank --generate rmat:scale=8 --tol 1e-12 --json ";
  const auto one = run(graph + "--device host");
  const auto three = run(graph + "--device host,host,host");
  ASSERT_EQ(one.exit_code, 0) << one.err;
  ASSERT_EQ(three.exit_code, 0) << three.err;
  const json of_one = json::parse(one.out);
  const json of_three = json::parse(three.out);
  EXPECT_EQ(of_three["result"]["iterations"], of_one["result"]["iterations"]);
  ASSERT_EQ(of_three["devices"].size(), 3U);
  std::int64_t nnz = 0;
  for (const json& device : of_three["devices"]) nnz += device["nnz"].get<std::int64_t>();
  EXPECT_EQ(nnz, of_three["matrix"]["nnz"]);
  const json& top = of_three["result"]["top"];
  ASSERT_EQ(top.size(), of_one["result"]["top"].size());
  for (std::size_t k = 0; k < top.size(); ++k) {
    EXPECT_EQ(top[k]["vertex"], of_one["result"]["top"][k]["vertex"]);
    EXPECT_NEAR(top[k]["rank"].get<double>(), of_one["result"]["top"][k]["rank"].get<double>(), 1e-12);
  }
}

TEST_F(SeveralDevicesTest, SeveralPersonalizationsAreRankedInTurn) {
  const auto result =
      run("pagerank --generate rmat:scale=6 --personalize unit:1 --personalize unit:5 --device host,host --json");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json document = json::parse(result.out);
  ASSERT_EQ(document["vectors"].size(), 2U);
  const auto text = run("pagerank --generate rmat:scale=6 --precision fp32 --device host,host");
  ASSERT_EQ(text.exit_code, 0) << text.err;
  EXPECT_NE(text.out.find("device      host: rows 1 to "), std::string::npos) << text.out;
}

TEST_F(SeveralDevicesTest, ASolveThatDoesNotConvergeHasItsExitCode) {
  const auto result = run("--poisson2d 20 -m cg --max-iters 2 --device host,host");
  EXPECT_EQ(result.exit_code, 3) << result.out << result.err;
  EXPECT_NE(result.out.find("max_iterations after 2 iterations"), std::string::npos) << result.out;
}

TEST_F(SeveralDevicesTest, ScatteredRowsAreNumberedAnew) {
  file("a.mtx", scattered_path());
  const std::string system = "a.mtx -m cg -b random --rtol 1e-12 --max-iters 500 ";
  ASSERT_EQ(run(system + "--device host -o one.txt").exit_code, 0);
  const auto result = run(system + "--device host,host --json -o two.txt");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json document = json::parse(result.out);
  EXPECT_EQ(document["ordering"]["name"], "rcm");
  EXPECT_EQ(document["ordering"]["halo"], 2);
  EXPECT_GT(document["ordering"]["natural_halo"].get<int>(), 500);
  EXPECT_EQ(document["devices"][0]["halo"], 1);
  expect_same_solution("one.txt", "two.txt", 1000);

  const auto shown = run(system + "--device host,host");
  EXPECT_NE(shown.out.find("ordering    rcm (auto: halo 2 elements instead of "), std::string::npos) << shown.out;
  const auto natural = run(system + "--device host,host --ordering natural --json");
  EXPECT_EQ(json::parse(natural.out)["ordering"]["name"], "natural");
}

/// A square grid whose rows have scattered names, which rcm numbers by diagonals.
[[nodiscard]] std::string scattered_grid() {
  constexpr int side = 40;
  constexpr int n = side * side;
  std::string text;
  int count = 0;
  const auto name = [](int k) { return k * 337 % n + 1; };
  const auto add = [&](int i, int j, int value) {
    text += fmt::format("{} {} {}\n", std::max(name(i), name(j)), std::min(name(i), name(j)), value);
    ++count;
  };
  for (int k = 0; k < n; ++k) {
    add(k, k, 5);
    if (k % side + 1 < side) add(k, k + 1, -1);
    if (k + side < n) add(k, k + side, -1);
  }
  return fmt::format("%%MatrixMarket matrix coordinate real symmetric\n{0} {0} {1}\n", n, count) + text;
}

TEST_F(SeveralDevicesTest, MetisCutsTheRowsWhereItIsInstalled) {
  const json metis = json::parse(run("doctor --json").out)["metis"];
  if (metis["library"] == "") GTEST_SKIP() << metis["problem"];
  file("a.mtx", scattered_grid());
  const std::string system = "a.mtx -m cg -b random --rtol 1e-12 --max-iters 500 ";
  ASSERT_EQ(run(system + "--device host -o one.txt").exit_code, 0);
  for (const std::string devices : {"host,host", "host,host,host,host"}) {
    const auto result = run(system + "--device " + devices + " --ordering metis --json -o several.txt");
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const json document = json::parse(result.out);
    EXPECT_EQ(document["ordering"]["name"], "metis");
    EXPECT_EQ(document["ordering"]["reason"], "");
    std::int64_t halo = 0;
    const double mean = document["matrix"]["nnz"].get<double>() / static_cast<double>(document["devices"].size());
    for (const json& device : document["devices"]) {
      halo += device["halo"].get<std::int64_t>();
      // The tolerance of METIS, for nonzeros and rows together.
      EXPECT_LE(device["nnz"].get<double>(), 1.05 * mean);
    }
    EXPECT_EQ(document["ordering"]["halo"], halo);
    // Straight cuts have 2 x 40 elements each, random parts nearly all.
    EXPECT_LE(halo, devices.size() < 10 ? 120 : 300);
    expect_same_solution("one.txt", "several.txt", 1600);
    const auto told = run(system + "--device " + devices + " --ordering metis --dry-run --json");
    EXPECT_EQ(json::parse(told.out)["devices"][0]["halo"], document["devices"][0]["halo"]);
  }
}

/// 60 legs of 20 vertices at a hub, names scattered. Levels of rcm have a vertex of every leg; to cut the legs' roots
/// from the hub takes half of them.
[[nodiscard]] std::string scattered_spider() {
  constexpr int legs = 60;
  constexpr int length = 20;
  constexpr int n = legs * length + 1;
  std::string text;
  const auto name = [](int k) { return k * 337 % n + 1; };
  const auto add = [&](int i, int j, int value) {
    text += fmt::format("{} {} {}\n", std::max(name(i), name(j)), std::min(name(i), name(j)), value);
  };
  for (int k = 0; k < n; ++k) {
    add(k, k, k == 0 ? legs + 1 : 3);
    if (k > 0) add(k, (k - 1) % length == 0 ? 0 : k - 1, -1);
  }
  return fmt::format("%%MatrixMarket matrix coordinate real symmetric\n{0} {0} {1}\n", n, 2 * n - 1) + text;
}

TEST_F(SeveralDevicesTest, AutoAsksMetisWhereTheHaloStaysLarge) {
  file("a.mtx", scattered_spider());
  const std::string system = "a.mtx -m cg -b random --device host,host --json ";
  const json by_rcm = json::parse(run(system + "--ordering rcm").out)["ordering"];
  EXPECT_GT(by_rcm["halo"], 100);
  const json metis = json::parse(run("doctor --json").out)["metis"];
  const json without = json::parse(without_metis(system).out)["ordering"];
  EXPECT_EQ(without["name"], "rcm");
  EXPECT_EQ(without["halo"], by_rcm["halo"]);
  EXPECT_NE(without["reason"].get<std::string>().find("; METIS, which may find less, is not installed"),
            std::string::npos)
      << without;
  if (metis["library"] == "") GTEST_SKIP() << metis["problem"];
  const json solved = json::parse(run(system).out);
  const json& by_auto = solved["ordering"];
  EXPECT_EQ(by_auto["name"], "metis") << by_auto;
  EXPECT_LE(by_auto["halo"], 40);
  // The devices have METIS's parts, which are not those of equal nonzeros.
  EXPECT_EQ(by_auto["halo"], solved["devices"][0]["halo"].get<int>() + solved["devices"][1]["halo"].get<int>());
}

TEST_F(SeveralDevicesTest, AMissingMetisIsNamedWithItsPackage) {
  const std::string system = "--poisson2d 20 -m cg --device host,host ";
  const auto result = without_metis(system + "--ordering metis");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("libno-metis.so"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("package libmetis5"), std::string::npos) << result.err;
  // A library that is none of METIS.
  const auto other = without_metis(system + "--ordering metis", "libm.so.6");
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_NE(other.err.find("the library libm.so.6 lacks METIS_SetDefaultOptions"), std::string::npos) << other.err;
}

TEST_F(SeveralDevicesTest, GuessAndMultigridKeepTheNumberingOfTheFile) {
  file("a.mtx", scattered_path());
  // The solution as guess: nothing is left to do.
  ASSERT_EQ(run("a.mtx -m cg -b random --rtol 1e-12 --device host,host -o x.mtx").exit_code, 0);
  const auto again = run("a.mtx -m cg -b random --rtol 1e-9 --device host,host --x0 x.mtx --json");
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(json::parse(again.out)["result"]["iterations"], 0);
  const auto amg = run("a.mtx -m cg -p amg -b random --device host,host --json");
  ASSERT_EQ(amg.exit_code, 0) << amg.err;
  EXPECT_EQ(json::parse(amg.out)["ordering"]["name"], "rcm");
}

TEST_F(SeveralDevicesTest, GridsKeepTheirNumbering) {
  const auto result = run("--poisson2d 30 -m cg --device host,host --json");
  const json document = json::parse(result.out);
  EXPECT_EQ(document["ordering"]["name"], "natural");
  EXPECT_EQ(document["ordering"]["halo"], 60);
  EXPECT_EQ(document["ordering"]["natural_halo"], 60);
}

TEST_F(SeveralDevicesTest, ColumnsByDegree) {
  file("a.mtx", scattered_path());
  const auto result = run("a.mtx -m cg -b random --device host,host --ordering degree --json");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(json::parse(result.out)["ordering"]["name"], "degree");
}

TEST_F(SeveralDevicesTest, PartsByMetisAreForSeveralDevices) {
  const auto metis = run("--poisson2d 30 --ordering metis --device host");
  EXPECT_EQ(metis.exit_code, 2);
  EXPECT_NE(metis.err.find("--ordering metis cuts the rows into the parts of several devices"), std::string::npos);
}

TEST_F(SeveralDevicesTest, BlocksKeepTheNumberingOfTheFile) {
  const auto metis = run("--poisson2d 30 -m cg -p amg --block 2 --ordering metis --device host,host");
  EXPECT_EQ(metis.exit_code, 2) << metis.out;
  const auto tied = run("--poisson2d 30 -m cg -p amg --block 2 --ordering rcm --device host,host");
  EXPECT_EQ(tied.exit_code, 2) << tied.out;
  EXPECT_NE(tied.err.find("--ordering natural"), std::string::npos) << tied.err;
}

}  // namespace

}  // namespace tessera::testing
