/// Iterations allocate nothing: a solve of many iterations makes as many allocations as one of few.
#include "tessera/approximate_inverse.hpp"
#include "tessera/device_shares.hpp"
#include "tessera/iterative_solver.hpp"
#include "tessera/mixed_precision.hpp"
#include "tessera/multiple_right_sides.hpp"
#include "tessera/pagerank.hpp"
#include "tessera/polynomial.hpp"
#include "tests/solvers/systems.hpp"
#include "tests/support/allocation_counter.hpp"

#include <gtest/gtest.h>

namespace tessera::testing {
namespace {

template <class Run>
std::int64_t allocations_of(const Run& run) {
  const std::int64_t before = allocation_count();
  run();
  return allocation_count() - before;
}

TEST(Allocation, CounterCounts) {
  EXPECT_GE(allocations_of([] { const std::vector<double> something(1000); }), 1);
}

TEST(Allocation, KrylovIterationsMakeNone) {
  System<double> system(convection_diffusion<double>(110, 100, 1, {.x = 0.1}));
  const Csr<double> symmetric = poisson2d<double>(110, 100);
  const SpmvPlan<double> spd(Csr<double>::copy_of(symmetric.view()));
  const JacobiPreconditioner<double> jacobi(symmetric.view());
  const auto counted = [&](std::int64_t iterations, bool use_cg, std::int64_t interval) {
    const SolverOptions options{.relative_tolerance = 1e-14,
                                .max_iterations = iterations,
                                .replacement_interval = interval,
                                .keep_history = true};
    system.x.assign(system.size(), 0.0);
    return allocations_of([&] {
      const SolveReport report = use_cg ? cg<double>(spd, jacobi, system.b, system.x, options)
                                        : bicgstab<double>(system.plan, jacobi, system.b, system.x, options);
      EXPECT_EQ(report.iterations, iterations) << report.reason;
    });
  };
  for (const bool use_cg : {true, false}) {
    for (const std::int64_t interval : {0, 3}) {
      (void)counted(2, use_cg, interval);  // threads start
      EXPECT_EQ(counted(20, use_cg, interval), counted(40, use_cg, interval));
    }
  }
}

TEST(Allocation, IterationsOfSeveralRightSidesMakeNone) {
  const SpmvPlan<double> plan(poisson2d<double>(110, 100));
  const JacobiPreconditioner<double> jacobi(plan.matrix());
  const std::vector<double> b = random_values<double>(5 * 11000, 1);
  const auto counted = [&](std::int64_t iterations, IterativeMethod method) {
    std::vector<double> x(b.size(), 0.0);
    return allocations_of([&] {
      const auto reports = solve_columns<double>(method, plan, jacobi, {std::span<const double>(b), 11000, 5},
                                                 {std::span<double>(x), 11000, 5},
                                                 {.relative_tolerance = 1e-14,
                                                  .max_iterations = iterations,
                                                  .replacement_interval = 7,
                                                  .restart = 8,
                                                  .keep_history = true});
      EXPECT_EQ(reports.back().iterations, iterations) << reports.back().reason;
    });
  };
  for (const IterativeMethod method : {IterativeMethod::cg, IterativeMethod::bicgstab, IterativeMethod::gmres}) {
    (void)counted(2, method);  // threads start
    EXPECT_EQ(counted(20, method), counted(40, method));
  }
}

TEST(Allocation, MixedPrecisionMakesNone) {
  const Csr<double> matrix = poisson2d<double>(110, 100);
  const SpmvPlan<double> plan(Csr<double>::copy_of(matrix.view()));
  const SpmvPlan<float> single(matrix.with_value_type<float>());
  const std::vector<double> b = random_values<double>(11000, 1);
  for (const IterativeMethod method : {IterativeMethod::cg, IterativeMethod::bicgstab, IterativeMethod::gmres}) {
    const auto counted = [&](std::int64_t iterations) {
      MixedPrecisionSolver solver(method, plan, single, {.relative_tolerance = 1e-13, .max_iterations = iterations});
      std::vector<double> x(11000);
      return allocations_of([&] { EXPECT_EQ(solver.solve(b, x).iterations, iterations); });
    };
    (void)counted(2);  // threads start
    EXPECT_EQ(counted(20), counted(60));
  }
}

TEST(Allocation, ProductsOfPolynomialsMakeNone) {
  const auto plan = std::make_shared<const SpmvPlan<double>>(poisson2d<double>(110, 100));
  const std::vector<double> r(11000, 1.0);
  std::vector<double> z(11000);
  for (const bool is_explicit : {false, true}) {
    const PolynomialPreconditioner<double> m(plan, {.degree = 5, .explicit_matrix = is_explicit});
    m.apply(r, std::span<double>(z));  // threads start
    EXPECT_EQ(allocations_of([&] { m.apply(r, std::span<double>(z)); }), 0);
  }
}

TEST(Allocation, ApproximateInversesMakeNone) {
  const Csr<double> a = poisson2d<double>(110, 100);
  const FsaiPreconditioner<double> fsai(a.view());
  const SpaiPreconditioner<double> spai(a.view());
  const std::vector<double> r = random_values<double>(11000, 1);
  std::vector<double> z(11000);
  for (const LinearOperator<double>* m :
       {static_cast<const LinearOperator<double>*>(&fsai), static_cast<const LinearOperator<double>*>(&spai)}) {
    m->apply(r, z);  // threads start
    EXPECT_EQ(allocations_of([&] { m->apply(2.0, r, -1.0, z); }), 0);
  }
}

TEST(Allocation, RichardsonIterationsMakeNone) {
  System<double> system(poisson2d<double>(110, 100));
  const JacobiPreconditioner<double> jacobi(system.plan.matrix());
  const auto counted = [&](std::int64_t iterations) {
    system.x.assign(system.size(), 0.0);
    return allocations_of([&] {
      const SolveReport report = richardson<double>(system.plan, jacobi, system.b, system.x,
                                                    {.max_iterations = iterations, .keep_history = true});
      EXPECT_EQ(report.iterations, iterations) << report.reason;
    });
  };
  (void)counted(2);
  EXPECT_EQ(counted(20), counted(40));
}

/// Over several cycles, and with an M that is a product.
TEST(Allocation, GmresIterationsMakeNone) {
  System<double> system(poisson2d<double>(110, 100));
  const JacobiPreconditioner<double> jacobi(system.plan.matrix());
  const FunctionOperator<double> scaled(system.plan.rows(), system.plan.rows(), [](auto v, auto z) {
    for (std::size_t i = 0; i < v.size(); ++i) z[i] = 0.25 * v[i];
  });
  for (const PreconditionerSide side : {PreconditionerSide::right, PreconditionerSide::left}) {
    const auto counted = [&](const LinearOperator<double>& m, std::int64_t iterations) {
      system.x.assign(system.size(), 0.0);
      return allocations_of([&] {
        const SolveReport report =
            gmres<double>(system.plan, m, system.b, system.x,
                          {.max_iterations = iterations, .restart = 8, .side = side, .keep_history = true});
        EXPECT_EQ(report.iterations, iterations) << report.reason;
      });
    };
    (void)counted(jacobi, 2);
    EXPECT_EQ(counted(jacobi, 20), counted(jacobi, 40));
    EXPECT_EQ(counted(scaled, 20), counted(scaled, 40));
  }
}

TEST(Allocation, PageRankIterationsMakeNone) {
  const TransitionMatrix<double> transition(rmat<double>({.scale = 13}).view());
  const auto counted = [&](std::int64_t iterations) {
    return allocations_of([&] {
      const auto result = pagerank(transition, {.tolerance = 0.0, .max_iterations = iterations, .keep_history = true});
      EXPECT_EQ(result.iterations, iterations);
    });
  };
  (void)counted(2);
  EXPECT_EQ(counted(10), counted(30));
}

/// What shares tell before is what operator new then gives: the kernel csr has no plan beside it.
TEST(Allocation, DevicesHoldTheirSharesAndVectors) {
  const Csr<double> a = poisson3d<double>(30, 30, 30);
  const DeviceGroup group({Device::host(1), Device::host(1)});
  const Partition partition = Partition::by_nonzeros(a.view(), 2);
  const std::vector<double> b(static_cast<std::size_t>(a.rows()), 1.0);
  std::vector<double> x(b.size());
  std::int64_t told = 0;
  for (const DeviceShare& share : device_shares(a.view(), partition)) {
    told += static_cast<std::int64_t>(share.matrix_bytes + share.halo_bytes);
  }
  constexpr std::int64_t objects = 64 * 1024;  // lists of neighbours, objects, threads, rounding of the system
  const std::int64_t before = live_bytes();
  SpmvOptions options;
  options.algorithm = SpmvAlgorithm::csr;
  const DistributedMatrix<double> matrix(group, a.view(), partition, options);
  const std::int64_t held = live_bytes() - before;
  EXPECT_GE(held, told);
  EXPECT_LE(held, told + objects);
  forget_peak();
  const std::int64_t built = live_bytes();
  EXPECT_TRUE(cg<double>(matrix, GroupPreconditioner::jacobi, b, x).converged());
  // b and x are the caller's; the diagonal is one more.
  const auto vectors = static_cast<std::int64_t>(vectors_of(method_info(IterativeMethod::cg), a.rows(), {}, true));
  const auto vector = static_cast<std::int64_t>(b.size() * sizeof(double));
  EXPECT_LE(peak_bytes() - built, (vectors - 2 + 1) * vector + objects);
  EXPECT_GE(peak_bytes() - built, 3 * vector);
}

}  // namespace
}  // namespace tessera::testing
