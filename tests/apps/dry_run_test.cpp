/// --dry-run: forecasts held against the memory that the run then takes, and nothing of the work done.

#include "scattered_path.hpp"
#include "solve_process.hpp"
#include "tests/support/sanitized.hpp"

#include "tessera/generators.hpp"
#include "tessera/spgemm.hpp"

#include "support/machine_speed.hpp"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace tessera::testing {

namespace {

using nlohmann::json;

/// Forecasts are upper bounds, and within this factor of what the run took, beside the program.
constexpr double factor = 2.5;

class DryRunTest : public SolveTest {
 protected:
  [[nodiscard]] json forecast(const std::string& line, int code = 0) const {
    const bool to_file = line.find("--json=r.json") != std::string::npos;
    const auto result = run(line + (to_file ? " --dry-run" : " --dry-run --json"));
    EXPECT_EQ(result.exit_code, code) << line << "\n" << result.err;
    return json::parse(to_file ? contents(path("r.json")) : result.out);
  }
  /// The forecast of a phase.
  [[nodiscard]] static json phase(const json& document, const std::string& name) {
    for (const json& each : document["phases"]) {
      if (each["phase"] == name) return each;
    }
    ADD_FAILURE() << "no phase " << name << " in " << document["phases"];
    return {};
  }
  /// The forecast of a peak against the largest resident size of the run.
  void expect_holds(const std::string& line, std::initializer_list<int> codes = {0}) const {
    const json document = forecast(line);
    const auto done = run(line);
    EXPECT_TRUE(std::find(codes.begin(), codes.end(), done.exit_code) != codes.end()) << line << "\n" << done.err;
    const auto peak = document["memory_bytes"]["peak"].get<std::uint64_t>();
    const json& climbing = document["memory_bytes"]["climbing_peak"];
    const std::uint64_t bound = climbing.is_null() ? peak : climbing.get<std::uint64_t>();
    EXPECT_GE(bound + program_bytes(), done.peak_bytes) << line << "\n" << document["phases"].dump(1);
    EXPECT_LE(static_cast<double>(peak), factor * static_cast<double>(done.peak_bytes)) << line << "\n"
                                                                                        << document["phases"].dump(1);
  }
};

TEST_F(DryRunTest, PeaksOfSolvesHold) {
  if (is_sanitized) GTEST_SKIP() << "sanitizers take memory of their own";
  ASSERT_EQ(run("convert --poisson3d 40 p.mtx").exit_code, 0);
  ASSERT_EQ(run("convert --poisson3d 40 p.tsb").exit_code, 0);
  ASSERT_EQ(run("convert --poisson3d 40 p.mtx.gz").exit_code, 0);
  for (const char* line :
       {"p.mtx", "p.tsb", "p.mtx.gz", "--poisson3d 40", "p.mtx -m cg -p jacobi",
        "p.tsb -m gmres -p none --max-iters 60", "p.mtx -m bicgstab -p jacobi -k csr5", "p.mtx -m cg -p amg",
        "p.mtx --precision fp32", "p.mtx --transpose", "p.mtx -m cg -p jacobi --ordering rcm",
        "p.mtx -m cg -p jacobi -b Arandom --ordering degree --precision fp32",
        "p.mtx -m cg -p none --json=r.json --history h.csv -o x.mtx"}) {
    expect_holds(line, {0, 3});
  }
}

TEST_F(DryRunTest, PeaksOfRankingsHold) {
  if (is_sanitized) GTEST_SKIP() << "sanitizers take memory of their own";
  ASSERT_EQ(run("convert --generate rmat:scale=15 g.mtx").exit_code, 0);
  ASSERT_EQ(run("convert --generate rmat:scale=15 g.tsb").exit_code, 0);
  for (const char* line : {"pagerank g.mtx", "pagerank g.tsb -k merbit", "pagerank g.mtx --precision fp32",
                           "pagerank g.mtx --transpose -o ranks.txt", "pagerank --generate web:3e4 --unweighted",
                           "pagerank g.tsb --ordering degree", "pagerank g.tsb --ordering rcm --precision fp32",
                           "pagerank g.tsb --ordering rcm --unweighted"}) {
    expect_holds(line);
  }
}

TEST_F(DryRunTest, PeaksOfProductsAndComparisonsHold) {
  if (is_sanitized) GTEST_SKIP() << "sanitizers take memory of their own";
  ASSERT_EQ(run("convert --poisson3d 30 p.mtx").exit_code, 0);
  for (const char* line :
       {"spgemm p.mtx", "spgemm --generate rmat:scale=12", "spgemm p.mtx --transpose b --verify",
        "spgemm p.mtx p.mtx --estimate exact", "spgemm p.mtx --estimate upper -o c.tsb",
        "compare p.mtx --repeat 3 --min-time 0", "compare p.mtx --repeat 3 --min-time 0 --solvers cg --max-iters 2"}) {
    expect_holds(line, {0, 3});
  }
}

/// What the run reports of its parts is within the phases of the forecast.
TEST_F(DryRunTest, PartsHold) {
  ASSERT_EQ(run("convert --poisson2d 150 p.mtx").exit_code, 0);
  for (const std::string line : {"p.mtx -m cg -p jacobi -k csr5", "p.mtx -m bicgstab -p none -k merbit", "p.mtx",
                                 "p.mtx -m cg -p amg", "p.mtx -m cg -p ic0", "p.mtx -m gmres -p ilut:1e-3:20"}) {
    const json foretold = forecast(line);
    const json took = json::parse(run(line + " --json").out)["memory_bytes"];
    EXPECT_GE(phase(foretold, "read")["held_bytes"], took["matrix"]) << line;
    EXPECT_GE(phase(foretold, "plan")["held_bytes"], took["plan"]) << line;
    EXPECT_GE(phase(foretold, "vectors")["held_bytes"], took["vectors"]) << line;
    if (line == "p.mtx") continue;  // a later rung may have solved it
    EXPECT_GE(phase(foretold, "precond")["held_bytes"], took["precond"]) << line;
  }
}

/// In another numbering the run holds the permutation and P A Pᵀ, as many bytes as were foretold; what the phase needs
/// besides is there with the peaks above.
TEST_F(DryRunTest, OtherNumberingsAreThoseOfTheRun) {
  file("a.mtx", scattered_path());
  file("pattern.mtx", "%%MatrixMarket matrix coordinate pattern general\n4 4 5\n1 2\n2 1\n3 3\n4 1\n4 4\n");
  for (const std::string line :
       {"a.mtx -m cg -p jacobi --ordering rcm", "a.mtx -m cg -p none --ordering degree --precision fp32",
        "pattern.mtx -m gmres -p none --max-iters 1 --ordering rcm", "--poisson2d 9 -m cg -p jacobi --ordering natural",
        "--poisson2d 30 -m cg -p jacobi --ordering degree -b random:2", "a.mtx --ordering rcm"}) {
    const json foretold = forecast(line);
    const json took = json::parse(run(line + " --json").out);
    EXPECT_EQ(foretold["ordering"]["name"], took["ordering"]["name"]) << line;
    EXPECT_EQ(foretold["ordering"]["bytes"], took["ordering"]["bytes"]) << line;
    auto held = phase(foretold, "read")["held_bytes"].get<std::uint64_t>();
    if (foretold["ordering"]["name"] != "natural") {
      const json ordering = phase(foretold, "ordering");
      EXPECT_EQ(ordering["held_bytes"], took["ordering"]["bytes"]) << line;
      EXPECT_GT(ordering["passing_bytes"].get<std::uint64_t>(), 0U) << line;
      EXPECT_GT(ordering["ms"].get<double>(), 0.0) << line;
      held += ordering["held_bytes"].get<std::uint64_t>();
    }
    EXPECT_EQ(held, took["memory_bytes"]["matrix"]) << line;
  }
  EXPECT_FALSE(forecast("a.mtx -m cg -p none").contains("ordering"));
  EXPECT_EQ(run("a.mtx -m lsmr --ordering rcm --dry-run").exit_code, 2) << "as the run";
}

TEST_F(DryRunTest, OtherNumberingsOfGraphsAreThoseOfTheRun) {
  for (const std::string line :
       {"pagerank --generate web:300 --ordering degree", "pagerank --generate rmat:scale=6 --ordering rcm",
        "pagerank --generate web:50 --ordering natural",
        "pagerank --generate web:300 --ordering natural --device host,host",
        "pagerank --generate web:300 --ordering rcm --device host,host",
        "pagerank --generate web:1 --ordering degree --precision fp32"}) {
    const json foretold = forecast(line);
    const json took = json::parse(run(line + " --json").out);
    EXPECT_EQ(foretold["ordering"]["name"], took["ordering"]["name"]) << line;
    EXPECT_EQ(foretold["ordering"]["bytes"], took["ordering"]["bytes"]) << line;
    EXPECT_EQ(foretold.contains("devices"), took.contains("devices")) << line;
    for (std::size_t k = 0; took.contains("devices") && k < took["devices"].size(); ++k) {
      EXPECT_EQ(foretold["devices"][k]["halo"], took["devices"][k]["halo"]) << line;
    }
    if (foretold["ordering"]["name"] == "natural") continue;
    EXPECT_EQ(phase(foretold, "ordering")["held_bytes"], took["ordering"]["bytes"]) << line;
  }
  EXPECT_FALSE(forecast("pagerank --generate web:50").contains("ordering"));
}

/// Entries of direct factors depend on the numbering that their own begins with.
TEST_F(DryRunTest, FactorsAreThoseOfTheOtherNumbering) {
  const std::string line = "--convdiff 12 -m direct --ordering ";
  for (const std::string ordering : {"natural", "rcm", "degree"}) {
    const std::string rests_on = phase(forecast(line + ordering), "precond")["rests_on"];
    const json took = json::parse(run(line + ordering + " --json").out);
    const auto entries = took["preconditioner"]["direct"]["predicted_nnz"].get<std::int64_t>();
    EXPECT_EQ(rests_on.rfind(std::to_string(entries) + " entries of the factors", 0), 0U)
        << ordering << ": " << rests_on;
  }
}

/// What does not fit is not numbered either.
TEST_F(DryRunTest, ANumberingThatDoesNotFitHasNoTime) {
  const json document = forecast("--poisson2d 300 -m cg -p none --ordering rcm --mem-limit 8MB", 6);
  EXPECT_TRUE(phase(document, "ordering")["ms"].is_null());
  EXPECT_EQ(document["result"]["status"], "too_large");
}

/// The exit code of --dry-run is that of the run where memory is the only question.
TEST_F(DryRunTest, LimitsDecideTheExitCode) {
  ASSERT_EQ(run("convert --poisson3d 40 p.mtx").exit_code, 0);
  for (const std::string line :
       {"p.mtx -m cg -p jacobi", "p.mtx -m bicgstab -p none -k csr5", "p.mtx -m cg -p jacobi --ordering rcm",
        "pagerank p.mtx --unweighted", "pagerank --generate rmat:scale=13 --ordering rcm",
        "pagerank --generate rmat:scale=13 --ordering degree", "spgemm p.mtx",
        "compare p.mtx --repeat 3 --min-time 0"}) {
    const json document = forecast(line + " --mem-limit 4GiB");
    EXPECT_EQ(document["result"]["status"], "fits") << line;
    EXPECT_EQ(document["memory_bytes"]["limit"], std::uint64_t{4} << 30);
    const auto peak = document["memory_bytes"]["peak"].get<std::uint64_t>();
    EXPECT_EQ(run(line + " -q --mem-limit " + std::to_string(peak)).exit_code, 0) << line << ": what fits, runs";
    EXPECT_EQ(run(line + " --mem-limit 2MB --dry-run").exit_code, 6) << line;
    EXPECT_EQ(run(line + " --mem-limit 2MB").exit_code, 6) << line;
  }
  const auto text = run("p.mtx -m cg -p jacobi --dry-run --mem-limit 6MB");
  EXPECT_EQ(text.exit_code, 6);
  EXPECT_NE(text.out.find("allowed by --mem-limit: it does not fit"), std::string::npos) << text.out;
}

TEST_F(DryRunTest, ReadsNoMoreThanItNeeds) {
  // A file whose entries are wrong: whoever read them would say so.
  file("cut.mtx", "%%MatrixMarket matrix coordinate real general\n5000 5000 25000\n1 1 one\n");
  for (const char* line :
       {"cut.mtx -m cg -p jacobi", "cut.mtx -m gmres -p none", "pagerank cut.mtx", "compare cut.mtx"}) {
    const json document = forecast(line);
    EXPECT_EQ(document["matrices"][0]["read"], "header") << line;
    EXPECT_EQ(document["matrices"][0]["rows"], 5000) << line;
  }
  for (const char* line : {"cut.mtx", "cut.mtx -m cg -p amg", "spgemm cut.mtx", "cut.mtx -m direct"}) {
    EXPECT_EQ(run(std::string(line) + " --dry-run").exit_code, 5) << line;
  }
  file("a.mtx", laplace4);
  EXPECT_EQ(forecast("a.mtx")["matrices"][0]["read"], "whole");
  EXPECT_EQ(forecast("--poisson2d 9 -m cg -p none")["matrices"][0]["read"], "whole") << "it has no header";
}

TEST_F(DryRunTest, DoesNothingOfTheWork) {
  file("a.mtx", laplace4);
  const auto result = run("a.mtx --dry-run -o x.mtx --history h.csv --cache");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_FALSE(std::filesystem::exists(path("x.mtx")));
  EXPECT_FALSE(std::filesystem::exists(path("h.csv")));
  EXPECT_EQ(run("compare a.mtx --dry-run --csv c.csv --md m.md").exit_code, 0);
  EXPECT_FALSE(std::filesystem::exists(path("c.csv")));
  EXPECT_EQ(run("spgemm a.mtx --dry-run -o -").out.find("%%MatrixMarket"), std::string::npos);
  EXPECT_EQ(run("a.mtx --rtol x --dry-run").exit_code, 2) << "options are read";
  EXPECT_EQ(run("inspect a.mtx --dry-run").exit_code, 2) << "it plans nothing";
}

TEST_F(DryRunTest, ADocumentOfAForecastRunsTheWork) {
  file("a.mtx", laplace4);
  ASSERT_EQ(run("a.mtx --rtol 1e-6 -m cg --dry-run --json=f.json").exit_code, 0);
  const json done = json::parse(run("-c f.json --json=-").out);
  EXPECT_EQ(done["schema"], "solve.run/1");
  EXPECT_EQ(done["result"]["method"], "cg");
  EXPECT_EQ(run("a.mtx -s dry-run=true").exit_code, 2);
}

/// PageRank has a bound on its iterations, which holds; solves have none.
TEST_F(DryRunTest, IterationsAreBoundedWhereTheyCanBe) {
  const std::string line = "pagerank --generate rmat:scale=10 --damping 0.9 --tol 1e-7";
  const json foretold = forecast(line)["iteration"];
  const auto took = json::parse(run(line + " --json").out)["result"]["iterations"].get<std::int64_t>();
  EXPECT_GE(foretold["most"].get<std::int64_t>(), took);
  EXPECT_LE(foretold["most"].get<std::int64_t>(), 200);
  EXPECT_GT(foretold["ms"].get<double>(), 0.0);
  EXPECT_TRUE(forecast("--poisson2d 20")["iteration"]["most"].is_null());
  EXPECT_NE(run("--poisson2d 20 --dry-run").out.find("how many it takes is not known before"), std::string::npos);
}

TEST_F(DryRunTest, RungsBehindTheFirstAreNamed) {
  const json later = forecast("--poisson2d 40")["later"];
  ASSERT_FALSE(later.empty());
  EXPECT_NE(later[0]["name"].get<std::string>().find("-p ict"), std::string::npos) << later;
  EXPECT_GT(later[0]["bytes"].get<std::int64_t>(), 0);
  const json power = forecast("spgemm --poisson2d 20 --power 9");
  EXPECT_EQ(power["result"]["status"], "unknown");
  EXPECT_EQ(power["later"][0]["name"], "A^9");
  EXPECT_EQ(forecast("spgemm --poisson2d 20 --power 5")["result"]["status"], "fits");
}

TEST_F(DryRunTest, EmptyAndRectangularMatrices) {
  file("empty.mtx", "%%MatrixMarket matrix coordinate real general\n0 0 0\n");
  file("w.mtx", "%%MatrixMarket matrix coordinate real general\n2 3 1\n1 1 1\n");
  for (const char* line : {"empty.mtx", "pagerank empty.mtx", "spgemm empty.mtx", "compare w.mtx", "w.mtx"}) {
    EXPECT_FALSE(forecast(line)["phases"].empty()) << line;
  }
  for (const char* line : {"w.mtx -m cg", "pagerank w.mtx", "spgemm w.mtx"}) {
    EXPECT_EQ(run(std::string(line) + " --dry-run").exit_code, 5) << line;
  }
}

TEST(MemorySpeedTest, IsMeasuredWithinItsMemory) {
  const auto speed = support::measure_memory_speed(0, 1 << 16, Device::host(1));
  EXPECT_LE(speed.working_set, 1U << 16);
  EXPECT_GT(speed.bytes_per_second, 1e6);
  EXPECT_LT(speed.bytes_per_second, 1e14);
  EXPECT_EQ(speed.threads, 1);
}

}  // namespace

}  // namespace tessera::testing
