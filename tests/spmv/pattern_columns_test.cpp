// Row patterns times several columns on the host.
#include "tests/spmv/multi_vector_check.hpp"
#include "tests/spmv/repeating_matrices.hpp"
#include "tests/support/small_grain.hpp"

namespace tessera {

using namespace detail;
namespace {

using testing::Repeating;
using testing::RepeatingRows;
using testing::with_repeating_rows;

template <class T>
class PatternColumns : public ::testing::Test {
 protected:
  static void check(const RepeatingRows& spec) {
    for (const Repeating repeating : {Repeating::nothing, Repeating::columns, Repeating::columns_and_values}) {
      for (const int threads : {1, 3}) {
        SCOPED_TRACE(static_cast<int>(repeating));
        const auto matrix = with_repeating_rows<T>(spec, repeating);
        const testing::SmallGrain small;
        SpmvOptions options;
        options.algorithm = SpmvAlgorithm::patterns;
        options.device = Device::host(threads);
        const SpmvPlan<T> plan(Csr<T>::copy_of(matrix.view()), options);
        testing::check_products_of_columns(plan, matrix.view());
        ASSERT_FALSE(::testing::Test::HasFatalFailure());
      }
    }
  }
};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(PatternColumns, Types);

TYPED_TEST(PatternColumns, EveryKindOfValues) {
  for (const index_t width : {1, 5, 27}) {
    this->check(testing::rows_of_width(500, width));
    this->check(testing::rows_up_to_width(500, width));
    ASSERT_FALSE(this->HasFatalFailure());
  }
}

TYPED_TEST(PatternColumns, ExceptionsAndNoEntries) {
  RepeatingRows spec = testing::rows_up_to_width(600, 6);
  spec.others = {0, 31, 300, 599};
  this->check(spec);
  this->check(RepeatingRows{5, 0, {}, {}, {}});
  this->check(RepeatingRows{1, 1, {{0}}, {}, {}});
}

TYPED_TEST(PatternColumns, NanAndInfinityStayInTheirRowsAndColumns) {
  RepeatingRows spec = testing::rows_up_to_width(300, 9);
  spec.others = {140, 150};
  for (const Repeating repeating : {Repeating::columns, Repeating::columns_and_values}) {
    const auto matrix = with_repeating_rows<TypeParam>(spec, repeating);
    SpmvOptions options;
    options.algorithm = SpmvAlgorithm::patterns;
    const SpmvPlan<TypeParam> plan(Csr<TypeParam>::copy_of(matrix.view()), options);
    for (const auto layout : {MultiVectorLayout::column_major, MultiVectorLayout::row_major}) {
      testing::check_special_values(plan, matrix.view(), 145, layout);
    }
  }
}

}  // namespace
}  // namespace tessera
