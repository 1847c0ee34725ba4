// Sliced ELL on a GPU: every layout of columns and values, slices of neighbours and of sorted rows, with long rows, and
// values that change.
#include "core/cuda/context.hpp"
#include "spmv/plan_internals.hpp"
#include "spmv/selection.hpp"
#include "spmv/sell/sell.hpp"
#include "tessera/error.hpp"
#include "tests/spmv/cuda_check.hpp"
#include "tests/spmv/sliced_matrices.hpp"
#include "tests/spmv/value_dictionaries.hpp"
#include "tests/support/compare.hpp"

#include <algorithm>
#include <functional>
#include <iomanip>
#include <numeric>
#include <sstream>

namespace tessera {

using namespace detail;
namespace {

using testing::all_kept;
using testing::constant;
using testing::CudaCase;
using testing::CudaProduct;
using testing::Kept;
using testing::near;

template <class T>
class CudaSell : public testing::CudaTest {
 protected:
  [[nodiscard]] static SpmvOptions options(bool fp32_values = false) {
    return CudaCase{SpmvAlgorithm::sell, Determinism::run_to_run, fp32_values}.options(testing::CudaTest::gpu());
  }
  static void check(const Csr<T>& matrix) {
    for (const Kept kept : all_kept) {
      SCOPED_TRACE(static_cast<int>(kept));
      testing::check_all_products(CudaProduct<T>(testing::with_values_that_allow(matrix, kept), options()));
      ASSERT_FALSE(::testing::Test::HasFatalFailure());
    }
  }
  static void check(const testing::RepeatingRows& spec) {
    check(testing::with_repeating_rows<T>(spec, testing::Repeating::columns));
  }
  [[nodiscard]] static std::string reason(const Csr<T>& matrix, bool fp32_values = false) {
    return CudaProduct<T>(matrix, options(fp32_values)).plan().info().reason;
  }
  /// Rows from which windows have their full size.
  [[nodiscard]] static index_t rows_of_large_windows() {
    return sell_windows_per_multiprocessor * multiprocessors() * largest_sell_window;
  }
  [[nodiscard]] static std::size_t window_rows(index_t rows, int rows_per_lane) {
    return static_cast<std::size_t>(cuda::sell_window_rows(rows, rows_per_lane, multiprocessors()));
  }
  [[nodiscard]] static int multiprocessors() { return cuda::Context::of(testing::CudaTest::gpu()).multiprocessors(); }
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
TYPED_TEST_SUITE(CudaSell, Types);

TYPED_TEST(CudaSell, EveryWidthOfSlices) {
  for (const index_t width : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 18, 27, 40, 200}) {
    SCOPED_TRACE("width " + std::to_string(width));
    this->check(testing::rows_of_width(testing::repetitions(1500, 300), width));
    ASSERT_FALSE(this->HasFatalFailure());
  }
}

TYPED_TEST(CudaSell, EveryWidthOfSortedSlices) {
  for (const index_t width : {1, 2, 4, 5, 9, 10, 18, 27, 60}) {
    SCOPED_TRACE("width " + std::to_string(width));
    const auto lengths = testing::irregular_lengths(testing::repetitions(1500, 300), width);
    this->check(testing::rows_near_diagonal<TypeParam>(lengths, 100));
    ASSERT_FALSE(this->HasFatalFailure());
  }
}

TYPED_TEST(CudaSell, SlicesOfDifferentWidths) {
  for (const index_t step : {1, 7}) {
    std::vector<index_t> lengths;
    for (index_t row = 0; row < 1000; ++row) lengths.push_back(2 + row / 128 * step);
    const auto matrix = testing::rows_near_diagonal<TypeParam>(lengths, 300);
    EXPECT_NE(this->reason(matrix).find("slices padded by"), std::string::npos) << this->reason(matrix);
    this->check(matrix);
    ASSERT_FALSE(this->HasFatalFailure());
  }
}

TYPED_TEST(CudaSell, EveryNumberOfRowsAroundSlicesAndWindows) {
  for (const index_t width : {3, 7}) {
    for (const index_t rows : {1, 2, 31, 32, 33, 63, 64, 65, 127, 128, 129, 511, 512, 513, 1024, 2049}) {
      SCOPED_TRACE("rows " + std::to_string(rows) + ", width " + std::to_string(width));
      this->check(testing::rows_of_width(rows, width));
      this->check(testing::rows_near_diagonal<TypeParam>(testing::irregular_lengths(rows, width), 40));
      ASSERT_FALSE(this->HasFatalFailure());
    }
  }
}

/// Padding by the definition: rows of each window sorted, each slice as wide as its longest row.
double places_per_nonzero(const std::vector<index_t>& lengths, std::size_t window, std::size_t slice) {
  std::vector<index_t> ordered = lengths;
  ordered.resize((lengths.size() + window - 1) / window * window);
  std::size_t places = 0;
  for (std::size_t begin = 0; begin < ordered.size(); begin += window) {
    std::sort(&ordered[begin], &ordered[begin] + window, std::greater<>());
    for (std::size_t i = begin; i < begin + window; i += slice) {
      places += slice * static_cast<std::size_t>(*std::max_element(&ordered[i], &ordered[i] + slice));
    }
  }
  return static_cast<double>(places) /
         static_cast<double>(std::accumulate(lengths.begin(), lengths.end(), offset_t{0}));
}

TYPED_TEST(CudaSell, RowsAreSortedWhereNeighboursDifferInLength) {
  const auto percent = [](double ratio) {
    std::ostringstream text;
    text << std::setprecision(2) << 100.0 * (ratio - 1.0) << " %";
    return text.str();
  };
  for (const index_t rows : {2000, this->rows_of_large_windows() + 100}) {
    for (const index_t longest : {4, 16}) {
      const std::size_t slice = longest == 4 ? 128 : 64;
      const std::size_t window = this->window_rows(rows, longest == 4 ? 4 : 2);
      EXPECT_EQ(window, rows > 2000 ? 2048 : 8 * slice);
      const auto lengths = testing::irregular_lengths(rows, longest);
      const std::string why = this->reason(testing::rows_near_diagonal<TypeParam>(lengths, 1000));
      const std::string expected = "slices padded by " + percent(places_per_nonzero(lengths, window, slice)) + ", by " +
                                   percent(places_per_nonzero(lengths, slice, slice)) +
                                   " without sorting rows in windows of " + std::to_string(window);
      EXPECT_NE(why.find(expected), std::string::npos) << why;
    }
  }
  std::vector<index_t> hardly(5000, 3);
  for (std::size_t i = 0; i < hardly.size(); i += 2500) hardly[i] = 4;
  const std::string why = this->reason(testing::rows_near_diagonal<TypeParam>(hardly, 2500));
  EXPECT_EQ(why.find("sorting"), std::string::npos) << why;
}

TYPED_TEST(CudaSell, SamplePredictsThePaddingOfSortedRows) {
  // Whole windows: the sample knows nothing of the last one.
  for (const index_t rows : {10240, this->rows_of_large_windows()}) {
    for (const index_t longest : {4, 16}) {
      const auto lengths = testing::irregular_lengths(rows, longest);
      const auto matrix = testing::rows_near_diagonal<TypeParam>(lengths, 100);
      const SellSample sample = cuda::sample_for_sell(matrix.to(this->gpu()).view(), this->gpu());
      EXPECT_EQ(sample.rows, 4096);
      EXPECT_TRUE(sample.sorts());
      const std::size_t window = this->window_rows(rows, longest == 4 ? 4 : 2);
      EXPECT_NEAR(static_cast<double>(sample.sorted_nonzeros) / static_cast<double>(sample.nonzeros),
                  places_per_nonzero(lengths, window, longest == 4 ? 128 : 64), 0.02);
    }
  }
}

/// The same rows in another order, sorted by the caller, so that slices hold neighbours.
TYPED_TEST(CudaSell, SortingRowsChangesNoBit) {
  for (const auto& [rows, longest] : {std::pair{10240, 4}, {10240, 14}, {this->rows_of_large_windows() + 50, 4}}) {
    auto lengths = testing::irregular_lengths(rows, longest);
    lengths[11] = lengths[4444] = 300;
    const auto matrix = testing::rows_near_diagonal<TypeParam>(lengths, 2500);
    std::vector<index_t> order(lengths.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](index_t a, index_t b) {
      return lengths[static_cast<std::size_t>(a)] < lengths[static_cast<std::size_t>(b)];
    });
    for (const Kept kept : all_kept) {
      const auto original = testing::with_values_that_allow(matrix, kept);
      const auto reordered = testing::rows_in_order(original, order);
      const CudaProduct<TypeParam> sorted_here(original, this->options());
      const CudaProduct<TypeParam> sorted_before(reordered, this->options());
      ASSERT_NE(sorted_here.plan().info().reason.find("without sorting"), std::string::npos);
      ASSERT_EQ(sorted_before.plan().info().reason.find("without sorting"), std::string::npos);
      const auto x = testing::random_vector<TypeParam>(matrix.cols(), 3);
      const std::vector<TypeParam> here = sorted_here.apply(x);
      const std::vector<TypeParam> before = sorted_before.apply(x);
      std::vector<TypeParam> expected;
      expected.reserve(order.size());
      for (const index_t row : order) expected.push_back(here[static_cast<std::size_t>(row)]);
      ASSERT_TRUE(testing::same_bytes(constant(before), constant(expected)));
    }
  }
}

/// Several windows per block, and in fp64 more shared memory than a block gets without asking.
TYPED_TEST(CudaSell, AllProductsOfLargeWindows) {
  const auto lengths = testing::irregular_lengths(this->rows_of_large_windows() + 50, 4);
  const auto matrix = testing::rows_near_diagonal<TypeParam>(lengths, 100);
  for (const Kept kept : {Kept::codes, Kept::in_full}) {
    testing::check_all_products(
        CudaProduct<TypeParam>(testing::with_values_that_allow(matrix, kept, 255), this->options()));
  }
}

TYPED_TEST(CudaSell, MatricesWithoutRowsColumnsOrEntries) {
  for (const auto& [rows, cols] : {std::pair{0, 0}, {0, 5}, {5, 0}, {1, 1}, {400, 3}}) {
    SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(cols));
    this->check(testing::RepeatingRows{rows, cols, {}, {}, {}});
  }
  this->check(testing::RepeatingRows{1, 1, {{0}}, {}, {}});
  this->check(testing::RepeatingRows{700, 701, {{}, {1}}, [](index_t row) { return row % 50 == 7 ? 1U : 0U; }, {}});
}

TYPED_TEST(CudaSell, RectangularMatrices) {
  this->check(testing::RepeatingRows{900, 300, {{-700, -300, 0, 1}}, {}, {}});
  this->check(testing::RepeatingRows{300, 90000, {{5, 700, 80000}}, {}, {}});
}

TYPED_TEST(CudaSell, ColumnsIn16BitsUpTo32767FromTheirRow) {
  for (const index_t sign : {1, -1}) {
    const auto near_one = testing::one_column_at<TypeParam>(sign * farthest_relative_column);
    const auto far_one = testing::one_column_at<TypeParam>(sign * (farthest_relative_column + 1));
    EXPECT_NE(this->reason(near_one).find("columns relative to their row in 16 bits"), std::string::npos);
    EXPECT_NE(this->reason(far_one).find("columns in 32 bits"), std::string::npos) << this->reason(far_one);
    this->check(near_one);
    this->check(far_one);
  }
}

TYPED_TEST(CudaSell, AByteForUpTo255Values) {
  const auto matrix = testing::rows_near_diagonal<TypeParam>(testing::irregular_lengths(400, 9), 50);
  for (const int distinct : {1, 2, 254, 255, 256}) {
    SCOPED_TRACE(distinct);
    const auto valued = testing::with_values_that_allow(matrix, Kept::codes, distinct);
    const std::string why = this->reason(valued);
    const std::string expected = "a byte per value for " + std::to_string(distinct) + " distinct ones";
    EXPECT_EQ(why.find(expected) != std::string::npos, distinct <= 255) << why;
    testing::check_all_products(CudaProduct<TypeParam>(valued, this->options()));
  }
}

TYPED_TEST(CudaSell, ValuesInFourBytesOnlyWhereNothingIsLost) {
  const auto matrix = testing::rows_near_diagonal<TypeParam>(testing::irregular_lengths(400, 9), 50);
  const bool is_double = sizeof(TypeParam) == 8;
  const auto floats = testing::with_values_that_allow(matrix, Kept::floats);
  EXPECT_EQ(this->reason(floats).find("single precision holds exactly") != std::string::npos, is_double);
  const auto full = testing::with_values_that_allow(matrix, Kept::in_full);
  EXPECT_NE(this->reason(full).find("values in full"), std::string::npos) << this->reason(full);
  if (is_double) {
    EXPECT_NE(this->reason(full, true).find("single precision holds exactly"), std::string::npos);
    testing::check_all_products(CudaProduct<TypeParam>(full, this->options(true)));
  }
}

/// Zeros of both signs, NaN, infinity and the rest: the products are those of a kernel that reads the values in full.
TYPED_TEST(CudaSell, CodesKeepEveryBit) {
  const auto odd = testing::odd_values<TypeParam>();
  std::vector<std::vector<index_t>> lists{{0}};
  const auto rows = static_cast<index_t>(odd.size());
  auto structure = testing::with_repeating_rows<TypeParam>({rows, rows, lists, {}, {}}, testing::Repeating::columns);
  const Csr<TypeParam> matrix(rows, rows, Array<offset_t>::copy_of(structure.row_offsets().span()),
                              Array<index_t>::copy_of(structure.columns().span()), Array<TypeParam>::copy_of(odd));
  EXPECT_NE(this->reason(matrix).find("a byte per value for 13 distinct ones"), std::string::npos)
      << this->reason(matrix);
  const CudaProduct<TypeParam> product(matrix, this->options());
  const std::vector<TypeParam> ones(odd.size(), TypeParam{1});
  const std::vector<TypeParam> y = product.apply(ones);
  for (std::size_t i = 0; i < odd.size(); ++i) {
    if (std::isnan(odd[i])) {
      EXPECT_TRUE(std::isnan(y[i])) << i;
    } else {
      EXPECT_EQ(y[i], odd[i]) << i;
    }
  }
}

TYPED_TEST(CudaSell, LongRowsWhereverSlicesMeet) {
  for (const bool sorted : {false, true}) {
    for (const index_t length : {65, 200, 1500}) {
      SCOPED_TRACE("length " + std::to_string(length) + (sorted ? ", sorted" : ""));
      std::vector<index_t> lengths = testing::irregular_lengths(2000, 6);
      if (!sorted) lengths.assign(2000, 5);
      for (const index_t row : {0, 31, 32, 127, 128, 129, 640, 1998, 1999}) {
        lengths[static_cast<std::size_t>(row)] = length;
      }
      // Long rows may hold half of the matrix.
      if (length == 1500) {
        for (const index_t row : {31, 32, 127, 129, 640, 1998}) lengths[static_cast<std::size_t>(row)] = 5;
      }
      const auto matrix = testing::rows_near_diagonal<TypeParam>(lengths, 1999);
      EXPECT_NE(this->reason(matrix).find("long rows read from CSR"), std::string::npos) << this->reason(matrix);
      this->check(matrix);
      ASSERT_FALSE(this->HasFatalFailure());
    }
  }
}

TYPED_TEST(CudaSell, LongRowsThatHoldTooMuchAreRefusedByName) {
  std::vector<index_t> lengths(1000, 1);
  for (index_t row = 0; row < 20; ++row) lengths[static_cast<std::size_t>(50 * row)] = 100;
  EXPECT_EQ(
      this->refusal(testing::rows_near_diagonal<TypeParam>(lengths, 999)),
      "kernel sell slices rows of at most 64 nonzeros: 20 longer ones hold 2000 of 2980 nonzeros, more than 50 %");
  lengths.assign(20000, 2);
  lengths[7] = static_cast<index_t>(longest_long_row) + 1;
  EXPECT_EQ(this->refusal(testing::rows_near_diagonal<TypeParam>(lengths, 19999)),
            "kernel sell reads rows of more than 64 nonzeros by one warp each: one has 8193, more than 8192");
  lengths[7] = static_cast<index_t>(longest_long_row);
  testing::check_all_products(
      CudaProduct<TypeParam>(testing::rows_near_diagonal<TypeParam>(lengths, 19999), this->options()));
}

TYPED_TEST(CudaSell, AdversarialMatricesAreRefusedOrMultiplied) {
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

TYPED_TEST(CudaSell, NanAndInfinityReachExactlyTheRowsThatHoldTheColumn) {
  std::vector<index_t> hubs = testing::irregular_lengths(1000, 6);
  hubs[10] = hubs[500] = 300;
  for (const auto& lengths : {std::vector<index_t>(700, 5), hubs, testing::irregular_lengths(800, 25)}) {
    for (const index_t reach : {40, 999}) {
      const auto structure = testing::rows_near_diagonal<TypeParam>(lengths, reach);
      for (const Kept kept : all_kept) {
        const CudaProduct<TypeParam> product(testing::with_values_that_allow(structure, kept), this->options());
        const CsrView<TypeParam> a = product.matrix();
        for (const index_t column : {0, 1, 77, 640, a.cols - 1}) {
          auto x = testing::random_vector<TypeParam>(a.cols, 5);
          x[static_cast<std::size_t>(column)] = column % 2 == 0 ? std::numeric_limits<TypeParam>::quiet_NaN()
                                                                : std::numeric_limits<TypeParam>::infinity();
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
}

/// From each layout of values to each other, and back: a layout grows and does not shrink.
TYPED_TEST(CudaSell, UpdatesOfValues) {
  std::vector<index_t> hubs = testing::irregular_lengths(900, 7);
  hubs[0] = hubs[33] = hubs[899] = 200;
  for (const auto& lengths : {hubs, std::vector<index_t>(900, 5), testing::irregular_lengths(900, 30)}) {
    const auto structure = testing::rows_near_diagonal<TypeParam>(lengths, 899);
    const auto x = testing::random_vector<TypeParam>(structure.cols(), 3);
    for (const Kept first : {Kept::codes, Kept::floats, Kept::in_full}) {
      for (const bool fp32_values : {false, true}) {
        CudaProduct<TypeParam> product(testing::with_values_that_allow(structure, first), this->options(fp32_values));
        for (const Kept next : {Kept::codes, Kept::floats, Kept::codes, Kept::in_full, Kept::codes}) {
          auto values = testing::values_that_allow<TypeParam>(next, structure.nnz(), 100);
          for (TypeParam& value : values) value = -value;
          product.update_values(values, fp32_values);
          ASSERT_TRUE(near(testing::product_oracle(product.matrix(), constant(x)), constant(product.apply(x))))
              << static_cast<int>(first) << " to " << static_cast<int>(next);
        }
      }
    }
  }
}

TYPED_TEST(CudaSell, LeavesInnerProductsInFewParts) {
  const index_t rows = testing::repetitions(2400000, 1200);
  const auto matrix =
      testing::with_repeating_rows<TypeParam>(testing::rows_of_width(rows, 1), testing::Repeating::columns);
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

TYPED_TEST(CudaSell, RepeatsBitwise) {
  std::vector<index_t> lengths = testing::irregular_lengths(2000, 9);
  lengths[5] = lengths[1999] = 900;
  const auto structure = testing::rows_near_diagonal<TypeParam>(lengths, 1999);
  for (const Kept kept : {Kept::codes, Kept::in_full}) {
    const auto matrix = testing::with_values_that_allow(structure, kept);
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
}

TYPED_TEST(CudaSell, ProductsNeitherAllocateNorWait) {
  const auto matrix = testing::rows_near_diagonal<TypeParam>(testing::irregular_lengths(3000, 9), 50);
  const CudaProduct<TypeParam> product(testing::with_values_that_allow(matrix, Kept::codes), this->options());
  const Array<TypeParam> x(product.plan().cols(), Init::zero, this->gpu());
  Array<TypeParam> y(product.plan().rows(), Init::none, this->gpu());
  const auto before = cuda::Context::of(this->gpu()).counts();
  product.plan().apply(x.span(), y.span());
  const auto after = cuda::Context::of(this->gpu()).counts();
  EXPECT_EQ(after.allocations, before.allocations);
  EXPECT_EQ(after.waits, before.waits);
}

/// The choice alone: no plan is made.
TYPED_TEST(CudaSell, IsChosenWhereASampleTakesHalfTheBytes) {
  const auto chosen = [&](const Csr<TypeParam>& matrix, std::int64_t applications) {
    SpmvOptions options;
    options.device = this->gpu();
    options.expected_applications = applications;
    return select_spmv_kernel(matrix.to(this->gpu()).view(), options);
  };
  const auto structure = testing::rows_near_diagonal<TypeParam>(std::vector<index_t>(300000, 8), 1000);
  const auto coded = testing::with_values_that_allow(structure, Kept::codes);
  const SpmvSelection often = chosen(coded, 1000);
  EXPECT_EQ(often.algorithm, SpmvAlgorithm::sell) << often.reason;
  EXPECT_NE(often.reason.find("a sample has columns relative to their row in 16 bits, a byte per value for 200"),
            std::string::npos)
      << often.reason;
  EXPECT_NE(chosen(coded, 20).algorithm, SpmvAlgorithm::sell);
  EXPECT_NE(chosen(testing::with_values_that_allow(structure, Kept::in_full), 1000).algorithm, SpmvAlgorithm::sell);
  // 3 bytes and two per row of 12 or of 8; with all values in full 2 bytes are saved.
  const auto sorted = testing::rows_near_diagonal<TypeParam>(testing::irregular_lengths(300000, 16), 1000);
  EXPECT_EQ(chosen(testing::with_values_that_allow(sorted, Kept::codes), 1000).algorithm, SpmvAlgorithm::sell);
  EXPECT_NE(chosen(testing::with_values_that_allow(sorted, Kept::in_full), 1000).algorithm, SpmvAlgorithm::sell);
  const auto far = testing::rows_near_diagonal<TypeParam>(std::vector<index_t>(300000, 8), 100000);
  EXPECT_NE(chosen(testing::with_values_that_allow(far, Kept::codes), 1000).algorithm, SpmvAlgorithm::sell);
}

TYPED_TEST(CudaSell, AutomaticGoesOnWhereTheSamplePromisedTooMuch) {
  const auto structure = testing::rows_near_diagonal<TypeParam>(std::vector<index_t>(300000, 8), 1000);
  auto values = testing::values_that_allow<TypeParam>(Kept::codes, structure.nnz());
  // So few others that the sample misses most of them.
  for (std::size_t k = 0; k < 100; ++k)
    values[k * 20011] = static_cast<TypeParam>(1000.0 + static_cast<double>(k) / 3.0);
  auto matrix = std::make_shared<const Csr<TypeParam>>(
      Csr<TypeParam>(structure.rows(), structure.cols(), Array<offset_t>::copy_of(structure.row_offsets().span()),
                     Array<index_t>::copy_of(structure.columns().span()), Array<TypeParam>::copy_of(values))
          .to(this->gpu()));
  SpmvOptions options;
  options.device = this->gpu();
  ASSERT_EQ(select_spmv_kernel(matrix->view(), options).algorithm, SpmvAlgorithm::sell);
  const SpmvPlan<TypeParam> plan(std::move(matrix), options);
  EXPECT_NE(plan.info().algorithm, SpmvAlgorithm::sell) << plan.info().reason;
}

}  // namespace
}  // namespace tessera
