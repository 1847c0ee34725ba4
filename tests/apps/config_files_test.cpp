/// Settings of the commands whose words are files: A and B of spgemm, IN and OUT of convert.

#include "solve_process.hpp"

namespace tessera::testing {

namespace {

using nlohmann::json;

class ConfigFilesTest : public SolveTest {
 protected:
  void SetUp() override {
    SolveTest::SetUp();
    file("a.mtx", laplace4);
    file("w.mtx", "%%MatrixMarket matrix coordinate real general\n4 2 3\n1 1 1\n2 2 3\n4 1 2\n");
  }
  [[nodiscard]] ProcessResult run_with(const std::vector<std::string>& variables, const std::string& line) const {
    std::vector<std::string> arguments = words(line);
    arguments.insert(arguments.begin(), TESSERA_SOLVE_BINARY);
    ProcessOptions options;
    options.directory = path("");
    options.variables = variables;
    return run_process(arguments, options);
  }
  [[nodiscard]] json document(const std::string& line) const {
    const auto result = run(line + " --json");
    EXPECT_EQ(result.exit_code, 0) << line << "\n" << result.err;
    return json::parse(result.out);
  }
};

TEST_F(ConfigFilesTest, TheEnvironmentCounts) {
  for (const char* line : {"spgemm --poisson2d 50 -q", "convert --poisson2d 50 p.tsb", "inspect --poisson2d 50"}) {
    EXPECT_EQ(run_with({"SOLVE_MEM_LIMIT=1KB"}, line).exit_code, 6) << line;
    const auto mistyped = run_with({"SOLVE_MEM_LIMITT=1KB"}, line);
    EXPECT_EQ(mistyped.exit_code, 2) << line;
    EXPECT_NE(mistyped.err.find("SOLVE_MEM_LIMITT: unknown key"), std::string::npos) << mistyped.err;
  }
  EXPECT_EQ(run_with({"SOLVE_POWER=3"}, "spgemm a.mtx --json=p.json").exit_code, 0);
  EXPECT_EQ(json::parse(contents(path("p.json")))["power"], 3);
  EXPECT_EQ(run_with({"SOLVE_RIGHT=w.mtx"}, "spgemm a.mtx --json=r.json").exit_code, 0);
  EXPECT_EQ(json::parse(contents(path("r.json")))["result"]["cols"], 2);
}

TEST_F(ConfigFilesTest, FilesAndSetCount) {
  file("solve.toml", "precision = \"fp32\"\nrtol = 1e-3\n");
  EXPECT_EQ(document("spgemm a.mtx")["matrix"]["value"], "fp32");
  EXPECT_EQ(document("convert a.mtx a.tsb")["matrix"]["value"], "fp32");
  EXPECT_EQ(document("spgemm a.mtx -s precision=fp64")["matrix"]["value"], "fp64");
  file("c.toml", "command = \"spgemm\"\nmatrix = \"a.mtx\"\nright = \"w.mtx\"\n");
  EXPECT_EQ(document("-c c.toml")["result"]["cols"], 2);
  EXPECT_EQ(document("-c c.toml -s right=")["power"], 2);
  EXPECT_EQ(run("convert a.mtx b.tsb -s rtol=1").exit_code, 2) << "typed, but of another command";
  EXPECT_EQ(run("spgemm a.mtx w.mtx --right a.mtx").exit_code, 2);
}

/// A word that is stronger than a file stands for A; B stays.
TEST_F(ConfigFilesTest, WordsReplaceWhatFilesName) {
  file("c.toml", "matrix = \"w.mtx\"\npower = 3\n");
  const json product = document("spgemm -c c.toml a.mtx w.mtx");
  EXPECT_EQ(product["result"]["cols"], 2);
  EXPECT_TRUE(product["power"].is_null());
  EXPECT_EQ(document("spgemm -c c.toml a.mtx")["power"], 3);
  file("d.toml", "right = \"w.mtx\"\n");
  EXPECT_EQ(document("spgemm -c d.toml a.mtx --power 3")["power"], 3);
}

/// The document of a product with B repeats that product, and not A A.
TEST_F(ConfigFilesTest, ADocumentRepeatsItsProduct) {
  for (const char* line : {"spgemm a.mtx w.mtx", "spgemm --poisson2d 2 w.mtx", "spgemm w.mtx --transpose b",
                           "spgemm w.mtx a.mtx --transpose a", "spgemm a.mtx --power 3"}) {
    const auto first = run(std::string(line) + " -q -o c.mtx --json=product.json --verify");
    ASSERT_EQ(first.exit_code, 0) << line << first.err;
    const std::string c = contents(path("c.mtx"));
    std::filesystem::remove(path("c.mtx"));
    const auto again = run("-c product.json");
    EXPECT_EQ(again.exit_code, 0) << line << again.err;
    EXPECT_EQ(contents(path("c.mtx")), c) << line;
  }
  json old = json::parse(run("spgemm a.mtx w.mtx --json").out);
  old["config"].erase("right");
  file("old.json", old.dump());
  const auto refused = run("spgemm -c old.json");
  EXPECT_EQ(refused.exit_code, 5) << refused.out;
  EXPECT_NE(refused.err.find("does not name B"), std::string::npos) << refused.err;
}

TEST_F(ConfigFilesTest, PrintedConfigurationsRepeatTheRun) {
  file("solve.toml", "seed = 7\nthreads = 1\ntranspose = true\n");
  for (const char* line :
       {"spgemm a.mtx w.mtx -o c.mtx", "spgemm w.mtx --transpose b -o c.mtx", "spgemm --poisson2d 2 w.mtx -o c.mtx",
        "spgemm a.mtx --power 3 -o c.mtx", "convert w.mtx c.mtx", "convert w.mtx -o c.mtx --transpose",
        "convert --poisson2d 3 c.mtx"}) {
    const auto printed = run(std::string(line) + " --print-config");
    ASSERT_EQ(printed.exit_code, 0) << line << printed.err;
    EXPECT_FALSE(std::filesystem::exists(path("c.mtx"))) << line;
    file("f.toml", printed.out);
    EXPECT_EQ(run("-c f.toml --print-config").out, printed.out) << line;
    ASSERT_EQ(run(line).exit_code, 0) << line;
    const std::string c = contents(path("c.mtx"));
    std::filesystem::remove(path("c.mtx"));
    file("solve.toml", "seed = 8\npower = 2\nright = \"no\"\npattern = true\npoisson3d = 9\n");
    const auto again = run("-c f.toml");
    EXPECT_EQ(again.exit_code, 0) << line << again.err;
    EXPECT_EQ(contents(path("c.mtx")), c) << line;
    std::filesystem::remove(path("c.mtx"));
    file("solve.toml", "seed = 7\nthreads = 1\ntranspose = true\n");
  }
}

/// transpose = true is meant for commands where it is a flag, transpose = "b" for spgemm.
TEST_F(ConfigFilesTest, TransposeMeansWhatTheCommandTakes) {
  file("solve.toml", "transpose = true\n");
  EXPECT_EQ(document("spgemm a.mtx")["power"], 2);
  EXPECT_EQ(document("inspect w.mtx")["matrix"]["rows"], 2);
  file("solve.toml", "transpose = \"b\"\n");
  EXPECT_EQ(document("inspect w.mtx")["matrix"]["rows"], 4);
  EXPECT_EQ(document("spgemm w.mtx")["result"]["cols"], 4);
  EXPECT_EQ(document("spgemm a.mtx --power 3")["power"], 3) << "typed, so stronger";
  file("solve.toml", "transpose = \"c\"\n");
  EXPECT_EQ(run("spgemm w.mtx").exit_code, 2);
}

/// ordering = "auto" and "metis" are meant for run; other commands keep their natural one.
TEST_F(ConfigFilesTest, OrderingMeansWhatTheCommandTakes) {
  for (const std::string word : {"auto", "metis"}) {
    file("solve.toml", "ordering = \"" + word + "\"\n");
    EXPECT_FALSE(document("pagerank a.mtx --unweighted").contains("ordering")) << word;
    EXPECT_FALSE(document("compare a.mtx --kernels csr --repeat 1 --min-time 0").contains("ordering")) << word;
  }
  EXPECT_EQ(run("a.mtx -m cg --device host").exit_code, 2) << "metis needs several devices";
  file("solve.toml", "ordering = \"degree\"\n");
  EXPECT_EQ(document("pagerank a.mtx --unweighted")["ordering"]["name"], "degree");
  EXPECT_EQ(document("a.mtx -m cg --device host")["ordering"]["name"], "degree");
  EXPECT_EQ(run("pagerank a.mtx --ordering auto").exit_code, 2) << "typed";
}

/// IN and OUT are named for one conversion: what a folder's solve.toml or the environment says is of other runs.
TEST_F(ConfigFilesTest, NoFileIsConvertedThatNobodyNamed) {
  file("solve.toml", "matrix = \"w.mtx\"\noutput = \"x.mtx\"\n");
  for (const char* line : {"convert", "convert a.mtx", "convert a.mtx --force"}) {
    const auto result = run(line);
    EXPECT_EQ(result.exit_code, 2) << line << result.out;
    EXPECT_NE(result.err.find("convert needs IN and OUT"), std::string::npos) << line << result.err;
  }
  EXPECT_EQ(run_with({"SOLVE_POISSON2D=3", "SOLVE_OUTPUT=y.mtx"}, "convert").exit_code, 2);
  EXPECT_EQ(contents(path("a.mtx")), laplace4);
  EXPECT_FALSE(std::filesystem::exists(path("x.mtx")));
  std::filesystem::remove(path("solve.toml"));
  file("c.toml", "matrix = \"w.mtx\"\noutput = \"x.mtx\"\n");
  EXPECT_EQ(run("convert -c c.toml").exit_code, 0);
  EXPECT_EQ(contents(path("x.mtx")), contents(path("w.mtx")));
}

}  // namespace

}  // namespace tessera::testing
