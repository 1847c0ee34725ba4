/// The command on every real matrix: its exit code must be what an independent residual says.

#include "solve_process.hpp"
#include "tests/support/eigen_bridge.hpp"
#include "tests/support/matrices_dir.hpp"

#include "tessera/matrix_market.hpp"

#include <algorithm>
#include <cmath>

namespace tessera::testing {

namespace {

class RealMatricesTest : public SolveTest {
 protected:
  void check_square(const std::filesystem::path& matrix_file, const MatrixMarketMatrix<double>& read) const {
    // At most 2000 iterations, and on large matrices no more than a test can wait for.
    constexpr std::int64_t most_products_of_entries = 20'000'000;
    const std::int64_t iterations = std::clamp<std::int64_t>(most_products_of_entries / read.matrix.nnz(), 20, 2000);
    const auto result = run({matrix_file.string(), "-b", "Aones", "--max-iters", std::to_string(iterations),
                             "--threads", "1", "-o", "x.mtx", "--json"});
    const auto json = nlohmann::json::parse(result.out, nullptr, false);
    ASSERT_FALSE(json.is_discarded()) << result.out << result.err;
    const auto A = to_eigen(read.matrix.view());
    const std::vector<double> x = read_vector<double>(path("x.mtx"));
    const Eigen::VectorXd b = A * Eigen::VectorXd::Ones(A.cols());
    const Eigen::VectorXd r = b - A * Eigen::Map<const Eigen::VectorXd>(x.data(), A.cols());
    const Eigen::VectorXd magnitude =
        A.cwiseAbs() * Eigen::Map<const Eigen::VectorXd>(x.data(), A.cols()).cwiseAbs() + b.cwiseAbs();
    // Two ways of adding the same terms differ by at most this: row lengths stay below 1e4.
    const double rounding = 1e4 * 2.3e-16 * magnitude.norm();
    const double target = 1e-8 * b.norm();
    const double reported = json["result"]["residual"]["true"].get<double>();
    EXPECT_NEAR(reported, r.norm(), rounding + 1e-12 * r.norm());
    EXPECT_EQ(json["result"]["exit_code"], result.exit_code);
    if (result.exit_code == 0) {
      EXPECT_LE(r.norm(), target + rounding);
    } else {
      EXPECT_TRUE(result.exit_code == 3 || result.exit_code == 4) << result.exit_code << result.err;
      EXPECT_GT(r.norm(), target - rounding);
    }
  }
};

TEST_F(RealMatricesTest, TheExitCodeIsZeroExactlyWhenTheResidualMeetsTheTarget) {
  TESSERA_REQUIRE_REAL_MATRICES();
  int square = 0;
  int rectangular = 0;
  for (const auto& matrix_file : real_matrix_files()) {
    SCOPED_TRACE(matrix_name(matrix_file));
    const auto read = read_matrix_market<double>(matrix_file);
    if (read.matrix.rows() == read.matrix.cols()) {
      ++square;
      check_square(matrix_file, read);
      continue;
    }
    ++rectangular;
    const auto result = run({matrix_file.string(), "-m", "gmres"});
    EXPECT_EQ(result.exit_code, 5) << result.out << result.err;
    EXPECT_NE(result.err.find("square"), std::string::npos) << result.err;
    EXPECT_NE(result.err.find(std::to_string(read.matrix.rows()) + " x"), std::string::npos) << result.err;
  }
  EXPECT_GE(square, 40);
  EXPECT_GE(rectangular, 5);
}

}  // namespace

}  // namespace tessera::testing
