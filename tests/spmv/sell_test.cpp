// Sliced ELL on the host, its layouts in words, and its tuning.
#include "spmv/sell/sell.hpp"
#include "tessera/error.hpp"
#include "tests/spmv/product_check.hpp"
#include "tests/spmv/references.hpp"
#include "tests/spmv/sliced_matrices.hpp"
#include "tests/spmv/value_dictionaries.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/small_grain.hpp"

namespace tessera {

using namespace detail;
namespace {

using testing::all_kept;
using testing::constant;
using testing::Kept;
using testing::near;

constexpr testing::KernelCase sell_kernel{SpmvAlgorithm::sell, Determinism::gpu_to_gpu};

TEST(SellTuning, RowsInSlicesFollowTheMean) {
  EXPECT_EQ(longest_sliced_row(0), 64);
  EXPECT_EQ(longest_sliced_row(20), 160);
  EXPECT_EQ(longest_sliced_row(5000), 1024);
  EXPECT_EQ(cuda::sell_rows_per_lane(cuda::sell_short_chunk), 4);
  EXPECT_EQ(cuda::sell_rows_per_lane(cuda::sell_long_chunk), 2);
  // From a slice for each of eight warps of a block to 2048 rows.
  EXPECT_EQ(cuda::sell_window_rows(1000, 4, 132), 1024);
  EXPECT_EQ(cuda::sell_window_rows(1000, 2, 132), 512);
  EXPECT_EQ(cuda::sell_window_rows(2 * 132 * 1024 - 1, 2, 132), 512);
  EXPECT_EQ(cuda::sell_window_rows(2 * 132 * 1024, 2, 132), 1024);
  EXPECT_EQ(cuda::sell_window_rows(2 * 132 * 2048, 2, 132), 2048);
  // The dictionary and its copies fit into the shared memory that every block has.
  EXPECT_LE((most_dictionary_values + 1) * cuda::dictionary_copies<double> * 8, 48 * 1024);
  EXPECT_LE((most_dictionary_values + 1) * cuda::dictionary_copies<float> * 4, 48 * 1024);
  EXPECT_EQ(cuda::sell_slices_per_warp(0, 20), 1);
  EXPECT_EQ(cuda::sell_slices_per_warp(200 * 16, 20), 3);
  EXPECT_EQ(cuda::sell_slices_per_warp(255 * 16, 0), 8);
}

TEST(SellLayout, BytesOfAnEntry) {
  EXPECT_EQ((SellLayout{SellColumns::absolute, SellValues::full}.bytes_per_entry(8)), 12);
  EXPECT_EQ((SellLayout{SellColumns::relative, SellValues::rounded}.bytes_per_entry(8)), 6);
  EXPECT_EQ((SellLayout{SellColumns::relative, SellValues::coded}.bytes_per_entry(8)), 3);
  EXPECT_EQ((SellLayout{SellColumns::relative, SellValues::none}.bytes_per_entry(0)), 2);
}

TEST(SellSample, PaysWhereHalfTheBytesAreLeft) {
  SellSample sample{4096, 40960, 0, 0, 41000, 41000, {200, 4096}};
  const auto pays = [&](double value_bytes) {
    return sample.pays(sample.layout(value_bytes == 0.0, value_bytes == 8.0), value_bytes);
  };
  EXPECT_TRUE(pays(8));
  EXPECT_TRUE(pays(4));
  EXPECT_TRUE(pays(0));
  sample.padded_nonzeros = 80000;  // sorted: two bytes per row more
  EXPECT_DOUBLE_EQ(sample.bytes_per_nonzero(sample.layout(false, true), 8), 3.0 * 41000 / 40960 + 0.2);
  EXPECT_TRUE(pays(8));
  EXPECT_TRUE(pays(4)) << "3.2 bytes of 8";
  EXPECT_FALSE(pays(0)) << "2.2 bytes of 4 save 1.8";
  sample.sorted_nonzeros = 54000;
  EXPECT_FALSE(pays(4)) << "4.2 bytes of 8 save 3.8";
  sample.sorted_nonzeros = 81920;
  EXPECT_TRUE(pays(8)) << "6.2 bytes of 12";
  sample.sorted_nonzeros = 106600;
  EXPECT_FALSE(pays(8)) << "8.01 bytes of 12";
  sample.values.distinct = 256;
  sample.values.not_as_float = 0;
  sample.padded_nonzeros = 41000;
  EXPECT_TRUE(pays(8)) << "6 bytes of 12";
  EXPECT_FALSE(pays(4)) << "6 bytes of 8";
  sample.far_rows = 1;
  EXPECT_FALSE(pays(8));
  EXPECT_FALSE(SellSample{}.pays({}, 8));
}

template <class T>
class SellOnHost : public ::testing::Test {
 protected:
  static void check(const Csr<T>& structure) {
    for (const Kept kept : all_kept) {
      SCOPED_TRACE(static_cast<int>(kept));
      const SpmvPlan<T> plan(testing::with_values_that_allow(structure, kept), testing::options_of(sell_kernel, 3));
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
  [[nodiscard]] static std::string reason(const Csr<T>& matrix) {
    return SpmvPlan<T>(Csr<T>::copy_of(matrix.view()), testing::options_of(sell_kernel)).info().reason;
  }
};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(SellOnHost, Types);

TYPED_TEST(SellOnHost, RowsOfEveryLength) {
  const testing::SmallGrain small;
  for (const index_t longest : {1, 5, 27, 200}) {
    for (const index_t rows : {1, 64, 700}) {
      const auto lengths = testing::irregular_lengths(rows, longest);
      this->check(testing::rows_near_diagonal<TypeParam>(lengths, 100));
      ASSERT_FALSE(this->HasFatalFailure());
    }
  }
  std::vector<index_t> hubs = testing::irregular_lengths(2000, 6);
  hubs[3] = hubs[1999] = 2000;
  this->check(testing::rows_near_diagonal<TypeParam>(hubs, 1999));
}

TYPED_TEST(SellOnHost, OddMatrices) {
  using testing::Repeating;
  for (const auto& [rows, cols] : {std::pair{0, 0}, {0, 5}, {5, 0}, {1, 1}, {400, 3}}) {
    this->check(testing::with_repeating_rows<TypeParam>({rows, cols, {}, {}, {}}, Repeating::columns));
  }
  this->check(testing::with_repeating_rows<TypeParam>({900, 300, {{-700, -300, 0, 1}}, {}, {}}, Repeating::columns));
  this->check(testing::with_repeating_rows<TypeParam>({300, 90000, {{5, 700, 80000}}, {}, {}}, Repeating::columns));
}

TYPED_TEST(SellOnHost, ColumnsIn16BitsUpTo32767FromTheirRow) {
  for (const index_t sign : {1, -1}) {
    const auto near_one = testing::one_column_at<TypeParam>(sign * farthest_relative_column);
    const auto far_one = testing::one_column_at<TypeParam>(sign * (farthest_relative_column + 1));
    EXPECT_NE(this->reason(near_one).find("columns relative to their row in 16 bits"), std::string::npos);
    EXPECT_NE(this->reason(far_one).find("columns in 32 bits"), std::string::npos);
    this->check(near_one);
    this->check(far_one);
  }
}

TYPED_TEST(SellOnHost, AByteForUpTo255Values) {
  const auto matrix = testing::rows_near_diagonal<TypeParam>(testing::irregular_lengths(400, 9), 50);
  for (const int distinct : {1, 255, 256}) {
    const std::string why = this->reason(testing::with_values_that_allow(matrix, Kept::codes, distinct));
    EXPECT_EQ(why.find("a byte per value for " + std::to_string(distinct)) != std::string::npos, distinct <= 255)
        << why;
  }
}

TYPED_TEST(SellOnHost, UpdatesOfValues) {
  const auto structure = testing::rows_near_diagonal<TypeParam>(testing::irregular_lengths(900, 7), 899);
  const auto x = testing::random_vector<TypeParam>(structure.cols(), 3);
  for (const Kept first : {Kept::codes, Kept::in_full}) {
    SpmvPlan<TypeParam> plan(testing::with_values_that_allow(structure, first), testing::options_of(sell_kernel));
    for (const Kept next : {Kept::codes, Kept::in_full, Kept::codes}) {
      auto values = testing::values_that_allow<TypeParam>(next, structure.nnz(), 100);
      for (TypeParam& value : values) value = -value;
      plan.update_values(std::span<const TypeParam>(values));
      std::vector<TypeParam> y(static_cast<std::size_t>(plan.rows()));
      plan.apply(x, y);
      ASSERT_TRUE(near(testing::product_oracle(plan.matrix(), constant(x)), constant(y)));
    }
  }
}

TYPED_TEST(SellOnHost, NanReachesExactlyTheRowsThatHoldTheColumn) {
  const auto structure = testing::rows_near_diagonal<TypeParam>(testing::irregular_lengths(1000, 6), 300);
  for (const Kept kept : all_kept) {
    const SpmvPlan<TypeParam> plan(testing::with_values_that_allow(structure, kept), testing::options_of(sell_kernel));
    const CsrView<TypeParam> a = plan.matrix();
    auto x = testing::random_vector<TypeParam>(a.cols, 5);
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

}  // namespace
}  // namespace tessera
