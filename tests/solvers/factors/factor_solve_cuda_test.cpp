/// M r by incomplete factors on a GPU: both kinds of triangular solves against a plain loop bit by bit, against Eigen,
/// repeated, enqueued, and as the preconditioner of a loop that the GPU runs by itself.
#include "core/cuda/context.hpp"
#include "core/enqueued_product.hpp"
#include "tests/solvers/factors/factor_systems.hpp"
#include "tests/solvers/systems.hpp"
#include "tests/solvers/waiting.hpp"
#include "tests/support/cuda_test.hpp"

#include <gtest/gtest.h>
#include <Eigen/Sparse>

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace tessera::testing {
namespace {

using detail::EnqueuedProduct;
using detail::FactorSolve;

constexpr TriangularSolve both_kinds[]{TriangularSolve::levels, TriangularSolve::sync_free};

std::string name_of(TriangularSolve kind) { return kind == TriangularSolve::levels ? "levels" : "sync-free"; }

template <class T>
class FactorSolveOnGpu : public CudaTest {
 protected:
  [[nodiscard]] static std::unique_ptr<FactorSolve<T>> make(const HostFactors<T>& factors, TriangularSolve kind) {
    return cuda::make_factor_solve<T>(factors.on(gpu()), kind, gpu());
  }
  [[nodiscard]] static std::vector<T> apply(const FactorSolve<T>& m, const std::vector<T>& r) {
    const auto on_gpu = Array<T>::copy_of(r, gpu());
    auto z = Array<T>::copy_of(std::vector<T>(r.size(), std::numeric_limits<T>::quiet_NaN()), gpu());
    m.apply(on_gpu.span(), z.span());
    const Array<T> result = z.to(Device{});
    return {result.begin(), result.end()};
  }
};
using ValueTypes = ::testing::Types<float, double>;
TYPED_TEST_SUITE(FactorSolveOnGpu, ValueTypes);

std::vector<index_t> sizes() {
  if (sparing()) return {1, 33, 150};
  if (gpu_is_emulated) return {1, 33, 500};
  return {1, 33, 1000};
}

/// Equal values; NaN equals NaN.
template <class T>
void expect_same(const std::vector<T>& found, const std::vector<T>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (std::isnan(expected[i])) {
      EXPECT_TRUE(std::isnan(found[i])) << "element " << i << " is " << found[i];
    } else {
      EXPECT_EQ(found[i], expected[i]) << "element " << i;
    }
    if (::testing::Test::HasFailure()) return;
  }
}

/// Solutions of both systems in double by Eigen.
template <class T>
std::vector<double> image_by_eigen(const HostFactors<T>& factors, const std::vector<T>& r) {
  const auto n = static_cast<Eigen::Index>(r.size());
  const auto matrix = [n](const TriangleRows<T>& triangle) {
    std::vector<Eigen::Triplet<double>> entries;
    for (Eigen::Index i = 0; i < n; ++i) {
      const auto row = static_cast<std::size_t>(i);
      const double inverse =
          triangle.inverse_diagonal.empty() ? 1.0 : static_cast<double>(triangle.inverse_diagonal[row]);
      entries.emplace_back(i, i, 1.0 / inverse);
      for (const auto& [j, value] : triangle.rows[row]) entries.emplace_back(i, j, static_cast<double>(value));
    }
    Eigen::SparseMatrix<double, Eigen::RowMajor> result(n, n);
    result.setFromTriplets(entries.begin(), entries.end());
    return result;
  };
  Eigen::VectorXd w(n);
  for (Eigen::Index k = 0; k < n; ++k) {
    const auto at = static_cast<std::size_t>(k);
    w[k] = static_cast<double>(r[factors.row_from.empty() ? at : static_cast<std::size_t>(factors.row_from[at])]);
    if (!factors.row_scale.empty()) w[k] *= static_cast<double>(factors.row_scale[at]);
  }
  w = matrix(factors.lower).template triangularView<Eigen::Lower>().solve(w);
  w = matrix(factors.upper).template triangularView<Eigen::Upper>().solve(w);
  std::vector<double> z(r.size());
  for (Eigen::Index k = 0; k < n; ++k) {
    const auto at = static_cast<std::size_t>(k);
    const double scale = factors.column_scale.empty() ? 1.0 : static_cast<double>(factors.column_scale[at]);
    z[factors.column_to.empty() ? at : static_cast<std::size_t>(factors.column_to[at])] = scale * w[k];
  }
  return z;
}

TYPED_TEST(FactorSolveOnGpu, EveryShapeGivesTheBitsOfAPlainLoop) {
  using T = TypeParam;
  std::uint64_t seed = 1;
  for (const FactorShape& shape : factor_shapes()) {
    for (const index_t n : sizes()) {
      for (const bool mapped : {false, true}) {
        SCOPED_TRACE(shape.name + ", n = " + std::to_string(n) + (mapped ? ", permuted and scaled" : ""));
        const HostFactors<T> factors = random_factors<T>(shape, n, mapped, ++seed);
        const std::vector<T> r = random_values<T>(factors.size(), seed);
        const std::vector<T> expected = image_of(factors, r);
        const std::vector<double> by_eigen = image_by_eigen(factors, r);
        std::vector<T> by_host(r.size());
        host::make_factor_solve<T>(factors.on(Device{}), Device{})->apply(r, by_host);
        if (shape.name == "short rows" || shape.name == "chain") expect_same(by_host, expected);
        for (std::size_t i = 0; i < expected.size(); ++i) {
          // Rows are dominated by their diagonals: errors grow by less than 20 per solve.
          const double bound =
              1e4 * static_cast<double>(std::numeric_limits<T>::epsilon()) * (1.0 + std::abs(by_eigen[i]));
          ASSERT_NEAR(static_cast<double>(expected[i]), by_eigen[i], bound);
          ASSERT_NEAR(static_cast<double>(by_host[i]), by_eigen[i], bound);
        }
        for (const TriangularSolve kind : both_kinds) {
          SCOPED_TRACE(name_of(kind));
          const auto m = this->make(factors, kind);
          EXPECT_EQ(m->kind(), kind);
          EXPECT_EQ(m->rows(), n);
          EXPECT_EQ(m->lower_levels(), levels_by_definition(factors.lower, true));
          EXPECT_EQ(m->upper_levels(), levels_by_definition(factors.upper, false));
          EXPECT_GT(m->bytes(), 0u);
          expect_same(this->apply(*m, r), expected);
          if (this->HasFailure()) return;
        }
      }
    }
  }
}

TYPED_TEST(FactorSolveOnGpu, NoRows) {
  using T = TypeParam;
  for (const TriangularSolve kind : {TriangularSolve::automatic, TriangularSolve::levels, TriangularSolve::sync_free}) {
    const auto m = this->make(HostFactors<T>{}, kind);
    EXPECT_EQ(m->rows(), 0);
    EXPECT_EQ(m->lower_levels(), 0);
    EXPECT_TRUE(this->apply(*m, {}).empty());
  }
}

/// alpha M r + beta z, one product after another with other vectors: each leaves what the next one needs.
TYPED_TEST(FactorSolveOnGpu, ScaledAndAddedAndRepeated) {
  using T = TypeParam;
  const HostFactors<T> factors = random_factors<T>(factor_shapes()[3], 300, true, 7);
  for (const TriangularSolve kind : both_kinds) {
    SCOPED_TRACE(name_of(kind));
    const auto m = this->make(factors, kind);
    std::vector<T> expected = random_values<T>(factors.size(), 9);
    auto z = Array<T>::copy_of(expected, this->gpu());
    std::uint64_t seed = 10;
    for (const auto& [alpha, beta] :
         {std::pair{T{2}, T{-0.5}}, {T{1}, T{1}}, {T{0}, T{2}}, {T{-3}, T{0}}, {T{1}, T{0}}}) {
      const std::vector<T> r = random_values<T>(factors.size(), ++seed);
      const std::vector<T> image = image_of(factors, r);
      m->apply(alpha, Array<T>::copy_of(r, this->gpu()).span(), beta, z.span());
      for (std::size_t i = 0; i < expected.size(); ++i) {
        const T product = alpha == T{0} ? T{0} : rounded(alpha, image[i]);
        expected[i] = product + (beta == T{0} ? T{0} : rounded(beta, expected[i]));
      }
      const Array<T> found = z.to(Device{});
      expect_same<T>({found.begin(), found.end()}, expected);
    }
  }
}

/// NaN and infinity go where they go in a plain loop, also the NaN that marks a value that has not come.
TYPED_TEST(FactorSolveOnGpu, NanPassesThrough) {
  using T = TypeParam;
  T mark;
  std::memset(&mark, 0xff, sizeof(T));
  ASSERT_TRUE(std::isnan(mark));
  const HostFactors<T> factors = random_factors<T>(factor_shapes()[3], 200, true, 17);
  const std::vector<T> clean = random_values<T>(factors.size(), 18);
  for (const TriangularSolve kind : both_kinds) {
    SCOPED_TRACE(name_of(kind));
    const auto m = this->make(factors, kind);
    for (const T bad : {std::numeric_limits<T>::quiet_NaN(), mark, std::numeric_limits<T>::infinity()}) {
      std::vector<T> r = clean;
      r[20] = bad;
      r[150] = bad;
      expect_same(this->apply(*m, r), image_of(factors, r));
      expect_same(this->apply(*m, clean), image_of(factors, clean));
    }
  }
}

TYPED_TEST(FactorSolveOnGpu, EnqueuedProductsGiveTheSameBits) {
  using T = TypeParam;
  const HostFactors<T> factors = random_factors<T>(factor_shapes()[4], 200, true, 27);
  const std::vector<T> r = random_values<T>(factors.size(), 28);
  const std::vector<T> w = random_values<T>(factors.size(), 29);
  const std::vector<T> expected = image_of(factors, r);
  const auto r_gpu = Array<T>::copy_of(r, this->gpu());
  const auto w_gpu = Array<T>::copy_of(w, this->gpu());
  const auto on_host = [](const Array<T>& z) {
    const Array<T> copy = z.to(Device{});
    return std::vector<T>(copy.begin(), copy.end());
  };
  for (const TriangularSolve kind : both_kinds) {
    SCOPED_TRACE(name_of(kind));
    const auto m = this->make(factors, kind);
    const EnqueuedProduct<T>* const product = EnqueuedProduct<T>::of(*m);
    ASSERT_NE(product, nullptr);
    Array<T> z(m->rows(), Init::zero, this->gpu());
    const ProductDots by_host = m->apply_and_dot(r_gpu.span(), z.span(), w_gpu.span());
    Array<ProductDots> sums(1, Init::zero, this->gpu());
    product->enqueue(r_gpu.span(), z.span(), w_gpu.span(), sums.data());
    expect_same(on_host(z), expected);
    EXPECT_EQ(sums.to(Device{})[0].wy, by_host.wy);
    EXPECT_EQ(sums.to(Device{})[0].yy, by_host.yy);
    // A loop that has halted: nothing is written, and the next product finds everything in place.
    const auto halted = Array<std::int32_t>::copy_of(std::vector<std::int32_t>{1, 0}, this->gpu());
    Array<T> untouched = Array<T>::copy_of(w, this->gpu());
    static_cast<void>(product->enqueue_parts(r_gpu.span(), untouched.span(), w_gpu.span(), sums.data(), halted.data()));
    expect_same(on_host(untouched), w);
    const auto parts =
        product->enqueue_parts(r_gpu.span(), untouched.span(), w_gpu.span(), sums.data(), halted.data() + 1);
    expect_same(on_host(untouched), expected);
    ASSERT_EQ(parts.size(), 1u);
    EXPECT_EQ(parts.data(), sums.data());
    EXPECT_EQ(sums.to(Device{})[0].wy, by_host.wy);
  }
}

TYPED_TEST(FactorSolveOnGpu, TheFasterKindGivesTheSameBits) {
  using T = TypeParam;
  for (const std::size_t shape : {std::size_t{1}, std::size_t{3}}) {
    const HostFactors<T> factors = random_factors<T>(factor_shapes()[shape], 200, true, 37);
    const auto m = this->make(factors, TriangularSolve::automatic);
    EXPECT_TRUE(m->kind() == TriangularSolve::levels || m->kind() == TriangularSolve::sync_free);
    const std::vector<T> r = random_values<T>(factors.size(), 38);
    expect_same(this->apply(*m, r), image_of(factors, r));
  }
}

TYPED_TEST(FactorSolveOnGpu, ProductsNeitherAllocateNorWait) {
  using T = TypeParam;
  const HostFactors<T> factors = random_factors<T>(factor_shapes()[3], 200, true, 47);
  const Array<T> r = Array<T>::copy_of(random_values<T>(factors.size(), 48), this->gpu());
  Array<T> z(r.size(), Init::zero, this->gpu());
  for (const TriangularSolve kind : both_kinds) {
    const auto m = this->make(factors, kind);
    const ContextCounts before = cuda::Context::of(this->gpu()).counts();
    for (int k = 0; k < 3; ++k) m->apply(T{1}, r.span(), T{0.5}, z.span());
    const ContextCounts after = cuda::Context::of(this->gpu()).counts();
    EXPECT_EQ(after.allocations, before.allocations);
    EXPECT_EQ(after.waits, before.waits);
  }
}

/// Levels too wide for one block are launched one by one.
TYPED_TEST(FactorSolveOnGpu, WideLevels) {
  using T = TypeParam;
  const index_t n = sparing() ? 4500 : 6000;
  const HostFactors<T> factors = random_factors<T>(factor_shapes()[2], n, true, 67);
  const std::vector<T> r = random_values<T>(factors.size(), 68);
  const std::vector<T> expected = image_of(factors, r);
  for (const TriangularSolve kind : both_kinds) {
    SCOPED_TRACE(name_of(kind));
    const auto m = this->make(factors, kind);
    expect_same(this->apply(*m, r), expected);
  }
}

/// More rows than a GPU holds threads, levels of all widths, long chains: what an emulated GPU has no time for.
TYPED_TEST(FactorSolveOnGpu, LargeFactorsByBothKinds) {
  using T = TypeParam;
  if (gpu_is_emulated || sparing()) GTEST_SKIP() << "takes too long on an emulated GPU";
  std::uint64_t seed = 57;
  for (const FactorShape& shape : factor_shapes()) {
    if (shape.name == "band of 40") continue;
    const index_t n = shape.name == "chain" || shape.name == "hub rows" ? 20'000 : 400'000;
    SCOPED_TRACE(shape.name);
    const HostFactors<T> factors = random_factors<T>(shape, n, true, ++seed);
    const std::vector<T> r = random_values<T>(factors.size(), seed);
    const std::vector<T> expected = image_of(factors, r);
    for (const TriangularSolve kind : both_kinds) {
      const auto m = this->make(factors, kind);
      for (int k = 0; k < 5; ++k) expect_same(this->apply(*m, r), expected);
    }
  }
}

class FactorsInLoops : public CudaTest {};

/// ILU(0) and IC(0) made on the GPU, as M of BiCGSTAB and CG: the GPU alone, and driven by the host.
TEST_F(FactorsInLoops, HostDrivenLoopGivesTheSameBits) {
  for (const bool cholesky : {false, true}) {
    const auto matrix = std::make_shared<const Csr<double>>(
        cholesky ? poisson2d<double>(14, 14) : convection_diffusion<double>(14, 14, 1, {.x = 3.0, .y = 1.0}));
    const SpmvPlan<double> plan(matrix, {.device = gpu(), .determinism = Determinism::run_to_run});
    const std::vector<double> b = product(matrix->view(), random_values<double>(196, 5));
    for (const TriangularSolve kind : both_kinds) {
      SCOPED_TRACE(name_of(kind) + (cholesky ? ", IC(0)" : ", ILU(0)"));
      const Csr<double> on_gpu = matrix->to(gpu());
      cuda::DeviceFactors<double> made = cuda::factor_on_device(on_gpu.view(), cholesky, 0.0, gpu());
      ASSERT_TRUE(made.positive);
      detail::PreparedFactors<double> factors{std::move(made.lower), std::move(made.upper), {}, {}, {}, {}};
      const auto m = cuda::make_factor_solve<double>(std::move(factors), kind, gpu());
      const auto b_gpu = Array<double>::copy_of(b, gpu());
      const auto solve = [&](const LinearOperator<double>& a, std::vector<double>& x) {
        Array<double> found(a.rows(), Init::zero, gpu());
        const SolverOptions options{.relative_tolerance = 1e-10, .keep_history = true};
        SolveReport report = cholesky ? cg<double>(a, *m, b_gpu.span(), found.span(), options)
                                      : bicgstab<double>(a, *m, b_gpu.span(), found.span(), options);
        const Array<double> copy = found.to(Device{});
        x.assign(copy.begin(), copy.end());
        return report;
      };
      std::vector<double> x;
      std::vector<double> x_driven;
      const SolveReport alone = solve(plan, x);
      const SolveReport driven = solve(Waiting(plan), x_driven);
      EXPECT_TRUE(alone.converged()) << alone.reason;
      EXPECT_LT(alone.iterations, 25);
      expect_honest(alone, matrix->view(), b, x);
      EXPECT_EQ(alone.iterations, driven.iterations);
      EXPECT_EQ(alone.true_residual, driven.true_residual);
      EXPECT_EQ(x, x_driven);
    }
  }
}

}  // namespace
}  // namespace tessera::testing
