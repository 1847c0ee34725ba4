/// Polynomial preconditioners of real matrices that are symmetric positive definite.
#include "tessera/matrix_market.hpp"
#include "tessera/polynomial.hpp"
#include "tests/solvers/systems.hpp"
#include "tests/support/matrices_dir.hpp"

#include <gtest/gtest.h>

#include <string>

namespace tessera::testing {
namespace {

TEST(PolynomialRealMatrices, IterationsFallWithTheDegree) {
  TESSERA_REQUIRE_REAL_MATRICES();
  for (const char* name :
       {"1138_bus", "bcsstk08", "bcsstk13", "bcsstk15", "bcsstk16", "crystm01", "jnlbrng1", "nos4"}) {
    SCOPED_TRACE(name);
    auto file = read_matrix_market<double>(*real_matrices_dir() / (std::string(name) + ".mtx.gz"));
    const auto plan = std::make_shared<const SpmvPlan<double>>(std::move(file.matrix));
    const std::vector<double> b =
        product(plan->matrix(), random_values<double>(static_cast<std::size_t>(plan->rows()), 29));
    const auto iterations = [&](const LinearOperator<double>& m) {
      std::vector<double> x(b.size());
      const SolveReport report = cg<double>(*plan, m, b, x);
      EXPECT_TRUE(report.converged()) << report.reason;
      expect_honest(report, plan->matrix(), b, x);
      return report.iterations;
    };
    std::int64_t before = iterations(JacobiPreconditioner<double>(plan->matrix()));
    for (const int degree : {2, 4, 8}) {
      const PolynomialPreconditioner<double> m(plan, {.degree = degree});
      EXPECT_TRUE(m.info().is_symmetric);
      const std::int64_t count = iterations(m);
      EXPECT_LT(count, before) << degree;
      before = count;
    }
  }
}

}  // namespace
}  // namespace tessera::testing
