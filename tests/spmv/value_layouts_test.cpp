// Layouts of the values of row patterns on the host: each is the plainest loop bit by bit, gives way to the next where
// new values do not fit, and makes `auto` take row patterns where it reads fewer bytes than CSR.
#include "spmv/patterns/value_store_host.hpp"
#include "spmv/plan_internals.hpp"
#include "spmv/selection.hpp"
#include "tessera/generators.hpp"
#include "tests/spmv/product_check.hpp"
#include "tests/spmv/references.hpp"
#include "tests/spmv/sliced_matrices.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/small_grain.hpp"

#include <limits>
#include <memory>
#include <utility>

namespace tessera {

using namespace detail;
namespace {

using testing::constant;
using testing::Kept;
using testing::Repeating;

constexpr std::string_view as_codes = "values by a dictionary of";
constexpr std::string_view as_half = "values as a symmetric half of";
constexpr std::string_view as_floats = "in single precision, which holds them exactly";

template <class T>
SpmvOptions options() {
  SpmvOptions result;
  result.algorithm = SpmvAlgorithm::patterns;
  result.device = Device::host(3);
  return result;
}

template <class T>
std::string reason_of(const SpmvPlan<T>& plan) {
  PlanInfo now;
  PlanInternals::kernel(plan).describe(now);
  return now.reason;
}
template <class T>
bool says(const SpmvPlan<T>& plan, std::string_view words) {
  return reason_of(plan).find(words) != std::string::npos;
}

template <class T>
Csr<T> with_values(const Csr<T>& matrix, const std::vector<T>& values) {
  return Csr<T>(matrix.rows(), matrix.cols(), Array<offset_t>::copy_of(matrix.row_offsets().span()),
                Array<index_t>::copy_of(matrix.columns().span()), Array<T>::copy_of(values));
}

/// 200 values in an order that no row repeats.
template <class T>
std::vector<T> irregular_codes(offset_t nnz) {
  std::vector<T> values;
  for (offset_t k = 0; k < nnz; ++k)
    values.push_back(static_cast<T>(
        static_cast<double>((static_cast<std::uint64_t>(k + 1) * 0x9e3779b97f4a7c15U >> 33) % 200) / 49.0 - 2.0));
  return values;
}

/// Products, also those with inner products, have the bits of the plainest loop.
template <class T>
::testing::AssertionResult multiplies(const SpmvPlan<T>& plan) {
  const auto x = testing::random_vector<T>(plan.cols(), 3);
  const auto w = testing::random_vector<T>(plan.rows(), 5);
  std::vector<T> expected(static_cast<std::size_t>(plan.rows()));
  reference::csr_multiply<T>(plan.matrix(), x, expected);
  std::vector<T> y(expected.size(), std::numeric_limits<T>::quiet_NaN());
  plan.apply(x, y);
  if (!testing::same_bytes(constant(y), constant(expected))) return ::testing::AssertionFailure() << reason_of(plan);
  std::fill(y.begin(), y.end(), T{-7});
  const ProductDots dots = plan.apply_and_dot(x, y, w);
  if (!testing::same_bytes(constant(y), constant(expected))) return ::testing::AssertionFailure() << "with dots";
  return testing::dots_match(dots, constant(y), constant(w));
}

template <class T>
class ValueLayoutsOnHost : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(ValueLayoutsOnHost, Types);

TYPED_TEST(ValueLayoutsOnHost, EachHasTheBitsOfCsr) {
  const testing::SmallGrain small;
  for (const testing::RepeatingRows& spec :
       {testing::five_points(50), testing::five_points(33), testing::box_of_27(13), testing::grid_with_holes(60),
        testing::rows_of_width(1500, 5), testing::rows_up_to_width(3000, 7)}) {
    const auto matrix = testing::symmetric_rows<TypeParam>(spec);
    for (const Kept kept : testing::all_kept) {
      const SpmvPlan<TypeParam> plan(testing::with_values_that_allow(matrix, kept), options<TypeParam>());
      ASSERT_TRUE(multiplies(plan)) << static_cast<int>(kept) << " of " << spec.rows;
    }
    ASSERT_TRUE(multiplies(SpmvPlan<TypeParam>(with_values(matrix, {matrix.values().begin(), matrix.values().end()}),
                                               options<TypeParam>())));
  }
}

TYPED_TEST(ValueLayoutsOnHost, TheFewestBytesAreTaken) {
  const auto grid = testing::symmetric_rows<TypeParam>(testing::five_points(50));
  const auto plan_of = [&](Kept kept) {
    return SpmvPlan<TypeParam>(testing::with_values_that_allow(grid, kept), options<TypeParam>());
  };
  EXPECT_TRUE(says(plan_of(Kept::codes), "values by a dictionary of 200: 1.2 bytes per nonzero"));
  EXPECT_EQ(says(plan_of(Kept::floats), as_floats), sizeof(TypeParam) == 8);
  EXPECT_TRUE(says(plan_of(Kept::in_full), sizeof(TypeParam) == 8 ? "rows: 8.2 bytes" : "rows: 4.2 bytes"));
  // 3 diagonals of 2528 places, and 2500 codes.
  const SpmvPlan<TypeParam> half(with_values(grid, {grid.values().begin(), grid.values().end()}), options<TypeParam>());
  EXPECT_TRUE(says(half, sizeof(TypeParam) == 8 ? "symmetric half of 3 diagonals: 5.14 bytes"
                                                : "symmetric half of 3 diagonals: 2.67 bytes"))
      << reason_of(half);
  EXPECT_EQ(half.info().bytes, 2500 + 10 * 6 * 4 + 3 * 2528 * sizeof(TypeParam) + 10 * 6 * 4);
}

/// Rows of which few are like the next one are not worth slices.
TYPED_TEST(ValueLayoutsOnHost, RowsThatDifferFromTheNextAreReadInCsr) {
  const auto holes = testing::symmetric_rows<TypeParam>(testing::grid_with_holes(60));
  const SpmvPlan<TypeParam> plan(testing::with_values_that_allow(holes, Kept::codes), options<TypeParam>());
  EXPECT_FALSE(says(plan, as_codes)) << reason_of(plan);
  const auto uneven = with_repeating_rows<TypeParam>(testing::rows_seldom_of_width(4096, 40), Repeating::columns);
  const SpmvPlan<TypeParam> padded(testing::with_values_that_allow(uneven, Kept::in_full), options<TypeParam>());
  EXPECT_LT(padded.info().bytes, 8000U) << "11 places per nonzero would be padded";
  EXPECT_TRUE(multiplies(padded));
}

TYPED_TEST(ValueLayoutsOnHost, ExceptionsAmongSlices) {
  const testing::SmallGrain small;
  testing::RepeatingRows spec = testing::rows_of_width(4000, 5);
  spec.others = {0, 15, 16, 17, 32, 255, 1000, 3998, 3999};
  const auto matrix = with_repeating_rows<TypeParam>(spec, Repeating::columns);
  for (const Kept kept : testing::all_kept) {
    auto valued = testing::with_values_that_allow(matrix, kept);
    if (kept == Kept::codes) valued = with_values(matrix, irregular_codes<TypeParam>(matrix.nnz()));
    SpmvPlan<TypeParam> plan(std::move(valued), options<TypeParam>());
    EXPECT_EQ(says(plan, as_codes), kept == Kept::codes) << reason_of(plan);
    ASSERT_TRUE(multiplies(plan));
    if (kept == Kept::nothing) continue;
    plan.update_values(std::span<const TypeParam>(testing::random_vector<TypeParam>(matrix.nnz(), 8)));
    ASSERT_TRUE(multiplies(plan));
  }
}

TYPED_TEST(ValueLayoutsOnHost, NewValuesThatDoNotFitTakeTheNextLayout) {
  const auto grid = testing::symmetric_rows<TypeParam>(testing::five_points(50));
  const auto codes = testing::values_that_allow<TypeParam>(Kept::codes, grid.nnz());
  const auto others = testing::values_that_allow<TypeParam>(Kept::codes, grid.nnz(), 100);
  const auto symmetric = testing::symmetric_values(grid.view(), 5);
  auto nearly = symmetric;
  nearly[nearly.size() / 2] += TypeParam{1};
  SpmvPlan<TypeParam> plan(with_values(grid, codes), options<TypeParam>());
  const auto update = [&](const std::vector<TypeParam>& values) {
    plan.update_values(std::span<const TypeParam>(values));
    EXPECT_TRUE(multiplies(plan));
    return reason_of(plan);
  };
  EXPECT_NE(update(others).find("a dictionary of 100"), std::string::npos);
  EXPECT_NE(update(symmetric).find(as_half), std::string::npos);
  EXPECT_NE(update(codes).find("rows: "), std::string::npos) << "not symmetric, and the dictionary does not come back";
  SpmvPlan<TypeParam> half(with_values(grid, symmetric), options<TypeParam>());
  ASSERT_TRUE(says(half, as_half));
  half.update_values(std::span<const TypeParam>(nearly));
  EXPECT_FALSE(says(half, as_half)) << "one value differs from its mirror image";
  EXPECT_TRUE(multiplies(half));
}

TEST(SinglePrecisionOnHost, IsLeftForOneValue) {
  const auto grid = testing::symmetric_rows<double>(testing::five_points(50));
  const auto exact = testing::values_that_allow<double>(Kept::floats, grid.nnz());
  SpmvPlan<double> plan(with_values(grid, exact), options<double>());
  ASSERT_TRUE(says(plan, as_floats));
  for (const double other : {0.1, 1e60}) {
    auto values = exact;
    values[values.size() - 1] = other;
    SpmvPlan<double> of_other(with_values(grid, values), options<double>());
    EXPECT_FALSE(says(of_other, as_floats)) << other;
    EXPECT_TRUE(multiplies(of_other));
  }
  auto values = exact;
  values[7] = 0.1;
  plan.update_values(std::span<const double>(values));
  EXPECT_FALSE(says(plan, as_floats));
  EXPECT_TRUE(multiplies(plan));
}

TYPED_TEST(ValueLayoutsOnHost, NanAndInfinityReachExactlyTheRowsThatHoldTheColumn) {
  const auto grid = testing::symmetric_rows<TypeParam>(testing::five_points(50));
  for (const Kept kept : {Kept::codes, Kept::floats, Kept::in_full}) {
    const SpmvPlan<TypeParam> plan(testing::with_values_that_allow(grid, kept), options<TypeParam>());
    const CsrView<TypeParam> a = plan.matrix();
    auto x = testing::random_vector<TypeParam>(plan.cols(), 5);
    x[777] = std::numeric_limits<TypeParam>::infinity();
    std::vector<TypeParam> y(x.size());
    plan.apply(x, y);
    for (std::size_t i = 0; i < y.size(); ++i) {
      const auto begin = a.columns.begin() + a.row_offsets[i];
      const auto end = a.columns.begin() + a.row_offsets[i + 1];
      ASSERT_EQ(std::isfinite(y[i]), !std::binary_search(begin, end, 777)) << "row " << i;
    }
  }
}

/// What `auto` takes on the host, by the products announced.
TEST(AutoOnHost, TakesRowPatternsWhereValuesTakeFewerBytes) {
  const auto stencil = std::make_shared<const Csr<double>>(poisson2d<double>(640, 640));
  ASSERT_GT(stencil->nnz(), least_nonzeros_on_host);
  const auto choice = [](const std::shared_ptr<const Csr<double>>& matrix, std::int64_t products) {
    SpmvOptions given;
    given.expected_applications = products;
    return SpmvPlan<double>(matrix, given).info();
  };
  const PlanInfo templates = choice(stencil, applications_worth_row_templates);
  EXPECT_EQ(templates.algorithm, SpmvAlgorithm::patterns);
  EXPECT_EQ(templates.determinism, Determinism::gpu_to_gpu);
  EXPECT_NE(templates.reason.find("row templates name 100 % of a sample of rows: 0.2 bytes per nonzero instead of 12, "
                                  "which 10 products repay; 9 row templates"),
            std::string::npos)
      << templates.reason;
  EXPECT_EQ(choice(stencil, applications_worth_row_templates - 1).algorithm, SpmvAlgorithm::csr);

  const auto valued = [&](std::vector<double> values) {
    return std::make_shared<const Csr<double>>(with_values(*stencil, values));
  };
  const auto symmetric = valued(testing::symmetric_values(stencil->view(), 5));
  EXPECT_EQ(choice(symmetric, applications_worth_row_patterns_on_host - 1).algorithm, SpmvAlgorithm::csr);
  const PlanInfo half = choice(symmetric, applications_worth_row_patterns_on_host);
  EXPECT_EQ(half.algorithm, SpmvAlgorithm::patterns);
  EXPECT_NE(half.reason.find(as_half), std::string::npos) << half.reason;
  EXPECT_EQ(choice(valued(testing::values_that_allow<double>(Kept::in_full, stencil->nnz())), 1000).algorithm,
            SpmvAlgorithm::csr)
      << "values in full";
  SpmvOptions in_floats;
  in_floats.expected_applications = applications_worth_row_patterns_on_host;
  const auto of_floats =
      with_values(poisson2d<float>(640, 640), testing::values_that_allow<float>(Kept::in_full, stencil->nnz()));
  EXPECT_EQ(SpmvPlan<float>(Csr<float>::copy_of(of_floats.view()), in_floats).info().algorithm, SpmvAlgorithm::patterns)
      << "in full, in single precision";
  // A sample does not see one pair of values that differ: the plan goes on to csr.
  auto nearly = testing::symmetric_values(stencil->view(), 5);
  nearly[1234567] += 1.0;
  EXPECT_EQ(choice(valued(nearly), 1000).algorithm, SpmvAlgorithm::csr);
  EXPECT_EQ(choice(std::make_shared<const Csr<double>>(poisson2d<double>(600, 600)), 1000).algorithm,
            SpmvAlgorithm::csr)
      << "a cache holds it";
  // A pattern matrix of which neighbouring rows differ: its lists name all rows, but one by one.
  const auto holes = std::make_shared<const Csr<double>>(
      with_repeating_rows<double>(testing::grid_with_holes(900), Repeating::nothing));
  ASSERT_GT(holes->nnz(), least_nonzeros_on_host);
  EXPECT_EQ(choice(holes, 1000).algorithm, SpmvAlgorithm::csr);
}

}  // namespace
}  // namespace tessera
