/// solve spgemm: files, powers, estimates, checks and refusals.

#include "solve_process.hpp"

#include "tessera/binary_matrix.hpp"
#include "tessera/generators.hpp"
#include "tessera/keep.hpp"
#include "tessera/matrix_market.hpp"
#include "tessera/spgemm.hpp"
#include "tests/support/compare.hpp"

namespace tessera::testing {

namespace {

using nlohmann::json;

class SpgemmCommandTest : public SolveTest {
 protected:
  void expect_refused(const std::string& line, int code, const std::string& text) const {
    const auto result = run(line);
    EXPECT_EQ(result.exit_code, code) << line << "\n" << result.err;
    EXPECT_NE(result.err.find(text), std::string::npos) << line << "\n" << result.err;
  }
  [[nodiscard]] json document(const std::string& line) const {
    const auto result = run(line + " --json");
    EXPECT_EQ(result.exit_code, 0) << line << "\n" << result.err;
    return json::parse(result.out);
  }
};

TEST_F(SpgemmCommandTest, WritesWhatTheLibraryGives) {
  const auto a = generate<double>(parse_generator("rmat:200"));
  ASSERT_EQ(run("convert --generate rmat:200 a.tsb").exit_code, 0);
  const auto expected = spgemm(a, a).matrix;
  for (const std::string estimate : {"auto", "hll", "cohen", "exact", "upper", "sampled", "esc", "tiles"}) {
    ASSERT_EQ(run("spgemm a.tsb a.tsb -o c.tsb --verify --estimate " + estimate).exit_code, 0) << estimate;
    expect_identical(expected.view(), read_binary<double>(path("c.tsb")).matrix.view());
  }
  ASSERT_EQ(run("spgemm a.tsb -o c.mtx.gz").exit_code, 0);
  expect_identical(expected.view(), read_matrix_market<double>(path("c.mtx.gz")).matrix.view());
  const auto piped = run("spgemm a.tsb -o -");
  EXPECT_TRUE(piped.out.starts_with("%%MatrixMarket matrix coordinate real general")) << piped.out.substr(0, 80);
}

TEST_F(SpgemmCommandTest, Powers) {
  file("path.mtx", "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 2\n");
  EXPECT_EQ(document("spgemm path.mtx --power 0")["result"]["nnz"], 3);
  EXPECT_EQ(document("spgemm path.mtx --power 1")["result"]["pattern"], true);
  const json cube = document("spgemm path.mtx --power 3 --verify");
  EXPECT_EQ(cube["power"], 3);
  EXPECT_EQ(cube["products"].size(), 2U);
  EXPECT_EQ(cube["result"]["nnz"], 4);
  EXPECT_EQ(cube["check"]["passed"], true);
  EXPECT_EQ(document("spgemm path.mtx")["power"], 2);
}

TEST_F(SpgemmCommandTest, RectangularWithGeneratedLeft) {
  file("b.mtx", "%%MatrixMarket matrix coordinate real general\n9 2 3\n1 1 1\n5 2 2\n9 1 -1\n");
  const json product = document("spgemm --poisson2d 3 b.mtx --verify --precision fp32");
  EXPECT_EQ(product["result"]["rows"], 9);
  EXPECT_EQ(product["result"]["cols"], 2);
  EXPECT_EQ(product["right"]["nnz"], 3);
  EXPECT_TRUE(product["power"].is_null());
}

TEST_F(SpgemmCommandTest, Refusals) {
  file("a.mtx", laplace4);
  file("w.mtx", "%%MatrixMarket matrix coordinate real general\n2 3 1\n1 1 1\n");
  expect_refused("spgemm a.mtx w.mtx", 5, "A is 4 x 4 and B is 2 x 3");
  expect_refused("spgemm w.mtx", 5, "powers need a square matrix, A is 2 x 3");
  expect_refused("spgemm a.mtx a.mtx --power 3", 2, "--power is that of one matrix");
  expect_refused("spgemm a.mtx a.mtx a.mtx", 2, "one matrix B");
  expect_refused("spgemm a.mtx --estimate exat", 2, "did you mean exact?");
  expect_refused("spgemm a.mtx --power -1", 2, "--power");
  expect_refused("spgemm", 2, "no problem given");
  expect_refused("spgemm a.mtx -o a.mtx", 2, "would overwrite an input");
  expect_refused("spgemm a.mtx --rtol 1e-3", 2, "does not apply to spgemm");
  expect_refused("spgemm --generate fem3d:8000 --mem-limit 6MB -o c.mtx", 6, "sparse product");
  expect_refused("spgemm --generate fem3d:8000 --mem-limit 6MB --power 3", 6, "sparse product");
  for (const std::string rule : {"-1", "x", "0.1,", "0.1,-2", "0.1,3000000000", "0.1,2,3"}) {
    expect_refused("spgemm a.mtx --keep " + rule, 2, "expected TOL or TOL,MOST");
  }
  expect_refused("spgemm a.mtx --keep 0.1 --verify", 2, "from which --keep leaves entries out");
}

TEST_F(SpgemmCommandTest, SlicesGoToABinaryFile) {
  ASSERT_EQ(run("spgemm --generate fem3d:8000 -o whole.tsb").exit_code, 0);
  const auto read = [&](const std::string& name) { return read_binary<double>(path(name)).matrix; };
  const json sliced = document("spgemm --generate fem3d:8000 --mem-limit 6MB --verify -o sliced.tsb");
  EXPECT_GT(sliced["slices"]["list"].size(), 2U);
  EXPECT_EQ(sliced["check"]["passed"], true);
  EXPECT_EQ(sliced["result"]["nnz"], sliced["products"][0]["nnz"]);
  expect_identical(read("sliced.tsb").view(), read("whole.tsb").view());
  const auto shown = run("spgemm --generate fem3d:8000 --mem-limit 6MB");
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_NE(shown.out.find("entries are foreseen (HyperLogLog, 32 registers per row of B)"), std::string::npos)
      << shown.out;
  EXPECT_TRUE(document("spgemm --generate fem3d:8000 --mem-limit 1GB")["slices"].is_null());
}

TEST_F(SpgemmCommandTest, KeepsTheLargestEntries) {
  const auto a = generate<double>(parse_generator("fem3d:8000"));
  const Keep keep{.tolerance = 0.01, .most = 9};
  const Csr<double> expected = keep_entries(spgemm(a, a).matrix, keep);
  for (const std::string limit : {"", " --mem-limit 6MB"}) {
    const json kept = document("spgemm --generate fem3d:8000 --keep 1%,9 -o kept.tsb" + limit);
    EXPECT_EQ(kept["keep"]["tolerance"], 0.01);
    EXPECT_EQ(kept["keep"]["most"], 9);
    EXPECT_EQ(kept["keep"]["dropped"][0], kept["products"][0]["nnz"].get<offset_t>() - expected.nnz());
    EXPECT_EQ(kept["result"]["nnz"], expected.nnz());
    expect_identical(read_binary<double>(path("kept.tsb")).matrix.view(), expected.view());
  }
  const json cube = document("spgemm --generate fem3d:500 --power 3 --keep 0.01,9");
  EXPECT_EQ(cube["keep"]["dropped"].size(), 2U);
  EXPECT_GT(cube["keep"]["dropped"][1], 0);
}

/// The file that was there stays when a row does not fit.
TEST_F(SpgemmCommandTest, SlicesThatFailLeaveTheFileAlone) {
  file("c.tsb", "before");
  expect_refused("spgemm --generate fem3d:8000 --mem-limit 2414000 --threads 1 -o c.tsb", 6, "out of memory");
  EXPECT_EQ(contents(path("c.tsb")), "before");
}

TEST_F(SpgemmCommandTest, HalfPrecisionSaysWhatItLost) {
  file("a.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 4\n1 1 0.1\n1 2 1e-9\n2 1 3\n2 2 1e-6\n");
  const auto shown = run("spgemm a.mtx --precision fp16-fp32 --verify");
  EXPECT_EQ(shown.exit_code, 0) << shown.out << shown.err;
  EXPECT_NE(shown.out.find("fp16-fp32: values off by 1 of theirs at most; 1 became 0, 1 subnormal"), std::string::npos)
      << shown.out;
  EXPECT_NE(shown.out.find("4 sampled entries of C: off by "), std::string::npos) << shown.out;
  const json loss = document("spgemm a.mtx --precision fp16-fp32")["products"][0]["loss"];
  EXPECT_EQ(loss["values"], 4);
  EXPECT_EQ(loss["to_zero"], 1);
  EXPECT_EQ(loss["to_subnormal"], 1);
  EXPECT_EQ(loss["largest_rounding"], 1.0);
  EXPECT_EQ(loss["sampled_rows"], 2);
  const json exact = document("spgemm --poisson2d 9 --precision fp16-fp32 --verify -o c.tsb");
  EXPECT_EQ(exact["products"][0]["precision"], "fp16-fp32");
  EXPECT_EQ(exact["products"][0]["workflow"], "tiles");
  EXPECT_EQ(exact["products"][0]["loss"]["frobenius_error"], 0.0) << "small whole numbers";
  EXPECT_EQ(exact["check"]["passed"], true);
  ASSERT_EQ(run("spgemm --poisson2d 9 -o d.tsb").exit_code, 0);
  expect_identical(read_binary<double>(path("c.tsb")).matrix.view(), read_binary<double>(path("d.tsb")).matrix.view());
}

TEST_F(SpgemmCommandTest, PrecisionsOfTiles) {
  const json single = document("spgemm --generate fem3d:500 --precision 3xtf32 --verify");
  EXPECT_EQ(single["products"][0]["precision"], "3xtf32");
  EXPECT_EQ(single["products"][0]["loss"]["largest_rounding"], 0.0) << "the host sums in single precision";
  EXPECT_EQ(single["matrix"]["value"], "fp32");
  const json half = document("spgemm --generate fem3d:500 --precision fp16-fp32 --estimate tiles --power 3 --verify");
  EXPECT_EQ(half["matrix"]["value"], "fp64");
  EXPECT_EQ(half["products"].size(), 2U);
  EXPECT_EQ(half["check"]["passed"], true);
  const json usual = document("spgemm --generate fem3d:500");
  EXPECT_EQ(usual["products"][0]["precision"], "working");
  EXPECT_TRUE(usual["products"][0]["loss"].is_null());
}

TEST_F(SpgemmCommandTest, PrecisionsThatAreRefused) {
  file("a.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n2 1 65520\n");
  expect_refused("spgemm a.mtx --precision fp16-fp32", 5, "entry (2, 1) of A is 65520, beyond 65504");
  expect_refused("spgemm a.mtx --precision fp16-fp32 --estimate hll", 2,
                 "--precision fp16-fp32 is for products in tiles, not for --estimate hll");
  expect_refused("spgemm a.mtx --precision fp16", 2, "did you mean fp16-fp32");
  expect_refused("spgemm --generate fem3d:8000 --precision fp16-fp32 --mem-limit 6MB", 6, "sparse product");
  expect_refused("run a.mtx --precision fp16-fp32", 2, "--precision");
  expect_refused("inspect a.mtx --precision 3xtf32", 2, "--precision");
}

TEST_F(SpgemmCommandTest, AWrongProductIsSaid) {
  file("inf.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1e200\n2 2 1\n");
  const auto result = run("spgemm inf.mtx --verify");
  EXPECT_EQ(result.exit_code, 8) << result.out << result.err;
  EXPECT_NE(result.out.find("check       failed: "), std::string::npos) << result.out;
}

/// (1e200)^2 and 1e200 * -1e200 are beyond double; 1e200 * 1 is not.
TEST_F(SpgemmCommandTest, OverflowOfFiniteFactorsIsAWarningWithItsPlace) {
  file("a.mtx", "%%MatrixMarket matrix coordinate real general\n3 3 3\n1 1 1\n2 3 1e200\n3 3 1e200\n");
  file("b.mtx", "%%MatrixMarket matrix coordinate real general\n3 3 4\n1 1 1e200\n3 1 1\n3 2 -1e200\n3 3 1e200\n");
  const auto result = run("spgemm a.mtx b.mtx");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.err.find("solve: warning: 4 values of the product overflowed in fp64, the first in row 2, column 2 "
                            "(counted from 1): -inf; the factors are finite, so scale them down"),
            std::string::npos)
      << result.err;
  EXPECT_EQ(document("spgemm a.mtx b.mtx")["warnings"][0]["code"], "W026");
  file("one.mtx", "%%MatrixMarket matrix coordinate real general\n3 3 1\n2 1 1\n");
  EXPECT_EQ(document("spgemm a.mtx one.mtx")["warnings"], json::array());
  file("f.mtx", "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1e20\n");
  EXPECT_EQ(document("spgemm f.mtx")["warnings"], json::array());
  EXPECT_NE(run("spgemm f.mtx --precision fp32").err.find("1 value of the product overflowed in fp32"),
            std::string::npos);
}

}  // namespace

}  // namespace tessera::testing
