// Symmetric half of row patterns on a GPU: taken where every entry has its mirror image, and only there.
#include "core/cuda/context.hpp"
#include "tests/spmv/cuda_check.hpp"
#include "tests/spmv/repeating_matrices.hpp"
#include "tests/support/compare.hpp"

#include <limits>

namespace tessera {

using namespace detail;
namespace {

using testing::constant;
using testing::CudaCase;
using testing::CudaProduct;
using testing::near;
using testing::RepeatingRows;
using testing::symmetric_rows;

template <class T>
class SymmetricHalfOnGpu : public testing::CudaTest {
 protected:
  [[nodiscard]] static SpmvOptions options(bool fp32_values = false) {
    return CudaCase{SpmvAlgorithm::patterns, Determinism::run_to_run, fp32_values}.options(testing::CudaTest::gpu());
  }
  [[nodiscard]] static bool is_half(const CudaProduct<T>& product) { return testing::says_half(product); }
  static void check(const Csr<T>& matrix, bool half = true) {
    for (const bool fp32_values : {false, true}) {
      if (fp32_values && sizeof(T) == 4) continue;
      const CudaProduct<T> product(matrix, options(fp32_values));
      ASSERT_EQ(is_half(product), half) << product.plan().info().reason;
      testing::check_all_products(product);
      testing::check_buffered_products(product);
      ASSERT_FALSE(::testing::Test::HasFatalFailure());
    }
  }
  /// The matrix with another value of one entry.
  [[nodiscard]] static Csr<T> altered(const Csr<T>& matrix, offset_t entry, T value) {
    std::vector<T> values(matrix.values().begin(), matrix.values().end());
    values[static_cast<std::size_t>(entry)] = value;
    return Csr<T>(matrix.rows(), matrix.cols(), matrix.row_offsets().to(Device{}), matrix.columns().to(Device{}),
                  Array<T>::copy_of(values));
  }
};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(SymmetricHalfOnGpu, Types);

TYPED_TEST(SymmetricHalfOnGpu, Grids) {
  for (const index_t side : {20, 31, 32, 33, 70}) {
    this->check(symmetric_rows<TypeParam>(testing::five_points(side)));
    this->check(symmetric_rows<TypeParam>(testing::grid_with_holes(side)));
    ASSERT_FALSE(this->HasFatalFailure()) << side;
  }
  this->check(symmetric_rows<TypeParam>(testing::box_of_27(11)));
}

TYPED_TEST(SymmetricHalfOnGpu, EveryWidth) {
  for (const index_t reach : {1, 2, 3, 4, 5, 8, 9, 13, 18, 31}) {
    std::vector<index_t> list;
    for (index_t k = -reach; k <= reach; ++k) list.push_back(3 * k);
    const index_t rows = testing::repetitions(20000, 300 * reach);
    this->check(symmetric_rows<TypeParam>(RepeatingRows{rows, rows, {list}, {}, {}}));
    ASSERT_FALSE(this->HasFatalFailure()) << reach;
  }
}

TYPED_TEST(SymmetricHalfOnGpu, RectangularMatrices) {
  const std::vector<index_t> list{-70, -2, -1, 0, 1, 2, 70};
  this->check(symmetric_rows<TypeParam>(RepeatingRows{2000, 2500, {list}, {}, {}}));
  // Below the square part entries have no mirror images.
  this->check(symmetric_rows<TypeParam>(RepeatingRows{8100, 8030, {list}, {}, {}}), false);
}

/// Rows on no list are read from CSR; the entries that neighbours mirror stand in the half.
TYPED_TEST(SymmetricHalfOnGpu, RowsOnNoList) {
  this->check(symmetric_rows<TypeParam>(testing::five_points(60), {0, 31, 32, 60, 1000, 1001, 3599}));
  this->check(symmetric_rows<TypeParam>(testing::box_of_27(12), {0, 144, 1000}));
}

TYPED_TEST(SymmetricHalfOnGpu, OneEntryThatDiffersIsFoundWhereverItStands) {
  const auto matrix = symmetric_rows<TypeParam>(testing::five_points(100));
  const offset_t last = matrix.nnz() - 1;
  const offset_t inside = matrix.row_offsets()[5050];  // five entries
  for (const offset_t entry :
       {offset_t{1}, offset_t{3}, inside, inside + 1, inside + 3, inside + 4, last - 2, last - 1}) {
    this->check(this->altered(matrix, entry, TypeParam{77}), false);
    ASSERT_FALSE(this->HasFatalFailure()) << entry;
  }
  this->check(this->altered(matrix, inside + 2, TypeParam{77}), true);  // on the diagonal
  this->check(this->altered(matrix, last, TypeParam{77}), true);
  this->check(this->altered(matrix, 0, -matrix.values()[0]), true);
}

TYPED_TEST(SymmetricHalfOnGpu, ValuesAreComparedBitByBit) {
  auto zero = symmetric_rows<TypeParam>(testing::five_points(40));
  zero = this->altered(zero, 1, TypeParam{0});  // a(0, 1)
  this->check(this->altered(zero, 3, TypeParam{0}), true);
  this->check(this->altered(zero, 3, -TypeParam{0}), false);
}

TYPED_TEST(SymmetricHalfOnGpu, EntriesWithoutMirrorImagesAreFound) {
  // -7 without 7: the values of 7 would have to be somewhere.
  this->check(symmetric_rows<TypeParam>(RepeatingRows{9000, 9000, {{-7, -3, -1, 0, 1, 3}}, {}, {}}), false);
  RepeatingRows rare = testing::five_points(90);
  rare.lists.push_back({-90, -1, 0, 1});
  const auto usual = rare.list_of;
  rare.list_of = [usual](index_t row) -> std::size_t { return row == 4000 ? 3 : usual(row); };
  this->check(symmetric_rows<TypeParam>(rare), false);
}

TYPED_TEST(SymmetricHalfOnGpu, NotTakenWhereItSavesLittle) {
  this->check(symmetric_rows<TypeParam>(RepeatingRows{1000, 1000, {{0}}, {}, {}}), false);
  this->check(symmetric_rows<TypeParam>(RepeatingRows{1000, 1100, {{0, 1, 2, 70}}, {}, {}}), false);
  std::vector<index_t> many;
  for (index_t k = -32; k <= 32; ++k) many.push_back(2 * k);
  this->check(symmetric_rows<TypeParam>(RepeatingRows{20000, 20000, {many}, {}, {}}), false);
}

TYPED_TEST(SymmetricHalfOnGpu, NanAndInfinityReachExactlyTheRowsThatHoldTheColumn) {
  for (const RepeatingRows& spec : {testing::five_points(40), testing::grid_with_holes(40), testing::box_of_27(8)}) {
    const CudaProduct<TypeParam> product(symmetric_rows<TypeParam>(spec), this->options());
    ASSERT_TRUE(this->is_half(product));
    const CsrView<TypeParam> a = product.matrix();
    for (const index_t column : {0, 1, 77, 300, spec.cols - 1}) {
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

TYPED_TEST(SymmetricHalfOnGpu, UpdatesOfValues) {
  for (const auto& matrix :
       {symmetric_rows<TypeParam>(testing::five_points(60), {7, 60, 3000}),
        symmetric_rows<TypeParam>(testing::box_of_27(10)), symmetric_rows<TypeParam>(testing::grid_with_holes(50))}) {
    const auto x = testing::random_vector<TypeParam>(matrix.cols(), 3);
    for (const bool fp32_values : {false, true}) {
      CudaProduct<TypeParam> product(matrix, this->options(fp32_values));
      // Symmetric three times, then not; the half does not come back.
      for (std::uint64_t round = 0; round < 6; ++round) {
        const auto values = round == 3 ? testing::random_vector<TypeParam>(matrix.nnz(), 50)
                                       : testing::symmetric_values(matrix.view(), round);
        product.update_values(values, fp32_values);
        ASSERT_TRUE(near(testing::product_oracle(product.matrix(), constant(x)), constant(product.apply(x)))) << round;
        ASSERT_EQ(this->is_half(product), round < 3) << round;
      }
    }
  }
}

TYPED_TEST(SymmetricHalfOnGpu, SaysSoWithItsBytes) {
  const CudaProduct<TypeParam> product(symmetric_rows<TypeParam>(testing::five_points(64)), this->options());
  const std::string& reason = product.plan().info().reason;
  // 3 diagonals of 4096 values and 4096 bytes, for 20 224 nonzeros.
  const std::string bytes = sizeof(TypeParam) == 8 ? "5.06" : "2.63";
  EXPECT_NE(reason.find("9 row patterns name all rows, values as a symmetric half of 3 diagonals: " + bytes +
                        " bytes per nonzero"),
            std::string::npos)
      << reason;
}

TYPED_TEST(SymmetricHalfOnGpu, RepeatsBitwiseAndEqualsValuesInFull) {
  const auto matrix = symmetric_rows<TypeParam>(testing::box_of_27(14));
  const CudaProduct<TypeParam> half(matrix, this->options());
  // The same values in full: one of them was another for a while.
  CudaProduct<TypeParam> full(this->altered(matrix, 1, TypeParam{5}), this->options());
  ASSERT_TRUE(this->is_half(half));
  ASSERT_FALSE(this->is_half(full));
  full.update_values(matrix.values().span(), false);
  const auto x = testing::random_vector<TypeParam>(matrix.cols(), 3);
  const auto expected = full.apply(x);
  for (int run = 0; run < testing::repetitions(20, 2); ++run) {
    ASSERT_TRUE(testing::same_bytes(constant(half.apply(x)), constant(expected)));
  }
}

TYPED_TEST(SymmetricHalfOnGpu, ProductsNeitherAllocateNorWait) {
  const CudaProduct<TypeParam> product(symmetric_rows<TypeParam>(testing::five_points(60)), this->options());
  const Array<TypeParam> x(product.plan().cols(), Init::zero, this->gpu());
  Array<TypeParam> y(product.plan().rows(), Init::none, this->gpu());
  const auto before = cuda::Context::of(this->gpu()).counts();
  product.plan().apply(x.span(), y.span());
  const auto after = cuda::Context::of(this->gpu()).counts();
  EXPECT_EQ(after.allocations, before.allocations);
  EXPECT_EQ(after.waits, before.waits);
}

}  // namespace
}  // namespace tessera
