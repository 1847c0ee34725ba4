// Row patterns on a GPU: every width, padded and jagged, with exceptions, templates, and values that change.
#include "core/cuda/context.hpp"
#include "spmv/patterns/patterns.hpp"
#include "spmv/plan_internals.hpp"
#include "spmv/selection.hpp"
#include "tessera/error.hpp"
#include "tessera/statistics.hpp"
#include "tests/spmv/cuda_check.hpp"
#include "tests/spmv/repeating_matrices.hpp"
#include "tests/support/compare.hpp"

namespace tessera {

using namespace detail;
namespace {

using testing::constant;
using testing::CudaCase;
using testing::CudaProduct;
using testing::near;
using testing::Repeating;
using testing::RepeatingRows;
using testing::with_repeating_rows;

template <class T>
class CudaPatterns : public testing::CudaTest {
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
        testing::check_all_products(CudaProduct<T>(matrix, options(fp32_values)));
        ASSERT_FALSE(::testing::Test::HasFatalFailure());
      }
    }
  }
  [[nodiscard]] static std::string refusal(const Csr<T>& matrix) {
    try {
      const CudaProduct<T> product(matrix, options());
    } catch (const NotSupported& error) {
      return error.what();
    }
    return "";
  }
};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(CudaPatterns, Types);

TYPED_TEST(CudaPatterns, EveryWidthOfPaddedSlices) {
  for (const index_t width : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 16, 17, 18, 27, 32, 81, 200}) {
    SCOPED_TRACE("width " + std::to_string(width));
    this->check(testing::rows_of_width(testing::repetitions(1500, 300), width));
    ASSERT_FALSE(this->HasFatalFailure());
  }
}

TYPED_TEST(CudaPatterns, EveryWidthOfJaggedSlices) {
  for (const index_t width : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 18, 27, 60, 85}) {
    SCOPED_TRACE("width " + std::to_string(width));
    this->check(testing::rows_up_to_width(testing::repetitions(1500, 300), width));
    ASSERT_FALSE(this->HasFatalFailure());
  }
}

TYPED_TEST(CudaPatterns, EveryNumberOfRowsAroundSlices) {
  for (const index_t width : {3, 7, 40}) {
    for (const index_t rows : {1, 2, 31, 32, 33, 63, 64, 65, 127, 128, 129, 1023, 1024, 1025}) {
      SCOPED_TRACE("rows " + std::to_string(rows) + ", width " + std::to_string(width));
      this->check(testing::rows_of_width(rows, width));
      this->check(testing::rows_up_to_width(rows, width));
      ASSERT_FALSE(this->HasFatalFailure());
    }
  }
}

TYPED_TEST(CudaPatterns, MatricesWithoutRowsColumnsOrEntries) {
  for (const auto& [rows, cols] : {std::pair{0, 0}, {0, 5}, {5, 0}, {1, 1}, {400, 3}}) {
    SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(cols));
    this->check(RepeatingRows{rows, cols, {}, {}, {}});
  }
  this->check(RepeatingRows{1, 1, {{0}}, {}, {}});
  this->check(RepeatingRows{700, 701, {{}, {1}}, [](index_t row) { return row % 50 == 7 ? 1U : 0U; }, {}});
}

TYPED_TEST(CudaPatterns, GridsWhoseRareListsTheSampleMisses) {
  this->check(testing::five_points(testing::repetitions(150, 20)));
}

TYPED_TEST(CudaPatterns, RectangularMatrices) {
  this->check(RepeatingRows{900, 300, {{-700, -300, 0, 1}}, {}, {}});
  this->check(RepeatingRows{300, 90000, {{5, 700, 80000}}, {}, {}});
}

TYPED_TEST(CudaPatterns, ExceptionsWhereverRowsMeet) {
  const index_t rows = 1300;
  for (const index_t length : {0, 1, 20, 1200, 1299}) {
    for (RepeatingRows spec :
         {testing::rows_of_width(rows, 5), testing::rows_up_to_width(rows, 6), testing::rows_of_width(rows, 27)}) {
      SCOPED_TRACE("length " + std::to_string(length) + ", lists " + std::to_string(spec.lists.size()));
      spec.others = {0, 31, 32, 127, 128, 129, 640, 1024, 1298, 1299};
      spec.length_of_others = length;
      this->check(spec);
      ASSERT_FALSE(this->HasFatalFailure());
    }
  }
}

TYPED_TEST(CudaPatterns, RowsThatDoNotRepeatAreRefusedByName) {
  const auto many = with_repeating_rows<TypeParam>(testing::too_many_lists(3000, 300), Repeating::columns);
  EXPECT_NE(this->refusal(many).find("254 lists of relative columns name 84.7 % of 3000 rows"), std::string::npos)
      << this->refusal(many);
  RepeatingRows rare = testing::rows_of_width(1000, 5);
  for (index_t row = 0; row < 11; ++row) rare.others.push_back(90 * row);
  rare.length_of_others = 300;  // longer than lists are
  EXPECT_NE(this->refusal(with_repeating_rows<TypeParam>(rare, Repeating::columns)).find("name 98.9 % of 1000 rows"),
            std::string::npos);
  rare.others.pop_back();
  EXPECT_EQ(this->refusal(with_repeating_rows<TypeParam>(rare, Repeating::columns)), "");
  rare.others = {500};
  rare.cols = 20000;
  rare.length_of_others = static_cast<index_t>(longest_exception) + 1;
  EXPECT_NE(this->refusal(with_repeating_rows<TypeParam>(rare, Repeating::columns)).find("one has 8193 nonzeros"),
            std::string::npos);
  rare.length_of_others = static_cast<index_t>(longest_exception);
  this->check(rare);
}

TYPED_TEST(CudaPatterns, ExactlyAsManyListsAsAByteNames) { this->check(testing::too_many_lists(2540, 254)); }

TYPED_TEST(CudaPatterns, AdversarialMatricesAreRefusedOrMultiplied) {
  const std::vector<index_t> units{128};
  int multiplied = 0;
  for (const auto storage : {ValueStorage::weighted, ValueStorage::pattern}) {
    for (const auto& [name, matrix] : testing::adversarial_matrices<TypeParam>(storage, units)) {
      SCOPED_TRACE(name);
      if (!this->refusal(matrix).empty()) continue;
      ++multiplied;
      const CudaProduct<TypeParam> product(matrix, this->options());
      testing::check_all_products(product);
      testing::check_buffered_products(product);
      ASSERT_FALSE(this->HasFatalFailure());
    }
  }
  EXPECT_GT(multiplied, 10);
}

TYPED_TEST(CudaPatterns, SaysWhatItFound) {
  const auto reason = [&](const RepeatingRows& spec, Repeating repeating) {
    return CudaProduct<TypeParam>(with_repeating_rows<TypeParam>(spec, repeating), this->options())
        .plan()
        .info()
        .reason;
  };
  const std::string full = reason(testing::five_points(20), Repeating::columns);
  EXPECT_NE(full.find("9 row patterns name all rows"), std::string::npos) << full;
  const std::string templates = reason(testing::five_points(20), Repeating::columns_and_values);
  EXPECT_NE(templates.find("9 row templates name all rows"), std::string::npos) << templates;
  RepeatingRows spec = testing::rows_of_width(1000, 5);
  spec.others = {3, 999};
  spec.length_of_others = 300;
  const std::string but = reason(spec, Repeating::columns);
  EXPECT_NE(but.find("1 row patterns name all rows but 2"), std::string::npos) << but;
}

TYPED_TEST(CudaPatterns, NanAndInfinityReachExactlyTheRowsThatHoldTheColumn) {
  RepeatingRows exceptional = testing::rows_up_to_width(1000, 6);
  exceptional.others = {10, 500};
  for (const RepeatingRows& spec : {testing::five_points(40), exceptional, testing::rows_of_width(700, 11)}) {
    for (const Repeating repeating : {Repeating::nothing, Repeating::columns, Repeating::columns_and_values}) {
      const CudaProduct<TypeParam> product(with_repeating_rows<TypeParam>(spec, repeating), this->options());
      const CsrView<TypeParam> a = product.matrix();
      for (const index_t column : {0, 1, 77, 640, spec.cols - 1}) {
        auto x = testing::random_vector<TypeParam>(spec.cols, 5);
        x[static_cast<std::size_t>(column)] =
            column % 2 == 0 ? std::numeric_limits<TypeParam>::quiet_NaN() : std::numeric_limits<TypeParam>::infinity();
        const std::vector<TypeParam> y = product.apply(x);
        for (std::size_t i = 0; i < y.size(); ++i) {
          const auto begin = a.columns.begin() + a.row_offsets[i];
          const auto end = a.columns.begin() + a.row_offsets[i + 1];
          ASSERT_EQ(!std::isfinite(y[i]), std::binary_search(begin, end, column)) << "row " << i << ", " << column;
        }
      }
    }
  }
}

TYPED_TEST(CudaPatterns, UpdatesOfValues) {
  RepeatingRows jagged = testing::rows_up_to_width(900, 7);
  jagged.others = {0, 33, 899};
  RepeatingRows padded = testing::rows_of_width(900, 5);
  padded.others = {0, 500, 899};
  RepeatingRows wide = testing::rows_of_width(900, 40);
  wide.others = {40, 41};
  for (const RepeatingRows& spec : {jagged, padded, wide, testing::five_points(25)}) {
    for (const Repeating repeating : {Repeating::columns, Repeating::columns_and_values}) {
      const auto matrix = with_repeating_rows<TypeParam>(spec, repeating);
      const std::vector<TypeParam> own(matrix.values().begin(), matrix.values().end());
      const auto x = testing::random_vector<TypeParam>(matrix.cols(), 3);
      for (const bool fp32_values : {false, true}) {
        CudaProduct<TypeParam> product(matrix, this->options(fp32_values));
        // The same values, others, others again, and the first once more: templates do not come back.
        for (std::uint64_t round = 0; round < 4; ++round) {
          const auto values = round % 3 == 0 ? own : testing::random_vector<TypeParam>(matrix.nnz(), 50 + round);
          product.update_values(values, fp32_values);
          ASSERT_TRUE(near(testing::product_oracle(product.matrix(), constant(x)), constant(product.apply(x))))
              << round;
        }
      }
    }
  }
}

/// Aᵀ is formed anew with each update, at another place.
TYPED_TEST(CudaPatterns, UpdatesOfTransposedValues) {
  const auto matrix = with_repeating_rows<TypeParam>(testing::five_points(25), Repeating::columns);
  SpmvOptions options = this->options();
  options.with_transpose = true;
  SpmvPlan<TypeParam> plan(Csr<TypeParam>::copy_of(matrix.view()), options);
  const auto values = testing::random_vector<TypeParam>(matrix.nnz(), 9);
  plan.update_values(std::span<const TypeParam>(values));
  CsrView<TypeParam> updated = matrix.view();
  updated.values = values;
  const auto transposed = transpose(updated, Device{});
  const auto x = testing::random_vector<TypeParam>(matrix.rows(), 3);
  const auto source = Array<TypeParam>::copy_of(x, this->gpu());
  Array<TypeParam> target(matrix.cols(), Init::none, this->gpu());
  plan.apply_transposed(source.span(), target.span());
  const auto y = target.to(Device{});
  EXPECT_TRUE(near(testing::product_oracle(transposed.view(), constant(x)), y.span()));
}

TYPED_TEST(CudaPatterns, LeavesInnerProductsInFewParts) {
  const index_t rows = testing::repetitions(1200000, 1200);
  const auto matrix = with_repeating_rows<TypeParam>(testing::rows_of_width(rows, 1), Repeating::nothing);
  const CudaProduct<TypeParam> product(matrix, this->options());
  const auto x = testing::random_vector<TypeParam>(matrix.cols(), 3);
  const auto w = testing::random_vector<TypeParam>(matrix.rows(), 4);
  const auto source = Array<TypeParam>::copy_of(x, this->gpu());
  const auto weights = Array<TypeParam>::copy_of(w, this->gpu());
  Array<TypeParam> target(matrix.rows(), Init::none, this->gpu());
  const auto parts =
      PlanInternals::kernel(product.plan())
          .enqueue_apply_and_dot_parts(product.plan().matrix(), source.span(), target.span(), weights.span());
  ASSERT_GT(parts.size(), 0U);
  EXPECT_LE(parts.size(), 1024U);
  std::vector<ProductDots> here(parts.size());
  copy_bytes(Device{}, here.data(), this->gpu(), parts.data(), parts.size_bytes());
  ProductDots total;
  for (const ProductDots& part : here) total += part;
  const auto y = target.to(Device{});
  EXPECT_TRUE(testing::dots_match(total, y.span(), constant(w)));
}

TYPED_TEST(CudaPatterns, RepeatsBitwise) {
  RepeatingRows spec = testing::rows_up_to_width(2000, 9);
  spec.others = {5, 1999};
  spec.length_of_others = 900;
  const auto matrix = with_repeating_rows<TypeParam>(spec, Repeating::columns);
  const CudaProduct<TypeParam> first(matrix, this->options());
  const CudaProduct<TypeParam> second(matrix, this->options());
  EXPECT_EQ(first.plan().info().determinism, Determinism::run_to_run);
  const auto x = testing::random_vector<TypeParam>(matrix.cols(), 3);
  const auto w = testing::random_vector<TypeParam>(matrix.rows(), 4);
  const auto [expected, expected_dots] = first.apply_and_dot(x, w);
  for (int run = 0; run < testing::repetitions(20, 2); ++run) {
    const auto [y, dots] = (run % 2 == 0 ? first : second).apply_and_dot(x, w);
    ASSERT_TRUE(testing::same_bytes(constant(y), constant(expected)));
    ASSERT_EQ(dots.wy, expected_dots.wy);
    ASSERT_EQ(dots.yy, expected_dots.yy);
  }
}

TYPED_TEST(CudaPatterns, ProductsNeitherAllocateNorWait) {
  const CudaProduct<TypeParam> product(with_repeating_rows<TypeParam>(testing::five_points(60), Repeating::columns),
                                       this->options());
  const Array<TypeParam> x(product.plan().cols(), Init::zero, this->gpu());
  Array<TypeParam> y(product.plan().rows(), Init::none, this->gpu());
  const auto before = cuda::Context::of(this->gpu()).counts();
  product.plan().apply(x.span(), y.span());
  const auto after = cuda::Context::of(this->gpu()).counts();
  EXPECT_EQ(after.allocations, before.allocations);
  EXPECT_EQ(after.waits, before.waits);
}

/// The choice alone: no plan is made.
TYPED_TEST(CudaPatterns, AreChosenWhereASampleRepeats) {
  const auto chosen = [&](const RepeatingRows& spec, Repeating repeating, std::int64_t applications,
                          bool rank_products = false) {
    SpmvOptions options;
    options.device = this->gpu();
    options.rank_products = rank_products;
    options.expected_applications = applications;
    return select_spmv_kernel(with_repeating_rows<TypeParam>(spec, repeating).to(this->gpu()).view(), options);
  };
  const RepeatingRows grid = testing::five_points(650);
  const SpmvSelection often = chosen(grid, Repeating::columns, 1000);
  EXPECT_EQ(often.algorithm, SpmvAlgorithm::patterns);
  EXPECT_NE(often.reason.find("row patterns name 100 % of a sample of rows: "), std::string::npos) << often.reason;
  EXPECT_NE(often.reason.find("1000 products repay"), std::string::npos) << often.reason;
  EXPECT_NE(chosen(grid, Repeating::columns, 20).algorithm, SpmvAlgorithm::patterns);
  const SpmvSelection templates = chosen(grid, Repeating::columns_and_values, 20);
  EXPECT_EQ(templates.algorithm, SpmvAlgorithm::patterns);
  EXPECT_NE(templates.reason.find("row templates name 100 %"), std::string::npos) << templates.reason;
  EXPECT_NE(chosen(testing::too_many_lists(1100000, 300), Repeating::columns, 1000).algorithm, SpmvAlgorithm::patterns);
  EXPECT_NE(chosen(testing::too_many_lists(1100000, 3000), Repeating::columns, 1000).algorithm, SpmvAlgorithm::patterns)
      << "at the first look";
  EXPECT_EQ(chosen(grid, Repeating::nothing, 1000, true).algorithm, SpmvAlgorithm::patterns) << "of PageRank";
  EXPECT_NE(chosen(testing::five_points(100), Repeating::columns, 1000).algorithm, SpmvAlgorithm::patterns) << "small";
}

TYPED_TEST(CudaPatterns, AutomaticGoesOnWhereTheSamplePromisedTooMuch) {
  const index_t rows = 420000;
  const std::vector<index_t> list = testing::list_of_width(5);
  // 1.2 % of the rows are on no list.
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  for (index_t row = 0; row < rows; ++row) {
    if (row % 1000 < 12) {
      columns.push_back(row % 7);
      columns.push_back(row / 2 + 8);
    } else {
      for (const index_t relative : list) columns.push_back(row + relative);
    }
    offsets.push_back(static_cast<offset_t>(columns.size()));
  }
  auto pattern =
      Csr<TypeParam>::pattern(rows, rows + 16, Array<offset_t>::copy_of(offsets), Array<index_t>::copy_of(columns));
  SpmvOptions options;
  options.device = this->gpu();
  auto on_gpu = std::make_shared<const Csr<TypeParam>>(pattern.to(this->gpu()));
  ASSERT_EQ(select_spmv_kernel(on_gpu->view(), options).algorithm, SpmvAlgorithm::patterns);
  const SpmvPlan<TypeParam> plan(std::move(on_gpu), options);
  EXPECT_NE(plan.info().algorithm, SpmvAlgorithm::patterns);
}

}  // namespace
}  // namespace tessera
