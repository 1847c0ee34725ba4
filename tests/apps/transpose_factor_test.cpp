/// --transpose of spgemm, which names a factor, and of convert.

#include "solve_process.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/eigen_bridge.hpp"

#include "tessera/binary_matrix.hpp"
#include "tessera/generators.hpp"
#include "tessera/matrix_market.hpp"

#include <string>

namespace tessera::testing {

namespace {

using nlohmann::json;
using Matrix = EigenSparse<double>;

/// [1 0 2; 0 3 0] and [1 1; 0 2; 4 0].
constexpr const char* wide = "%%MatrixMarket matrix coordinate real general\n2 3 3\n1 1 1\n1 3 2\n2 2 3\n";
constexpr const char* tall = "%%MatrixMarket matrix coordinate real general\n3 2 4\n1 1 1\n1 2 1\n2 2 2\n3 1 4\n";

class TransposeFactorTest : public SolveTest {
 protected:
  [[nodiscard]] Matrix matrix(const std::string& name) const {
    const auto read = name.ends_with(".tsb") ? read_binary<double>(path(name)) : read_matrix_market<double>(path(name));
    return to_eigen(read.matrix.view());
  }
  /// What `solve spgemm LINE` writes.
  [[nodiscard]] Matrix product(const std::string& line) const {
    const auto result = run("spgemm " + line + " --verify -o c.mtx");
    EXPECT_EQ(result.exit_code, 0) << line << "\n" << result.err;
    return matrix("c.mtx");
  }
  [[nodiscard]] json document(const std::string& line) const {
    const auto result = run(line + " --json");
    EXPECT_EQ(result.exit_code, 0) << line << "\n" << result.err;
    return json::parse(result.out);
  }
  void expect_refused(const std::string& line, int code, const std::string& text) const {
    const auto result = run(line);
    EXPECT_EQ(result.exit_code, code) << line << "\n" << result.err;
    EXPECT_NE(result.err.find(text), std::string::npos) << line << "\n" << result.err;
  }
};

/// Entry by entry: a difference of sparse matrices that keeps nothing but what is wrong.
[[nodiscard]] double distance(const Matrix& a, const Matrix& b) {
  if (a.rows() != b.rows() || a.cols() != b.cols()) return -1.0;
  return Matrix(a - b).coeffs().size() == 0 ? 0.0 : Matrix(a - b).coeffs().abs().maxCoeff();
}

TEST_F(TransposeFactorTest, AgreesWithProductsByHand) {
  file("w.mtx", wide);
  Matrix gram(2, 2);
  gram.insert(0, 0) = 5;
  gram.insert(1, 1) = 9;
  EXPECT_EQ(distance(product("w.mtx --transpose b"), gram), 0.0);
  Matrix normal(3, 3);
  normal.insert(0, 0) = 1;
  normal.insert(0, 2) = 2;
  normal.insert(1, 1) = 9;
  normal.insert(2, 0) = 2;
  normal.insert(2, 2) = 4;
  EXPECT_EQ(distance(product("w.mtx --transpose a"), normal), 0.0);
}

TEST_F(TransposeFactorTest, NamesEitherOfTwoFactors) {
  file("w.mtx", wide);
  file("t.mtx", tall);
  const Matrix w = matrix("w.mtx");
  const Matrix t = matrix("t.mtx");
  EXPECT_EQ(distance(product("w.mtx t.mtx"), Matrix(w * t)), 0.0);
  EXPECT_EQ(distance(product("w.mtx w.mtx --transpose b"), Matrix(w * Matrix(w.transpose()))), 0.0);
  EXPECT_EQ(distance(product("t.mtx t.mtx --transpose a"), Matrix(Matrix(t.transpose()) * t)), 0.0);
  expect_refused("spgemm w.mtx t.mtx --transpose b", 5, "A is 2 x 3 and B is 2 x 3");
}

/// An unsymmetric graph, of which A A^T, A^T A and A^2 all differ.
TEST_F(TransposeFactorTest, LargerProductsAgreeWithEigen) {
  const auto a = to_eigen(generate<double>(parse_generator("rmat:300")).view());
  const Matrix at = a.transpose();
  EXPECT_LT(distance(product("--generate rmat:300 --transpose b"), Matrix(a * at)), 1e-12);
  EXPECT_LT(distance(product("--generate rmat:300 --transpose a"), Matrix(at * a)), 1e-12);
  EXPECT_LT(distance(product("--generate rmat:300"), Matrix(a * a)), 1e-12);
  EXPECT_GT(distance(Matrix(a * at), Matrix(at * a)), 0.5) << "or the test says nothing";
}

TEST_F(TransposeFactorTest, EmptyAndSingleEntries) {
  file("none.mtx", "%%MatrixMarket matrix coordinate real general\n3 2 0\n");
  file("one.mtx", "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 -3\n");
  EXPECT_EQ(document("spgemm none.mtx --transpose b")["result"]["rows"], 3);
  EXPECT_EQ(document("spgemm none.mtx --transpose a")["result"]["rows"], 2);
  EXPECT_EQ(product("one.mtx --transpose b").coeff(0, 0), 9.0);
}

TEST_F(TransposeFactorTest, IsSaidInSummaryAndDocument) {
  file("w.mtx", wide);
  const auto text = run("spgemm w.mtx --transpose b");
  EXPECT_NE(text.out.find("w.mtx: 2 x 3"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("w.mtx, transposed: 3 x 2"), std::string::npos) << text.out;
  const json b = document("spgemm w.mtx --transpose b");
  EXPECT_EQ(b["matrix"]["transposed"], false);
  EXPECT_EQ(b["right"]["transposed"], true);
  EXPECT_EQ(b["right"]["rows"], 3);
  EXPECT_TRUE(b["power"].is_null());
  EXPECT_EQ(b["config"]["transpose"]["value"], "b");
  const json a = document("spgemm w.mtx --transpose a");
  EXPECT_EQ(a["matrix"]["transposed"], true);
  EXPECT_EQ(a["matrix"]["cols"], 2);
  EXPECT_EQ(a["right"]["transposed"], false);
}

TEST_F(TransposeFactorTest, Refusals) {
  file("w.mtx", wide);
  expect_refused("spgemm w.mtx --transpose c", 2, "expected a or b, the factor to transpose");
  expect_refused("--transpose spgemm w.mtx", 2, "expected a or b, the factor to transpose");
  expect_refused("spgemm w.mtx --transpose", 2, "option --transpose needs a value");
  expect_refused("spgemm w.mtx --transpose b --power 3", 2, "--power is that of one matrix");
  expect_refused("inspect w.mtx --transpose=b", 2, "option --transpose takes no value");
  expect_refused("convert --vector w.mtx v.mtx --transpose", 2, "--transpose does not apply to a vector");
  expect_refused("spgemm --poisson2d 300 --transpose b --mem-limit 8MB", 6, "the transpose of poisson2d 300");
}

/// Twice is once not at all, whatever the format; text of a symmetric matrix keeps its triangle.
TEST_F(TransposeFactorTest, ConvertWritesTheTranspose) {
  file("w.mtx", wide);
  ASSERT_EQ(run("convert w.mtx -o wt.mtx --transpose").exit_code, 0);
  EXPECT_EQ(contents(path("wt.mtx")), "%%MatrixMarket matrix coordinate real general\n3 2 3\n1 1 1\n2 2 3\n3 1 2\n");
  ASSERT_EQ(run("convert w.mtx wt.tsb --transpose").exit_code, 0);
  EXPECT_EQ(distance(matrix("wt.tsb"), Matrix(matrix("w.mtx").transpose())), 0.0);
  EXPECT_EQ(read_binary_info(path("wt.tsb")).header.rows, 3);
  ASSERT_EQ(run("convert wt.tsb back.mtx --transpose").exit_code, 0);
  EXPECT_EQ(contents(path("back.mtx")), wide);
  const json j = document("convert w.mtx --transpose w2.mtx.gz");
  EXPECT_EQ(j["matrix"]["transposed"], true);
  EXPECT_EQ(j["matrix"]["rows"], 3);
  file("skew.mtx", "%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 1 5\n");
  ASSERT_EQ(run("convert skew.mtx skew.tsb --transpose").exit_code, 0);
  EXPECT_EQ(matrix("skew.tsb").coeff(0, 1), 5.0);
  file("a.mtx", laplace4);
  ASSERT_EQ(run("convert a.mtx at.mtx --transpose").exit_code, 0);
  EXPECT_TRUE(contents(path("at.mtx")).starts_with("%%MatrixMarket matrix coordinate real symmetric\n4 4 7\n"));
}

}  // namespace

}  // namespace tessera::testing
