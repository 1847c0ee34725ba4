/// Every document against its published schema, by an independent validator; and documents that the schemas must
/// refuse.

#include "solve_process.hpp"
#include "tools.hpp"

namespace tessera::testing {

namespace {

class SchemaTest : public SolveTest {
 protected:
  [[nodiscard]] ProcessResult validate(const std::vector<std::string>& documents) const {
    std::vector<std::string> arguments{"/usr/bin/env", TESSERA_PYTHON, TESSERA_SOURCE_DIR "/scripts/validate-json.py"};
    arguments.insert(arguments.end(), documents.begin(), documents.end());
    return run_process(arguments);
  }
  [[nodiscard]] ProcessResult validate_text(const std::string& text) const {
    return validate({file("one.json", text)});
  }
};

#define TESSERA_NEED_VALIDATOR() TESSERA_NEED_TOOL("python3-jsonschema", TESSERA_PYTHON, "-c", "import jsonschema")

TEST_F(SchemaTest, EveryDocumentIsAsPublished) {
  TESSERA_NEED_VALIDATOR();
  file("A.mtx", laplace4);
  file("web.mtx", "%%MatrixMarket matrix coordinate pattern general\n3 3 4\n1 2\n2 3\n3 1\n3 1\n");
  file("p.mtx", "%%MatrixMarket matrix array real general\n3 1\n1\n2\n0\n");
  file("inf.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 4\n1 1 1e308\n1 2 1e308\n2 1 1e308\n2 2 1e300\n");
  file("indefinite.mtx", "%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 1\n2 2 1\n2 1 2\n");
  file("b.mtx", "%%MatrixMarket matrix array real general\n2 1\n1\n-1\n");
  file("tall.mtx", "%%MatrixMarket matrix coordinate real general\n3 2 4\n1 1 1\n2 1 2\n2 2 1\n3 2 5\n");
  file("empty.mtx", "%%MatrixMarket matrix coordinate real general\n0 0 0\n");
  file("solve.toml", "seed = 9\n");
  const std::vector<std::pair<const char*, int>> lines{
      {"A.mtx", 0},
      {"A.mtx -m cg --device host,host", 0},
      {"pagerank web.mtx --device host,host", 0},
      {"empty.mtx", 0},
      {"web.mtx -m bicgstab -b random -p none --rtol 1e-6", 0},
      {"--poisson3d 6 --plan-info -k merbit -o x.mtx -s dtol=1e6", 0},
      {"--convdiff 5 --precision fp32 --max-time 5m --mem-limit 1GiB", 0},
      {"--poisson2d 8 --max-iters 2 -v", 3},
      {"--poisson2d 20 -p amg --precond-opt sweeps=2", 0},
      {"--poisson2d 20 -p fsai:3:0.05", 0},
      {"--convdiff 5 -p spai", 0},
      {"--poisson2d 160", 0},
      {"A.mtx --report page.html --plot", 0},
      {"spgemm A.mtx --transpose b --report page.html", 0},
      {"inf.mtx", 4},
      {"-m cg indefinite.mtx -b b.mtx", 4},
      {"-m bicgstab indefinite.mtx -b b.mtx --x0 random", 0},
      {"tall.mtx -b random --damp 0.1 -p jacobi", 0},
      {"tall.mtx --dry-run", 0},
      {"pagerank web.mtx --personalize p.mtx", 0},
      {"pagerank web.mtx --personalize 1:2,2", 0},
      {"pagerank web.mtx --personalize 1;2", 0},
      {"hits web.mtx", 0},
      {"hits empty.mtx --dry-run", 0},
      {"katz web.mtx --max-iters 1", 3},
      {"pagerank --powerlaw 100 --max-iters 1 --top 0", 3},
      {"pagerank empty.mtx --sum n", 0},
      {"inspect A.mtx", 0},
      {"inspect empty.mtx", 0},
      {"inspect --powerlaw 50 --no-spy", 0},
      {"inspect --poisson3d 9", 0},
      {"convert A.mtx A.tsb", 0},
      {"convert A.mtx A.tiles", 0},
      {"convert --vector p.mtx p.mtx.gz", 0},
      {"spgemm A.mtx --verify", 0},
      {"spgemm web.mtx --power 0", 0},
      {"spgemm A.mtx A.tsb --estimate hll", 0},
      {"spgemm inf.mtx --verify", 8},
      {"spgemm --generate fem3d:1000 --estimate sampled --precision fp32", 0},
      {"spgemm empty.mtx", 0},
      {"spgemm A.mtx --precision fp16-fp32", 0},
      {"spgemm empty.mtx --precision 3xtf32", 0},
      {"A.tsb", 0},
      {"A.mtx --cache=on", 0},
      {"--generate road:100", 0},
      {"compare A.mtx --repeat 3 --solvers cg,bicgstab --cold", 0},
      {"compare --poisson2d 20 --kernels csr --solvers cg --preconds jacobi,amg --repeat 3", 0},
      {"compare --powerlaw 100 --solvers pagerank --repeat 3", 0},
      {"A.mtx --dry-run", 0},
      {"A.mtx -m cg -p none --dry-run --mem-limit 1KB", 6},
      {"A.mtx -m cg -p none --ordering degree --dry-run", 0},
      {"A.mtx -m cg -p none --ordering rcm --dry-run --mem-limit 1KB", 6},
      {"pagerank web.mtx --ordering degree", 0},
      {"pagerank web.mtx --dry-run", 0},
      {"pagerank web.mtx --ordering rcm --dry-run", 0},
      {"pagerank web.mtx --ordering rcm --device host,host --dry-run", 0},
      {"A.mtx -m cg --device host,host --dry-run", 0},
      {"A.mtx -m cg -p amg --device host,host --dry-run --mem-limit 1KB", 6},
      {"pagerank web.mtx --device host,host --dry-run", 0},
      {"spgemm A.mtx A.tsb --dry-run", 0},
      {"spgemm --poisson2d 9 --transpose a --dry-run", 0},
      {"compare empty.mtx --dry-run", 0},
      {"compare A.mtx --kernels csr --ordering degree --repeat 3 --min-time 0", 0},
      {"compare A.mtx --ordering rcm --dry-run", 0},
      {"list", 0},
      {"list kernels", 0},
      {"--version", 0},
      {"doctor", 0}};
  std::vector<std::string> documents;
  for (const auto& [line, code] : lines) {
    const std::string name = "document" + std::to_string(documents.size()) + ".json";
    const auto result = run(std::string(line) + " --json=" + name);
    EXPECT_EQ(result.exit_code, code) << line << "\n" << result.err;
    documents.push_back(path(name));
  }
  file("bad.mtx", "%%MatrixMarket matrix\n");
  EXPECT_EQ(run("bench . poisson2d:4 --methods auto,cg --max-time 1m --json runs.jsonl -q").exit_code, 5);
  documents.push_back(path("runs.jsonl"));
  const auto verdict = validate(documents);
  EXPECT_EQ(verdict.exit_code, 0) << verdict.out << verdict.err;
}

/// One change each, none of which a document may have.
TEST_F(SchemaTest, WhatIsNotAsPublishedIsRefused) {
  TESSERA_NEED_VALIDATOR();
  const std::string text = run("--poisson3d 4 --json").out;
  ASSERT_EQ(validate_text(text).exit_code, 0) << validate_text(text).out << validate_text(text).err;
  const auto with = [&](const char* pointer, const nlohmann::json& value) {
    auto document = nlohmann::json::parse(text);
    document[nlohmann::json::json_pointer(pointer)] = value;
    return document.dump();
  };
  const auto without = [&](const char* parent, const char* key) {
    auto document = nlohmann::json::parse(text);
    EXPECT_EQ(document[nlohmann::json::json_pointer(parent)].erase(key), 1U) << parent << key;
    return document.dump();
  };
  for (const std::string& broken : {with("/extra", 1),
                                    with("/schema", "solve.other/1"),
                                    with("/schema", 3),
                                    with("/result/status", "fine"),
                                    with("/result/iterations", -1),
                                    with("/result/iterations", 1.5),
                                    with("/result/residual/true", "1e-9"),
                                    with("/result/residual/unit", "m"),
                                    with("/matrix/path", "also.mtx"),
                                    with("/matrix/rows", nullptr),
                                    with("/config/rtol", 1e-8),
                                    with("/config/rtol/source", "somewhere"),
                                    with("/history/rows/0", {0, 1.0}),
                                    with("/timings_ms/solve_nonfinite", "huge"),
                                    with("/warnings/0", "text"),
                                    with("/started", "today"),
                                    without("", "result"),
                                    without("/result", "status"),
                                    without("/matrix", "generator"),
                                    without("/tool/build", "flags"),
                                    std::string("{\"schema\": \"solve.run/1\", \"x\": NaN}"),
                                    std::string("[]")}) {
    const auto verdict = validate_text(broken);
    EXPECT_EQ(verdict.exit_code, 1) << broken << verdict.err;
    EXPECT_FALSE(verdict.out.empty());
  }
}

TEST_F(SchemaTest, ProgressLinesAreJsonWarningsToo) {
  const auto result = run("--poisson2d 30 --rtol 1e-20 --max-iters 5 --progress json");
  std::istringstream lines(result.err);
  std::vector<std::string> codes;
  for (std::string line; std::getline(lines, line);) {
    const auto event = nlohmann::json::parse(line);
    if (event["event"] == "warning") codes.push_back(event["code"]);
  }
  EXPECT_EQ(codes, (std::vector<std::string>{"W010", "W006", "W018"})) << result.err;
}

TEST_F(SchemaTest, DerivedNumbersFollowFromTheOthers) {
  const auto json = nlohmann::json::parse(run("--poisson3d 12 --json").out);
  const double seconds = json["timings_ms"]["solve"].get<double>() * 1e-3;
  const double products = json["result"]["spmv_count"].get<double>();
  const double flops = 2.0 * json["matrix"]["nnz"].get<double>() * products;
  EXPECT_NEAR(json["derived"]["gflops"].get<double>(), flops / seconds * 1e-9, 1e-9 * flops / seconds * 1e-3);
  const double bytes =
      products * (json["memory_bytes"]["matrix"].get<double>() + json["memory_bytes"]["plan"].get<double>());
  EXPECT_NEAR(json["derived"]["gbytes_per_s"].get<double>(), bytes / seconds * 1e-9, 1e-9 * bytes / seconds * 1e-3);
  EXPECT_EQ(json["result"]["residual"]["rtol"], 1e-8);
  EXPECT_TRUE(json["timings_ms"].contains("generate"));
  EXPECT_FALSE(json["timings_ms"].contains("read"));
  EXPECT_GT(json["timings_ms"]["per_iteration_median"].get<double>(), 0.0);
  EXPECT_EQ(json["timings_ms"]["write"], 0.0);
}

}  // namespace

}  // namespace tessera::testing
