// Row patterns on the host, and the choice of lists.
#include "spmv/patterns/patterns.hpp"
#include "spmv/patterns/pattern_values.hpp"
#include "tessera/error.hpp"
#include "tessera/generators.hpp"
#include "tests/spmv/product_check.hpp"
#include "tests/spmv/references.hpp"
#include "tests/spmv/repeating_matrices.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/small_grain.hpp"

#include <limits>

namespace tessera {

using namespace detail;
namespace {

using testing::constant;
using testing::near;
using testing::Repeating;
using testing::RepeatingRows;
using testing::with_repeating_rows;

constexpr testing::KernelCase patterns_kernel{SpmvAlgorithm::patterns, Determinism::gpu_to_gpu};
constexpr Repeating all_kinds[] = {Repeating::nothing, Repeating::columns, Repeating::columns_and_values};

TEST(RowLists, TheMostFrequentComeFirstAndRareOnesDoNotWidenTheTable) {
  const std::vector<CountedList> counted{{1, 5, 0, 3}, {2, 900, 7, 5}, {3, 5, 2, 9}, {4, 60, 1, 9}, {5, 1, 9, 200}};
  const auto lists = choose_row_lists({}, counted, 8192, 10000);
  ASSERT_EQ(lists.size(), 4U);
  EXPECT_EQ(lists[0].hash, 2U);
  EXPECT_EQ(lists[1].hash, 4U);  // longer than the first, but not rare
  EXPECT_EQ(lists[2].hash, 1U);  // of two as frequent, the one found first
  EXPECT_EQ(lists[3].hash, 3U);
  EXPECT_EQ(width_of(lists), 9);
  EXPECT_EQ(choose_row_lists({}, counted, 8192, 100000).size(), 2U) << "9 entries, 60 times";
  EXPECT_EQ(choose_row_lists({}, counted, 18, 10000).size(), 2U) << "three lists of 6 places";
}

/// Of all rows or none: a sample ends as soon as lists cannot name enough of it.
TEST(RowLists, AHostSampleNamesRowsOrGivesUp) {
  const auto share = [](const Csr<double>& matrix, RowListKind kind) {
    return host::estimate_row_lists(matrix.view(), kind, Device{}).named_share;
  };
  const Csr<double> grid = poisson2d<double>(120, 120);
  EXPECT_EQ(share(grid, RowListKind::columns), 1.0);
  EXPECT_EQ(share(grid, RowListKind::columns_and_values), 1.0);
  std::vector<double> values(static_cast<std::size_t>(grid.nnz()));
  for (std::size_t k = 0; k < values.size(); ++k) values[k] = 1.0 + static_cast<double>(k);
  const Csr<double> uneven = grid.with_values(Array<double>::copy_of(values));
  EXPECT_EQ(share(uneven, RowListKind::columns), 1.0);
  EXPECT_EQ(share(uneven, RowListKind::columns_and_values), 0.0);
  // Of some 330 rows with values of their own 254 may be lists, and the others exceptions; of 820 too many are left.
  for (const index_t every : {25, 10}) {
    std::copy(grid.values().begin(), grid.values().end(), values.begin());
    for (index_t row = 0; row < grid.rows(); row += every) {
      values[static_cast<std::size_t>(grid.row_offsets()[row])] = 1.0 + row;
    }
    const double named = share(grid.with_values(Array<double>::copy_of(values)), RowListKind::columns_and_values);
    if (every == 25) {
      EXPECT_GE(named, least_named_share_of_sample);
    } else {
      EXPECT_EQ(named, 0.0);
    }
  }
}

TEST(RowLists, ListsThatWereTakenStay) {
  const std::vector<CountedList> taken{{1, 5, 0, 3}, {2, 900, 7, 5}};
  const auto lists = choose_row_lists(taken, {{3, 7, 9, 4}, {4, 7, 8, 6}}, 8192, 100000);
  ASSERT_EQ(lists.size(), 3U);
  EXPECT_EQ(lists[1].hash, 2U);
  EXPECT_EQ(lists[2].hash, 3U);
}

TEST(RowLists, RareOnesDoNotMakeALargeTable) {
  std::vector<CountedList> counted{{1, 300000, 0, 200}};
  for (std::uint32_t row = 1; row < 200; ++row) counted.push_back({row + 1, 1, static_cast<index_t>(row), 200});
  EXPECT_EQ(choose_row_lists({}, counted, 8192, 300199).size(), 4U) << "five lists of 201 places, one without entries";
  EXPECT_EQ(choose_row_lists({}, counted, 8192, 5000).size(), 39U);
}

TEST(RowLists, SamplesAscendAndCoverTheMatrix) {
  for (const index_t rows : {1, 2, 8191, 8192, 8193, 1000000, std::numeric_limits<index_t>::max()}) {
    const SampledRows sample = sample_of_rows(rows);
    EXPECT_EQ(sample.count, std::min(rows, sampled_rows_for_lists));
    index_t last = -1;
    for (index_t i = 0; i < sample.count; ++i) {
      ASSERT_GT(sample[i], last);
      last = sample[i];
      ASSERT_LT(last, rows);
    }
    EXPECT_GE(last, rows - 1 - rows / sample.count);
  }
}

TEST(PatternsTuning, BytesPerNonzero) {
  EXPECT_DOUBLE_EQ(pattern_bytes_per_nonzero(8, 5), 8.2);
  EXPECT_DOUBLE_EQ(pattern_bytes_per_nonzero(0, 4), 0.25);
  EXPECT_EQ(cuda::pattern_rows_per_lane(5), 4);
  EXPECT_EQ(cuda::pattern_rows_per_lane(6), 2);
  // One where rows are long, and so few that there are lanes for all.
  const auto rows_of_lane = [](index_t rows, int width, bool reads_values = true) {
    return cuda::choose_pattern_slices(rows, offset_t{rows} * width, width, reads_values).rows_per_lane;
  };
  EXPECT_EQ(rows_of_lane(1 << 18, 37), 1);
  EXPECT_EQ(rows_of_lane((1 << 18) + 1, 37), 2);
  EXPECT_EQ(rows_of_lane(1 << 18, 36), 2);
  EXPECT_EQ(cuda::choose_pattern_slices(1000, 27 * 1000, 80, true).rows_per_lane, 2) << "short rows, one long list";
  EXPECT_EQ(cuda::choose_pattern_slices(1000, 80 * 1000, 5, true).rows_per_lane, 4) << "short lists, long exceptions";
  EXPECT_EQ(rows_of_lane(1 << 18, 37, false), 2);
  EXPECT_EQ(rows_of_lane(100, 5), 4);
  // Of a slice whose lanes have four rows, or two.
  EXPECT_EQ(cuda::warps_per_slice_of_half(4, sizeof(double)), 2);
  EXPECT_EQ(cuda::warps_per_slice_of_half(5, sizeof(double)), 1);
  EXPECT_EQ(cuda::warps_per_slice_of_half(7, sizeof(double)), 1);
  EXPECT_EQ(cuda::warps_per_slice_of_half(9, sizeof(double)), 2);
  EXPECT_EQ(cuda::warps_per_slice_of_half(9, sizeof(float)), 1);
  // A table fits into the shared memory that every block has.
  EXPECT_LE(most_pattern_places * 4, 48 * 1024);
  EXPECT_LE(most_template_places * 12, 48 * 1024);
}

template <class T>
class PatternsOnHost : public ::testing::Test {
 protected:
  static void check(const RepeatingRows& spec) {
    for (const Repeating repeating : all_kinds) {
      SCOPED_TRACE(static_cast<int>(repeating));
      const auto matrix = with_repeating_rows<T>(spec, repeating);
      const SpmvPlan<T> plan(Csr<T>::copy_of(matrix.view()), testing::options_of(patterns_kernel, 3));
      const auto x = testing::random_vector<T>(plan.cols(), 3);
      auto y = testing::random_vector<T>(plan.rows(), 4);
      const auto oracle = testing::multiply_oracle<T>(T{2}, plan.matrix(), x, T{-1}, y);
      plan.apply(T{2}, x, T{-1}, y);
      ASSERT_TRUE(near(oracle, constant(y)));
      // In the order of the columns: the plainest loop, bit by bit.
      std::vector<T> expected(y.size());
      reference::csr_multiply<T>(plan.matrix(), x, expected);
      std::fill(y.begin(), y.end(), std::numeric_limits<T>::quiet_NaN());
      const auto w = testing::random_vector<T>(plan.rows(), 5);
      const ProductDots dots = plan.apply_and_dot(x, y, w);
      ASSERT_TRUE(testing::same_bytes(constant(y), constant(expected)));
      ASSERT_TRUE(testing::dots_match(dots, constant(y), constant(w)));
    }
  }
  [[nodiscard]] static std::string refusal(const Csr<T>& matrix) {
    try {
      const SpmvPlan<T> plan(Csr<T>::copy_of(matrix.view()), testing::options_of(patterns_kernel));
    } catch (const NotSupported& error) {
      return error.what();
    }
    return "";
  }
};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(PatternsOnHost, Types);

TYPED_TEST(PatternsOnHost, EveryWidth) {
  for (const index_t width : {1, 2, 5, 9, 10, 27, 200}) {
    SCOPED_TRACE("width " + std::to_string(width));
    for (const index_t rows : {1, 63, 64, 65, 700}) {
      this->check(testing::rows_of_width(rows, width));
      this->check(testing::rows_up_to_width(rows, std::min(width, 60)));
    }
    ASSERT_FALSE(this->HasFatalFailure());
  }
}

TYPED_TEST(PatternsOnHost, OddMatrices) {
  for (const auto& [rows, cols] : {std::pair{0, 0}, {0, 5}, {5, 0}, {1, 1}, {400, 3}}) {
    this->check(RepeatingRows{rows, cols, {}, {}, {}});
  }
  this->check(RepeatingRows{1, 1, {{0}}, {}, {}});
  this->check(RepeatingRows{900, 300, {{-700, -300, 0, 1}}, {}, {}});
  this->check(RepeatingRows{300, 90000, {{5, 700, 80000}}, {}, {}});
}

TYPED_TEST(PatternsOnHost, SeveralThreadsExceptionsAndRareLists) {
  const testing::SmallGrain small;
  this->check(testing::five_points(150));
  for (const index_t length : {0, 1, 20, 1200, 1299}) {
    for (RepeatingRows spec : {testing::rows_of_width(1300, 5), testing::rows_up_to_width(1300, 6)}) {
      spec.others = {0, 31, 32, 127, 128, 129, 640, 1024, 1298, 1299};
      spec.length_of_others = length;
      this->check(spec);
      ASSERT_FALSE(this->HasFatalFailure());
    }
  }
}

TYPED_TEST(PatternsOnHost, RowsThatDoNotRepeatAreRefused) {
  const auto many = with_repeating_rows<TypeParam>(testing::too_many_lists(3000, 300), Repeating::columns);
  EXPECT_EQ(this->refusal(many),
            "kernel patterns needs rows that repeat: 254 lists of relative columns name 84.7 % of 3000 rows, and 99 % "
            "are needed");
  this->check(testing::too_many_lists(2540, 254));
  RepeatingRows rare = testing::rows_of_width(1000, 5);
  for (index_t row = 0; row < 11; ++row) rare.others.push_back(90 * row);
  rare.length_of_others = 300;
  EXPECT_NE(this->refusal(with_repeating_rows<TypeParam>(rare, Repeating::columns)).find("name 98.9 % of 1000 rows"),
            std::string::npos);
  rare.others.pop_back();
  this->check(rare);
}

TYPED_TEST(PatternsOnHost, AdversarialMatricesAreRefusedOrMultiplied) {
  for (const auto storage : {ValueStorage::weighted, ValueStorage::pattern}) {
    for (const auto& [name, matrix] : testing::adversarial_matrices<TypeParam>(storage, {128})) {
      if (!this->refusal(matrix).empty()) continue;
      const SpmvPlan<TypeParam> plan(Csr<TypeParam>::copy_of(matrix.view()), testing::options_of(patterns_kernel));
      const auto x = testing::random_vector<TypeParam>(plan.cols(), 3);
      std::vector<TypeParam> y(static_cast<std::size_t>(plan.rows()));
      plan.apply(x, y);
      ASSERT_TRUE(near(testing::product_oracle(plan.matrix(), constant(x)), constant(y))) << name;
    }
  }
}

TYPED_TEST(PatternsOnHost, NanAndInfinityReachExactlyTheRowsThatHoldTheColumn) {
  RepeatingRows spec = testing::rows_up_to_width(1000, 6);
  spec.others = {10, 500};
  for (const Repeating repeating : all_kinds) {
    const SpmvPlan<TypeParam> plan(with_repeating_rows<TypeParam>(spec, repeating),
                                   testing::options_of(patterns_kernel));
    const CsrView<TypeParam> a = plan.matrix();
    auto x = testing::random_vector<TypeParam>(spec.cols, 5);
    x[77] = std::numeric_limits<TypeParam>::quiet_NaN();
    std::vector<TypeParam> y(1000);
    plan.apply(x, y);
    for (std::size_t i = 0; i < y.size(); ++i) {
      const auto begin = a.columns.begin() + a.row_offsets[i];
      const auto end = a.columns.begin() + a.row_offsets[i + 1];
      ASSERT_EQ(std::isnan(y[i]), std::binary_search(begin, end, 77)) << "row " << i;
    }
  }
}

TYPED_TEST(PatternsOnHost, UpdatesOfValuesGiveUpTemplates) {
  RepeatingRows spec = testing::five_points(25);
  spec.others = {0, 100, 624};
  for (const Repeating repeating : {Repeating::columns, Repeating::columns_and_values}) {
    const auto matrix = with_repeating_rows<TypeParam>(spec, repeating);
    const std::vector<TypeParam> own(matrix.values().begin(), matrix.values().end());
    SpmvPlan<TypeParam> plan(Csr<TypeParam>::copy_of(matrix.view()), testing::options_of(patterns_kernel));
    const auto x = testing::random_vector<TypeParam>(plan.cols(), 3);
    for (std::uint64_t round = 0; round < 4; ++round) {
      const auto values = round % 3 == 0 ? own : testing::random_vector<TypeParam>(matrix.nnz(), 50 + round);
      plan.update_values(std::span<const TypeParam>(values));
      std::vector<TypeParam> y(static_cast<std::size_t>(plan.rows()));
      plan.apply(x, y);
      ASSERT_TRUE(near(testing::product_oracle(plan.matrix(), constant(x)), constant(y))) << round;
    }
  }
}

TYPED_TEST(PatternsOnHost, SaysWhatItFound) {
  const SpmvPlan<TypeParam> stencil(poisson2d<TypeParam>(20, 20), testing::options_of(patterns_kernel));
  EXPECT_EQ(stencil.info().reason, "named by the caller; 9 row templates name all rows: 0.208 bytes per nonzero");
  EXPECT_EQ(stencil.info().determinism, Determinism::gpu_to_gpu);
  // Codes of 400 rows; 10 lists of 5 relative columns and a length, and of 5 values.
  EXPECT_EQ(stencil.info().bytes, 400 + 10 * 6 * 4 + 50 * sizeof(TypeParam));
  const SpmvPlan<TypeParam> weighted(with_repeating_rows<TypeParam>(testing::five_points(20), Repeating::columns),
                                     testing::options_of(patterns_kernel));
  EXPECT_EQ(weighted.info().reason, std::string("named by the caller; 9 row patterns name all rows: ") +
                                        (sizeof(TypeParam) == 8 ? "8.21" : "4.21") + " bytes per nonzero");
}

}  // namespace
}  // namespace tessera
