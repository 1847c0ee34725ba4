/// `solve compare` as a process: outputs, exit codes, refusals.

#include "scattered_path.hpp"
#include "solve_process.hpp"

#include "compare/comparison.hpp"
#include "tessera/generators.hpp"
#include "tessera/ordering.hpp"
#include "tessera/spmv.hpp"
#include "tessera/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tessera::testing {

namespace {

/// Short enough for a test.
const std::string quick = " --repeat 3 --warmup 1 --min-time 0";

class CompareTest : public SolveTest {
 protected:
  [[nodiscard]] nlohmann::json json_of(const std::string& line, int exit_code = 0) const {
    const auto result = run("compare " + line + quick + " --json");
    EXPECT_EQ(result.exit_code, exit_code) << line << "\n" << result.err;
    return nlohmann::json::parse(result.out);
  }
  void expect_exit(const std::string& line, int exit_code, const std::string& text) const {
    const auto result = run("compare " + line);
    EXPECT_EQ(result.exit_code, exit_code) << line << "\n" << result.out << result.err;
    EXPECT_NE(result.err.find(text), std::string::npos) << line << "\n" << result.err;
    EXPECT_TRUE(result.out.empty()) << line << "\n" << result.out;
  }
};

TEST_F(CompareTest, EveryKernelOfTheRegistryHasARow) {
  const auto result = run("compare --poisson3d 12" + quick);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  for (const SpmvAlgorithm algorithm : spmv_algorithms()) {
    EXPECT_NE(result.out.find(" " + std::string(to_string(algorithm)) + " "), std::string::npos) << result.out;
  }
  EXPECT_NE(result.out.find("\n* "), std::string::npos) << result.out;
  EXPECT_EQ(result.out.find("FAIL"), std::string::npos) << result.out;
}

/// y is held against A of the file, solutions against b of the file.
TEST_F(CompareTest, AllKernelsInOneOtherNumbering) {
  file("a.mtx", scattered_path());
  EXPECT_FALSE(json_of("a.mtx").contains("ordering"));
  for (const std::string ordering : {"natural", "rcm", "degree"}) {
    const std::string line = "a.mtx --kernels csr,merbit,csr5 --solvers cg --preconds ilu0 --ordering ";
    const auto json = json_of(line + ordering);
    EXPECT_EQ(json["ordering"]["name"], ordering);
    const auto bytes = json["ordering"]["bytes"].get<std::int64_t>();
    // 1000 numbers, and P A P' of 2998 entries of 12 bytes and 1001 offsets.
    EXPECT_EQ(bytes, ordering == "natural" ? 0 : 4 * 1000 + 2998 * 12 + 1001 * 8);
    EXPECT_EQ(json["memory_bytes"]["matrix"], 2998 * 12 + 1001 * 8 + bytes);
    ASSERT_EQ(json["cases"].size(), 6U);
    for (const auto& item : json["cases"]) {
      EXPECT_EQ(item["result"]["status"], item["kind"] == "product" ? "pass" : "converged") << item;
    }
    const auto foretold = nlohmann::json::parse(run(fmt::format("compare {}{} --dry-run --json", line, ordering)).out);
    EXPECT_EQ(foretold["ordering"]["bytes"], bytes);
  }
  const auto graph = json_of("--generate rmat:scale=7 --kernels csr,merbit --solvers pagerank --ordering degree");
  EXPECT_EQ(graph["cases"].back()["result"]["status"], "converged");
  const auto shown = run("compare a.mtx --kernels csr --ordering rcm --md m.md" + quick);
  EXPECT_NE(shown.out.find("\nordering    rcm, "), std::string::npos) << shown.out;
  EXPECT_NE(contents(path("m.md")).find("- numbering rcm, set-up "), std::string::npos);
}

/// Row 1 stands alone, so b = e_1 is solved by one iteration; rcm puts an end of the path first.
TEST_F(CompareTest, RightHandSidesAreThoseOfTheFile) {
  file("e.mtx",
       "%%MatrixMarket matrix coordinate real symmetric\n6 6 10\n1 1 2\n2 2 3\n3 3 3\n4 4 3\n5 5 3\n6 6 3\n"
       "3 2 -1\n4 3 -1\n5 4 -1\n6 5 -1\n");
  for (const std::string ordering : {"natural", "rcm"}) {
    const auto json = json_of("e.mtx --kernels csr --solvers cg --preconds none -b unit:1 --ordering " + ordering);
    EXPECT_EQ(json["cases"].back()["result"]["iterations"], 1) << ordering;
  }
}

TEST_F(CompareTest, NumberingsThatDoNotApply) {
  file("w.mtx", "%%MatrixMarket matrix coordinate real general\n2 3 1\n1 1 1\n");
  expect_exit("w.mtx --ordering rcm", 5, "an ordering needs a square matrix, this one is 2 x 3");
  expect_exit("w.mtx --ordering rcm --dry-run", 5, "a square one is needed");
  expect_exit("--poisson2d 4 --ordering metis", 2, "expected one of natural, rcm, degree");
  expect_exit("--poisson2d 4 --solvers cg --preconds amg --block 2 --ordering rcm", 2,
              "--ordering rcm separates the rows that blocks");
  expect_exit("--poisson2d 100 --kernels csr --ordering degree --mem-limit 1MB", 6, "in another numbering");
}

/// A numbering that is not that of P A P' is told from it.
TEST(CompareOrdering, AWrongOneFails) {
  const auto matrix = std::make_shared<const Csr<double>>(poisson2d<double>(5, 4));
  std::vector<index_t> order = ordering(matrix->view(), Ordering::rcm);
  compare::Settings settings;
  settings.timing.warmup = 0;
  settings.timing.rounds = 1;
  settings.timing.min_seconds = 0.0;
  compare::Subject<double> subject{std::make_shared<const Csr<double>>(permuted(matrix->view(), order)),
                                   statistics(matrix->view()), "grid"};
  subject.source = matrix;
  subject.order = order;
  const auto candidates = compare::registered_candidates<double>(Device{});
  EXPECT_FALSE(compare::compare_kernels(settings, subject, candidates).failed());
  std::swap(order[3], order[11]);
  const compare::Outcome wrong = compare::compare_kernels(settings, subject, candidates);
  for (const compare::KernelRow& row : wrong.products) EXPECT_FALSE(row.passed) << row.kernel;
}

TEST_F(CompareTest, TheDocumentHoldsACaseAKernel) {
  const auto json = json_of("--poisson3d 12 --solvers cg,bicgstab");
  EXPECT_EQ(json["schema"], "solve.compare/1");
  EXPECT_EQ(json["result"]["status"], "complete");
  EXPECT_EQ(json["matrix"]["rows"], 1728);
  // 7-point Laplacian of 12^3: 11 232 nonzeros of 12 bytes, 1729 offsets of 8, x and y of 8 each.
  EXPECT_EQ(json["result"]["least_bytes"], 11'232 * 12 + 1729 * 8 + 2 * 1728 * 8);
  EXPECT_EQ(json["matrix"]["nnz"], 11'232);
  std::set<std::string> products;
  std::set<std::string> solves;
  for (const auto& item : json["cases"]) {
    if (item["kind"] == "product") {
      products.insert(item["kernel"]);
      EXPECT_EQ(item["result"]["status"], "pass");
      EXPECT_EQ(item["product_ms"]["warm"]["count"], 3);
      EXPECT_GT(item["product_ms"]["warm"]["median"], 0.0);
      EXPECT_LE(item["verification"]["error_over_bound"], 1.0);
      EXPECT_GT(item["derived"]["gbytes_per_s"], 0.0);
      EXPECT_NEAR(item["applies_total_ms"].get<double>(),
                  item["setup_ms"]["median"].get<double>() + 1000 * item["product_ms"]["warm"]["median"].get<double>(),
                  1e-6);
    } else {
      solves.insert(item["solver"].get<std::string>() + " " + item["kernel"].get<std::string>());
      EXPECT_EQ(item["result"]["status"], "converged");
      EXPECT_LE(item["result"]["residual"]["checked"], item["result"]["residual"]["target"].get<double>() * 1.001);
    }
  }
  EXPECT_GE(products.size(), spmv_algorithms().size());
  EXPECT_EQ(solves.size(), 2 * products.size());
  EXPECT_TRUE(products.contains(json["result"]["best"].get<std::string>()));
}

TEST_F(CompareTest, KernelsAreChosenAndTheReferenceStays) {
  const auto json = json_of("--poisson2d 10 --kernels merge");
  ASSERT_EQ(json["cases"].size(), 2U);
  std::set<std::string> names{json["cases"][0]["kernel"], json["cases"][1]["kernel"]};
  EXPECT_EQ(names, (std::set<std::string>{"csr", "merge"}));
}

TEST_F(CompareTest, SortPutsTheBestFirst) {
  for (const std::string key : {"total", "spmv", "setup", "error", "memory"}) {
    const auto json = json_of("--powerlaw 300 --sort " + key);
    double last = -1.0;
    for (const auto& item : json["cases"]) {
      double value = item["applies_total_ms"];
      if (key == "spmv") value = item["product_ms"]["warm"]["median"];
      if (key == "setup") value = item["setup_ms"]["median"];
      if (key == "error") value = item["verification"]["error_over_bound"];
      if (key == "memory") value = item["plan"]["bytes"];
      EXPECT_GE(value, last) << key;
      last = value;
    }
  }
}

TEST_F(CompareTest, ShapesAtTheEdge) {
  file("empty.mtx", "%%MatrixMarket matrix coordinate real general\n0 0 0\n");
  file("blank.mtx", "%%MatrixMarket matrix coordinate real general\n3 2 0\n");
  file("one.mtx", "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 4\n");
  file("wide.mtx", "%%MatrixMarket matrix coordinate real general\n2 5 3\n1 1 1\n1 5 2\n2 3 -1\n");
  file("tall.mtx", "%%MatrixMarket matrix coordinate pattern general\n5 2 3\n1 1\n5 2\n3 1\n");
  for (const std::string name : {"empty", "blank", "one", "wide", "tall"}) {
    for (const std::string precision : {"fp64", "fp32"}) {
      const auto json = json_of(name + ".mtx --precision " + precision);
      for (const auto& item : json["cases"]) EXPECT_EQ(item["result"]["status"], "pass") << name << item;
      EXPECT_EQ(run("compare " + name + ".mtx" + quick).exit_code, 0);
    }
  }
  EXPECT_EQ(json_of("tall.mtx")["matrix"]["value"], "pattern");
  EXPECT_EQ(json_of("one.mtx --solvers cg,bicgstab,pagerank")["cases"].size() % 4, 0U);
  EXPECT_EQ(json_of("empty.mtx --solvers cg")["result"]["status"], "complete");
  const auto unweighted = json_of("one.mtx --unweighted");
  for (const auto& item : unweighted["cases"]) EXPECT_EQ(item["result"]["status"], "pass");
}

TEST_F(CompareTest, CsvAndMarkdownGoWhereTheyAreTold) {
  const auto csv = run("compare --poisson2d 8 --csv -" + quick);
  EXPECT_EQ(csv.exit_code, 0) << csv.err;
  EXPECT_TRUE(csv.out.starts_with("kind,solver,kernel,")) << csv.out;
  const auto lines = std::count(csv.out.begin(), csv.out.end(), '\n');
  EXPECT_GT(lines, static_cast<std::ptrdiff_t>(spmv_algorithms().size()));
  const auto markdown = run("compare --poisson2d 8 --md -" + quick);
  EXPECT_NE(markdown.out.find("| --- | ---: |"), std::string::npos) << markdown.out;
  const auto files = run("compare --poisson2d 8 --csv a.csv --md a.md --json=a.json" + quick);
  EXPECT_EQ(files.exit_code, 0) << files.err;
  EXPECT_TRUE(files.out.starts_with("matrix ")) << "the summary stays on standard output: " << files.out;
  EXPECT_TRUE(contents(path("a.csv")).starts_with("kind,"));
  EXPECT_FALSE(contents(path("a.md")).empty());
  EXPECT_TRUE(nlohmann::json::accept(contents(path("a.json"))));
}

TEST_F(CompareTest, ColdCachesHaveRowsOfTheirOwn) {
  const auto json = json_of("--poisson2d 20 --cold --kernels csr");
  EXPECT_EQ(json["cases"][0]["product_ms"]["cold"]["count"], 3);
  const auto text = run("compare --poisson2d 20 --cold --kernels csr" + quick);
  EXPECT_NE(text.out.find("    cold"), std::string::npos) << text.out;
}

TEST_F(CompareTest, UsageErrors) {
  expect_exit("", 2, "no problem given");
  expect_exit("--poisson2d 4 --json --csv -", 2, "--json and --csv - both want standard output");
  expect_exit("--poisson2d 4 --md - --csv -", 2, "both want standard output");
  expect_exit("--poisson2d 4 --md - --csv - --json", 2, "all want standard output");
  expect_exit("--poisson2d 4 --kernels merbti", 2, "did you mean merbit?");
  expect_exit("--poisson2d 4 --solvers cgg", 2, "did you mean cg?");
  expect_exit("--poisson2d 4 --solvers cg,cg", 2, "cg is given twice");
  expect_exit("--poisson2d 4 --sort speed", 2, "option --sort");
  expect_exit("--poisson2d 4 --applies 0", 2, "option --applies");
  expect_exit("--poisson2d 4 --repeat 0", 2, "option --repeat");
  expect_exit("--poisson2d 4 --noise -1", 2, "option --noise");
  expect_exit("--poisson2d 4 --min-time none", 2, "option --min-time");
  expect_exit("--poisson2d 4 --rtol 1e-3", 2, "option --rtol has no effect on products");
  expect_exit("--poisson2d 4 --damping 0.5 --solvers cg", 2, "add --solvers pagerank");
  expect_exit("--poisson2d 4 --fail-if-slower 5%", 2, "add --baseline FILE");
  expect_exit("--poisson2d 4 --spmv merge", 2, "option --spmv does not apply to compare");
  expect_exit("--poisson2d 4 -o x.mtx", 2, "option --output does not apply to compare");
  expect_exit("--poisson2d 4 --events e.jsonl", 2, "option --events is planned and not implemented in Tessera 0.1");
  EXPECT_EQ(run("--poisson2d 4 --kernels all").exit_code, 2) << "an option of compare alone";
}

TEST_F(CompareTest, BadInputAndUnwritableOutput) {
  file("wide.mtx", "%%MatrixMarket matrix coordinate real general\n2 5 1\n1 1 1\n");
  file("short.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n");
  file("negative.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 -1\n");
  expect_exit("missing.mtx", 5, "missing.mtx");
  expect_exit("short.mtx", 5, "short.mtx:");
  expect_exit("wide.mtx --solvers cg", 5, "the matrix is 2 x 5, --solvers needs a square one");
  expect_exit("negative.mtx --solvers pagerank", 5, "negative.mtx");
  expect_exit("negative.mtx --solvers cg -p jacobi", 5, "negative.mtx");
  expect_exit("--poisson2d 4 --csv no/such/place.csv", 5, "no/such/place.csv");
  expect_exit("--poisson2d 4 --baseline missing.json", 5, "missing.json");
  expect_exit("short.mtx --csv short.mtx", 2, "would overwrite an input");
  expect_exit("--poisson2d 4 --csv a --md a", 2, "name the same file");
  expect_exit("--poisson2d 500 --mem-limit 1MB", 6, "memory");
}

TEST_F(CompareTest, SolvesThatDoNotConvergeKeepTheirRows) {
  const auto limited = json_of("--poisson2d 20 --solvers cg --max-iters 1", 3);
  EXPECT_EQ(limited["cases"].back()["result"]["status"], "max_iterations");
  EXPECT_EQ(limited["result"]["exit_code"], 3);
  EXPECT_EQ(json_of("--poisson2d 20 --solvers cg --max-iters 1 --exit-zero")["result"]["exit_code"], 0);
  file("indefinite.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n2 2 -1\n");
  EXPECT_EQ(json_of("indefinite.mtx --solvers cg", 4)["cases"].back()["result"]["status"], "breakdown");
}

TEST_F(CompareTest, ABaselineShowsTheChangeAndALossExitsWith8) {
  file("A.mtx", laplace4);
  EXPECT_EQ(run("compare A.mtx -q --json=old.json" + quick).exit_code, 0);
  const auto same = run("compare A.mtx --baseline old.json" + quick);
  EXPECT_EQ(same.exit_code, 0) << same.err;
  EXPECT_NE(same.out.find("baseline"), std::string::npos) << same.out;

  // What was a thousand times faster once has lost for certain, if a sample or two that the machine interrupted do not
  // decide.
  const std::string steady = " --repeat 25 --warmup 1 --min-time 0";
  auto old = nlohmann::json::parse(contents(path("old.json")));
  for (auto& item : old["cases"]) {
    for (const char* key : {"median", "q1", "q3"}) {
      item["product_ms"]["warm"][key] = item["product_ms"]["warm"][key].get<double>() / 1000;
    }
  }
  file("old.json", old.dump());
  const auto slower = run("compare A.mtx --baseline old.json --fail-if-slower 5% --json=new.json" + steady);
  EXPECT_EQ(slower.exit_code, 8) << slower.err;
  EXPECT_NE(slower.out.find("SLOWER product csr warm"), std::string::npos) << slower.out;
  const auto document = nlohmann::json::parse(contents(path("new.json")));
  EXPECT_EQ(document["result"]["status"], "slower");
  EXPECT_GT(document["cases"][0]["product_ms"]["warm"]["baseline"]["low"], 10.0);
  EXPECT_EQ(run("compare A.mtx -q --baseline old.json" + quick).exit_code, 0) << "without a threshold nothing fails";

  const auto other = run("compare --poisson2d 4 --baseline old.json" + quick);
  EXPECT_EQ(other.exit_code, 5);
  EXPECT_NE(other.err.find("it compares on a 4 x 4 matrix"), std::string::npos) << other.err;
}

/// Signalled in the middle of minutes of rounds: what was measured is written.
TEST_F(CompareTest, InterruptsWriteWhatWasMeasured) {
  for (const auto& [signal, code] : {std::pair{SIGINT, 130}, std::pair{SIGTERM, 143}}) {
    ProcessOptions options;
    options.directory = path("");
    options.signal_when = {signal, "\"phase\":\"timing 2 kernels in turn\""};
    const auto result = solve(
        words("compare --poisson2d 300 --kernels merge --repeat 1000000 --solvers cg --progress json --json"), options);
    ASSERT_FALSE(result.timed_out);
    EXPECT_EQ(result.exit_code, code) << result.err;
    const auto json = nlohmann::json::parse(result.out);
    EXPECT_EQ(json["result"]["status"], "interrupted");
    EXPECT_EQ(json["result"]["exit_code"], code);
    ASSERT_EQ(json["cases"].size(), 4U);
    EXPECT_EQ(json["cases"][3]["result"]["status"], "not_run");
  }
}

}  // namespace

}  // namespace tessera::testing
