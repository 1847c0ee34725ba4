/// Sparse approximate inverses of real matrices against Jacobi.
#include "tessera/approximate_inverse.hpp"
#include "tessera/matrix_market.hpp"
#include "tests/solvers/systems.hpp"
#include "tests/support/matrices_dir.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace tessera::testing {
namespace {

TEST(FsaiRealMatrices, TakesFarFewerIterationsThanJacobi) {
  TESSERA_REQUIRE_REAL_MATRICES();
  double logarithms = 0.0;
  const std::vector<std::string> names{"1138_bus", "bcsstk08", "bcsstk13", "bcsstk15",
                                       "bcsstk16", "crystm01", "jnlbrng1", "nos4"};
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    const SpmvPlan<double> plan(read_matrix_market<double>(*real_matrices_dir() / (name + ".mtx.gz")).matrix);
    const std::vector<double> b =
        product(plan.matrix(), random_values<double>(static_cast<std::size_t>(plan.rows()), 29));
    std::vector<double> x(b.size());
    std::vector<double> y(b.size());
    const FsaiPreconditioner<double> m(plan.matrix());
    const SolveReport fsai = cg<double>(plan, m, b, x);
    EXPECT_TRUE(fsai.converged()) << fsai.reason;
    expect_honest(fsai, plan.matrix(), b, x);
    const SolveReport jacobi = cg<double>(plan, JacobiPreconditioner<double>(plan.matrix()), b, y);
    EXPECT_LE(fsai.iterations, jacobi.iterations);
    logarithms += std::log(static_cast<double>(fsai.iterations) / static_cast<double>(jacobi.iterations));
    RecordProperty(name, std::to_string(fsai.iterations));
  }
  EXPECT_LE(std::exp(logarithms / static_cast<double>(names.size())), 0.6);
}

TEST(SpaiRealMatrices, HelpsBicgstab) {
  TESSERA_REQUIRE_REAL_MATRICES();
  for (const std::string name : {"orsirr_1", "sherman1", "add32", "cage8"}) {
    SCOPED_TRACE(name);
    const SpmvPlan<double> plan(read_matrix_market<double>(*real_matrices_dir() / (name + ".mtx.gz")).matrix);
    const std::vector<double> b =
        product(plan.matrix(), random_values<double>(static_cast<std::size_t>(plan.rows()), 29));
    std::vector<double> x(b.size());
    std::vector<double> y(b.size());
    const SolveReport spai = bicgstab<double>(plan, SpaiPreconditioner<double>(plan.matrix()), b, x);
    EXPECT_TRUE(spai.converged()) << spai.reason;
    expect_honest(spai, plan.matrix(), b, x);
    const SolveReport none = bicgstab<double>(plan, JacobiPreconditioner<double>(plan.matrix()), b, y);
    RecordProperty(name, std::to_string(spai.iterations) + " against " + std::to_string(none.iterations));
    EXPECT_LE(spai.iterations, none.iterations);
  }
}

}  // namespace
}  // namespace tessera::testing
