/// Polynomial preconditioners on a GPU: spectrum and explicit matrix of the host bit by bit, its iterations to one, and
/// loops that the GPU runs by itself.
#include "core/cuda/capture.hpp"
#include "core/cuda/context.hpp"
#include "core/enqueued_product.hpp"
#include "tessera/error.hpp"
#include "tests/solvers/polynomial_systems.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/cuda_test.hpp"
#include "tests/support/error_message.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace tessera::testing {
namespace {

class PolynomialOnGpu : public CudaTest {};

constexpr auto chebyshev = PolynomialKind::chebyshev;
constexpr auto neumann = PolynomialKind::neumann;

template <class T>
void expect_matrix_of_the_host(const Csr<T>& a, const PolynomialOptions& options, const Device& gpu) {
  SCOPED_TRACE(polynomial_name(options));
  const PolynomialPreconditioner<T> here(a.view(), options);
  const PolynomialPreconditioner<T> there(a.to(gpu).view(), options, gpu);
  EXPECT_EQ(there.polynomial().gershgorin, here.polynomial().gershgorin);
  EXPECT_EQ(there.polynomial().lambda_max, here.polynomial().lambda_max);
  EXPECT_EQ(there.polynomial().interval_low, here.polynomial().interval_low);
  EXPECT_EQ(there.info().is_symmetric, here.info().is_symmetric);
  const CsrView<T> m = there.matrix();
  const auto copied = [&]<class U>(std::span<const U> memory) {
    Array<U> result(static_cast<std::int64_t>(memory.size()), Init::none);
    detail::copy_bytes(Device{}, result.data(), gpu, memory.data(), memory.size_bytes());
    return result;
  };
  const Csr<T> found(m.rows, m.cols, copied(m.row_offsets), copied(m.columns), copied(m.values));
  expect_identical(found.view(), here.matrix());
}

TEST_F(PolynomialOnGpu, ExplicitMatrixOfTheHostBitByBit) {
  const auto n = static_cast<index_t>(repetitions(300, 50));
  for (const PolynomialKind kind : {chebyshev, neumann}) {
    for (const double tolerance : {0.0, 0.02}) {
      const PolynomialOptions options{.kind = kind, .degree = 3, .explicit_matrix = true, .drop_tolerance = tolerance};
      expect_matrix_of_the_host(irregular_spd<double>(n, 3), options, gpu());
      expect_matrix_of_the_host(irregular_spd<float>(n, 4), options, gpu());
      expect_matrix_of_the_host(convection_diffusion<double>(5, 4, 3, {.x = 2, .y = -1}), options, gpu());
    }
  }
  expect_matrix_of_the_host(irregular_spd<double>(n, 5),
                            {.degree = 3, .explicit_matrix = true, .drop_tolerance = 1e-3, .max_row_entries = 4},
                            gpu());
  expect_matrix_of_the_host(diagonal_matrix<double>({4.0}), {.explicit_matrix = true}, gpu());
  expect_matrix_of_the_host(Csr<double>{}, {.explicit_matrix = true}, gpu());
}

TEST_F(PolynomialOnGpu, ProductsOfTheHost) {
  const Csr<double> a = irregular_spd<double>(60, 7);
  const std::vector<double> r = random_values<double>(60, 3);
  for (const PolynomialKind kind : {chebyshev, neumann}) {
    for (const int degree : {1, 2, 5}) {
      const PolynomialOptions options{.kind = kind, .degree = degree};
      const PolynomialPreconditioner<double> there(a.to(gpu()).view(), options, gpu());
      const std::vector<double> found = applied(there, r);
      const std::vector<double> expected = applied(PolynomialPreconditioner<double>(a.view(), options), r);
      for (std::size_t i = 0; i < r.size(); ++i)
        EXPECT_NEAR(found[i], expected[i], 1e-12 * (1 + std::abs(expected[i])));
      EXPECT_NE(detail::EnqueuedProduct<double>::of(there), nullptr);
    }
  }
}

struct PolynomialSolve {
  SolveReport report;
  std::vector<double> x;
};

PolynomialSolve solve(const Csr<double>& a, const PolynomialOptions& options, const Device& device) {
  const auto plan = std::make_shared<const SpmvPlan<double>>(
      a.to(device), SpmvOptions{.device = device, .determinism = Determinism::run_to_run});
  const PolynomialPreconditioner<double> m(plan, options);
  const std::vector<double> values = product(a.view(), random_values<double>(static_cast<std::size_t>(a.rows()), 29));
  const auto b = Array<double>::copy_of(values, device);
  Array<double> x(a.rows(), Init::zero, device);
  PolynomialSolve result;
  result.report =
      m.info().is_symmetric ? cg<double>(*plan, m, b.span(), x.span()) : bicgstab<double>(*plan, m, b.span(), x.span());
  const Array<double> found = x.to(Device{});
  result.x.assign(found.begin(), found.end());
  expect_honest(result.report, a.view(), values, result.x);
  return result;
}

TEST_F(PolynomialOnGpu, IterationsOfTheHost) {
  const Csr<double> grid = poisson2d<double>(repetitions(60, 14), 13);
  const Csr<double> flow = convection_diffusion<double>(6, 5, repetitions(20, 4), {.x = 2, .y = -1});
  for (const PolynomialOptions& options :
       {PolynomialOptions{.degree = 4}, PolynomialOptions{.kind = neumann, .degree = 3},
        PolynomialOptions{.degree = 3, .explicit_matrix = true, .drop_tolerance = 1e-3}}) {
    for (const Csr<double>* a : {&grid, &flow}) {
      SCOPED_TRACE(polynomial_name(options));
      const PolynomialSolve there = solve(*a, options, gpu());
      const PolynomialSolve here = solve(*a, options, Device{});
      EXPECT_TRUE(there.report.converged()) << there.report.reason;
      EXPECT_LE(std::abs(there.report.iterations - here.report.iterations), 1);
      EXPECT_EQ(solve(*a, options, gpu()).x, there.x) << "run to run";
    }
  }
}

/// The GPU iterates by itself: no allocation per iteration, one wait for several.
TEST_F(PolynomialOnGpu, IterationsNeitherAllocateNorWait) {
  const auto plan =
      std::make_shared<const SpmvPlan<double>>(poisson2d<double>(30, 30).to(gpu()), SpmvOptions{.device = gpu()});
  const auto b = Array<double>::copy_of(random_values<double>(900, 3), gpu());
  const cuda::Context& context = cuda::Context::of(gpu());
  for (const bool is_explicit : {false, true}) {
    const PolynomialPreconditioner<double> m(plan, {.degree = 4, .explicit_matrix = is_explicit});
    const auto cost = [&](std::int64_t iterations) {
      Array<double> x(900, Init::zero, gpu());
      const SolverOptions options{.relative_tolerance = 0.0, .max_iterations = iterations, .stagnation_window = 100000};
      const ContextCounts before = context.counts();
      const SolveReport report = cg<double>(*plan, m, b.span(), x.span(), options);
      EXPECT_EQ(report.iterations, iterations) << report.reason;
      const ContextCounts after = context.counts();
      return ContextCounts{after.allocations - before.allocations, after.waits - before.waits};
    };
    const ContextCounts few = cost(4);
    const ContextCounts many = cost(12);
    EXPECT_EQ(many.allocations, few.allocations);
    // Without graphs the host launches a few iterations at a time.
    if (cuda::graphs_are_usable()) {
      EXPECT_LE(many.waits, few.waits + 8 / 4);
    }
  }
}

/// What was recorded before a refresh() must be recorded anew.
TEST_F(PolynomialOnGpu, RefreshIsSeenByTheNextSolve) {
  const Csr<double> first = irregular_spd<double>(80, 1);
  const Csr<double> second = scaled(poisson2d<double>(8, 10), 3.0);
  const auto values_of = [](const Csr<double>& a) { return std::vector<double>(a.values().begin(), a.values().end()); };
  std::vector<double> changed = values_of(first);
  for (std::size_t k = 0; k < changed.size(); k += 2) changed[k] *= 1.25;
  const Csr<double> other = first.with_values(Array<double>::copy_of(changed));
  for (const bool is_explicit : {false, true}) {
    const PolynomialOptions options{.degree = 3, .explicit_matrix = is_explicit};
    PolynomialPreconditioner<double> m(first.to(gpu()).view(), options, gpu());
    const auto* const product = detail::EnqueuedProduct<double>::of(m);
    const std::uint64_t before = product->recording_id();
    const Csr<double> there = other.to(gpu());
    m.refresh(there.view());
    EXPECT_NE(detail::EnqueuedProduct<double>::of(m)->recording_id(), before);
    const std::vector<double> r = random_values<double>(80, 6);
    EXPECT_EQ(applied(m, r), applied(PolynomialPreconditioner<double>(there.view(), options, gpu()), r));
    if (!is_explicit) {
      EXPECT_THROW(m.refresh(second.to(gpu()).view()), InvalidMatrix) << "another structure";
    }
  }
}

TEST_F(PolynomialOnGpu, RefusesWhatTheHostRefuses) {
  std::vector<double> entries(300, 2.0);
  entries[211] = 0.0;
  const Csr<double> zero = diagonal_matrix(entries).to(gpu());
  EXPECT_EQ(message_of<InvalidMatrix>([&] { const PolynomialPreconditioner<double> m(zero.view(), {}, gpu()); }),
            "poly:4 needs a finite inverse of every diagonal entry: row 212 holds 0");
  EXPECT_THROW((PolynomialPreconditioner<double>(zero.view())), InvalidArgument) << "the device was forgotten";
}

}  // namespace
}  // namespace tessera::testing
