/// Memory that gives out: each allocation of an operation fails in turn. The operation throws, or does without; it
/// loses no memory, and works when it is asked again.
#include "solvers/amg/cycle_host.hpp"
#include "tessera/approximate_inverse.hpp"
#include "tessera/direct.hpp"
#include "tessera/incomplete_factors.hpp"
#include "tessera/ladder.hpp"
#include "tessera/least_squares.hpp"
#include "tessera/ordering.hpp"
#include "tessera/pagerank.hpp"
#include "tessera/polynomial.hpp"
#include "tessera/reordered_plan.hpp"
#include "tessera/several_devices.hpp"
#include "tessera/spgemm.hpp"
#include "tessera/statistics.hpp"
#include "tests/solvers/systems.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/small_grain.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <new>

namespace tessera::testing {
namespace {

/// Whether a run leaves something behind in the process.
enum class Leaves { nothing, choices };

/// All allocations of a run fail in turn; of many only some.
void fail_each_allocation_of(const std::function<void()>& run, Leaves leaves = Leaves::nothing) {
  run();  // threads, registries
  const std::int64_t before = allocation_count();
  run();
  const std::int64_t count = allocation_count() - before;
  ASSERT_GT(count, 0);
  const std::int64_t step = 1 + count / 400;
  std::int64_t failed = 0;
  for (std::int64_t k = 0; k < count; k += step) {
    const std::int64_t live = live_bytes();
    fail_allocation(k);
    try {
      run();
    } catch (const OutOfMemory&) {
    } catch (const std::bad_alloc&) {
    }
    if (forgive_allocations()) ++failed;
    if (leaves == Leaves::choices) continue;
    ASSERT_EQ(live_bytes(), live) << "allocation " << k << " of " << count;
  }
  EXPECT_GT(failed, 0);
  run();
}

class OutOfMemoryEverywhere : public ::testing::Test {
 protected:
  [[nodiscard]] static SpmvOptions by(SpmvAlgorithm kernel, bool with_transpose = false) {
    SpmvOptions options;
    options.algorithm = kernel;
    options.with_transpose = with_transpose;
    return options;
  }

  /// Where nothing was thrown, the product has to be right.
  void expect_product(const Csr<double>& matrix) const {
    const ProductOracle oracle = multiply_oracle<double>(1.0, matrix.view(), b_, 0.0, x_);
    for (std::size_t i = 0; i < x_.size(); ++i) {
      ASSERT_LE(std::abs(static_cast<long double>(x_[i]) - oracle.y[i]), oracle.bound[i]) << i;
    }
  }

  SmallGrain several_threads_;
  Csr<double> spd_ = poisson2d<double>(23, 20);
  Csr<double> general_ = convection_diffusion<double>(20, 23, 1, {.x = 0.1});
  std::vector<double> b_ = random_values<double>(460, 1);
  std::vector<double> x_ = std::vector<double>(460);
};

TEST_F(OutOfMemoryEverywhere, PlansOfAllKernels) {
  for (const SpmvAlgorithm kernel : spmv_algorithms(Device::Kind::host)) {
    SCOPED_TRACE(std::string(to_string(kernel)));
    fail_each_allocation_of([&] {
      const SpmvPlan<double> plan(Csr<double>::copy_of(spd_.view()), by(kernel));
      plan.apply(b_, x_);
      expect_product(spd_);
    });
    if (HasFatalFailure()) return;
  }
}

TEST_F(OutOfMemoryEverywhere, PlansChosenByMeasuring) {
  fail_each_allocation_of(
      [&] {
        const SpmvPlan<double> plan(Csr<double>::copy_of(general_.view()), by(SpmvAlgorithm::measured, true));
        plan.apply(b_, x_);
        expect_product(general_);
      },
      Leaves::choices);
}

TEST_F(OutOfMemoryEverywhere, NewValuesThatTemplatesDoNotHold) {
  const auto values = random_values<double>(static_cast<std::size_t>(spd_.nnz()), 3);
  fail_each_allocation_of([&] {
    SpmvPlan<double> plan(Csr<double>::copy_of(spd_.view()), by(SpmvAlgorithm::patterns));
    plan.update_values(values);
    plan.apply(b_, x_);
  });
}

TEST_F(OutOfMemoryEverywhere, KrylovMethods) {
  const SpmvPlan<double> plan(Csr<double>::copy_of(spd_.view()));
  const JacobiPreconditioner<double> jacobi(spd_.view());
  const SolverOptions options{.relative_tolerance = 1e-10, .restart = 8};
  using Solve = std::function<SolveReport()>;
  const std::vector<Solve> methods{
      [&] { return cg<double>(plan, jacobi, b_, x_, options); },
      [&] { return bicgstab<double>(plan, jacobi, b_, x_, options); },
      [&] { return gmres<double>(plan, jacobi, b_, x_, options); },
      [&] { return idr<double>(plan, jacobi, b_, x_, options); },
      [&] { return minres<double>(plan, jacobi, b_, x_, options); },
  };
  for (std::size_t k = 0; k < methods.size(); ++k) {
    SCOPED_TRACE("method " + std::to_string(k));
    fail_each_allocation_of([&] {
      x_.assign(x_.size(), 0.0);
      EXPECT_TRUE(methods[k]().converged());
    });
    if (HasFatalFailure()) return;
  }
}

TEST_F(OutOfMemoryEverywhere, Multigrid) {
  fail_each_allocation_of([&] {
    Amg<double> amg(spd_.view(), {.coarsest_rows = 20, .prepare_refresh = true});
    amg.apply(b_, x_);
    amg.refresh(spd_.view());
  });
}

TEST_F(OutOfMemoryEverywhere, IncompleteFactorsOfAllKinds) {
  for (const FactorKind kind : {FactorKind::ilu0, FactorKind::iluk, FactorKind::ilut, FactorKind::ic0}) {
    SCOPED_TRACE(std::string(to_string(kind)));
    fail_each_allocation_of([&] {
      const IncompleteFactors<double> factors(spd_.view(), {.kind = kind});
      factors.apply(b_, x_);
    });
    if (HasFatalFailure()) return;
  }
}

TEST_F(OutOfMemoryEverywhere, InversesPolynomialsAndDirectFactors) {
  fail_each_allocation_of([&] { FsaiPreconditioner<double>(spd_.view()).apply(b_, x_); });
  fail_each_allocation_of([&] { SpaiPreconditioner<double>(general_.view()).apply(b_, x_); });
  fail_each_allocation_of([&] { PolynomialPreconditioner<double>(spd_.view()).apply(b_, x_); });
  fail_each_allocation_of([&] { DirectFactors<double>(general_.view()).apply(b_, x_); });
}

TEST_F(OutOfMemoryEverywhere, LeastSquares) {
  const SpmvPlan<double> plan(Csr<double>::copy_of(general_.view()), by(SpmvAlgorithm::automatic, true));
  fail_each_allocation_of([&] {
    x_.assign(x_.size(), 0.0);
    EXPECT_GT(lsmr<double>(plan, b_, x_).iterations, 0);
  });
}

TEST_F(OutOfMemoryEverywhere, TheLadder) {
  fail_each_allocation_of([&] {
    const SpmvPlan<double> plan(Csr<double>::copy_of(general_.view()));
    x_.assign(x_.size(), 0.0);
    EXPECT_FALSE(solve<double>(plan, statistics(general_.view()), b_, x_).rungs.empty());
  });
}

TEST_F(OutOfMemoryEverywhere, GraphsAndTheirRanks) {
  fail_each_allocation_of([&] {
    const auto graph = generate<double>(parse_generator("kmer:2000"));
    const TransitionMatrix<double> transition(graph.view());
    EXPECT_TRUE(pagerank(transition).converged());
  });
}

TEST_F(OutOfMemoryEverywhere, Orderings) {
  for (const Ordering kind : {Ordering::rcm, Ordering::amd, Ordering::degree}) {
    SCOPED_TRACE(std::string(to_string(kind)));
    fail_each_allocation_of([&] {
      const ReorderedPlan<double> plan(general_, kind);
      plan.apply(b_, x_);
      expect_product(general_);
    });
    if (HasFatalFailure()) return;
  }
  const std::int64_t halo = Partition::by_nonzeros(general_.view(), 3).halo(general_.view());
  fail_each_allocation_of([&] {
    const Partition parts = Partition::by_nonzeros(general_.view(), 3);
    EXPECT_EQ(parts.halo(general_.view()), halo);
  });
}

TEST_F(OutOfMemoryEverywhere, SparseProducts) {
  for (const SpgemmWorkflow workflow : spgemm_workflows()) {
    SCOPED_TRACE(std::string(to_string(workflow)));
    SpgemmOptions options;
    options.workflow = workflow;
    fail_each_allocation_of([&] {
      const auto result = spgemm(spd_, general_, options);
      EXPECT_GT(result.matrix.nnz(), 0);
    });
    if (HasFatalFailure()) return;
  }
}

/// Templates that new values do not share become CSR; without memory for that the old values stay.
TEST(OutOfMemoryOfACycle, LeavesTheOldValues) {
  const Device host;
  const Csr<double> matrix = poisson2d<double>(100, 50);
  host::CycleMatrix<double> cycle(host, matrix, 0);
  ASSERT_TRUE(cycle.is_templated());
  const auto values_now = [&] {
    const double* const values = cycle.templates().values.values;
    const auto width = static_cast<std::size_t>(cycle.templates().values.width);
    return std::vector<double>(values, values + width);
  };
  const std::vector<double> before = values_now();
  Array<double> values = matrix.values().to(host);
  values[7] = 99.0;
  const Csr<double> changed(matrix.rows(), matrix.cols(), matrix.row_offsets().to(host), matrix.columns().to(host),
                            std::move(values));
  bool has_thrown = false;
  for (std::int64_t k = 0; k < 10; ++k) {
    fail_allocation(k);
    try {
      cycle.assign(host, changed);
    } catch (const OutOfMemory&) {
      has_thrown = true;
    } catch (const std::bad_alloc&) {
    }
    if (!forgive_allocations()) break;
    ASSERT_TRUE(cycle.is_templated()) << k;
    EXPECT_EQ(values_now(), before) << k;
  }
  EXPECT_TRUE(has_thrown);
  EXPECT_FALSE(cycle.is_templated());
}

}  // namespace
}  // namespace tessera::testing
