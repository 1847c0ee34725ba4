/// Solvers on a GPU against the same solvers on the host: the same endings, nearly the same number of iterations, and
/// residuals that agree with long double on the host.
#include "tests/support/cuda_test.hpp"
#include "tessera/error.hpp"
#include "tessera/matrix_market.hpp"
#include "tessera/pagerank.hpp"
#include "tests/solvers/rank_oracle.hpp"
#include "tests/solvers/systems.hpp"
#include "tests/support/cuda_kernels.hpp"
#include "tests/support/matrices_dir.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <string>

namespace tessera::testing {
namespace {

enum class Solver { cg, bicgstab };

/// Result of one solve, x on the host.
template <class T>
struct Solved {
  SolveReport report;
  std::vector<T> x;
};

template <class T>
std::unique_ptr<LinearOperator<T>> preconditioner(const SpmvPlan<T>& plan, bool jacobi) {
  if (jacobi) {
    try {
      return std::make_unique<JacobiPreconditioner<T>>(plan.matrix(), plan.device());
    } catch (const InvalidMatrix&) {
    }
  }
  return std::make_unique<IdentityOperator<T>>(plan.rows(), plan.device());
}

template <class T>
struct Task {
  std::shared_ptr<const Csr<T>> matrix;
  std::vector<T> b;
  std::vector<T> x0;
  Solver solver = Solver::cg;
  bool jacobi = false;
  SolverOptions options;

  Task(Csr<T> a, Solver method)
      : matrix(std::make_shared<const Csr<T>>(std::move(a))),
        b(product(matrix->view(), std::vector<T>(static_cast<std::size_t>(matrix->cols()), T{1}))),
        x0(b.size()),
        solver(method) {}

  [[nodiscard]] Solved<T> run(const Device& device, SpmvAlgorithm kernel) const {
    SpmvOptions spmv;
    spmv.device = device;
    spmv.algorithm = kernel;
    const SpmvPlan<T> plan(matrix, spmv);
    const auto m = preconditioner(plan, jacobi);
    const auto device_b = Array<T>::copy_of(b, device);
    auto device_x = Array<T>::copy_of(x0, device);
    SolveReport report = solver == Solver::cg ? cg<T>(plan, *m, device_b.span(), device_x.span(), options)
                                              : bicgstab<T>(plan, *m, device_b.span(), device_x.span(), options);
    const Array<T> x = device_x.to(Device{});
    return {std::move(report), {x.begin(), x.end()}};
  }
};

/// By what sums in another order change the iterations.
std::int64_t slack(std::int64_t iterations) { return 2 + iterations / 20; }

/// BiCGSTAB in single precision is let go twice as far: the kernels of the host alone take 26 to 31 iterations on
/// Poisson 20 x 20 x 20.
template <class T>
std::int64_t slack(const Task<T>& task, std::int64_t iterations) {
  const bool sensitive = sizeof(T) == sizeof(float) && task.solver == Solver::bicgstab;
  return sensitive ? 2 + iterations / 10 : slack(iterations);
}

class SolversOnGpu : public CudaTest {
 protected:
  /// Every kernel that can run here.
  static std::vector<SpmvAlgorithm> kernels() { return cuda_algorithms(gpu()); }

  /// On both sides.
  template <class T>
  void expect_same(const Task<T>& task) {
    const Solved<T> expected = task.run(Device{}, SpmvAlgorithm::automatic);
    for (const SpmvAlgorithm kernel : kernels()) {
      SCOPED_TRACE(to_string(kernel));
      const Solved<T> found = task.run(gpu(), kernel);
      EXPECT_EQ(found.report.status, expected.report.status)
          << "GPU: " << found.report.reason << "\nhost: " << expected.report.reason;
      EXPECT_LE(std::abs(found.report.iterations - expected.report.iterations), slack(task, expected.report.iterations))
          << found.report.iterations << " and on the host " << expected.report.iterations;
      expect_honest(found.report, task.matrix->view(), task.b, found.x);
    }
  }
};

TEST_F(SolversOnGpu, Poisson) {
  const int side = repetitions(150, 20);
  for (const bool jacobi : {false, true}) {
    for (const Solver solver : {Solver::cg, Solver::bicgstab}) {
      Task<double> flat(poisson2d<double>(side, side), solver);
      flat.jacobi = jacobi;
      expect_same(flat);
      Task<float> solid(poisson3d<float>(20, 20, repetitions(20, 4)), solver);
      solid.jacobi = jacobi;
      solid.options.relative_tolerance = 1e-5;
      expect_same(solid);
    }
  }
}

TEST_F(SolversOnGpu, ConvectionFromARandomGuess) {
  Task<double> task(convection_diffusion<double>(24, 24, repetitions(24, 3), {.x = 1.0, .y = 0.5}), Solver::bicgstab);
  task.x0 = random_values<double>(task.b.size(), 7);
  task.options.shadow = Shadow::random;
  expect_same(task);
  task.options.replacement_interval = 10;
  expect_same(task);
}

/// Rounding does not decide the course of these solves, so the endings are the same.
TEST_F(SolversOnGpu, EndingsThatAreNotConvergence) {
  Task<double> limited(poisson2d<double>(40, 40), Solver::cg);
  limited.options.max_iterations = 5;
  expect_same(limited);
  Task<double> indefinite(diagonal_matrix<double>({1.0, 2.0, -3.0}), Solver::cg);
  expect_same(indefinite);
  Task<double> skew(from_dense<double>({{0, 1}, {-1, 0}}, 2), Solver::bicgstab);
  expect_same(skew);
  skew.options.breakdown_restarts = 0;
  expect_same(skew);
  Task<double> cyclic(from_dense<double>({{0, 0, 0, 1}, {1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}, 4),
                      Solver::bicgstab);
  cyclic.b = {1, 0, 0, 0};
  expect_same(cyclic);
  Task<double> beyond(poisson2d<double>(12, 12), Solver::cg);
  beyond.options.relative_tolerance = 1e-18;
  const Solved<double> stagnated = beyond.run(gpu(), kernels().front());
  EXPECT_EQ(stagnated.report.status, Status::stagnated) << stagnated.report.reason;
}

TEST_F(SolversOnGpu, ZeroRightSideSolvedGuessAndEmptySystem) {
  Task<double> zero(poisson2d<double>(5, 5), Solver::cg);
  std::fill(zero.b.begin(), zero.b.end(), 0.0);
  zero.x0.assign(zero.b.size(), 3.0);
  expect_same(zero);
  EXPECT_EQ(zero.run(gpu(), kernels().front()).x, std::vector<double>(25, 0.0));
  Task<double> solved(poisson2d<double>(5, 5), Solver::bicgstab);
  solved.x0.assign(solved.b.size(), 1.0);
  expect_same(solved);
  EXPECT_EQ(solved.run(gpu(), kernels().front()).x, solved.x0) << "a guess that is good enough stays";
}

TEST_F(SolversOnGpu, NotFiniteInputIsNamedByItsPlace) {
  Task<double> task(poisson2d<double>(5, 5), Solver::cg);
  task.b[17] = std::numeric_limits<double>::quiet_NaN();
  const Solved<double> found = task.run(gpu(), kernels().front());
  EXPECT_EQ(found.report.status, Status::not_finite);
  EXPECT_NE(found.report.reason.find("b[17] is nan"), std::string::npos) << found.report.reason;
}

/// Powers of two change no digit, so the course is the same bit by bit; other scales change the rounding alone.
TEST_F(SolversOnGpu, ScaleDoesNotMatter) {
  Task<double> task(poisson2d<double>(30, 30), Solver::cg);
  const SpmvAlgorithm kernel = kernels().front();
  const Solved<double> plain = task.run(gpu(), kernel);
  for (double& value : task.b) value = std::ldexp(value, -900);
  const Solved<double> small = task.run(gpu(), kernel);
  EXPECT_EQ(small.report.iterations, plain.report.iterations);
  EXPECT_EQ(small.report.status, plain.report.status);
  EXPECT_NEAR(std::ldexp(small.x[17], 900), plain.x[17], 1e-12);
}

TEST_F(SolversOnGpu, PreconditionerOnTheHostIsRefused) {
  SpmvOptions spmv;
  spmv.device = gpu();
  spmv.algorithm = kernels().front();
  const SpmvPlan<double> plan(poisson2d<double>(4, 4), spmv);
  Array<double> x(16, Init::zero, gpu());
  const Array<double> b(16, Init::zero, gpu());
  EXPECT_THROW(static_cast<void>(cg<double>(plan, IdentityOperator<double>(16), b.span(), x.span())), InvalidArgument);
}

TEST_F(SolversOnGpu, VectorsOnTheHostAreRefused) {
  SpmvOptions spmv;
  spmv.device = gpu();
  spmv.algorithm = kernels().front();
  const SpmvPlan<double> plan(poisson2d<double>(4, 4), spmv);
  const std::vector<double> host_b(16, 1.0);
  std::vector<double> host_x(16);
  const Array<double> b(16, Init::zero, gpu());
  Array<double> x(16, Init::zero, gpu());
  EXPECT_THROW(static_cast<void>(cg<double>(plan, host_b, x.span())), InvalidArgument);
  EXPECT_THROW(static_cast<void>(bicgstab<double>(plan, b.span(), host_x)), InvalidArgument);
}

TEST_F(SolversOnGpu, JacobiNamesTheRow) {
  const Csr<double> hole = from_dense<double>({{1, 0, 0}, {0, 0, 2}, {0, 2, 1}}, 3);
  const Csr<double> on_gpu = hole.to(gpu());
  try {
    const JacobiPreconditioner<double> m(on_gpu.view(), gpu());
    FAIL() << "row 2 has no diagonal entry";
  } catch (const InvalidMatrix& error) {
    EXPECT_NE(std::string(error.what()).find("row 2 "), std::string::npos) << error.what();
  }
}

TEST_F(SolversOnGpu, JacobiAppliesTheInverseDiagonal) {
  const std::vector<double> entries{2.0, -4.0, 0.5};
  const Csr<double> on_gpu = diagonal_matrix(entries).to(gpu());
  const JacobiPreconditioner<double> m(on_gpu.view(), gpu());
  const auto x = Array<double>::copy_of(std::vector<double>{1.0, 2.0, 3.0}, gpu());
  Array<double> y(3, Init::none, gpu());
  m.apply(x.span(), y.span());
  const Array<double> found = y.to(Device{});
  EXPECT_EQ(std::vector<double>(found.begin(), found.end()), (std::vector<double>{0.5, -0.5, 6.0}));
}

/// The right-hand side is the image of a seeded vector where ones lie in the null space.
Task<double> real_task(const std::string& name, Solver solver) {
  Task<double> task(read_matrix_market<double>(*real_matrices_dir() / (name + ".mtx.gz")).matrix, solver);
  if (std::all_of(task.b.begin(), task.b.end(), [](double value) { return value == 0.0; })) {
    task.b = product(task.matrix->view(), random_values<double>(task.b.size(), 29));
  }
  task.jacobi = true;
  return task;
}

TEST_F(SolversOnGpu, RealMatrices) {
  TESSERA_REQUIRE_REAL_MATRICES();
  for (const char* name : {"G3_circuit_lead400k", "Andrews", "bcsstk38", "bcsstk16", "jnlbrng1", "bcsstk15", "crystm01",
                           "bcsstk13", "bcsstk08", "1138_bus", "nos4"}) {
    SCOPED_TRACE(name);
    const Task<double> task = real_task(name, Solver::cg);
    if (!is_too_large_here(task.matrix->nnz(), 3000)) expect_same(task);
  }
}

TEST_F(SolversOnGpu, RealMatricesByBicgstab) {
  TESSERA_REQUIRE_REAL_MATRICES();
  for (const char* name : {"cage8", "jnlbrng1", "crystm01", "nos4"}) {
    SCOPED_TRACE(name);
    const Task<double> task = real_task(name, Solver::bicgstab);
    if (!is_too_large_here(task.matrix->nnz(), 3000)) expect_same(task);
  }
}

/// The order of sums decides the number of iterations (on the host too, from kernel to kernel), but not the result.
TEST_F(SolversOnGpu, RealMatricesThatRoundingDelays) {
  TESSERA_REQUIRE_REAL_MATRICES();
  for (const char* name : {"memplus", "add32", "sherman1", "orsirr_1"}) {
    SCOPED_TRACE(name);
    const Task<double> task = real_task(name, Solver::bicgstab);
    if (is_too_large_here(task.matrix->nnz(), 3000)) continue;
    for (const SpmvAlgorithm kernel : kernels()) {
      SCOPED_TRACE(to_string(kernel));
      const Solved<double> found = task.run(gpu(), kernel);
      EXPECT_TRUE(found.report.converged()) << found.report.reason;
      expect_honest(found.report, task.matrix->view(), task.b, found.x);
    }
    EXPECT_TRUE(task.run(Device{}, SpmvAlgorithm::automatic).report.converged());
  }
}

/// BiCGSTAB on hard matrices takes a different course for every order of summation, so only the report is checked.
TEST_F(SolversOnGpu, EveryReportIsHonest) {
  TESSERA_REQUIRE_REAL_MATRICES();
  for (const auto& path : real_matrix_files()) {
    auto file = read_matrix_market<double>(path);
    if (file.matrix.rows() != file.matrix.cols() || is_too_large_here(file.matrix.nnz())) continue;
    SCOPED_TRACE(matrix_name(path));
    Task<double> task(std::move(file.matrix), Solver::bicgstab);
    task.jacobi = true;
    task.options.max_iterations =
        std::clamp<std::int64_t>(10'000'000 / std::max<offset_t>(task.matrix->nnz(), 1), 10, repetitions(300, 10));
    const Solved<double> found = task.run(gpu(), kernels().front());
    expect_honest(found.report, task.matrix->view(), task.b, found.x);
    EXPECT_LE(found.report.true_residual, found.report.r0_norm * (1 + 1e-12)) << found.report.reason;
  }
}

template <class T>
PageRankResult<T> rank(const Csr<T>& graph, PageRankOptions options, const Device& device, SpmvAlgorithm kernel) {
  options.spmv.device = device;
  options.spmv.algorithm = kernel;
  return pagerank(TransitionMatrix<T>(graph.view()), options);
}

TEST_F(SolversOnGpu, PageRankAgreesWithTheHost) {
  const auto graph = generate<double>(GeneratorSpec{"rmat", repetitions(5000, 100)});
  std::vector<double> wanted(static_cast<std::size_t>(graph.rows()));
  for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i] = static_cast<double>(i % 7);
  for (const Dangling policy : {Dangling::teleport, Dangling::uniform, Dangling::self, Dangling::drop}) {
    for (const bool personalized : {false, true}) {
      PageRankOptions options;
      options.tolerance = 1e-12;
      options.dangling = policy;
      if (personalized) options.personalization = wanted;
      const auto expected = rank(graph, options, Device{}, SpmvAlgorithm::automatic);
      for (const SpmvAlgorithm kernel : kernels()) {
        SCOPED_TRACE(to_string(kernel));
        const auto found = rank(graph, options, gpu(), kernel);
        EXPECT_EQ(found.status, expected.status) << found.reason;
        EXPECT_LE(std::abs(found.iterations - expected.iterations), slack(expected.iterations));
        EXPECT_TRUE(found.ranks.device().is_host());
        EXPECT_NEAR(found.sum, 1.0, 1e-14);
        double distance = 0.0;
        for (std::int64_t i = 0; i < graph.rows(); ++i) distance += std::abs(found.ranks[i] - expected.ranks[i]);
        EXPECT_LE(distance, 1e-11);
      }
    }
  }
}

TEST_F(SolversOnGpu, PageRankOfRealGraphs) {
  TESSERA_REQUIRE_REAL_MATRICES();
  for (const auto& path : real_matrix_files()) {
    const auto file = read_matrix_market<double>(path);
    const CsrView<double> adjacency = file.matrix.view();
    if (!adjacency.is_pattern() || !adjacency.is_square() || is_too_large_here(adjacency.nnz())) continue;
    SCOPED_TRACE(matrix_name(path));
    const auto n = static_cast<std::size_t>(adjacency.rows);
    const LongVector expected = pagerank_oracle(adjacency, uniform_distribution(n), 0.85L, Dangling::teleport);
    PageRankOptions options;
    options.tolerance = 2e-14;
    const auto result = rank(file.matrix, options, gpu(), kernels().front());
    EXPECT_EQ(result.status, Status::converged) << result.reason;
    EXPECT_LE(l1_distance<double>(result.ranks.span(), expected), 1e-12L);
  }
}

}  // namespace
}  // namespace tessera::testing
