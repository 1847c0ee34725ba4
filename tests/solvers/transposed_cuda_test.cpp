/// Products with Mᵀ on a GPU against those of the host, and solves with Aᵀ whose loop the GPU runs.
#include "tessera/amg.hpp"
#include "tessera/approximate_inverse.hpp"
#include "tessera/error.hpp"
#include "tessera/incomplete_factors.hpp"
#include "tessera/iterative_solver.hpp"
#include "tessera/polynomial.hpp"
#include "tessera/statistics.hpp"
#include "tests/solvers/systems.hpp"
#include "tests/support/cuda_test.hpp"
#include "tests/support/error_message.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace tessera::testing {
namespace {

class TransposedOnGpu : public CudaTest {
 protected:
  static Csr<double> flow(const Peclet& peclet) { return convection_diffusion<double>(12, 9, 1, peclet); }
  const std::vector<double> b = random_values<double>(108, 4);

  [[nodiscard]] std::vector<double> to_host(const Array<double>& values) const {
    const Array<double> here = values.to(Device{});
    return {here.begin(), here.end()};
  }

  void expect_product_of_host(const LinearOperator<double>& there, const LinearOperator<double>& here) const {
    const Array<double> x = Array<double>::copy_of(b, gpu());
    Array<double> y(108, Init::none, gpu());
    there.apply_transposed(x.span(), y.span());
    std::vector<double> expected(108);
    here.apply_transposed(b, expected);
    const std::vector<double> found = to_host(y);
    for (std::size_t i = 0; i < 108; ++i) EXPECT_NEAR(found[i], expected[i], 1e-12) << i;
  }

  /// A solve with Aᵀ of `a`, from 0.
  void expect_solution(IterativeSolver<double>& solver, const CsrView<double>& a) const {
    const Array<double> side = Array<double>::copy_of(b, gpu());
    Array<double> x(108, Init::zero, gpu());
    const SolveReport report = solver.solve_transposed(side.span(), x.span());
    EXPECT_TRUE(report.converged()) << report.reason;
    expect_honest(report, transpose(a).view(), b, to_host(x));
  }
};

TEST_F(TransposedOnGpu, ProductsAreThoseOfTheHost) {
  const Csr<double> a = flow({8.0, 3.0, 0.0});
  const Csr<double> there = a.to(gpu());
  for (const int level : {0, 1}) {
    const SpaiOptions options{.level = level};
    expect_product_of_host(SpaiPreconditioner<double>(there.view(), options, gpu()),
                           SpaiPreconditioner<double>(a.view(), options));
  }
  for (const bool is_explicit : {false, true}) {
    const PolynomialOptions options{.explicit_matrix = is_explicit};
    expect_product_of_host(PolynomialPreconditioner<double>(there.view(), options, gpu()),
                           PolynomialPreconditioner<double>(a.view(), options));
  }
}

/// Recorded loops with A, whose values move, and loops of the host.
TEST_F(TransposedOnGpu, SolvesFollowNewValues) {
  const Csr<double> first = flow({8.0, 3.0, 0.0});
  SpmvPlan<double> plan(first.to(gpu()), {.device = gpu()});
  plan.prepare_transpose();
  JacobiPreconditioner<double> jacobi(plan.matrix(), gpu());
  SpaiPreconditioner<double> spai(plan.matrix(), {}, gpu());
  for (const IterativeMethod method : {IterativeMethod::bicgstab, IterativeMethod::gmres}) {
    plan.update_values(first.values().span());
    jacobi.refresh(plan.matrix());
    spai.refresh(plan.matrix());
    IterativeSolver<double> recorded(method, plan, jacobi);
    IterativeSolver<double> driven(method, plan, spai);
    expect_solution(recorded, first.view());
    expect_solution(driven, first.view());
    for (const Peclet& peclet : {Peclet{-3.0, 5.0, 0.0}, Peclet{1.0, -6.0, 0.0}}) {
      const Csr<double> next = flow(peclet);
      plan.update_values(next.values().span());
      jacobi.refresh(plan.matrix());
      spai.refresh(plan.matrix());
      expect_solution(recorded, next.view());
      expect_solution(driven, next.view());
    }
  }
}

TEST_F(TransposedOnGpu, SymmetricOnesServeThemselvesAndOthersAreRefused) {
  const Csr<double> spd = poisson2d<double>(12, 9).to(gpu());
  const IncompleteFactors<double> ic0(spd.view(), {.kind = FactorKind::ic0}, gpu());
  EXPECT_EQ(transposed<double>(ic0).get(), &ic0);
  const Amg<double> cycle(spd.view(), {}, gpu());
  EXPECT_EQ(transposed<double>(cycle).get(), &cycle);
  const Csr<double> a = flow({8.0, 3.0, 0.0}).to(gpu());
  const IncompleteFactors<double> ilu0(a.view(), {.kind = FactorKind::ilu0}, gpu());
  EXPECT_NE(message_of<NotSupported>([&] { (void)transposed<double>(ilu0); }).find("on a GPU ic0 and ict have one"),
            std::string::npos);
  const Amg<double> other(a.view(), {}, gpu());
  EXPECT_NE(message_of<NotSupported>([&] { (void)transposed<double>(other); }).find("the cycles V and W"),
            std::string::npos);
}

}  // namespace
}  // namespace tessera::testing
