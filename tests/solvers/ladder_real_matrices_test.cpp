/// solve() on all square real matrices: what a sparse LU solves is solved, what is singular is said to be, and no error
/// of a solution goes unnoticed.
#include "tessera/ladder.hpp"
#include "tessera/matrix_market.hpp"
#include "tests/solvers/systems.hpp"
#include "tests/support/matrices_dir.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>
#include <vector>

namespace tessera::testing {
namespace {

struct Solved {
  LadderReport ladder;
  double error = 0.0;  ///< ‖x - x_exact‖ / ‖x_exact‖
};

[[nodiscard]] Solved solved(const Csr<double>& a, const std::vector<double>& exact) {
  const CsrView<double> view = a.view();
  const std::vector<double> b = product(view, exact);
  std::vector<double> x(b.size());
  const SpmvPlan<double> plan(Csr<double>::copy_of(view));
  Solved result;
  result.ladder = solve<double>(plan, statistics(view), b, x);
  expect_honest(result.ladder.report, view, b, x);
  double squares = 0;
  double norm = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    squares += (x[i] - exact[i]) * (x[i] - exact[i]);
    norm += exact[i] * exact[i];
  }
  result.error = std::sqrt(squares / norm);
  return result;
}

/// Systems with an inverse.
const std::vector<std::string> regular{"1138_bus",
                                       "add32",
                                       "bcsstk08",
                                       "bcsstk13",
                                       "bcsstk15",
                                       "bcsstk16",
                                       "bcsstk38",
                                       "bips98_606",
                                       "cage8",
                                       "cryg2500",
                                       "crystm01",
                                       "epb0",
                                       "ex31",
                                       "freeFlyingRobot_7",
                                       "Goodwin_010",
                                       "jnlbrng1",
                                       "lns_3937",
                                       "memplus",
                                       "nos4",
                                       "olm1000",
                                       "orsirr_1",
                                       "pores_2",
                                       "qh1484",
                                       "sherman1",
                                       "tols4000",
                                       "west0067",
                                       "case13659pegase_Bdc"};

/// Structural rank by an independent computation (SciPy's structural_rank).
const std::vector<std::pair<std::string, index_t>> deficits{
    {"karate", 7}, {"ca-GrQc", 415}, {"wb-cs-stanford", 4132}, {"ChicagoRegional_net", 218}, {"Sydney_net", 1540}};

TEST(LadderRealMatrices, WhatAnLuSolvesIsSolvedAndItsErrorIsKnown) {
  TESSERA_REQUIRE_REAL_MATRICES();
  for (const std::string& name : regular) {
    const auto file = read_matrix_market<double>(*real_matrices_dir() / (name + ".mtx.gz"));
    const auto n = static_cast<std::size_t>(file.matrix.rows());
    for (const bool ones : {false, true}) {
      SCOPED_TRACE(name + (ones ? ", A ones" : ", A random"));
      const Solved result = solved(file.matrix, ones ? std::vector<double>(n, 1.0) : random_values<double>(n, 29));
      EXPECT_TRUE(result.ladder.report.converged()) << result.ladder.report.reason;
      ASSERT_FALSE(result.ladder.rungs.empty());
      const auto& error = result.ladder.rungs[result.ladder.rung].error;
      ASSERT_TRUE(error.has_value());
      EXPECT_TRUE(result.error <= 1e-3 || !error->is_known() || error->relative_error > 1e-4)
          << "error " << result.error << " goes unnoticed, estimate " << error->relative_error;
      EXPECT_TRUE(result.ladder.proof.empty()) << result.ladder.proof;
    }
  }
}

TEST(LadderRealMatrices, SingularOnesAreProvedToBe) {
  TESSERA_REQUIRE_REAL_MATRICES();
  for (const auto& [name, deficit] : deficits) {
    SCOPED_TRACE(name);
    const auto file = read_matrix_market<double>(*real_matrices_dir() / (name + ".mtx.gz"));
    const CsrView<double> view = file.matrix.view();
    const auto b = random_values<double>(static_cast<std::size_t>(view.rows), 17);
    std::vector<double> x(b.size());
    const SpmvPlan<double> plan(Csr<double>::copy_of(view));
    const LadderReport ladder = solve<double>(plan, statistics(view), b, x);
    expect_honest(ladder.report, view, b, x);
    EXPECT_FALSE(ladder.report.converged());
    EXPECT_NE(ladder.proof.find(std::to_string(view.rows - deficit) + " of " + std::to_string(view.rows)),
              std::string::npos)
        << ladder.proof;
  }
}

}  // namespace
}  // namespace tessera::testing
