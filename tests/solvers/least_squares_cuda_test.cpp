/// LSMR and CGLS on a GPU: a loop that the GPU runs by itself gives the bits of one that the host drives; endings and
/// norms of the host; column scaling bit by bit.
#include "core/cuda/memory.hpp"
#include "tessera/error.hpp"
#include "tests/solvers/least_squares_problems.hpp"
#include "tests/solvers/waiting.hpp"
#include "tests/support/cuda_test.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace tessera::testing {
namespace {

class LeastSquaresOnGpu : public CudaTest {};

struct Solved {
  LeastSquaresReport report;
  std::vector<double> x;
};

struct Case {
  std::string name;
  std::shared_ptr<const Csr<double>> matrix;
  LeastSquaresOptions options;
  bool is_scaled = false;

  [[nodiscard]] std::vector<double> b() const {
    return random_values<double>(static_cast<std::size_t>(matrix->rows()), 41);
  }
};

std::vector<Case> cases() {
  const auto make = [](Csr<double> a) { return std::make_shared<const Csr<double>>(std::move(a)); };
  const auto tall = make(random_rectangular<double>(300, 20, 0.1, 31));
  const auto wide = make(random_rectangular<double>(15, 300, 0.1, 32));
  const auto deficient = make(rank_deficient<double>(40, 24, 9, 33));
  LeastSquaresOptions damped{.damping = 0.1};
  damped.keep_history = true;
  LeastSquaresOptions exact{.relative_tolerance = 0.0, .residual_tolerance = 0.0};
  exact.max_iterations = 30;
  return {{"tall", tall, {}},
          {"tall, damped and scaled", tall, damped, true},
          {"wide", wide, {.relative_tolerance = 1e-11, .residual_tolerance = 1e-11}},
          {"rank deficient", deficient, {.relative_tolerance = 1e-10}},
          {"three iterations", wide, {.max_iterations = 3}},
          {"to the attainable accuracy", deficient, exact}};
}

/// \param driven whether the host drives the loop: the operator hides its plan
Solved run(const Case& task, LeastSquaresMethod method, const Device& device, bool driven = false,
           SpmvAlgorithm kernel = SpmvAlgorithm::merge) {
  SpmvOptions options;
  options.device = device;
  options.algorithm = kernel;
  options.determinism = Determinism::run_to_run;
  options.with_transpose = true;
  const SpmvPlan<double> plan(task.matrix, options);
  const Waiting hidden(plan);
  const LinearOperator<double>& a = driven ? static_cast<const LinearOperator<double>&>(hidden) : plan;
  const auto b = Array<double>::copy_of(task.b(), device);
  Array<double> x(plan.cols(), Init::zero, device);
  const ColumnNormPreconditioner<double> d(plan.matrix(), task.options.damping, device);
  LeastSquaresReport report = task.is_scaled ? solve_by<double>(method, a, d, b.span(), x.span(), task.options)
                                             : solve_by<double>(method, a, b.span(), x.span(), task.options);
  const Array<double> found = x.to(Device{});
  return {std::move(report), {found.begin(), found.end()}};
}

TEST_F(LeastSquaresOnGpu, HostDrivenLoopGivesTheSameBits) {
  for (const SpmvAlgorithm kernel : {SpmvAlgorithm::merge, SpmvAlgorithm::csr_vector}) {
    std::vector<Case> all = cases();
    if (kernel != SpmvAlgorithm::merge) all.resize(2);
    for (const Case& task : all) {
      for (const LeastSquaresMethod method : least_squares_methods) {
        SCOPED_TRACE(task.name + " " + name_of(method));
        const Solved alone = run(task, method, gpu(), false, kernel);
        const Solved driven = run(task, method, gpu(), true, kernel);
        EXPECT_EQ(alone.report.reason, driven.report.reason);
        EXPECT_EQ(alone.report.iterations, driven.report.iterations);
        EXPECT_EQ(alone.report.spmv_count, driven.report.spmv_count);
        EXPECT_EQ(alone.report.transposed_count, driven.report.transposed_count);
        EXPECT_EQ(alone.report.normal_residual, driven.report.normal_residual);
        EXPECT_EQ(alone.report.matrix_norm, driven.report.matrix_norm);
        EXPECT_EQ(alone.report.condition, driven.report.condition);
        EXPECT_EQ(alone.x, driven.x);
      }
    }
  }
}

/// Sums of products are in another order than on the host, so iterations may differ by a few, and norms by rounding.
TEST_F(LeastSquaresOnGpu, EndsAsOnTheHost) {
  for (const Case& task : cases()) {
    for (const LeastSquaresMethod method : least_squares_methods) {
      SCOPED_TRACE(task.name + " " + name_of(method));
      const Solved found = run(task, method, gpu());
      const Solved expected = run(task, method, Device{});
      expect_honest(found.report, task.matrix->view(), task.b(), found.x, task.options);
      if (task.options.relative_tolerance > 0.0) {
        EXPECT_EQ(found.report.status, expected.report.status) << found.report.reason;
        EXPECT_LE(std::abs(found.report.iterations - expected.report.iterations), 2 + expected.report.iterations / 20);
      }
      EXPECT_NEAR(found.report.true_residual, expected.report.true_residual, 1e-6 * expected.report.b_norm);
    }
  }
}

/// The product with Aᵀ is put into the stream too: the GPU reports once per several iterations.
TEST_F(LeastSquaresOnGpu, OneWaitForSeveralIterations) {
  const Case task{"tall",
                  std::make_shared<const Csr<double>>(random_rectangular<double>(120, 50, 0.1, 34)),
                  {.relative_tolerance = 1e-12}};
  for (const LeastSquaresMethod method : least_squares_methods) {
    static_cast<void>(run(task, method, gpu()));
    const std::uint64_t before = cuda::counts_of(gpu()).waits;
    const Solved alone = run(task, method, gpu());
    const std::uint64_t between = cuda::counts_of(gpu()).waits;
    const Solved driven = run(task, method, gpu(), true);
    const std::uint64_t after = cuda::counts_of(gpu()).waits;
    ASSERT_GT(alone.report.iterations, 30);
    EXPECT_EQ(alone.report.iterations, driven.report.iterations);
    EXPECT_LT(3 * (between - before), after - between);
  }
}

template <class T>
void expect_scaling_of_the_host(const Csr<T>& a, double damping, const Device& gpu) {
  const ColumnNormPreconditioner<T> here(a.view(), damping);
  const Csr<T> on_gpu = a.to(gpu);
  const ColumnNormPreconditioner<T> there(on_gpu.view(), damping, gpu);
  std::vector<T> found(static_cast<std::size_t>(a.cols()));
  detail::copy_bytes(Device{}, found.data(), gpu, there.diagonal()->data(), found.size() * sizeof(T));
  const std::span<const T> expected = *here.diagonal();
  EXPECT_EQ(found, std::vector<T>(expected.begin(), expected.end()));
}

TEST_F(LeastSquaresOnGpu, ColumnScalingOfTheHostBitByBit) {
  expect_scaling_of_the_host(random_rectangular<double>(80, 50, 0.3, 35), 0.0, gpu());
  expect_scaling_of_the_host(random_rectangular<float>(50, 80, 0.3, 36), 0.5, gpu());
  expect_scaling_of_the_host(rank_deficient<double>(40, 24, 9, 37), 0.0, gpu());
  const auto a = random_rectangular<double>(5, 4, 0.9, 38).to(gpu());
  EXPECT_THROW(ColumnNormPreconditioner<double>(a.view()), InvalidArgument)
      << "a matrix on a GPU, asked for on the host";
}

}  // namespace
}  // namespace tessera::testing
