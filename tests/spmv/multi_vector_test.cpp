// Views of dense blocks, and products with several columns by every kernel of the host.
#include "tests/spmv/multi_vector_check.hpp"
#include "tests/spmv/tiled_matrices.hpp"
#include "tests/support/small_grain.hpp"

namespace tessera {

using namespace detail;
namespace {

using testing::DenseBlock;
constexpr auto by_columns = MultiVectorLayout::column_major;
constexpr auto by_rows = MultiVectorLayout::row_major;

TEST(MultiVectorView, PlacesElementsByLayout) {
  std::vector<double> memory(20);
  const MultiVectorView<double> columns(memory, 3, 4, by_columns, 5);
  EXPECT_EQ(&columns(2, 3), memory.data() + 17);
  EXPECT_EQ(columns.column(1).data(), memory.data() + 5);
  EXPECT_EQ(columns.column(1).size(), 3U);
  EXPECT_TRUE(columns.has_contiguous_columns());
  const MultiVectorView<double> rows(memory, 3, 4, by_rows, 6);
  EXPECT_EQ(&rows(2, 3), memory.data() + 15);
  EXPECT_FALSE(rows.has_contiguous_columns());
  const MultiVectorView<const double> read_only = rows.columns(1, 2);
  EXPECT_EQ(&read_only(2, 0), memory.data() + 13);
  EXPECT_EQ(read_only.columns(), 2);
  EXPECT_EQ((MultiVectorView<double>(memory, 4, 5).leading_dimension()), 4);
  EXPECT_EQ((MultiVectorView<double>(memory, 4, 5, by_rows).leading_dimension()), 5);
  EXPECT_TRUE(MultiVectorView<double>(memory, 4, 0).empty());
  EXPECT_TRUE(MultiVectorView<double>({}, 0, 7, by_rows).empty());
  EXPECT_TRUE(MultiVectorView<double>(memory, 4, 5).columns(5, 0).empty());
}

TEST(MultiVectorView, RefusesSizesThatDoNotFit) {
  std::vector<double> memory(20);
  EXPECT_NO_THROW((MultiVectorView<double>(memory, 5, 3, by_columns, 7)));  // the last column needs no gap
  EXPECT_THROW((MultiVectorView<double>(memory, 6, 3, by_columns, 8)), DimensionError);
  EXPECT_THROW((MultiVectorView<double>(memory, 3, 5, by_columns, 2)), DimensionError);
  EXPECT_THROW((MultiVectorView<double>(memory, 3, 5, by_rows, 4)), DimensionError);
  EXPECT_THROW((MultiVectorView<double>(memory, 7, 3)), DimensionError);
  EXPECT_THROW((MultiVectorView<double>(memory, -1, 3)), InvalidArgument);
  EXPECT_THROW((MultiVectorView<double>(memory, 1, -3)), InvalidArgument);
  EXPECT_THROW((MultiVectorView<double>(memory, 1, 3, by_columns, -1)), InvalidArgument);
  constexpr std::int64_t huge = std::int64_t{1} << 62;
  EXPECT_THROW((MultiVectorView<double>(memory, huge, huge)), DimensionError);
  try {
    const MultiVectorView<double> view(memory, 7, 3, by_rows, 9);
    FAIL() << "20 elements were enough";
  } catch (const DimensionError& error) {
    EXPECT_STREQ(error.what(),
                 "multivector of 7 rows and 3 columns, row_major, leading dimension 9: 20 elements are too few");
  }
}

template <class T>
class ManyColumns : public ::testing::Test {
 protected:
  /// Every kernel of the host, on one and several threads.
  template <class Check>
  static void with_plans(const Csr<T>& matrix, Check&& check) {
    for (const auto& kernel : testing::all_kernel_cases) {
      for (const int threads : {1, 3}) {
        SCOPED_TRACE(testing::name_of(kernel) + ", threads " + std::to_string(threads));
        check(SpmvPlan<T>(Csr<T>::copy_of(matrix.view()), testing::options_of(kernel, threads)));
        ASSERT_FALSE(::testing::Test::HasFatalFailure());
      }
    }
  }
  static void check(const Csr<T>& matrix) {
    with_plans(matrix, [&](const SpmvPlan<T>& plan) { testing::check_products_of_columns(plan, matrix.view()); });
  }
};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(ManyColumns, Types);

constexpr ValueStorage storages[] = {ValueStorage::weighted, ValueStorage::pattern};

/// A panel and a remainder, by columns and by rows.
TYPED_TEST(ManyColumns, OfAdversarialMatrices) {
  for (const ValueStorage storage : storages) {
    for (const auto& [name, matrix] : testing::adversarial_matrices<TypeParam>(storage, {32})) {
      SCOPED_TRACE(name);
      for (const auto& kernel : testing::all_kernel_cases) {
        const SpmvPlan<TypeParam> plan(Csr<TypeParam>::copy_of(matrix.view()), testing::options_of(kernel, 3));
        for (const auto layout : {by_columns, by_rows}) {
          testing::check_product_of_columns(plan, matrix.view(), TypeParam{2}, TypeParam{0}, {9, layout, layout, 1});
          ASSERT_FALSE(this->HasFatalFailure()) << testing::name_of(kernel);
        }
      }
    }
  }
}

TYPED_TEST(ManyColumns, OfEveryNumber) {
  for (const ValueStorage storage : storages) {
    this->check(testing::with_row_lengths<TypeParam>(testing::power_law_lengths(120, 150, 3), 160, storage));
    this->check(testing::with_row_lengths<TypeParam>({}, 5, storage));
    this->check(testing::with_row_lengths<TypeParam>({0, 0, 0}, 0, storage));
    this->check(testing::with_row_lengths<TypeParam>({1}, 1, storage));
    ASSERT_FALSE(this->HasFatalFailure());
  }
}

TYPED_TEST(ManyColumns, OfTilesOfEveryFill) {
  for (const ValueStorage storage : storages) {
    for (const double fill : {0.0, 0.3, 1.0}) {
      this->check(testing::with_tiles<TypeParam>({1, 0, 3, 2, 9, 0, 1}, 9, storage, {fill, 3, 5}));
      ASSERT_FALSE(this->HasFatalFailure());
    }
  }
}

TYPED_TEST(ManyColumns, NanAndInfinityStayInTheirRowsAndColumns) {
  const auto matrix = testing::with_one_entry_in_column<TypeParam>(4, 13);
  this->with_plans(matrix, [&](const SpmvPlan<TypeParam>& plan) {
    for (const auto layout : {by_columns, by_rows}) testing::check_special_values(plan, matrix.view(), 13, layout);
  });
}

/// On the host every kernel promises the same bits for every number of threads.
TYPED_TEST(ManyColumns, BitsDoNotDependOnThreads) {
  const testing::SmallGrain small_grain;
  const auto matrix =
      testing::with_row_lengths<TypeParam>(testing::power_law_lengths(900, 700, 3), 800, ValueStorage::weighted);
  for (const auto& kernel : testing::all_kernel_cases) {
    if (kernel.determinism == Determinism::not_guaranteed) continue;
    for (const auto layout : {by_columns, by_rows}) {
      const auto x = DenseBlock<TypeParam>::random(800, 11, layout, 0, 3);
      const auto y = DenseBlock<TypeParam>::random(900, 11, layout, 0, 4);
      std::vector<TypeParam> expected;
      for (const int threads : {1, 2, 5}) {
        const SpmvPlan<TypeParam> plan(Csr<TypeParam>::copy_of(matrix.view()), testing::options_of(kernel, threads));
        const auto result = testing::multiply_many(plan, TypeParam{2}, x, TypeParam{3}, y).elements;
        if (threads == 1) expected = result;
        ASSERT_EQ(result, expected) << testing::name_of(kernel) << ", threads " << threads;
      }
    }
  }
}

TYPED_TEST(ManyColumns, FollowUpdatedValues) {
  const auto matrix = testing::with_tiles<TypeParam>({3, 5, 0, 7}, 9, ValueStorage::weighted);
  const auto values = testing::random_vector<TypeParam>(matrix.nnz(), 9);
  for (const auto& kernel : testing::all_kernel_cases) {
    SpmvPlan<TypeParam> plan(Csr<TypeParam>::copy_of(matrix.view()), testing::options_of(kernel));
    plan.update_values(std::span<const TypeParam>(values));
    testing::check_products_of_columns(plan, plan.matrix());
    ASSERT_FALSE(this->HasFatalFailure()) << testing::name_of(kernel);
  }
}

TEST(ManyColumnsErrors, SizesAndOverlapsAreRefused) {
  const SpmvPlan<double> plan(testing::with_row_lengths<double>(testing::lengths_of(4, 2), 6, ValueStorage::weighted));
  std::vector<double> x(60);
  std::vector<double> y(60);
  using View = MultiVectorView<double>;
  EXPECT_NO_THROW(plan.apply_many(View(x, 6, 3), View(y, 4, 3, by_rows)));
  EXPECT_THROW(plan.apply_many(View(x, 5, 3), View(y, 4, 3)), DimensionError);
  EXPECT_THROW(plan.apply_many(View(x, 6, 3), View(y, 5, 3)), DimensionError);
  EXPECT_THROW(plan.apply_many(View(x, 6, 3), View(y, 4, 2)), DimensionError);
  try {
    plan.apply_many(View(x, 6, 3), View(y, 4, 2));
  } catch (const DimensionError& error) {
    EXPECT_STREQ(error.what(), "operator is 4 x 6: X is 6 x 3, Y is 4 x 2");
  }
  const std::span<double> memory(x);
  EXPECT_THROW(plan.apply_many(View(memory, 6, 3), View(memory.subspan(17), 4, 3)), InvalidArgument);
  EXPECT_NO_THROW(plan.apply_many(View(memory, 6, 3), View(memory.subspan(18), 4, 3)));
  EXPECT_THROW(plan.apply_many(View(memory.subspan(11), 6, 3), View(memory, 4, 3)), InvalidArgument);
  // Without columns there is nothing to overlap.
  EXPECT_NO_THROW(plan.apply_many(View(memory, 6, 0), View(memory, 4, 0)));
}

}  // namespace
}  // namespace tessera
