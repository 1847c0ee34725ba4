/// Real symmetric positive definite systems: AMG needs no more iterations than Jacobi, or says that it does not
/// coarsen.
#include "tessera/amg.hpp"
#include "tessera/error.hpp"
#include "tessera/matrix_market.hpp"
#include "tests/solvers/systems.hpp"
#include "tests/support/matrices_dir.hpp"

#include <gtest/gtest.h>

#include <string>

namespace tessera::testing {
namespace {

/// ../shared/matrices/README.md calls them positive definite; Andrews is semidefinite, a Laplacian.
constexpr const char* definite[] = {"G3_circuit_lead400k",
                                    "Andrews",
                                    "bcsstk38",
                                    "bcsstk16",
                                    "jnlbrng1",
                                    "bcsstk15",
                                    "crystm01",
                                    "bcsstk13",
                                    "bcsstk08",
                                    "1138_bus",
                                    "nos4"};

/// A x* for scattered x*: the constant would be in the range of P, and flatter AMG.
std::vector<double> right_side(const CsrView<double>& a) {
  return product(a, random_values<double>(static_cast<std::size_t>(a.rows), 29));
}

TEST(AmgRealMatrices, NoMoreIterationsThanJacobi) {
  TESSERA_REQUIRE_REAL_MATRICES();
  for (const char* name : definite) {
    SCOPED_TRACE(name);
    const auto file = read_matrix_market<double>(*real_matrices_dir() / (std::string(name) + ".mtx.gz"));
    const CsrView<double> a = file.matrix.view();
    const std::vector<double> b = right_side(a);
    const SpmvPlan<double> plan(Csr<double>::copy_of(a));
    const Amg<double> amg(a);
    std::vector<double> x(b.size());
    const SolveReport with_amg = cg<double>(plan, amg, b, x);
    expect_honest(with_amg, a, b, x);
    std::vector<double> y(b.size());
    const SolveReport with_jacobi = cg<double>(plan, JacobiPreconditioner<double>(a), b, y);
    EXPECT_TRUE(with_amg.converged() || !amg.hierarchy().coarsens) << with_amg.reason;
    EXPECT_TRUE(with_amg.iterations <= with_jacobi.iterations || !amg.hierarchy().coarsens)
        << with_amg.iterations << " and with Jacobi " << with_jacobi.iterations << "; " << amg.hierarchy().reason;
    EXPECT_TRUE(amg.info().is_symmetric);
    RecordProperty(std::string(name) + "_amg", std::to_string(with_amg.iterations));
    RecordProperty(std::string(name) + "_jacobi", std::to_string(with_jacobi.iterations));
  }
}

/// Any other square matrix is refused with a reason, or solved or not with an honest report; never a NaN.
TEST(AmgRealMatrices, EveryReportIsHonest) {
  TESSERA_REQUIRE_REAL_MATRICES();
  int accepted = 0;
  int refused = 0;
  for (const auto& path : real_matrix_files()) {
    const auto file = read_matrix_market<double>(path);
    const CsrView<double> a = file.matrix.view();
    if (!a.is_square() || a.nnz() > 1'000'000) continue;
    SCOPED_TRACE(matrix_name(path));
    try {
      const Amg<double> amg(a);
      ++accepted;
      const std::vector<double> b = right_side(a);
      std::vector<double> x(b.size());
      const SpmvPlan<double> plan(Csr<double>::copy_of(a));
      const SolveReport report = bicgstab<double>(plan, amg, b, x, {.max_iterations = 100});
      expect_honest(report, a, b, x);
    } catch (const InvalidMatrix& error) {
      ++refused;
      EXPECT_NE(std::string(error.what()).find("AMG"), std::string::npos) << error.what();
    }
  }
  EXPECT_GE(accepted, 10);
  EXPECT_GE(refused, 10);
}

}  // namespace
}  // namespace tessera::testing
