// Plans in tiles on a GPU: new values, factors that part, values that are not finite, refusals, what is given up.
#include "tests/spgemm/product_cuda_check.hpp"

#include "tessera/error.hpp"
#include "tessera/generators.hpp"
#include "tests/spgemm/tile_product_check.hpp"

#include <limits>
#include <string>
#include <vector>

namespace tessera {
namespace {

class TilePlanOnGpu : public testing::CudaTest {
 protected:
  static SpgemmOptions options_of(Determinism determinism) {
    SpgemmOptions options;
    options.workflow = SpgemmWorkflow::tiles;
    options.device = gpu();
    options.determinism = determinism;
    return options;
  }
  static SpgemmPlan<double> plan_of(const Csr<double>& a, const Csr<double>& b, const SpgemmOptions& options) {
    return {Csr<double>::copy_of(a.view()), Csr<double>::copy_of(b.view()), options};
  }
  static Csr<double> other_values(const Csr<double>& matrix, std::uint64_t seed) {
    return matrix.with_values(Array<double>::copy_of(testing::random_vector<double>(matrix.nnz(), seed)));
  }
  static std::string problem() { return testing::gpu_is_emulated ? "band:150,width=20" : "band:4000,width=60"; }

  /// The plan's product has the bits of spgemm() and is within the bound.
  static void check(SpgemmPlan<double>& plan, const Csr<double>& a, const Csr<double>& b,
                    const SpgemmOptions& options) {
    const Csr<double> c = plan.multiply(a, b).to(Device{});
    EXPECT_TRUE(testing::is_product(a.view(), b.view(), c.view()));
    testing::expect_identical(spgemm(a, b, options).matrix.to(Device{}).view(), c.view());
    if (options.determinism == Determinism::gpu_to_gpu) {
      testing::expect_identical(spgemm(a, b).matrix.view(), c.view());
    }
  }
};

TEST_F(TilePlanOnGpu, NewValuesOnStoredTiles) {
  for (const auto determinism : {Determinism::not_guaranteed, Determinism::gpu_to_gpu}) {
    for (const auto& [name, a, b] : testing::products_in_tiles<double>(ValueStorage::weighted)) {
      SCOPED_TRACE(name);
      const SpgemmOptions options = options_of(determinism);
      SpgemmPlan<double> plan = plan_of(a, b, options);
      EXPECT_EQ(plan.report().workflow, SpgemmWorkflow::tiles) << plan.report().fallback;
      EXPECT_EQ(plan.report().nnz, plan.structure().nnz());
      EXPECT_GT(plan.bytes(), plan.structure().bytes());
      testing::expect_identical(spgemm(a, b, options).matrix.to(Device{}).view(), plan.multiply().to(Device{}).view());
      check(plan, a, b, options);
      check(plan, other_values(a, 1), other_values(b, 2), options);
      ASSERT_FALSE(HasFailure());
    }
  }
}

/// A plan of A A shares tiles, but values of its own may come for each factor.
TEST_F(TilePlanOnGpu, TheFactorsOfASquareMayPart) {
  const auto a = std::make_shared<const Csr<double>>(generate<double>(parse_generator(problem())));
  const SpgemmOptions options = options_of(Determinism::not_guaranteed);
  SpgemmPlan<double> plan(a, a, options);
  ASSERT_EQ(plan.report().workflow, SpgemmWorkflow::tiles);
  const Csr<double> square = plan.multiply().to(Device{});
  EXPECT_TRUE(testing::is_product(a->view(), a->view(), square.view()));
  const Csr<double> left = other_values(*a, 1);
  check(plan, left, other_values(*a, 2), options);
  check(plan, *a, left, options);
  check(plan, left, left, options);
  testing::expect_identical(square.view(), plan.multiply().to(Device{}).view());
}

/// Only the GPU knows the values: the way to multiply is chosen there, for each product anew.
TEST_F(TilePlanOnGpu, ValuesThatAreNotFinite) {
  const auto a = generate<double>(parse_generator(problem()));
  const SpgemmOptions options = options_of(Determinism::not_guaranteed);
  SpgemmPlan<double> plan = plan_of(a, a, options);
  for (const double value : {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    std::vector<double> values = testing::random_vector<double>(a.nnz(), 3);
    values[values.size() / 3] = value;
    const Csr<double> special = a.with_values(Array<double>::copy_of(values));
    testing::expect_identical(spgemm(a, special).matrix.view(), plan.multiply(a, special).to(Device{}).view());
    testing::expect_identical(spgemm(special, a).matrix.view(), plan.multiply(special, a).to(Device{}).view());
    check(plan, a, a, options);
  }
}

TEST_F(TilePlanOnGpu, PatternsCountAsOnes) {
  for (const auto& [name, a, b] : testing::products_in_tiles<double>(ValueStorage::pattern)) {
    SCOPED_TRACE(name);
    SpgemmPlan<double> plan = plan_of(a, b, options_of(Determinism::not_guaranteed));
    testing::expect_identical(spgemm(a, b).matrix.view(), plan.multiply().to(Device{}).view());
    ASSERT_FALSE(HasFailure());
  }
}

TEST_F(TilePlanOnGpu, RefusesAnotherStructureAndMemoryOfTheHost) {
  const auto a = testing::random_windows<double>(40, 50, 20, 0.6, ValueStorage::weighted, 1);
  const auto b = testing::random_windows<double>(50, 30, 15, 0.6, ValueStorage::weighted, 2);
  const SpgemmOptions options = options_of(Determinism::not_guaranteed);
  SpgemmPlan<double> plan = plan_of(a, b, options);
  const auto other_a = testing::random_windows<double>(40, 50, 20, 0.6, ValueStorage::weighted, 3);
  EXPECT_THROW(static_cast<void>(plan.multiply(other_a, b)), InvalidMatrix);
  EXPECT_THROW(static_cast<void>(plan.multiply(a, a)), InvalidMatrix);
  std::vector<double> values(static_cast<std::size_t>(plan.structure().nnz()));
  EXPECT_THROW(plan.multiply_into(a, b, values), NotSupported);
  Array<double> few(plan.structure().nnz() - 1, Init::zero, gpu());
  EXPECT_THROW(plan.multiply_into(a, b, few.span()), DimensionError);
  check(plan, a, b, options);
}

/// Rows beyond the limits of tiles: all are counted one by one, and the report says so.
TEST_F(TilePlanOnGpu, GivesUpBeyondTheLimits) {
  const auto b =
      testing::with_row_lengths<double>(std::vector<index_t>(std::size_t{8} * 513, 1), 20, ValueStorage::weighted, 3);
  const auto a = testing::with_row_lengths<double>({8 * 513, 3, 0, 2}, 8 * 513, ValueStorage::weighted, 4);
  SpgemmPlan<double> plan = plan_of(a, b, options_of(Determinism::gpu_to_gpu));
  EXPECT_EQ(plan.report().workflow, SpgemmWorkflow::symbolic);
  EXPECT_NE(plan.report().fallback.find("more than 512 tiles"), std::string::npos) << plan.report().fallback;
  testing::expect_identical(spgemm(a, b).matrix.view(), plan.multiply().to(Device{}).view());
}

/// A limit that tiles exceed and rows do not.
TEST_F(TilePlanOnGpu, KeepsToTheMemoryLimit) {
  const index_t rows = testing::repetitions(3000, 300);
  const auto a = testing::with_row_lengths<double>(std::vector<index_t>(static_cast<std::size_t>(rows), 4), rows,
                                                   ValueStorage::weighted, 5);
  auto options = options_of(Determinism::gpu_to_gpu);
  options.memory_limit_bytes = plan_of(a, a, options).report().peak_bytes - 1;
  SpgemmPlan<double> plan = plan_of(a, a, options);
  EXPECT_EQ(plan.report().workflow, SpgemmWorkflow::symbolic);
  EXPECT_FALSE(plan.report().fallback.empty());
  EXPECT_LE(plan.report().peak_bytes, options.memory_limit_bytes);
  testing::expect_identical(spgemm(a, a).matrix.view(), plan.multiply().to(Device{}).view());
}

TEST_F(TilePlanOnGpu, AutomaticTakesTilesWhereProductsDo) {
  if (testing::gpu_is_emulated) GTEST_SKIP() << "too many products";
  const auto a = generate<double>(parse_generator("band:20000,width=60"));
  SpgemmOptions options;
  options.device = gpu();
  SpgemmPlan<double> plan = plan_of(a, a, options);
  const auto product = spgemm(a, a, options);
  EXPECT_EQ(plan.report().workflow, product.report.workflow) << plan.report().reason << plan.report().fallback;
  EXPECT_EQ(plan.report().workflow, SpgemmWorkflow::tiles);
}

}  // namespace
}  // namespace tessera
