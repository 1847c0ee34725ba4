// Products planned once and computed for many values.
#include "tessera/error.hpp"
#include "tessera/generators.hpp"
#include "tests/spgemm/product_check.hpp"

namespace tessera {
namespace {

/// The same structure with other values.
Csr<double> with_values(const Csr<double>& matrix, std::uint64_t seed) {
  return Csr<double>(matrix.rows(), matrix.cols(), matrix.row_offsets().to(Device{}), matrix.columns().to(Device{}),
                     Array<double>::copy_of(testing::random_vector<double>(matrix.nnz(), seed)));
}

TEST(SpgemmPlan, NewValuesOnAStoredStructure) {
  for (const char* spec : {"fem3d:1000", "rmat:2048", "lap2d:5000"}) {
    for (const auto accumulator : testing::with_automatic(spgemm_accumulators())) {
      SCOPED_TRACE(spec);
      const auto a = generate<double>(parse_generator(spec));
      auto options = testing::spgemm_options(SpgemmWorkflow::automatic, accumulator);
      SpgemmPlan<double> plan(Csr<double>::copy_of(a.view()), Csr<double>::copy_of(a.view()), options);
      testing::expect_identical(spgemm(a, a).matrix.view(), plan.multiply().view());
      EXPECT_TRUE(plan.structure().is_pattern());
      EXPECT_GT(plan.bytes(), plan.structure().bytes());
      for (std::uint64_t seed = 0; seed < 3; ++seed) {
        const Csr<double> left = with_values(a, seed);
        const Csr<double> right = with_values(a, seed + 10);
        const Csr<double> expected = spgemm(left, right).matrix;
        testing::expect_identical(expected.view(), plan.multiply(left, right).view());
        std::vector<double> values(static_cast<std::size_t>(expected.nnz()), -1.0);
        plan.multiply_into(left, right, values);
        EXPECT_TRUE(testing::same_bytes(std::span<const double>(values), expected.values().span()));
      }
      testing::expect_identical(spgemm(a, a).matrix.view(), plan.multiply().view());
      ASSERT_FALSE(HasFailure());
    }
  }
}

TEST(SpgemmPlan, RefusesAnotherStructure) {
  const auto a = testing::with_row_lengths<double>({3, 0, 4, 2}, 5, ValueStorage::weighted, 1);
  const auto b = testing::with_row_lengths<double>({1, 2, 3, 0, 4}, 6, ValueStorage::weighted, 2);
  SpgemmPlan<double> plan(Csr<double>::copy_of(a.view()), Csr<double>::copy_of(b.view()));
  const Csr<double> before = plan.multiply();
  const auto other_a = testing::with_row_lengths<double>({3, 1, 3, 2}, 5, ValueStorage::weighted, 1);
  const auto other_b = testing::with_row_lengths<double>({1, 2, 3, 0, 4}, 6, ValueStorage::weighted, 77);
  EXPECT_THROW(static_cast<void>(plan.multiply(other_a, b)), InvalidMatrix);
  EXPECT_THROW(static_cast<void>(plan.multiply(a, other_b)), InvalidMatrix);
  EXPECT_THROW(static_cast<void>(plan.multiply(b, a)), InvalidMatrix);
  const auto pattern = testing::with_row_lengths<double>({3, 0, 4, 2}, 5, ValueStorage::pattern, 1);
  EXPECT_THROW(static_cast<void>(plan.multiply(pattern, b)), InvalidMatrix);
  std::vector<double> values(static_cast<std::size_t>(before.nnz()) + 1);
  EXPECT_THROW(plan.multiply_into(a, b, values), DimensionError);
  testing::expect_identical(before.view(), plan.multiply(a, b).view());
}

TEST(SpgemmPlan, RefusesNull) { EXPECT_THROW(SpgemmPlan<double>(nullptr, nullptr), InvalidArgument); }

TEST(SpgemmPlan, Moves) {
  const auto a = testing::with_row_lengths<float>({3, 0, 4, 2, 1}, 5, ValueStorage::weighted, 1);
  SpgemmPlan<float> plan(Csr<float>::copy_of(a.view()), Csr<float>::copy_of(a.view()));
  SpgemmPlan<float> moved(std::move(plan));
  EXPECT_TRUE(testing::is_product(a.view(), a.view(), moved.multiply().view()));
}

}  // namespace
}  // namespace tessera
