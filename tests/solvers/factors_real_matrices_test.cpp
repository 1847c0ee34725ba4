/// Systems with real matrices that Jacobi and multigrid do not solve.
#include "tessera/error.hpp"
#include "tessera/incomplete_factors.hpp"
#include "tessera/matrix_market.hpp"
#include "tests/solvers/systems.hpp"
#include "tests/support/matrices_dir.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace tessera::testing {
namespace {

SpmvPlan<double> plan_of(const std::string& name) {
  auto file = read_matrix_market<double>(*real_matrices_dir() / (name + ".mtx.gz"));
  return SpmvPlan<double>(std::move(file.matrix));
}

/// The image of a random vector: most of these matrices are too ill-conditioned for any b.
std::vector<double> right_side(const SpmvPlan<double>& plan) {
  return product(plan.matrix(), random_values<double>(static_cast<std::size_t>(plan.rows()), 29));
}

TEST(FactorsRealMatrices, IlutpSolvesAllThatAreNotDefinite) {
  TESSERA_REQUIRE_REAL_MATRICES();
  for (const char* name :
       {"west0067", "qh1484", "tols4000", "olm1000", "cryg2500", "lns_3937", "freeFlyingRobot_7", "case13659pegase_Bdc",
        "bips98_606", "ex31", "Goodwin_010", "pores_2", "epb0", "memplus", "orsirr_1", "add32", "cage8", "sherman1"}) {
    SCOPED_TRACE(name);
    const SpmvPlan<double> plan = plan_of(name);
    const IncompleteFactors<double> m(plan.matrix());
    // The estimate of bips98_606 is 1e14 to 1e18 with any order; its x has no right digit either way.
    EXPECT_LT(m.factors().condition_estimate, std::string_view(name) == "bips98_606" ? 1e19 : 1e15);
    EXPECT_LT(m.factors().fill, 5.0);
    const std::vector<double> b = right_side(plan);
    std::vector<double> x(b.size());
    const SolveReport report = bicgstab<double>(plan, m, b, x, {.max_iterations = 200});
    EXPECT_TRUE(report.converged()) << report.reason;
    expect_honest(report, plan.matrix(), b, x);
    RecordProperty(name, std::to_string(report.iterations));
  }
}

TEST(FactorsRealMatrices, IctNeedsFewerIterationsThanJacobi) {
  TESSERA_REQUIRE_REAL_MATRICES();
  for (const char* name :
       {"1138_bus", "bcsstk08", "bcsstk13", "bcsstk15", "bcsstk16", "crystm01", "jnlbrng1", "nos4"}) {
    SCOPED_TRACE(name);
    const SpmvPlan<double> plan = plan_of(name);
    const IncompleteFactors<double> m(plan.matrix(),
                                      {.kind = FactorKind::ict, .drop_tolerance = 1e-3, .max_row_entries = 50});
    EXPECT_LT(m.factors().shift, 0.05);
    const std::vector<double> b = right_side(plan);
    std::vector<double> x(b.size());
    const SolveReport with_factors = cg<double>(plan, m, b, x);
    EXPECT_TRUE(with_factors.converged()) << with_factors.reason;
    expect_honest(with_factors, plan.matrix(), b, x);
    std::vector<double> y(b.size());
    const SolveReport with_jacobi = cg<double>(plan, JacobiPreconditioner<double>(plan.matrix()), b, y);
    EXPECT_LT(2 * with_factors.iterations, with_jacobi.iterations);
    RecordProperty(name, std::to_string(with_factors.iterations));
  }
}

/// Any other square matrix is refused with a reason or within its budgets, or has finite factors.
TEST(FactorsRealMatrices, OthersAreRefusedWithAReason) {
  TESSERA_REQUIRE_REAL_MATRICES();
  int accepted = 0;
  int refused = 0;
  for (const auto& path : real_matrix_files()) {
    const auto file = read_matrix_market<double>(path);
    const CsrView<double> a = file.matrix.view();
    if (!a.is_square() || a.nnz() > 300'000) continue;
    SCOPED_TRACE(matrix_name(path));
    try {
      const IncompleteFactors<double> m(a, {.time_limit_seconds = 0.5});
      ++accepted;
      EXPECT_LE(m.factors().fill, 20.0);
    } catch (const SingularMatrix& error) {
      ++refused;
      EXPECT_NE(std::string(error.what()).find("structurally singular"), std::string::npos) << error.what();
    } catch (const BudgetExceeded& error) {
      const std::string what = error.what();
      EXPECT_TRUE(what.starts_with("ilutp: ") || what.starts_with("given up after")) << what;
    }
  }
  EXPECT_GE(accepted, 20);
  EXPECT_GE(refused, 5);
}

}  // namespace
}  // namespace tessera::testing
