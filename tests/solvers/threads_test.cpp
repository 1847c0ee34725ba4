/// Objects shared by threads: four threads at once get the bits of one alone, and objects that serve one call at a time
/// refuse a second.
#include "tessera/amg.hpp"
#include "tessera/approximate_inverse.hpp"
#include "tessera/direct.hpp"
#include "tessera/enqueued_cg.hpp"
#include "tessera/incomplete_factors.hpp"
#include "tessera/iterative_solver.hpp"
#include "tessera/least_squares.hpp"
#include "tessera/mixed_precision.hpp"
#include "tessera/multiple_right_sides.hpp"
#include "tessera/pagerank_solver.hpp"
#include "tessera/polynomial.hpp"
#include "tessera/reordered_plan.hpp"
#include "tessera/several_devices.hpp"
#include "tessera/spgemm.hpp"
#include "tests/solvers/systems.hpp"
#include "tests/solvers/thread_calls.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/small_grain.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace tessera::testing {
namespace {

std::vector<double> vector_of(std::int64_t n, int seed) {
  return random_values<double>(static_cast<std::size_t>(n), static_cast<std::uint64_t>(seed) + 1);
}

/// Products of every kind that the operator offers.
void expect_concurrent_products(const std::string& name, const LinearOperator<double>& a) {
  const auto n = static_cast<std::size_t>(a.rows());
  expect_results_of_one(name, [&](int t) {
    std::vector<double> y(n);
    a.apply(vector_of(a.cols(), t), y);
    return y;
  });
  expect_results_of_one(name + ", alpha and beta", [&](int t) {
    std::vector<double> y = vector_of(a.rows(), t + 10);
    a.apply(0.5, vector_of(a.cols(), t), -2.0, y);
    return y;
  });
  if (a.has_transpose()) {
    expect_results_of_one(name + ", transposed", [&](int t) {
      std::vector<double> y(static_cast<std::size_t>(a.cols()));
      a.apply_transposed(vector_of(a.rows(), t), y);
      return y;
    });
  }
  const auto* const fused = dynamic_cast<const FusedOperator<double>*>(&a);
  if (fused == nullptr) return;
  expect_results_of_one(name + ", inner products", [&](int t) {
    DualBuffer<double> out = fused->make_output();
    const std::vector<double> x = vector_of(a.cols(), t);
    const ProductDots dots = fused->apply_and_dot(x, out, vector_of(a.rows(), t + 20));
    return std::vector<double>{dots.wy, dots.yy, out.current()[0], out.current()[n - 1]};
  });
  expect_results_of_one(name + ", residual", [&](int t) {
    std::vector<double> r(n);
    const double norm = fused->residual(1, vector_of(a.rows(), t), vector_of(a.cols(), t + 1), r);
    r.push_back(norm);
    return r;
  });
}

/// Rows that repeat, so that every kernel takes them.
Csr<double> small_matrix() { return poisson2d<double>(24, 20); }

class Threads : public ::testing::Test {
 protected:
  SmallGrain grain_;
  Csr<double> matrix_ = small_matrix();
  CsrView<double> a_ = matrix_.view();
  Device device_ = Device::host(2);

  [[nodiscard]] std::shared_ptr<const Csr<double>> shared() const {
    return std::make_shared<const Csr<double>>(Csr<double>::copy_of(a_));
  }

  [[nodiscard]] std::vector<std::pair<std::string, std::unique_ptr<Preconditioner<double>>>> preconditioners() const {
    std::vector<std::pair<std::string, std::unique_ptr<Preconditioner<double>>>> all;
    const auto add = [&](std::string name, auto made) { all.emplace_back(std::move(name), std::move(made)); };
    add("jacobi", std::make_unique<JacobiPreconditioner<double>>(a_, device_));
    add("column norms", std::make_unique<ColumnNormPreconditioner<double>>(a_, 0.5, device_));
    for (const AmgCycle cycle : {AmgCycle::v, AmgCycle::w, AmgCycle::k}) {
      for (const AmgPrecision precision : {AmgPrecision::single, AmgPrecision::full}) {
        const AmgOptions options{.coarsest_rows = 10, .cycle = cycle, .precision = precision};
        add("amg " + std::string(to_string(cycle)), std::make_unique<Amg<double>>(a_, options, device_));
      }
    }
    for (const bool is_explicit : {false, true}) {
      for (const int degree : {1, 4, 5}) {
        const PolynomialOptions options{.degree = degree, .explicit_matrix = is_explicit};
        add(polynomial_name(options), std::make_unique<PolynomialPreconditioner<double>>(a_, options, device_));
      }
      const PolynomialOptions options{.kind = PolynomialKind::neumann, .degree = 3, .explicit_matrix = is_explicit};
      add(polynomial_name(options), std::make_unique<PolynomialPreconditioner<double>>(a_, options, device_));
    }
    for (const FactorKind kind :
         {FactorKind::ilu0, FactorKind::iluk, FactorKind::ilut, FactorKind::ilutp, FactorKind::ic0, FactorKind::ict}) {
      for (const index_t blocks : {1, 4}) {
        const IncompleteFactorOptions options{.kind = kind, .max_row_entries = 10, .blocks = blocks};
        add(factor_name(options), std::make_unique<IncompleteFactors<double>>(a_, options, device_));
      }
    }
    add("fsai", std::make_unique<FsaiPreconditioner<double>>(a_, FsaiOptions{.power = 2}, device_));
    add("spai", std::make_unique<SpaiPreconditioner<double>>(a_, SpaiOptions{}, device_));
    for (const DirectMethod method : {DirectMethod::cholesky, DirectMethod::lu_amd, DirectMethod::lu_colamd}) {
      add(std::string(to_string(method)), std::make_unique<DirectFactors<double>>(a_, DirectOptions{.method = method}));
    }
    return all;
  }
};

TEST_F(Threads, ProductsOfEveryKernelAreRight) {
  for (const SpmvAlgorithm algorithm : spmv_algorithms()) {
    SpmvOptions options{.algorithm = algorithm, .device = device_, .with_transpose = true};
    if (algorithm == SpmvAlgorithm::merbit) options.determinism = Determinism::run_to_run;
    const SpmvPlan<double> plan(shared(), options);
    const std::string name(to_string(algorithm));
    expect_concurrent_products(name, plan);
    expect_results_of_one(name + ", columns", [&](int t) {
      const std::vector<double> x = vector_of(std::int64_t{5} * a_.cols, t);
      std::vector<double> y(5 * static_cast<std::size_t>(a_.rows));
      plan.apply_many({std::span<const double>(x), a_.cols, 5}, {std::span<double>(y), a_.rows, 5});
      return y;
    });
  }
}

TEST_F(Threads, ProductsOfOtherOperatorsAreRight) {
  const ReorderedPlan<double> reordered(matrix_, Ordering::degree, {.device = device_, .with_transpose = true});
  expect_concurrent_products("reordered", reordered);
  const SpmvPlan<float> single(matrix_.with_value_type<float>(), {.device = device_});
  expect_concurrent_products("widened plan", WidenedPlan(single));
  const Amg<float> amg(single.matrix(), AmgOptions{.coarsest_rows = 10}, device_);
  expect_concurrent_products("widened preconditioner", WidenedPreconditioner(amg));
  const SpmvPlan<double> plan(shared(), {.device = device_, .with_transpose = true});
  expect_concurrent_products("function", FunctionOperator<double>(
                                             a_.rows, a_.cols, [&](auto x, auto y) { plan.apply(x, y); },
                                             [&](auto x, auto y) { plan.apply_transposed(x, y); }));
  expect_concurrent_products("shared plan", PolynomialPreconditioner<double>(std::make_shared<const SpmvPlan<double>>(
                                                shared(), SpmvOptions{.device = device_})));
}

TEST_F(Threads, ProductsOfEveryPreconditionerAreRight) {
  for (const auto& [name, m] : preconditioners()) expect_concurrent_products(name, *m);
}

TEST_F(Threads, SolvesWithEveryPreconditionerAreRight) {
  const SpmvPlan<double> plan(shared(), {.device = device_});
  for (const auto& [name, m] : preconditioners()) {
    const IterativeMethod method = m->info().is_symmetric ? IterativeMethod::cg : IterativeMethod::gmres;
    expect_results_of_one(name, [&, &m_ = *m](int t) {
      const std::vector<double> b = vector_of(a_.rows, t);
      std::vector<double> x(b.size(), 0.0);
      const SolveReport report = solve<double>(method, plan, m_, b, x, {.max_iterations = 12});
      expect_honest(report, a_, b, x);
      return x;
    });
  }
}

TEST_F(Threads, SolvesOfEveryMethodAreRight) {
  const SpmvPlan<double> plan(shared(), {.device = device_});
  const JacobiPreconditioner<double> m(a_, device_);
  for (const MethodInfo& info : iterative_methods()) {
    expect_results_of_one(std::string(info.name), [&](int t) {
      std::vector<double> x(static_cast<std::size_t>(a_.rows), 0.0);
      (void)solve<double>(info.method, plan, m, vector_of(a_.rows, t), x, {.max_iterations = 15, .restart = 6});
      return x;
    });
  }
}

/// Calls that are refused, or right: `solve` returns x.
template <class Solve>
void expect_right_or_refused(const Solve& solve) {
  const std::vector<double> alone = solve();
  std::atomic<int> wrong{0};
  std::atomic<int> right{0};
  on_threads([&](int /*t*/) {
    for (int k = 0; k < rounds(); ++k) {
      try {
        ++(solve() == alone ? right : wrong);
      } catch (const InvalidArgument&) {
        std::this_thread::yield();
      }
    }
  });
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_GT(right.load(), 0);
}

TEST_F(Threads, OneSolverIsRightOrRefuses) {
  const SpmvPlan<double> plan(shared(), {.device = device_});
  const std::vector<double> b = vector_of(a_.rows, 1);
  const auto run = [&](auto& solver) {
    expect_right_or_refused([&] {
      std::vector<double> x(b.size(), 0.0);
      (void)solver.solve(b, x);
      return x;
    });
  };
  IterativeSolver<double> solver(IterativeMethod::cg, plan);
  run(solver);
  const SpmvPlan<float> single(matrix_.with_value_type<float>(), {.device = device_});
  MixedPrecisionSolver mixed(IterativeMethod::cg, plan, single);
  run(mixed);
  EnqueuedCg<double> enqueued(plan);
  expect_right_or_refused([&] {
    std::vector<double> x(b.size());
    SolveOutcome outcome;
    enqueued.enqueue(b, x, &outcome);
    return x;
  });
  SpgemmPlan<double> squared(shared(), shared(), {.device = device_});
  expect_right_or_refused([&] {
    const Csr<double> c = squared.multiply();
    return std::vector<double>(c.values().begin(), c.values().end());
  });
  CsrView<double> links = a_;
  links.values = {};
  links.storage = ValueStorage::pattern;
  const TransitionMatrix<double> transition(links, device_);
  PageRankSolver<double> ranker(transition);
  expect_right_or_refused([&] {
    std::vector<double> ranks(b.size());
    (void)ranker.solve({}, ranks);
    return ranks;
  });
}

TEST_F(Threads, AnObserverMayNotSolveWithItsSolver) {
  const SpmvPlan<double> plan(shared(), {.device = device_});
  const std::vector<double> b = vector_of(a_.rows, 1);
  std::vector<double> x(b.size(), 0.0);
  std::vector<double> inner(b.size(), 0.0);
  IterativeSolver<double>* self = nullptr;
  SolverOptions options;
  options.observer = [&](const IterationInfo& /*info*/) {
    (void)self->solve(b, inner);
    return Control::proceed;
  };
  IterativeSolver<double> solver(IterativeMethod::cg, plan, options);
  self = &solver;
  EXPECT_NE(message_of<InvalidArgument>([&] { (void)solver.solve(b, x); }).find("one call at a time"),
            std::string::npos);
  const DeviceGroup group = DeviceGroup::parse("host,host");
  const DistributedMatrix<double> distributed(group, a_);
  options.observer = [&](const IterationInfo& /*info*/) {
    distributed.apply(b, inner);
    return Control::proceed;
  };
  EXPECT_THROW((void)cg<double>(distributed, GroupPreconditioner::identity, b, x, options), InvalidArgument);
  distributed.apply(b, inner);
}

}  // namespace
}  // namespace tessera::testing
