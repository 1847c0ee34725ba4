/// LSMR and CGLS on real rectangular matrices: the residual norms of SciPy, and of the returned x.
#include "tessera/matrix_market.hpp"
#include "tests/solvers/least_squares_problems.hpp"
#include "tests/support/matrices_dir.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace tessera::testing {
namespace {

/// b_i = 1 + (7919 i mod 1000) / 1000.
std::vector<double> right_side(std::int64_t rows) {
  std::vector<double> b;
  for (std::int64_t i = 0; i < rows; ++i) b.push_back(1.0 + static_cast<double>(7919 * i % 1000) / 1000.0);
  return b;
}

struct Expected {
  const char* name;
  double damping;
  double residual;  ///< ‖b - A x‖ by SciPy 1.17's lsmr with atol = btol = 1e-10; 0: the system is consistent
};

TEST(LeastSquaresRealMatrices, ResidualsOfScipy) {
  TESSERA_REQUIRE_REAL_MATRICES();
  constexpr Expected all[] = {{"illc1850", 0.0, 9.2141500448},   {"illc1850", 0.01, 9.2826390122},
                              {"well1850", 0.0, 9.2141500429},   {"well1850", 0.01, 9.2164598346},
                              {"lp_ship04l", 0.0, 9.8167689695}, {"lp_ship04l", 0.01, 9.8178978666},
                              {"Chem97Zt", 0.0, 68.339930986},   {"Chem97Zt", 0.01, 68.339930988},
                              {"netlib_maros-r7", 0.0, 0.0},     {"netlib_fit2p", 0.0, 0.0}};
  for (const Expected& expected : all) {
    SCOPED_TRACE(std::string(expected.name) + ", damping " + std::to_string(expected.damping));
    const auto file = read_matrix_market<double>(*real_matrices_dir() / (std::string(expected.name) + ".mtx.gz"));
    const SpmvPlan<double> plan = plan_with_transpose(file.matrix.to(Device{}));
    const std::vector<double> b = right_side(plan.rows());
    const LeastSquaresOptions options{
        .relative_tolerance = 1e-9, .residual_tolerance = 1e-9, .damping = expected.damping};
    const ColumnNormPreconditioner<double> scaling(plan.matrix(), expected.damping);
    for (const LeastSquaresMethod method : least_squares_methods) {
      for (const bool is_scaled : {false, true}) {
        SCOPED_TRACE(std::string(name_of(method)) + (is_scaled ? ", scaled" : ""));
        std::vector<double> x(static_cast<std::size_t>(plan.cols()));
        const LeastSquaresReport report = is_scaled ? solve_by<double>(method, plan, scaling, b, x, options)
                                                    : solve_by<double>(method, plan, b, x, options);
        EXPECT_TRUE(report.converged()) << report.reason;
        expect_honest(report, plan.matrix(), b, x, options);
        if (expected.residual == 0.0) {
          EXPECT_EQ(report.ended_by, LeastSquaresTest::residual);
        } else {
          EXPECT_NEAR(report.true_residual, expected.residual, 2e-8 * expected.residual);
          EXPECT_EQ(report.ended_by, LeastSquaresTest::normal_residual);
        }
      }
    }
  }
}

}  // namespace
}  // namespace tessera::testing
