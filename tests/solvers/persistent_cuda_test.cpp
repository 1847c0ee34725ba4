/// Loops of small systems as one persistent kernel: the endings of the host, the residuals of the launched loop to
/// rounding, the same bits from run to run; and the parts that a matrix is cut into.
#include "core/cuda/context.hpp"
#include "solvers/persistent/parts.hpp"
#include "solvers/persistent_kernel.hpp"
#include "tessera/iterative_solver.hpp"
#include "tests/solvers/loop_cases.hpp"
#include "tests/support/cuda_test.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <set>
#include <vector>

namespace tessera::testing {
namespace {

/// TESSERA_CUDA_PERSISTENT=0 while it lives: the loop is launched operation by operation.
class LaunchedLoops {
 public:
  LaunchedLoops() { ::setenv("TESSERA_CUDA_PERSISTENT", "0", 1); }  // NOLINT(concurrency-mt-unsafe)
  LaunchedLoops(const LaunchedLoops&) = delete;
  LaunchedLoops& operator=(const LaunchedLoops&) = delete;
  ~LaunchedLoops() { ::unsetenv("TESSERA_CUDA_PERSISTENT"); }  // NOLINT(concurrency-mt-unsafe)
};

/// Rows of 1 to `longest` entries, diagonally dominant, not symmetric, columns far apart.
[[nodiscard]] Csr<double> uneven(index_t n, index_t longest) {
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  std::vector<double> values;
  for (index_t i = 0; i < n; ++i) {
    std::set<index_t> row{i};
    const index_t length = i % 97 == 5 ? longest : 1 + i % 7;
    for (index_t k = 0; k < length; ++k) row.insert(static_cast<index_t>((std::int64_t{7919} * k + i * 31) % n));
    for (const index_t column : row) {
      columns.push_back(column);
      values.push_back(column == i ? 3.0 + length : -0.7 + 0.001 * (column % 13));
    }
    offsets.push_back(static_cast<offset_t>(columns.size()));
  }
  return Csr<double>(n, n, Array<offset_t>::copy_of(offsets), Array<index_t>::copy_of(columns),
                     Array<double>::copy_of(values));
}

/// Rows of about `length` entries, diagonally dominant, columns far apart.
[[nodiscard]] Csr<double> uneven_by(index_t n, index_t length) {
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  std::vector<double> values;
  for (index_t i = 0; i < n; ++i) {
    std::set<index_t> row{i};
    for (index_t k = 0; k < length + 2 * (i % 40); ++k) {
      row.insert(static_cast<index_t>((std::int64_t{17} * k + i * 31) % n));
    }
    for (const index_t column : row) {
      columns.push_back(column);
      values.push_back(column == i ? 3.0 * length : -0.7 + 0.001 * (column % 13));
    }
    offsets.push_back(static_cast<offset_t>(columns.size()));
  }
  return Csr<double>(n, n, Array<offset_t>::copy_of(offsets), Array<index_t>::copy_of(columns),
                     Array<double>::copy_of(values));
}

[[nodiscard]] bool is_small(const Case& task, const Device& gpu) {
  const Csr<double> matrix = task.matrix->to(gpu);
  return cuda::cut_into_parts(gpu, matrix.rows(), matrix.view().row_offsets, matrix.view().columns).has_value();
}

class PersistentLoop : public CudaTest {
 protected:
  void SetUp() override {
    CudaTest::SetUp();
    if (!cuda::Context::of(gpu()).limits().launches_cooperative_grids) GTEST_SKIP() << "no cooperative launches";
  }

  /// Graphs recorded by a solve.
  [[nodiscard]] std::uint64_t recordings_of(const Case& task, SpmvAlgorithm kernel) const {
    const std::uint64_t before = cuda::Context::of(gpu()).counts().recordings;
    const Solved solved = run(task, gpu(), false, kernel);
    expect_honest(solved.report, task.matrix->view(), task.b, solved.x);
    return cuda::Context::of(gpu()).counts().recordings - before;
  }
};

[[nodiscard]] std::vector<Case> systems() {
  std::vector<Case> all;
  for (const Method method : {Method::cg, Method::bicgstab, Method::gmres}) {
    Case flat("poisson", poisson2d<double>(sparing() ? 15 : 67, sparing() ? 20 : 31), method);
    flat.options.keep_history = true;
    flat.options.restart = 23;
    all.push_back(flat);
    flat.jacobi = true;
    flat.options.replacement_interval = method == Method::gmres ? 0 : 9;
    all.push_back(flat);
  }
  Case left("uneven diagonal, from the left", uneven(sparing() ? 400 : 3000, 30), Method::gmres);
  left.jacobi = true;
  left.options.side = PreconditionerSide::left;
  left.options.keep_history = true;
  all.push_back(left);
  for (const Method method : {Method::bicgstab, Method::gmres}) {
    Case rows("rows of many lengths", uneven(sparing() ? 500 : 5000, 60), method);
    rows.options.keep_history = true;
    all.push_back(rows);
  }
  return all;
}

/// Endings of every kind.
[[nodiscard]] std::vector<Case> endings_of_gmres() {
  Case flat("poisson", poisson2d<double>(15, 15), Method::gmres);
  flat.options.restart = 11;
  std::vector<Case> all{flat};
  for (const std::int64_t limit : {0, 1, 2, 10, 11, 12, 23}) {
    all.push_back(with(flat, {.max_iterations = limit, .restart = 11}));
  }
  for (const int restart : {1, 2, 60}) all.push_back(with(flat, {.restart = restart}));
  all.push_back(with(flat, {.base = ResidualBase::r0, .restart = 11, .keep_history = true}));
  for (const PreconditionerSide side : {PreconditionerSide::right, PreconditionerSide::left}) {
    Case jacobi("Jacobi", convection_diffusion<double>(12, 11, 1, {.x = 3.0, .y = -1.0}), Method::gmres);
    jacobi.jacobi = true;
    jacobi.options.restart = 9;
    jacobi.options.side = side;
    all.push_back(jacobi);
  }
  Case guessed("a guess that solves it", poisson2d<double>(9, 9), Method::gmres);
  guessed.x0.assign(guessed.b.size(), 1.0);
  all.push_back(guessed);
  Case inconsistent("singular and inconsistent", path_laplacian(64), Method::gmres);
  inconsistent.b = random_values<double>(inconsistent.b.size(), 3);
  inconsistent.b[0] += 1.0;
  inconsistent.rounding_decides = true;
  all.push_back(inconsistent);
  all.push_back(Case("identity", diagonal_matrix(std::vector<double>(70, 4.0)), Method::gmres));
  all.push_back(Case("skew", from_dense<double>({{0, 1}, {-1, 0}}, 2), Method::gmres));
  all.push_back(Case("one by one", from_dense<double>({{3}}, 1), Method::gmres));
  Case cyclic("cyclic", from_dense<double>({{0, 0, 0, 1}, {1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}, 4), Method::gmres);
  cyclic.b = {1, 0, 0, 0};
  all.push_back(cyclic);
  all.push_back(Case("tiny", scaled(convection_diffusion<double>(10, 10, 1, {.x = 1.0}), 1e-30), Method::gmres));
  return all;
}

TEST_F(PersistentLoop, EndsAsTheHostDoes) {
  std::vector<Case> cases;
  for (Case& task : endings()) {
    if (task.method != Method::richardson) cases.push_back(std::move(task));
  }
  expect_endings_of_the_host(cases, gpu(), SpmvAlgorithm::automatic);
}

TEST_F(PersistentLoop, GmresEndsAsOnTheHost) {
  expect_endings_of_the_host(endings_of_gmres(), gpu(), SpmvAlgorithm::automatic);
}

/// Rounding alone tells them apart: sums over vectors are added in another order.
TEST_F(PersistentLoop, ResidualsAreThoseOfTheLaunchedLoop) {
  for (const Case& task : systems()) {
    SCOPED_TRACE(task.name);
    ASSERT_TRUE(is_small(task, gpu()));
    const Solved one = run(task, gpu(), false, SpmvAlgorithm::automatic);
    const LaunchedLoops launched;
    const Solved other = run(task, gpu(), false, SpmvAlgorithm::automatic);
    expect_honest(one.report, task.matrix->view(), task.b, one.x);
    EXPECT_EQ(one.report.status, other.report.status) << one.report.reason;
    EXPECT_LE(std::abs(one.report.iterations - other.report.iterations), 1 + other.report.iterations / 20);
    const std::size_t early = std::min<std::size_t>(12, other.report.history.size());
    ASSERT_GE(one.report.history.size(), early);
    for (std::size_t i = 0; i < early; ++i) {
      const double expected = other.report.history[i].recurrence;
      EXPECT_EQ(one.report.history[i].iteration, other.report.history[i].iteration);
      // BiCGSTAB multiplies a difference with every iteration, most where the residual falls fast.
      if (expected < 1e-6 * other.report.history[0].recurrence) break;
      EXPECT_NEAR(one.report.history[i].recurrence, expected, 1e-11 * other.report.history[0].recurrence) << i;
    }
  }
}

TEST_F(PersistentLoop, RunToRunIsBitwiseEqual) {
  for (const Case& task : systems()) {
    SCOPED_TRACE(task.name);
    const Solved one = run(task, gpu(), false, SpmvAlgorithm::automatic);
    const Solved other = run(task, gpu(), false, SpmvAlgorithm::automatic);
    EXPECT_EQ(one.x, other.x);
    EXPECT_EQ(one.report.true_residual, other.report.true_residual);
    EXPECT_EQ(one.report.iterations, other.report.iterations);
    EXPECT_EQ(one.report.spmv_count, other.report.spmv_count);
  }
}

TEST_F(PersistentLoop, SmallSystemsWithoutAWishForAKernelAlone) {
  const Case flat("poisson", poisson2d<double>(20, 20), Method::cg);
  {
    const LaunchedLoops launched;
    if (recordings_of(flat, SpmvAlgorithm::automatic) == 0) GTEST_SKIP() << "this driver has no graphs with loops";
  }
  EXPECT_EQ(recordings_of(flat, SpmvAlgorithm::automatic), 0U);
  EXPECT_GT(recordings_of(flat, SpmvAlgorithm::csr_vector), 0U);
  Case gmres("gmres", poisson2d<double>(20, 20), Method::gmres);
  EXPECT_EQ(recordings_of(gmres, SpmvAlgorithm::automatic), 0U);
  gmres.options.restart = 900;  // whose scalars no multiprocessor holds
  EXPECT_GT(recordings_of(gmres, SpmvAlgorithm::automatic), 0U);
  const Case hub("hub", uneven(1500, 1400), Method::bicgstab);
  EXPECT_FALSE(is_small(hub, gpu()));
  EXPECT_GT(recordings_of(hub, SpmvAlgorithm::automatic), 0U);
}

/// The first new values move the arrays of the matrix.
TEST_F(PersistentLoop, FollowsNewValues) {
  const auto matrix = std::make_shared<const Csr<double>>(poisson2d<double>(17, 19));
  SpmvOptions options;
  options.device = gpu();
  SpmvPlan<double> plan(matrix, options);
  IterativeSolver<double> solver(IterativeMethod::cg, plan, SolverOptions{.relative_tolerance = 1e-10});
  const std::vector<double> ones(static_cast<std::size_t>(matrix->rows()), 1.0);
  const auto b = Array<double>::copy_of(product(matrix->view(), ones), gpu());
  for (const double factor : {1.0, 2.0, 0.5}) {
    std::vector<double> values(matrix->values().begin(), matrix->values().end());
    for (double& value : values) value *= factor;
    plan.update_values(Array<double>::copy_of(values, gpu()).span());
    Array<double> x(matrix->rows(), Init::zero, gpu());
    EXPECT_TRUE(solver.solve(b.span(), x.span()).converged());
    const Array<double> found = x.to(Device{});
    for (const double each : found) EXPECT_NEAR(each, 1.0 / factor, 1e-7 / factor);
  }
}

TEST_F(PersistentLoop, FloatAndPatternMatrices) {
  SpmvOptions options;
  options.device = gpu();
  const SpmvPlan<float> plan(std::make_shared<const Csr<float>>(poisson2d<float>(21, 23)), options);
  const auto b = Array<float>::copy_of(std::vector<float>(483, 1.0F), gpu());
  Array<float> x(483, Init::zero, gpu());
  const SolveReport report = cg<float>(plan, b.span(), x.span(), {.relative_tolerance = 1e-5});
  EXPECT_TRUE(report.converged()) << report.reason;

  // Ones on the diagonal and right of it: x is known by substitution, from the last row up.
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  for (index_t i = 0; i < 300; ++i) {
    columns.push_back(i);
    if (i + 1 < 300 && i % 3 != 0) columns.push_back(i + 1);
    offsets.push_back(static_cast<offset_t>(columns.size()));
  }
  const Case task("pattern",
                  Csr<double>::pattern(300, 300, Array<offset_t>::copy_of(offsets), Array<index_t>::copy_of(columns)),
                  Method::bicgstab);
  const Solved solved = run(task, gpu(), false, SpmvAlgorithm::automatic);
  ASSERT_TRUE(solved.report.converged()) << solved.report.reason;
  for (const double each : solved.x) EXPECT_NEAR(each, 1.0, 1e-6);
}

/// Parts of more rows than threads have in registers, and rows of more entries.
TEST_F(PersistentLoop, RowsBeyondRegisters) {
  const int parts = cuda::Context::of(gpu()).limits().multiprocessors;
  const Case large("large parts", poisson2d<double>(40, std::int64_t{20} * parts), Method::cg);
  const Case wide("several threads per row", uneven_by(300, 40), Method::bicgstab);
  Case basis = large;
  basis.method = Method::gmres;
  for (Case task : {large, wide, basis}) {
    SCOPED_TRACE(task.name);
    const Csr<double> there = task.matrix->to(gpu());
    ASSERT_NE(cuda::make_persistent_matrix(gpu(), there.view(), cuda::PersistentLoop::bicgstab), nullptr);
    task.options.max_iterations = 5;
    task.options.keep_history = true;
    const Solved one = run(task, gpu(), false, SpmvAlgorithm::automatic);
    const LaunchedLoops launched;
    const Solved other = run(task, gpu(), false, SpmvAlgorithm::automatic);
    ASSERT_EQ(one.report.history.size(), other.report.history.size());
    for (std::size_t i = 0; i < one.report.history.size(); ++i) {
      const double expected = other.report.history[i].recurrence;
      EXPECT_NEAR(one.report.history[i].recurrence, expected, 1e-12 * other.report.history[0].recurrence) << i;
    }
  }
}

TEST_F(PersistentLoop, MemoryIsWithinItsBound) {
  for (const Csr<double>& matrix : {poisson2d<double>(40, 33), uneven(700, 50), uneven(1, 1)}) {
    const Csr<double> there = matrix.to(gpu());
    for (const auto loop : {cuda::PersistentLoop::cg, cuda::PersistentLoop::bicgstab, cuda::PersistentLoop::gmres}) {
      const int directions = loop == cuda::PersistentLoop::gmres ? 30 : 0;
      const auto persistent = cuda::make_persistent_matrix(gpu(), there.view(), loop, directions);
      ASSERT_NE(persistent, nullptr);
      const std::uint64_t bound =
          cuda::most_persistent_bytes(loop, matrix.rows(), matrix.nnz(), sizeof(double), directions);
      EXPECT_LE(persistent->bytes(), bound);
      // The bound is for a GPU of 160 multiprocessors: words for the sums of a basis per part.
      const auto parts = static_cast<std::uint64_t>(cuda::part_count(matrix.rows(), matrix.nnz(), 160));
      const std::uint64_t of_columns = directions > 0 ? 2 * (30 + 2) * parts * 16 : 0;
      EXPECT_GE(persistent->bytes() + (1 << 18) + of_columns, bound);
    }
  }
  EXPECT_EQ(cuda::most_persistent_bytes(cuda::PersistentLoop::cg, 1'000'000, 27'000'000, sizeof(double)), 0U);
}

/// Exactly: r̂ = b = (0, 1, 0), and after the first iteration, with α = -1 and ω = 1, r = (0, 0, -2).
TEST_F(PersistentLoop, ShadowResidualVanishesWithinARun) {
  Case task("rho", from_dense<double>({{1, -1, 0}, {4, -1, -2}, {4, -2, -2}}, 3), Method::bicgstab);
  task.options.breakdown_restarts = 0;
  for (const Device& device : {gpu(), Device{}}) {
    const Solved solved = run(task, device, false, SpmvAlgorithm::automatic);
    EXPECT_EQ(solved.report.breakdown, Breakdown::rho) << solved.report.reason;
    EXPECT_EQ(solved.report.iterations, 1);
  }
}

/// An observer is asked between two runs of the kernel; its tenth iteration is one of the first.
TEST_F(PersistentLoop, StopsForAnObserver) {
  for (const Method method : {Method::cg, Method::bicgstab, Method::gmres}) {
    Case task("poisson", poisson2d<double>(sparing() ? 30 : 90, 40), method);
    task.options.relative_tolerance = 1e-14;
    std::int64_t seen = 0;
    task.options.observer = [&seen](const IterationInfo& /*info*/) {
      return ++seen < 10 ? Control::proceed : Control::stop;
    };
    const Solved stopped = run(task, gpu(), false, SpmvAlgorithm::automatic);
    EXPECT_EQ(stopped.report.status, Status::interrupted);
    expect_honest(stopped.report, task.matrix->view(), task.b, stopped.x);
  }
}

/// Every entry finds its column again, in the rows of its part or in the halo, which names each column once.
void expect_parts_of(const Csr<double>& matrix, const cuda::Parts& parts) {
  const Array<index_t> first_rows = parts.first_rows.to(Device{});
  const Array<cuda::PartSize> sizes = parts.sizes.to(Device{});
  const Array<std::uint16_t> numbers = parts.numbers.to(Device{});
  const Array<index_t> halo = parts.halo.to(Device{});
  const Array<std::uint8_t> is_shared = parts.is_shared.to(Device{});
  const CsrView<double> a = matrix.view();
  std::set<index_t> read_by_others;
  ASSERT_EQ(first_rows[0], 0);
  ASSERT_EQ(first_rows[parts.count], a.rows);
  for (int part = 0; part < parts.count; ++part) {
    const index_t first = first_rows[part];
    const index_t rows = sizes[part].rows;
    ASSERT_EQ(first_rows[part + 1] - first, rows);
    const offset_t begin = a.row_offsets[static_cast<std::size_t>(first)];
    const auto* const columns = halo.data() + begin;
    const std::set<index_t> distinct(columns, columns + sizes[part].halo);
    EXPECT_EQ(distinct.size(), static_cast<std::size_t>(sizes[part].halo));
    for (offset_t k = begin; k < a.row_offsets[static_cast<std::size_t>(first + rows)]; ++k) {
      const index_t number = numbers[k];
      ASSERT_LT(number, rows + sizes[part].halo);
      EXPECT_EQ(number < rows ? first + number : columns[number - rows], a.columns[static_cast<std::size_t>(k)]);
    }
    read_by_others.insert(distinct.begin(), distinct.end());
  }
  for (index_t row = 0; row < a.rows; ++row) EXPECT_EQ(is_shared[row] != 0, read_by_others.count(row) > 0) << row;
}

TEST_F(PersistentLoop, PartsNameEveryColumn) {
  for (const Csr<double>& matrix : {poisson2d<double>(40, 33), uneven(3000, 50), uneven(1, 1), uneven(200, 3)}) {
    const Csr<double> there = matrix.to(gpu());
    const auto parts = cuda::cut_into_parts(gpu(), matrix.rows(), there.view().row_offsets, there.view().columns);
    ASSERT_TRUE(parts.has_value());
    expect_parts_of(matrix, *parts);
  }
}

TEST_F(PersistentLoop, RefusesWhatDoesNotFit) {
  const Csr<double> none = from_dense<double>({}, 0).to(gpu());
  EXPECT_FALSE(cuda::cut_into_parts(gpu(), 0, none.view().row_offsets, none.view().columns).has_value());
  const Csr<double> hub = uneven(1500, 1400).to(gpu());
  EXPECT_FALSE(cuda::cut_into_parts(gpu(), 1500, hub.view().row_offsets, hub.view().columns).has_value());
}

}  // namespace
}  // namespace tessera::testing
