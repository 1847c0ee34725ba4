// Plans in another numbering on a GPU: products, new values, and a solve whose loop the GPU runs by itself.
#include "core/enqueued_product.hpp"
#include "tessera/solvers.hpp"
#include "tessera/statistics.hpp"
#include "tests/spmv/reordered_plan_cases.hpp"
#include "tests/support/cuda_test.hpp"

#include <thread>

namespace tessera {
namespace {

template <class T>
class ReorderedCuda : public testing::CudaTest {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(ReorderedCuda, Types);

constexpr Ordering orderings[] = {Ordering::rcm, Ordering::degree};

TYPED_TEST(ReorderedCuda, ProductsAreRight) {
  testing::check_all_products<TypeParam>(this->gpu(), ValueStorage::weighted, std::span(orderings).last(1));
}

TYPED_TEST(ReorderedCuda, ProductsOfPatternsAreRight) {
  testing::check_all_products<TypeParam>(this->gpu(), ValueStorage::pattern, std::span(orderings).first(1));
}

template <class T>
Csr<T> graph() {
  return testing::with_row_lengths<T>(testing::power_law_lengths(300, 280, 4), 300, ValueStorage::weighted);
}

TYPED_TEST(ReorderedCuda, NewValuesAndTranspose) {
  const Csr<TypeParam> a = graph<TypeParam>();
  ReorderedPlan<TypeParam> plan(a, Ordering::degree, {.device = this->gpu(), .with_transpose = true});
  for (std::uint64_t round = 0; round < 2; ++round) {
    const auto values = testing::random_vector<TypeParam>(a.nnz(), 50 + round);
    const auto there = Array<TypeParam>::copy_of(values, this->gpu());
    round == 0 ? plan.update_values(values) : plan.update_values(there.span());
    const auto updated = a.with_values(Array<TypeParam>::copy_of(values));
    testing::check_products(plan, updated.view());
    const Csr<TypeParam> transposed = transpose(updated.view());
    const auto x = testing::random_vector<TypeParam>(300, 3);
    Array<TypeParam> y(300, Init::none, this->gpu());
    plan.apply_transposed(Array<TypeParam>::copy_of(x, this->gpu()).span(), y.span());
    testing::expect_near(testing::multiply_oracle<TypeParam>(TypeParam{1}, transposed.view(), x, TypeParam{0}, x),
                         testing::on_host(y));
  }
}

TYPED_TEST(ReorderedCuda, Residuals) {
  const Csr<TypeParam> a = graph<TypeParam>();
  const auto b = testing::random_vector<TypeParam>(300, 6);
  const auto x = testing::random_vector<TypeParam>(300, 3);
  const ReorderedPlan<TypeParam> plan(a, Ordering::degree, {.device = this->gpu()});
  Array<TypeParam> r(300, Init::none, this->gpu());
  static_cast<void>(plan.residual(0, Array<TypeParam>::copy_of(b, this->gpu()).span(),
                                  Array<TypeParam>::copy_of(x, this->gpu()).span(), r.span()));
  testing::expect_near(testing::multiply_oracle<TypeParam>(TypeParam{-1}, a.view(), x, TypeParam{1}, b),
                       testing::on_host(r));
}

/// Of a matrix that the options stream: it is permuted on the host, and stays there.
TYPED_TEST(ReorderedCuda, StreamedMatrices) {
  const Csr<TypeParam> a = graph<TypeParam>();
  ReorderedPlan<TypeParam> plan(a, Ordering::degree, {.algorithm = SpmvAlgorithm::streamed, .device = this->gpu()});
  EXPECT_TRUE(plan.plan().matrix_device().is_host());
  testing::check_products(plan, a.view());
  const auto values = testing::random_vector<TypeParam>(a.nnz(), 50);
  plan.update_values(Array<TypeParam>::copy_of(values, this->gpu()).span());
  testing::check_products(plan, a.with_values(Array<TypeParam>::copy_of(values)).view());
}

/// 4 I + tridiagonal with random signs, and a hub: diagonally dominant, λ_min >= 1.
Csr<double> system(index_t n) {
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  std::vector<double> values;
  const auto add = [&](index_t j, double value) {
    columns.push_back(j);
    values.push_back(value);
  };
  for (index_t i = 0; i < n; ++i) {
    const index_t hub = n - 1;
    if (i == hub) {
      for (index_t j = 0; j < n - 1; ++j) add(j, -1.0 / n);
      add(hub, 4);
    } else {
      if (i > 0) add(i - 1, -1);
      add(i, 4);
      if (i + 1 < hub) add(i + 1, -1);
      add(hub, -1.0 / n);
    }
    offsets.push_back(static_cast<offset_t>(columns.size()));
  }
  return {n, n, Array<offset_t>::copy_of(offsets), Array<index_t>::copy_of(columns), Array<double>::copy_of(values)};
}

using ReorderedPlanCuda = testing::CudaTest;

TEST_F(ReorderedPlanCuda, SolvesInTheLoopOfTheGpu) {
  const Csr<double> a = system(150);
  const auto b = testing::random_vector<double>(150, 9);
  SolverOptions options;
  options.relative_tolerance = 1e-11;
  const ReorderedPlan<double> plan(a, Ordering::degree, {.device = gpu()});
  EXPECT_NE(detail::EnqueuedProduct<double>::of(plan), nullptr);
  const SpmvPlan<double> natural(Csr<double>::copy_of(a.view()));
  std::vector<double> expected(150);
  const SolveReport known = cg<double>(natural, IdentityOperator<double>(150), b, expected, options);
  Array<double> x(150, Init::zero, gpu());
  const SolveReport report = cg<double>(plan, IdentityOperator<double>(150, gpu()),
                                        Array<double>::copy_of(b, gpu()).span(), x.span(), options);
  ASSERT_TRUE(known.converged() && report.converged()) << report.reason;
  const std::vector<double> found = testing::on_host(x);
  double squares = 0;
  for (std::size_t i = 0; i < found.size(); ++i) squares += (found[i] - expected[i]) * (found[i] - expected[i]);
  EXPECT_LE(std::sqrt(squares), known.target + report.target);
}

}  // namespace
}  // namespace tessera
