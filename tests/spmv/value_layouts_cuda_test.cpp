// Values of row patterns on a GPU in fewer bytes: single precision where it holds them exactly, a dictionary where
// there are few.
#include "spmv/patterns/dictionary_codes.hpp"
#include "spmv/patterns/patterns.hpp"
#include "spmv/selection.hpp"
#include "tests/spmv/cuda_check.hpp"
#include "tests/spmv/repeating_matrices.hpp"
#include "tests/support/compare.hpp"

#include <cmath>
#include <limits>
#include <random>

namespace tessera {

using namespace detail;
namespace {

using testing::constant;
using testing::CudaCase;
using testing::CudaProduct;
using testing::near;
using testing::reason_now;
using testing::Repeating;
using testing::RepeatingRows;
using testing::with_repeating_rows;

constexpr std::string_view exactly = "in single precision, which holds them exactly";

template <class T>
Csr<T> with_values(const Csr<T>& matrix, const std::vector<T>& values) {
  return Csr<T>(matrix.rows(), matrix.cols(), matrix.row_offsets().to(Device{}), matrix.columns().to(Device{}),
                Array<T>::copy_of(values));
}

std::vector<double> rounded(std::vector<double> values) {
  for (double& value : values) value = static_cast<double>(static_cast<float>(value));
  return values;
}

class SinglePrecisionHolds : public testing::CudaTest {
 protected:
  [[nodiscard]] static SpmvOptions options(bool fp32_values = false) {
    return CudaCase{SpmvAlgorithm::patterns, Determinism::run_to_run, fp32_values}.options(testing::CudaTest::gpu());
  }
  [[nodiscard]] static bool says_so(const CudaProduct<double>& product) {
    return reason_now(product).find(exactly) != std::string::npos;
  }
};

TEST_F(SinglePrecisionHolds, PaddedAndJaggedSlicesAndTheHalf) {
  RepeatingRows with_exceptions = testing::rows_of_width(3000, 12);
  with_exceptions.others = {0, 77, 2999};
  for (const RepeatingRows& spec :
       {testing::rows_of_width(1500, 5), testing::rows_up_to_width(1500, 7), with_exceptions}) {
    const auto any = with_repeating_rows<double>(spec, Repeating::columns);
    const auto exact = with_values(any, rounded(testing::random_vector<double>(any.nnz(), 7)));
    const CudaProduct<double> product(exact, options());
    ASSERT_TRUE(says_so(product)) << reason_now(product);
    testing::check_all_products(product);
    ASSERT_FALSE(says_so(CudaProduct<double>(any, options())));
    // Rounded because that was asked for: nothing to be said.
    ASSERT_FALSE(says_so(CudaProduct<double>(exact, options(true))));
  }
  const auto grid = testing::symmetric_rows<double>(testing::five_points(50));
  const CudaProduct<double> half(with_values(grid, rounded(testing::symmetric_values(grid.view(), 5))), options());
  ASSERT_TRUE(says_so(half));
  EXPECT_NE(reason_now(half).find("values as a symmetric half of 3 diagonals in single precision"), std::string::npos);
  testing::check_all_products(half);
}

TEST_F(SinglePrecisionHolds, OneValueThatItDoesNotHoldIsFound) {
  const auto matrix = with_repeating_rows<double>(testing::rows_of_width(4000, 5), Repeating::columns);
  const auto exact = rounded(testing::random_vector<double>(matrix.nnz(), 7));
  for (const double other : {0.1, 1e-60, 1e60, 1e-44 + 1e-46, -1.0 - 0x1p-52}) {
    for (const std::size_t entry : {std::size_t{0}, std::size_t{12345}, exact.size() - 1}) {
      auto values = exact;
      values[entry] = other;
      ASSERT_FALSE(says_so(CudaProduct<double>(with_values(matrix, values), options()))) << other << " at " << entry;
    }
  }
  for (const double held : {-0.0, std::numeric_limits<double>::infinity(), 0x1p-149, 0x1p127,
                            static_cast<double>(std::numeric_limits<float>::max())}) {
    auto values = exact;
    values[777] = held;
    ASSERT_TRUE(says_so(CudaProduct<double>(with_values(matrix, values), options()))) << held;
  }
}

TEST_F(SinglePrecisionHolds, UpdatesOfValues) {
  const auto grid = testing::symmetric_rows<double>(testing::five_points(50), {60, 1000});
  const auto lists = with_repeating_rows<double>(testing::rows_up_to_width(900, 7), Repeating::columns);
  for (const Csr<double>* matrix : {&grid, &lists}) {
    const auto values = [&](std::uint64_t seed) { return testing::symmetric_values(matrix->view(), seed); };
    CudaProduct<double> product(with_values(*matrix, rounded(values(1))), options());
    const auto x = testing::random_vector<double>(matrix->cols(), 3);
    for (std::uint64_t round = 0; round < 5; ++round) {
      product.update_values(round == 2 ? values(round) : rounded(values(round)), false);
      ASSERT_TRUE(near(testing::product_oracle(product.matrix(), constant(x)), constant(product.apply(x)))) << round;
      ASSERT_EQ(says_so(product), round < 2) << round;
      ASSERT_EQ(reason_now(product).find("symmetric half") != std::string::npos, matrix == &grid) << round;
    }
  }
}

/// `count` different values, all of them, in a random order.
template <class T>
std::vector<T> few_values(std::int64_t nnz, int count, std::uint64_t seed) {
  const auto distinct = testing::random_vector<T>(count, seed);
  std::mt19937_64 generator(seed);
  std::vector<T> values;
  for (std::int64_t k = 0; k < nnz; ++k) {
    const std::uint64_t which = k < count ? static_cast<std::uint64_t>(k) : generator() % distinct.size();
    values.push_back(distinct[which]);
  }
  return values;
}

TEST(DictionaryShift, CopiesKeepLanesApartWithinTheSharedMemoryOfABlock) {
  EXPECT_EQ(dictionary_shift(1, 8), 4);
  EXPECT_EQ(dictionary_shift(64, 8), 4);
  EXPECT_EQ(dictionary_shift(65, 8), 3);
  EXPECT_EQ(dictionary_shift(255, 8), 2);
  EXPECT_EQ(dictionary_shift(32, 4), 5);
  // With the largest table of lists.
  EXPECT_LE(most_pattern_places * 4 + most_replicated_values * 8, 48 * 1024);
}

template <class T>
class DictionaryCodes : public testing::CudaTest {
 protected:
  [[nodiscard]] static SpmvOptions options(bool fp32_values = false) {
    return CudaCase{SpmvAlgorithm::patterns, Determinism::run_to_run, fp32_values}.options(testing::CudaTest::gpu());
  }
  [[nodiscard]] static bool has_dictionary(const CudaProduct<T>& product) {
    return reason_now(product).find("values by a dictionary of") != std::string::npos;
  }
  [[nodiscard]] static Csr<T> matrix_of(const RepeatingRows& spec, int count) {
    const auto any = with_repeating_rows<T>(spec, Repeating::columns);
    return with_values(any, few_values<T>(any.nnz(), count, 3));
  }
  static void check(const Csr<T>& matrix, bool taken = true) {
    for (const bool fp32_values : {false, true}) {
      if (fp32_values && sizeof(T) == 4) continue;
      const CudaProduct<T> product(matrix, options(fp32_values));
      ASSERT_EQ(has_dictionary(product), taken) << reason_now(product);
      testing::check_all_products(product);
      testing::check_buffered_products(product);
      ASSERT_FALSE(::testing::Test::HasFatalFailure());
    }
  }
};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(DictionaryCodes, Types);

TYPED_TEST(DictionaryCodes, EveryWidthOfPaddedAndJaggedSlices) {
  for (const index_t width : {2, 3, 4, 5, 6, 7, 8, 9, 10, 18, 27, 40, 81}) {
    SCOPED_TRACE("width " + std::to_string(width));
    this->check(this->matrix_of(testing::rows_of_width(5000 / width + 700, width), width % 2 == 0 ? 200 : 9));
    this->check(this->matrix_of(testing::rows_up_to_width(13000 / (width + 1) + 1, width), 100));
    this->check(this->matrix_of(testing::rows_seldom_of_width(70000 / (width + 15) + 1, width), 100));
    ASSERT_FALSE(this->HasFatalFailure());
  }
}

TYPED_TEST(DictionaryCodes, RowsOnNoList) {
  for (RepeatingRows spec :
       {testing::rows_of_width(2000, 5), testing::rows_up_to_width(2000, 6), testing::rows_seldom_of_width(3500, 12)}) {
    spec.others = {0, 31, 32, 1000, 1999};
    spec.length_of_others = 300;
    this->check(this->matrix_of(spec, 50));
  }
}

TYPED_TEST(DictionaryCodes, AsManyValuesAsAByteNames) {
  for (const int count : {2, 254, 255}) {
    const auto matrix = this->matrix_of(testing::rows_of_width(3000, 12), count);
    this->check(matrix);
    const CudaProduct<TypeParam> product(matrix, this->options());
    EXPECT_NE(
        reason_now(product).find("values by a dictionary of " + std::to_string(count) + ": 1.09 bytes per nonzero"),
        std::string::npos)
        << reason_now(product);
  }
  this->check(this->matrix_of(testing::rows_of_width(3000, 12), 256), false);
  this->check(this->matrix_of(testing::rows_of_width(800, 5), 200), false);  // 4000 nonzeros
}

/// A byte per row and per place of a slice, over the nonzeros.
TYPED_TEST(DictionaryCodes, ArePaddedUpToThreePlacesPerNonzero) {
  const auto says = [&](const RepeatingRows& spec, const std::string& bytes) {
    const CudaProduct<TypeParam> product(this->matrix_of(spec, 50), this->options());
    EXPECT_NE(reason_now(product).find("values by a dictionary of 50: " + bytes + " bytes per nonzero"),
              std::string::npos)
        << reason_now(product);
  };
  RepeatingRows spec = testing::rows_of_width(12800, 4);
  spec.lists.push_back({0});
  spec.list_of = [](index_t row) -> std::size_t { return row % 8 == 0 ? 0 : 1; };  // 11 nonzeros in 8 rows
  says(spec, "3.64");                                                              // 8 (1 + 4) / 11
  spec.list_of = [](index_t row) -> std::size_t { return row % 16 == 0 ? 0 : 1; };
  says(spec, "1.84");  // 16 / 19 + 1, and 32 more
}

/// What `auto` says before a plan is made.
TYPED_TEST(DictionaryCodes, ASamplePromisesTheBytesOfAValue) {
  const auto promised = [&](const Csr<TypeParam>& matrix) {
    return cuda::promised_value_bytes(matrix.to(this->gpu()).view(), this->gpu());
  };
  const RepeatingRows spec = testing::rows_of_width(3000, 12);
  const auto any = with_repeating_rows<TypeParam>(spec, Repeating::columns);
  EXPECT_EQ(promised(any), sizeof(TypeParam));
  EXPECT_EQ(promised(this->matrix_of(spec, 255)), 1);
  EXPECT_EQ(promised(this->matrix_of(testing::rows_of_width(800, 5), 200)), sizeof(TypeParam)) << "few nonzeros";
  std::vector<TypeParam> values(any.values().begin(), any.values().end());
  for (TypeParam& value : values) value = static_cast<TypeParam>(static_cast<float>(value));
  EXPECT_EQ(promised(with_values(any, values)), sizeof(float));
}

/// A wide band fills tiles and repeats its rows: tiles are for values in full that are multiplied in double.
TYPED_TEST(DictionaryCodes, AreChosenBeforeTiles) {
  const RepeatingRows band{34000, 34064, {testing::list_of_width(64, 0, 1)}, {}, {}};
  const auto chosen = [&](const Csr<TypeParam>& matrix) {
    SpmvOptions options;
    options.device = this->gpu();
    return select_spmv_kernel(matrix.to(this->gpu()).view(), options).algorithm;
  };
  const auto any = with_repeating_rows<TypeParam>(band, Repeating::columns);
  EXPECT_EQ(chosen(any), sizeof(TypeParam) == 8 ? SpmvAlgorithm::tiles : SpmvAlgorithm::patterns);
  EXPECT_EQ(chosen(with_values(any, few_values<TypeParam>(any.nnz(), 200, 3))), SpmvAlgorithm::patterns);
}

TYPED_TEST(DictionaryCodes, UpdatesOfValues) {
  const auto grid = testing::symmetric_rows<TypeParam>(testing::five_points(50), {60, 1000});
  const auto lists = with_repeating_rows<TypeParam>(testing::rows_up_to_width(2000, 7), Repeating::columns);
  for (const Csr<TypeParam>* matrix : {&grid, &lists}) {
    for (const bool fp32_values : {false, true}) {
      // Symmetric at first, so that the half is there when the dictionary is not.
      auto first = testing::symmetric_values(matrix->view(), 1);
      for (TypeParam& value : first) value = std::floor(value * 20);
      CudaProduct<TypeParam> product(with_values(*matrix, first), this->options(fp32_values));
      ASSERT_TRUE(this->has_dictionary(product));
      const auto x = testing::random_vector<TypeParam>(matrix->cols(), 3);
      // The same values elsewhere, others, more, too many, few again.
      for (std::uint64_t round = 0; round < 5; ++round) {
        auto values = few_values<TypeParam>(matrix->nnz(), round == 2 ? 255 : 40, round < 1 ? 1 : round);
        if (round == 0) std::reverse(values.begin(), values.end());
        if (round == 3) values = testing::symmetric_values(matrix->view(), 7);
        product.update_values(values, fp32_values);
        ASSERT_TRUE(near(testing::product_oracle(product.matrix(), constant(x)), constant(product.apply(x)))) << round;
        ASSERT_EQ(this->has_dictionary(product), round < 3) << round;
        // Symmetric values go to the half, if this is a grid.
        ASSERT_EQ(reason_now(product).find("symmetric half") != std::string::npos, round == 3 && matrix == &grid);
      }
    }
  }
}

TYPED_TEST(DictionaryCodes, SumsAreThoseOfValuesInFull) {
  for (const RepeatingRows& spec :
       {testing::rows_of_width(1500, 27), testing::rows_up_to_width(3000, 6), testing::rows_seldom_of_width(4500, 8)}) {
    const auto any = with_repeating_rows<TypeParam>(spec, Repeating::columns);
    const auto few = few_values<TypeParam>(any.nnz(), 77, 5);
    CudaProduct<TypeParam> full(any, this->options());
    full.update_values(few, false);
    const CudaProduct<TypeParam> coded(with_values(any, few), this->options());
    ASSERT_FALSE(this->has_dictionary(full));
    ASSERT_TRUE(this->has_dictionary(coded));
    const auto x = testing::random_vector<TypeParam>(any.cols(), 3);
    ASSERT_TRUE(testing::same_bytes(constant(coded.apply(x)), constant(full.apply(x))));
  }
}

TYPED_TEST(DictionaryCodes, NanAndInfinityReachExactlyTheRowsThatHoldTheColumn) {
  for (const RepeatingRows& spec :
       {testing::five_points(40), testing::rows_up_to_width(2500, 6), testing::rows_seldom_of_width(4500, 8)}) {
    const CudaProduct<TypeParam> product(this->matrix_of(spec, 30), this->options());
    ASSERT_TRUE(this->has_dictionary(product));
    const CsrView<TypeParam> a = product.matrix();
    for (const index_t column : {0, 1, 77, 640, spec.cols - 1}) {
      auto x = testing::random_vector<TypeParam>(spec.cols, 5);
      x[static_cast<std::size_t>(column)] = std::numeric_limits<TypeParam>::quiet_NaN();
      const std::vector<TypeParam> y = product.apply(x);
      for (std::size_t i = 0; i < y.size(); ++i) {
        const auto begin = a.columns.begin() + a.row_offsets[i];
        const auto end = a.columns.begin() + a.row_offsets[i + 1];
        ASSERT_EQ(!std::isfinite(y[i]), std::binary_search(begin, end, column)) << "row " << i << ", " << column;
      }
    }
  }
}

}  // namespace
}  // namespace tessera
