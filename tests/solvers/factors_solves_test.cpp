#include "tests/solvers/factors_support.hpp"

#include <gtest/gtest.h>

namespace tessera::testing {
namespace {

struct Counts {
  std::int64_t factors;
  std::int64_t jacobi;
};

/// Iterations with incomplete factors and with Jacobi.
template <class T, class Method>
Counts iterations(const Csr<T>& a, const IncompleteFactorOptions& options, const Method& method) {
  const SpmvPlan<T> plan(Csr<T>::copy_of(a.view()));
  const std::vector<T> b = product(a.view(), random_values<T>(static_cast<std::size_t>(a.rows()), 3));
  const auto solve = [&](const LinearOperator<T>& m) {
    std::vector<T> x(b.size());
    const SolveReport report = method(plan, m, b, x);
    EXPECT_TRUE(report.converged()) << report.reason;
    expect_honest(report, a.view(), b, x);
    return report.iterations;
  };
  return {solve(IncompleteFactors<T>(a.view(), options)), solve(JacobiPreconditioner<T>(a.view()))};
}

template <class T>
Counts with_bicgstab(const Csr<T>& a, const IncompleteFactorOptions& options) {
  return iterations(a, options, [](const auto& plan, const auto& m, const auto& b, auto& x) {
    return bicgstab<T>(plan, m, b, x, {.relative_tolerance = sizeof(T) == 4 ? 1e-4 : 1e-8});
  });
}

TEST(FactorsSolve, ConvectionAndDiffusionWithBicgstab) {
  const Csr<double> a = convection_diffusion<double>(14, 14, 14, Peclet{20.0, 5.0, 1.0});
  for (const auto kind : {FactorKind::ilu0, FactorKind::iluk, FactorKind::ilut, FactorKind::ilutp}) {
    SCOPED_TRACE(to_string(kind));
    const Counts counts = with_bicgstab(a, {.kind = kind, .drop_tolerance = 1e-3, .max_row_entries = 20});
    EXPECT_LT(2 * counts.factors, counts.jacobi);
  }
  const Counts blocks = with_bicgstab(a, {.kind = FactorKind::ilu0, .blocks = 8});
  EXPECT_LT(blocks.factors, blocks.jacobi) << "block Jacobi";
  const Counts single = with_bicgstab(a.with_value_type<float>(), {.drop_tolerance = 1e-3, .max_row_entries = 20});
  EXPECT_LT(2 * single.factors, single.jacobi);
}

TEST(FactorsSolve, PoissonWithCg) {
  const Csr<double> a = poisson2d<double>(60, 60);
  for (const auto kind : {FactorKind::ic0, FactorKind::ict}) {
    SCOPED_TRACE(to_string(kind));
    const Counts counts =
        iterations(a, {.kind = kind, .drop_tolerance = 1e-3, .max_row_entries = 20},
                   [](const auto& plan, const auto& m, const auto& b, auto& x) { return cg<double>(plan, m, b, x); });
    EXPECT_LT(2 * counts.factors, counts.jacobi);
  }
}

}  // namespace
}  // namespace tessera::testing
