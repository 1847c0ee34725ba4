// Row patterns times several columns on a GPU: padded, jagged and rounded values, templates, none; with exceptions.
#include "core/cuda/context.hpp"
#include "spmv/plan_internals.hpp"
#include "tests/spmv/cuda_check.hpp"
#include "tests/spmv/multi_vector_check.hpp"
#include "tests/spmv/repeating_matrices.hpp"

namespace tessera {

using namespace detail;
namespace {

using testing::CudaCase;
using testing::CudaProduct;
using testing::DenseBlock;
using testing::Repeating;
using testing::RepeatingRows;
using testing::with_repeating_rows;

template <class T>
class CudaPatternColumns : public testing::CudaTest {
 protected:
  [[nodiscard]] static SpmvOptions options(bool fp32_values = false) {
    return CudaCase{SpmvAlgorithm::patterns, Determinism::run_to_run, fp32_values}.options(testing::CudaTest::gpu());
  }
  static void check(const RepeatingRows& spec) {
    for (const Repeating repeating : {Repeating::nothing, Repeating::columns, Repeating::columns_and_values}) {
      SCOPED_TRACE(static_cast<int>(repeating));
      const auto matrix = with_repeating_rows<T>(spec, repeating);
      for (const bool fp32_values : {false, true}) {
        if (fp32_values && (sizeof(T) == 4 || matrix.is_pattern())) continue;
        const CudaProduct<T> product(matrix, options(fp32_values));
        testing::check_products_of_columns(product.plan(), product.matrix());
        ASSERT_FALSE(::testing::Test::HasFatalFailure());
      }
    }
  }
};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(CudaPatternColumns, Types);

TYPED_TEST(CudaPatternColumns, EveryKindOfValues) {
  for (const index_t width : {1, 5, 7, 27, 80}) {
    SCOPED_TRACE("width " + std::to_string(width));
    this->check(testing::rows_of_width(testing::repetitions(1500, 100), width));
    this->check(testing::rows_up_to_width(testing::repetitions(1500, 100), width));
    ASSERT_FALSE(this->HasFatalFailure());
  }
}

TYPED_TEST(CudaPatternColumns, ExceptionsAndRowsAroundSlices) {
  for (const index_t rows : {1, 31, 33, 127, 129}) this->check(testing::rows_of_width(rows, 3));
  const index_t rows = testing::repetitions(1300, 300);
  for (const index_t length : {0, 1, 150}) {
    SCOPED_TRACE("length " + std::to_string(length));
    for (RepeatingRows spec : {testing::rows_of_width(rows, 5), testing::rows_up_to_width(rows, 6)}) {
      spec.others = {0, 31, 128};
      spec.length_of_others = length;
      this->check(spec);
      ASSERT_FALSE(this->HasFatalFailure());
    }
  }
}

TYPED_TEST(CudaPatternColumns, MatricesWithoutRowsColumnsOrEntries) {
  for (const auto& [rows, cols] : {std::pair{0, 5}, {5, 0}, {1, 1}, {400, 3}}) {
    this->check(RepeatingRows{rows, cols, {}, {}, {}});
  }
  this->check(RepeatingRows{100, 90000, {{5, 700, 80000}}, {}, {}});
}

/// The kernel has its own product, with the bits of products with one vector: rows on lists are summed alike.
TYPED_TEST(CudaPatternColumns, HaveTheBitsOfOneVector) {
  for (const Repeating repeating : {Repeating::nothing, Repeating::columns, Repeating::columns_and_values}) {
    const auto matrix = with_repeating_rows<TypeParam>(testing::rows_up_to_width(700, 9), repeating);
    const CudaProduct<TypeParam> product(matrix, this->options());
    for (const auto layout : {MultiVectorLayout::column_major, MultiVectorLayout::row_major}) {
      const auto x = DenseBlock<TypeParam>::random(matrix.cols(), 9, layout, 1, 3);
      const auto y = DenseBlock<TypeParam>::filled(matrix.rows(), 9, layout, 0, TypeParam{0});
      const auto result = testing::multiply_many(product.plan(), TypeParam{1}, x, TypeParam{0}, y);
      for (std::int64_t j = 0; j < 9; ++j) {
        const auto source = Array<TypeParam>::copy_of(x.column(j), this->gpu());
        Array<TypeParam> target(matrix.rows(), Init::none, this->gpu());
        product.plan().apply(source.span(), target.span());
        const Array<TypeParam> expected = target.to(Device{});
        ASSERT_EQ(result.column(j), std::vector<TypeParam>(expected.begin(), expected.end())) << "column " << j;
      }
    }
  }
}

TYPED_TEST(CudaPatternColumns, NanAndInfinityStayInTheirRowsAndColumns) {
  RepeatingRows spec = testing::rows_up_to_width(300, 9);
  spec.others = {140, 150};
  for (const Repeating repeating : {Repeating::columns, Repeating::columns_and_values}) {
    const auto matrix = with_repeating_rows<TypeParam>(spec, repeating);
    const CudaProduct<TypeParam> product(matrix, this->options());
    for (const auto layout : {MultiVectorLayout::column_major, MultiVectorLayout::row_major}) {
      testing::check_special_values(product.plan(), product.matrix(), 145, layout);
      ASSERT_FALSE(this->HasFatalFailure());
    }
  }
}

TYPED_TEST(CudaPatternColumns, FollowUpdatedValues) {
  for (const Repeating repeating : {Repeating::columns, Repeating::columns_and_values}) {
    const auto matrix = with_repeating_rows<TypeParam>(testing::rows_up_to_width(300, 6), repeating);
    CudaProduct<TypeParam> product(matrix, this->options());
    product.update_values(testing::random_vector<TypeParam>(matrix.nnz(), 9), false);
    testing::check_products_of_columns(product.plan(), product.matrix());
  }
}

TYPED_TEST(CudaPatternColumns, NeitherAllocateNorWait) {
  const auto matrix = with_repeating_rows<TypeParam>(testing::rows_of_width(300, 5), Repeating::columns);
  const CudaProduct<TypeParam> product(matrix, this->options());
  const auto x = Array<TypeParam>::copy_of(testing::random_vector<TypeParam>(9 * matrix.cols(), 3), this->gpu());
  Array<TypeParam> y(9 * matrix.rows(), Init::zero, this->gpu());
  const auto multiply = [&] {
    product.plan().apply_many(TypeParam{1}, {x.span(), matrix.cols(), 9, MultiVectorLayout::row_major}, TypeParam{0},
                              {y.span(), matrix.rows(), 9, MultiVectorLayout::row_major});
  };
  multiply();  // the first one makes the panel
  const ContextCounts before = cuda::Context::of(this->gpu()).counts();
  multiply();
  const ContextCounts after = cuda::Context::of(this->gpu()).counts();
  EXPECT_EQ(after.allocations, before.allocations);
  EXPECT_EQ(after.waits, before.waits);
}

/// A grid's transpose is a grid: a plan with the transpose gets row patterns for it too.
TYPED_TEST(CudaPatternColumns, TransposedPlansQualify) {
  const auto matrix = with_repeating_rows<TypeParam>(testing::five_points(20), Repeating::columns);
  SpmvOptions with_transpose = this->options();
  with_transpose.with_transpose = true;
  const CudaProduct<TypeParam> product(matrix, with_transpose);
  ASSERT_TRUE(product.plan().info().transpose.has_value());
  EXPECT_EQ(product.plan().info().transpose->algorithm, SpmvAlgorithm::patterns);
}

}  // namespace
}  // namespace tessera
