// Solvers and PageRank on a matrix that is streamed to a GPU: twice the size of the limit, against the same matrix
// there.
#include "tessera/accuracy.hpp"
#include "tessera/error.hpp"
#include "tessera/generators.hpp"
#include "tessera/least_squares.hpp"
#include "tessera/multiple_right_sides.hpp"
#include "tessera/pagerank.hpp"
#include "tessera/preconditioner.hpp"
#include "tessera/solvers.hpp"
#include "tests/support/adversarial.hpp"
#include "tests/support/cuda_test.hpp"

#include <cmath>
#include <string>
#include <vector>

namespace tessera {
namespace {

template <class T>
SpmvPlan<T> plan_of(const Csr<T>& matrix, const Device& device, std::uint64_t limit) {
  SpmvOptions options;
  options.device = device;
  options.memory_limit_bytes = limit;
  return SpmvPlan<T>(Csr<T>::copy_of(matrix.view()), options);
}

/// A third of the matrix: its values are no floats, so that its slices take nearly what CSR takes.
Csr<double> third_of(const Csr<double>& matrix) {
  Array<double> values(matrix.nnz(), Init::none);
  for (std::int64_t k = 0; k < values.size(); ++k) values[k] = matrix.values()[k] / 3.0;
  return matrix.with_values(std::move(values));
}

template <class T>
struct Solved {
  SolveReport report;
  std::vector<T> x;
};

/// Against A x = b with x of ones, and Jacobi from wherever the plan has its matrix.
template <class T, class Method>
Solved<T> solve(const SpmvPlan<T>& plan, const Csr<T>& matrix, const Method& method) {
  const std::vector<T> ones(static_cast<std::size_t>(matrix.cols()), T{1});
  std::vector<T> b(static_cast<std::size_t>(matrix.rows()));
  SpmvPlan<T>(Csr<T>::copy_of(matrix.view())).apply(ones, b);
  const JacobiPreconditioner<T> m(plan.matrix(), plan.device());
  const auto device_b = Array<T>::copy_of(b, plan.device());
  Array<T> device_x(matrix.cols(), Init::zero, plan.device());
  SolveReport report = method(plan, m, device_b.span(), device_x.span());
  const BackwardError backward =
      backward_error<T>(plan.matrix(), device_b.span(), std::as_const(device_x).span(), plan.device());
  EXPECT_LT(backward.componentwise, 1e-3);
  const Array<T> x = device_x.to(Device{});
  return {std::move(report), {x.begin(), x.end()}};
}

class StreamedSolves : public testing::CudaTest {
 protected:
  template <class T, class Method>
  static void expect_like_resident(const Csr<T>& matrix, double tolerance, const Method& method) {
    const SpmvPlan<T> streamed = plan_of(matrix, gpu(), matrix.bytes() / 2);
    ASSERT_EQ(streamed.info().algorithm, SpmvAlgorithm::streamed) << streamed.info().reason;
    ASSERT_GT(streamed.info().stream->bytes_per_product, 0U);
    const Solved<T> there = solve<T>(plan_of(matrix, gpu(), 0), matrix, method);
    const Solved<T> first = solve<T>(streamed, matrix, method);
    const Solved<T> second = solve<T>(streamed, matrix, method);
    ASSERT_TRUE(first.report.converged()) << first.report.reason;
    EXPECT_EQ(first.x, second.x) << "from run to run";
    EXPECT_LE(std::abs(first.report.iterations - there.report.iterations), 2 + there.report.iterations / 20);
    for (std::size_t i = 0; i < first.x.size(); ++i) ASSERT_NEAR(first.x[i], 1.0, tolerance) << i;
  }
};

TEST_F(StreamedSolves, ConjugateGradients) {
  const auto method = [](const auto& plan, const auto& m, auto b, auto x) {
    SolverOptions options;
    options.relative_tolerance = 1e-9;
    return cg(plan, m, b, x, options);
  };
  expect_like_resident(third_of(poisson2d<double>(60, 60)), 1e-5, method);
  expect_like_resident(third_of(poisson3d<double>(14, 14, 14, Stencil3d::twentyseven_point)), 1e-5, method);
}

TEST_F(StreamedSolves, ConjugateGradientsInSinglePrecision) {
  expect_like_resident(poisson3d<float>(14, 14, 14, Stencil3d::twentyseven_point), 1e-2,
                       [](const auto& plan, const auto& m, auto b, auto x) {
                         SolverOptions options;
                         options.relative_tolerance = 1e-4;
                         return cg(plan, m, b, x, options);
                       });
}

TEST_F(StreamedSolves, BiCgStabAndGmres) {
  const auto matrix = third_of(convection_diffusion<double>(50, 50, 1, Peclet{1.0, 0.5}));
  expect_like_resident(matrix, 1e-5, [](const auto& plan, const auto& m, auto b, auto x) {
    SolverOptions options;
    options.relative_tolerance = 1e-9;
    return bicgstab(plan, m, b, x, options);
  });
  expect_like_resident(matrix, 1e-5, [](const auto& plan, const auto& m, auto b, auto x) {
    SolverOptions options;
    options.relative_tolerance = 1e-9;
    return gmres(plan, m, b, x, options);
  });
}

TEST_F(StreamedSolves, LeastSquares) {
  const auto matrix = testing::with_row_lengths<double>(testing::lengths_of(3000, 12), 400, ValueStorage::weighted);
  SpmvOptions options;
  options.device = gpu();
  options.memory_limit_bytes = matrix.bytes();
  options.with_transpose = true;
  const SpmvPlan<double> plan(Csr<double>::copy_of(matrix.view()), options);
  ASSERT_EQ(plan.info().algorithm, SpmvAlgorithm::streamed);
  const auto ones = Array<double>::copy_of(std::vector<double>(400, 1.0), gpu());
  Array<double> b(3000, Init::none, gpu());
  plan.apply(ones.span(), b.span());
  Array<double> x(400, Init::zero, gpu());
  const auto report = lsmr<double>(plan, std::as_const(b).span(), x.span());
  EXPECT_TRUE(report.converged()) << report.reason;
  const Array<double> found = x.to(Device{});
  for (const double value : found) ASSERT_NEAR(value, 1.0, 1e-4);
}

TEST_F(StreamedSolves, SeveralRightSides) {
  const auto matrix = poisson3d<double>(13, 13, 13, Stencil3d::twentyseven_point);
  const SpmvPlan<double> plan = plan_of(matrix, gpu(), matrix.bytes() / 2);
  ASSERT_EQ(plan.info().algorithm, SpmvAlgorithm::streamed);
  const JacobiPreconditioner<double> m(plan.matrix(), plan.device());
  constexpr std::int64_t columns = 3;
  const auto b = Array<double>::copy_of(testing::random_vector<double>(columns * plan.rows(), 3), gpu());
  Array<double> x(columns * plan.rows(), Init::zero, gpu());
  const auto reports = cg<double>(plan, m, MultiVectorView<const double>(b.span(), plan.rows(), columns),
                                  MultiVectorView<double>(x.span(), plan.rows(), columns));
  ASSERT_EQ(reports.size(), 3U);
  for (const SolveReport& report : reports) EXPECT_TRUE(report.converged()) << report.reason;
}

TEST_F(StreamedSolves, PageRank) {
  for (const ValueStorage storage : {ValueStorage::pattern, ValueStorage::weighted}) {
    const auto graph = generate<double>(parse_generator("rmat:3000"), storage);
    const TransitionMatrix<double> transition(graph.view(), Device{});
    PageRankOptions options;
    options.spmv.device = gpu();
    const PageRankResult<double> there = pagerank(transition, options);
    options.spmv.memory_limit_bytes = transition.bytes() / 2;
    const PageRankResult<double> streamed = pagerank(transition, options);
    ASSERT_EQ(streamed.plan.algorithm, SpmvAlgorithm::streamed) << streamed.plan.reason;
    EXPECT_EQ(streamed.status, Status::converged);
    EXPECT_LE(std::abs(streamed.iterations - there.iterations), 1);
    const PageRankResult<double> again = pagerank(transition, options);
    for (std::int64_t i = 0; i < streamed.ranks.size(); ++i) {
      ASSERT_NEAR(streamed.ranks[i], there.ranks[i], 1e-12);
      ASSERT_EQ(streamed.ranks[i], again.ranks[i]);
    }
  }
}

}  // namespace
}  // namespace tessera
