// Every kernel on every real matrix.
#include "tessera/matrix_market.hpp"
#include "tests/spmv/product_check.hpp"
#include "tests/support/eigen_bridge.hpp"
#include "tests/support/matrices_dir.hpp"

namespace tessera {

using namespace detail;
namespace {

TEST(RealMatrices, EveryKernelIsWithinItsErrorBound) {
  TESSERA_REQUIRE_REAL_MATRICES();
  for (const auto& file : testing::real_matrix_files()) {
    SCOPED_TRACE(file.filename().string());
    const auto matrix = std::make_shared<const Csr<double>>(read_matrix_market<double>(file).matrix);
    const auto x = testing::random_vector<double>(matrix->cols(), 3);
    const auto oracle = testing::product_oracle(matrix->view(), testing::constant(x));
    for (const auto& kernel : testing::all_kernel_cases) {
      const SpmvPlan<double> plan(matrix, testing::options_of(kernel));
      DualBuffer<double> buffer = plan.make_output();
      for (int round = 0; round < 2; ++round) plan.apply(x, buffer);
      ASSERT_TRUE(testing::near(oracle, std::as_const(buffer).current())) << testing::name_of(kernel);
    }
  }
}

}  // namespace
}  // namespace tessera
