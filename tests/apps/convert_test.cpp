/// solve convert, --cache and --generate: the matrix stays the same whatever it is kept in.

#include "solve_process.hpp"
#include "tests/support/matrices_dir.hpp"

#include "tessera/binary_matrix.hpp"
#include "tessera/generators.hpp"
#include "tessera/matrix_market.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace tessera::testing {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class ConvertTest : public SolveTest {
 protected:
  void expect_ok(const std::string& line) const {
    const auto result = run(line);
    EXPECT_EQ(result.exit_code, 0) << line << "\n" << result.err;
  }
  [[nodiscard]] json document(const std::string& line) const {
    const auto result = run(line + " --json");
    EXPECT_EQ(result.exit_code, 0) << line << "\n" << result.err;
    return json::parse(result.out);
  }
};

template <class T>
void expect_same(const CsrView<T>& a, const CsrView<T>& b) {
  EXPECT_EQ(a.rows, b.rows);
  EXPECT_EQ(a.cols, b.cols);
  EXPECT_EQ(a.storage, b.storage);
  EXPECT_TRUE(std::equal(a.row_offsets.begin(), a.row_offsets.end(), b.row_offsets.begin(), b.row_offsets.end()));
  EXPECT_TRUE(std::equal(a.columns.begin(), a.columns.end(), b.columns.begin(), b.columns.end()));
  EXPECT_TRUE(std::equal(a.values.begin(), a.values.end(), b.values.begin(), b.values.end()));
}

/// Text to binary to compressed text and back, bit by bit.
TEST_F(ConvertTest, RoundTrips) {
  expect_ok("convert --generate rmat:500 a.mtx");
  const auto a = read_matrix_market<double>(path("a.mtx"));
  expect_ok("convert a.mtx b.tsb");
  expect_ok("convert b.tsb c.mtx.gz");
  expect_ok("convert c.mtx.gz d --to tsb");
  expect_same(a.matrix.view(), generate<double>(parse_generator("rmat:500")).view());
  expect_same(a.matrix.view(), read_binary<double>(path("b.tsb")).matrix.view());
  expect_same(a.matrix.view(), read_matrix_market<double>(path("c.mtx.gz")).matrix.view());
  expect_same(a.matrix.view(), read_binary<double>(path("d")).matrix.view());
}

/// To a file of PETSc and back, matrix and vector; every command takes it, and a list of edges, where it takes a
/// matrix.
TEST_F(ConvertTest, FilesOfOtherPrograms) {
  expect_ok("convert --generate rmat:500 a.mtx");
  EXPECT_EQ(document("convert a.mtx a.petsc")["output"]["format"], "petsc");
  expect_ok("convert a.mtx b --to petsc");
  EXPECT_EQ(contents(path("a.petsc")), contents(path("b")));
  expect_ok("convert a.petsc c.mtx --symmetric general");
  expect_same(read_matrix_market<double>(path("a.mtx")).matrix.view(),
              read_matrix_market<double>(path("c.mtx")).matrix.view());
  expect_ok("--poisson2d 9 -b ones -o x.mtx");
  expect_ok("convert --vector x.mtx x.petsc");
  EXPECT_EQ(document("--poisson2d 9 -b x.petsc")["result"]["status"], "converged");
  std::ofstream(path("g.csv")) << "source,target\nzoe,adam\nadam,bob\nbob,zoe\nzoe,bob\n";
  EXPECT_EQ(document("pagerank g.csv")["matrix"]["nnz"], 4);
  EXPECT_EQ(document("inspect g.csv --cache")["matrix"]["rows"], 3);
  EXPECT_FALSE(fs::exists(path("g.csv.tsb"))) << "a cache holds no ids";
}

/// Rows to tiles and back, bit by bit; what the text said stays in the file.
TEST_F(ConvertTest, TilesRoundTrip) {
  expect_ok("convert --generate rmat:500 a.mtx");
  const json j = document("convert a.mtx a.tiles");
  EXPECT_EQ(j["output"]["format"], "tiles");
  EXPECT_EQ(j["output"]["storage"], "general");
  expect_ok("convert a.mtx b --to tiles");
  EXPECT_EQ(contents(path("a.tiles")), contents(path("b")));
  expect_ok("convert a.tiles b.tsb");
  const auto a = read_matrix_market<double>(path("a.mtx"));
  expect_same(a.matrix.view(), read_binary<double>(path("a.tiles")).matrix.view());
  EXPECT_EQ(contents(path("b.tsb")).size(), fs::file_size(path("b.tsb")));
  expect_same(a.matrix.view(), read_binary<double>(path("b.tsb")).matrix.view());
  const BinaryMatrixInfo info = read_binary_info(path("a.tiles"));
  EXPECT_EQ(info.layout, BinaryLayout::tiles);
  EXPECT_EQ(info.tiles, document("inspect a.tiles")["tiles"]["count"]);
  EXPECT_EQ(info.header.entries, a.header.entries);
}

TEST_F(ConvertTest, TilesKeepWithinMemory) {
  expect_ok("convert --poisson2d 300 p.tsb");
  EXPECT_EQ(run("convert p.tsb p.tiles --mem-limit 7M").exit_code, 6);
  EXPECT_FALSE(fs::exists(path("p.tiles")));
}

TEST_F(ConvertTest, WarningsAreEventsWhereProgressIsJson) {
  file("d.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 1\n1 1 2\n2 2 1\n");
  std::istringstream events(run("convert d.mtx d.tsb --progress json").err);
  std::string code;
  for (std::string line; std::getline(events, line);) code = json::parse(line).value("code", "");
  EXPECT_EQ(code, "W001") << "the last event";
}

TEST_F(ConvertTest, EveryCommandTakesTheBinaryFile) {
  file("a.mtx", laplace4);
  expect_ok("convert a.mtx a.tsb");
  expect_ok("convert a.mtx a.tiles");
  for (const char* command : {"run", "inspect", "pagerank --unweighted", "--method bicgstab"}) {
    const auto from_text = run(std::string(command) + " a.mtx");
    const auto from_binary = run(std::string(command) + " a.tsb");
    EXPECT_EQ(from_binary.exit_code, 0) << command << from_binary.err;
    const auto lines = [](const std::string& out) { return std::count(out.begin(), out.end(), '\n'); };
    EXPECT_EQ(lines(from_binary.out), lines(from_text.out)) << command;
    const auto from_tiles = run(std::string(command) + " a.tiles");
    EXPECT_EQ(from_tiles.exit_code, 0) << command << from_tiles.err;
    EXPECT_EQ(lines(from_tiles.out), lines(from_text.out)) << command;
  }
}

TEST_F(ConvertTest, OptionsOfTheOutput) {
  file("a.mtx", laplace4);
  const json lower = document("convert a.mtx lower.mtx");
  EXPECT_EQ(lower["schema"], "solve.convert/1");
  EXPECT_EQ(lower["output"]["storage"], "symmetric");
  EXPECT_EQ(lower["output"]["format"], "mtx");
  EXPECT_EQ(lower["output"]["bytes"], fs::file_size(path("lower.mtx")));
  EXPECT_TRUE(contents(path("lower.mtx")).starts_with("%%MatrixMarket matrix coordinate real symmetric\n4 4 7\n"));
  expect_ok("convert a.mtx general.mtx --symmetric general");
  EXPECT_TRUE(contents(path("general.mtx")).starts_with("%%MatrixMarket matrix coordinate real general\n4 4 10\n"));
  expect_ok("convert a.mtx pattern.mtx --pattern");
  EXPECT_TRUE(contents(path("pattern.mtx")).starts_with("%%MatrixMarket matrix coordinate pattern symmetric\n4 4 7\n"));
  expect_ok("convert a.mtx single.tsb --precision fp32");
  EXPECT_EQ(read_binary_info(path("single.tsb")).values, BinaryValues::fp32);
  const auto text = run("convert a.mtx -");
  EXPECT_EQ(text.out, contents(path("lower.mtx")));
  EXPECT_NE(text.err.find("wrote"), std::string::npos) << "the summary gives way";
}

TEST_F(ConvertTest, Vectors) {
  file("v.txt", "# three numbers\n1\n2.5\n-3\n");
  const json j = document("convert --vector v.txt v.mtx");
  EXPECT_EQ(j["vector"]["elements"], 3);
  EXPECT_EQ(contents(path("v.mtx")), "%%MatrixMarket matrix array real general\n3 1\n1\n2.5\n-3\n");
}

TEST_F(ConvertTest, AnExistingFileStaysAsItIs) {
  file("a.mtx", laplace4);
  file("b.mtx", "precious\n");
  const auto refused = run("convert a.mtx b.mtx");
  EXPECT_EQ(refused.exit_code, 5);
  EXPECT_EQ(contents(path("b.mtx")), "precious\n");
  expect_ok("convert a.mtx b.mtx --force");
  EXPECT_TRUE(contents(path("b.mtx")).starts_with("%%MatrixMarket"));
  fs::create_symlink(path("a.mtx"), path("link.mtx"));
  EXPECT_EQ(run("convert link.mtx a.mtx --force").exit_code, 2) << "the same file under two names";
  EXPECT_EQ(contents(path("a.mtx")), laplace4);
}

/// Bad input leaves no output behind, not even a part of one.
TEST_F(ConvertTest, NothingIsWrittenForBadInput) {
  file("bad.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n3 1 1\n");
  EXPECT_EQ(run("convert bad.mtx out.tsb").exit_code, 5);
  EXPECT_EQ(std::distance(fs::directory_iterator(fs::path(path("bad.mtx")).parent_path()), {}), 1);
}

TEST_F(ConvertTest, TheCacheIsWrittenUsedAndReplaced) {
  file("a.mtx", laplace4);
  const json first = document("a.mtx --cache");
  EXPECT_EQ(first["matrix"]["cache"]["written"], true);
  EXPECT_EQ(first["matrix"]["cache"]["from_cache"], false);
  EXPECT_EQ(first["warnings"], json::array());
  const json second = document("inspect a.mtx --cache on");
  EXPECT_EQ(second["matrix"]["cache"]["from_cache"], true);
  EXPECT_EQ(second["file"]["symmetry"], "symmetric");
  EXPECT_NE(run("a.mtx --cache").out.find("read from cache a.mtx.tsb"), std::string::npos);
  EXPECT_FALSE(document("a.mtx")["matrix"].contains("cache")) << "off unless asked for";

  // Another file under the same name: the old matrix must not come back.
  file("a.mtx", "%%MatrixMarket matrix coordinate real general\n3 3 3\n1 1 1\n2 2 1\n3 3 1\n");
  const auto stale = run("a.mtx --cache");
  EXPECT_NE(stale.out.find("3 x 3"), std::string::npos) << stale.out;
  EXPECT_NE(stale.err.find("another state of the file"), std::string::npos) << stale.err;
  EXPECT_EQ(document("a.mtx --cache")["matrix"]["cache"]["from_cache"], true);

  file("a.mtx.tsb", "not a binary file");
  const json damaged = document("a.mtx --cache -q");
  EXPECT_EQ(damaged["matrix"]["rows"], 3);
  EXPECT_EQ(damaged["warnings"][0]["code"], "W009");
  EXPECT_EQ(document("a.mtx --cache")["matrix"]["cache"]["from_cache"], true);
}

TEST_F(ConvertTest, TheCacheMayLieElsewhere) {
  file("a.mtx", laplace4);
  fs::create_directory(path("caches"));
  const json j = document("a.mtx --cache=caches");
  EXPECT_TRUE(j["matrix"]["cache"]["path"].get<std::string>().starts_with("caches/a.mtx-")) << j["matrix"];
  EXPECT_FALSE(fs::exists(path("a.mtx.tsb")));
  EXPECT_EQ(document("a.mtx --cache=caches")["matrix"]["cache"]["from_cache"], true);
  EXPECT_EQ(run("a.mtx --cache=missing").exit_code, 5);
}

/// Where no cache can be written, the run goes on and says so.
TEST_F(ConvertTest, ACacheThatCannotBeWrittenIsNoError) {
  file("a.mtx", laplace4);
  fs::create_directory(path("a.mtx.tsb"));
  const auto result = run("a.mtx --cache");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.err.find("solve: warning: a.mtx was read instead of its cache"), std::string::npos) << result.err;
}

TEST_F(ConvertTest, GeneratedMatrices) {
  EXPECT_EQ(document("inspect --generate kmer:1000,seed=3")["matrix"]["generator"], "kmer:1000,seed=3");
  EXPECT_EQ(document("inspect --generate kmer:1000 --seed 3")["matrix"]["generator"], "kmer:1000,seed=3");
  const auto large = run("inspect --generate kmer,seed=3 --mem-limit 1MiB");
  EXPECT_EQ(large.exit_code, 6) << "the default size of the family needs more";
  EXPECT_NE(large.err.find("kmer:55000000,seed=3 needs"), std::string::npos) << large.err;
}

/// --poisson2d N is the family of that name.
TEST_F(ConvertTest, ModelProblemsAreFamilies) {
  const json by_option = document("--poisson2d 20");
  const json by_family = document("--generate poisson2d:20");
  EXPECT_EQ(by_option["result"]["iterations"], by_family["result"]["iterations"]);
  EXPECT_EQ(by_option["matrix"]["nnz"], by_family["matrix"]["nnz"]);
  EXPECT_EQ(by_option["matrix"]["generator"], "poisson2d 20");
  EXPECT_EQ(document("pagerank --generate web:2000 --unweighted")["matrix"]["value"], "pattern");
}

TEST_F(ConvertTest, RealMatricesThroughTheCache) {
  TESSERA_REQUIRE_REAL_MATRICES();
  for (const char* name : {"bcsstk13", "wiki-Vote", "west0067"}) {
    const std::string copy = std::string(name) + ".mtx.gz";
    fs::copy_file(*real_matrices_dir() / copy, path(copy));
    json first = document("inspect " + copy + " --cache --threads 1");
    json second = document("inspect " + copy + " --cache --threads 1");
    EXPECT_EQ(second["matrix"]["cache"]["from_cache"], true);
    for (const char* part : {"values", "symmetry", "diagonal", "rows", "structure", "spy", "file"}) {
      EXPECT_EQ(first[part], second[part]) << name << " " << part;
    }
  }
}

}  // namespace

}  // namespace tessera::testing
