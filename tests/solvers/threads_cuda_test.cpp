/// Objects on a GPU shared by threads: products of four threads in one stream give the results of one alone.
#include "tessera/amg.hpp"
#include "tessera/approximate_inverse.hpp"
#include "tessera/incomplete_factors.hpp"
#include "tessera/polynomial.hpp"
#include "tessera/reordered_plan.hpp"
#include "tests/solvers/systems.hpp"
#include "tests/solvers/thread_calls.hpp"
#include "tests/support/cuda_test.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace tessera::testing {
namespace {

class ThreadsOnGpu : public CudaTest {
 protected:
  void SetUp() override {
    CudaTest::SetUp();
    if (gpu_is_emulated) GTEST_SKIP() << "the emulated GPU serves one thread";
  }

  /// Rows that repeat, for every kernel.
  [[nodiscard]] static Csr<double> matrix() { return poisson2d<double>(70, 60); }

  [[nodiscard]] Array<double> vector_of(std::int64_t n, int seed) const {
    return Array<double>::copy_of(
        random_values<double>(static_cast<std::size_t>(n), static_cast<std::uint64_t>(seed) + 1), gpu());
  }
  [[nodiscard]] static std::vector<double> on_host(const Array<double>& array) {
    const Array<double> copy = array.to(Device{});
    return {copy.begin(), copy.end()};
  }

  /// Products of every kind that the operator offers. \param tolerance 0: bit by bit
  void expect_concurrent_products(const std::string& name, const FusedOperator<double>& a,
                                  double tolerance = 0.0) const {
    const std::int64_t n = a.rows();
    const auto expect_results = [&](const std::string& kind, const auto& call) {
      expect_results_of_one(name + kind, call, rounds(5), tolerance);
    };
    expect_results("", [&](int t) {
      Array<double> y(n, Init::none, gpu());
      const Array<double> x = vector_of(n, t);
      a.apply(x.span(), y.span());
      return on_host(y);
    });
    expect_results(", alpha and beta", [&](int t) {
      Array<double> y = vector_of(n, t + 10);
      const Array<double> x = vector_of(n, t);
      a.apply(0.5, x.span(), -2.0, y.span());
      return on_host(y);
    });
    expect_results(", inner products", [&](int t) {
      DualBuffer<double> out = a.make_output();
      const Array<double> x = vector_of(n, t);
      const Array<double> w = vector_of(n, t + 20);
      const ProductDots dots = a.apply_and_dot(x.span(), out, w.span());
      return std::vector<double>{dots.wy, dots.yy};
    });
    if (!a.has_transpose()) return;
    expect_results(", transposed", [&](int t) {
      Array<double> y(n, Init::none, gpu());
      const Array<double> x = vector_of(n, t);
      a.apply_transposed(x.span(), y.span());
      return on_host(y);
    });
  }
};

TEST_F(ThreadsOnGpu, ProductsOfEveryKernelAreRight) {
  for (const SpmvAlgorithm algorithm : spmv_algorithms(gpu())) {
    const bool is_vendors = algorithm == SpmvAlgorithm::vendor_csr || algorithm == SpmvAlgorithm::vendor_coo;
    const SpmvOptions options{.algorithm = algorithm,
                              .device = gpu(),
                              .determinism = is_vendors ? Determinism::not_guaranteed : Determinism::run_to_run,
                              .with_transpose = true};
    expect_concurrent_products(std::string(to_string(algorithm)), SpmvPlan<double>(matrix(), options),
                               is_vendors ? 1e-10 : 0.0);
  }
  expect_concurrent_products(
      "reordered", ReorderedPlan<double>(matrix(), Ordering::degree, {.device = gpu(), .with_transpose = true}));
}

TEST_F(ThreadsOnGpu, ProductsOfEveryPreconditionerAreRight) {
  const Csr<double> a = matrix().to(gpu());
  for (const AmgCycle cycle : {AmgCycle::v, AmgCycle::w, AmgCycle::k}) {
    expect_concurrent_products("amg " + std::string(to_string(cycle)),
                               Amg<double>(a.view(), AmgOptions{.coarsest_rows = 20, .cycle = cycle}, gpu()));
  }
  for (const bool is_explicit : {false, true}) {
    const PolynomialOptions options{.degree = 4, .explicit_matrix = is_explicit};
    expect_concurrent_products(polynomial_name(options), PolynomialPreconditioner<double>(a.view(), options, gpu()));
  }
  for (const TriangularSolve solve : {TriangularSolve::levels, TriangularSolve::sync_free}) {
    for (const FactorKind kind : {FactorKind::ilu0, FactorKind::ilutp, FactorKind::ic0}) {
      const IncompleteFactorOptions options{.kind = kind, .solve = solve};
      expect_concurrent_products(factor_name(options) + " " + std::string(to_string(solve)),
                                 IncompleteFactors<double>(a.view(), options, gpu()));
    }
  }
  expect_concurrent_products("jacobi", JacobiPreconditioner<double>(a.view(), gpu()));
  expect_concurrent_products("fsai", FsaiPreconditioner<double>(a.view(), FsaiOptions{}, gpu()));
  expect_concurrent_products("spai", SpaiPreconditioner<double>(a.view(), SpaiOptions{}, gpu()));
}

}  // namespace
}  // namespace tessera::testing
