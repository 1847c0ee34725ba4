// Products with several columns by every kernel of a GPU; by panels in every form; bitmap tiles by panels of eight.
#include "core/cuda/context.hpp"
#include "core/cuda/memory.hpp"
#include "spmv/multi_vector/panel_product.hpp"
#include "spmv/plan_internals.hpp"
#include "tests/spmv/cuda_check.hpp"
#include "tests/spmv/multi_vector_check.hpp"
#include "tests/spmv/tiled_matrices.hpp"

namespace tessera {

using namespace detail;
namespace {

using testing::CudaCase;
using testing::CudaProduct;
using testing::DenseBlock;
constexpr auto by_columns = MultiVectorLayout::column_major;
constexpr auto by_rows = MultiVectorLayout::row_major;
constexpr ValueStorage storages[] = {ValueStorage::weighted, ValueStorage::pattern};

template <class T>
class CudaManyColumns : public testing::CudaTest {
 protected:
  static void check(const Csr<T>& matrix, const CudaCase& kernel) {
    SCOPED_TRACE(kernel.name());
    const CudaProduct<T> product(matrix, kernel.options(gpu()));
    testing::check_products_of_columns(product.plan(), product.matrix());
  }
  /// Values in the type of the matrix, and rounded.
  static void check_tiles(const Csr<T>& matrix) {
    check(matrix, {SpmvAlgorithm::tiles});
    if (sizeof(T) == 8 && !matrix.is_pattern()) check(matrix, {SpmvAlgorithm::tiles, Determinism::run_to_run, true});
  }
};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(CudaManyColumns, Types);
using ManyColumnsOnGpu = testing::CudaTest;

TYPED_TEST(CudaManyColumns, OfEveryKernel) {
  for (const ValueStorage storage : storages) {
    const auto matrix = testing::with_row_lengths<TypeParam>(testing::power_law_lengths(90, 150, 3), 160, storage);
    const auto empty = testing::with_row_lengths<TypeParam>(testing::lengths_of(9, 0), 4, storage);
    const auto no_columns = testing::with_row_lengths<TypeParam>(testing::lengths_of(9, 0), 0, storage);
    const auto no_rows = testing::with_row_lengths<TypeParam>({}, 5, storage);
    const auto hub = testing::with_row_lengths<TypeParam>({3, 0, 2500, 1}, 2600, storage);
    for (const CudaCase& kernel : testing::cuda_cases<TypeParam>(this->gpu(), storage)) {
      for (const auto* each : {&matrix, &empty, &no_columns, &no_rows, &hub}) {
        this->check(*each, kernel);
        ASSERT_FALSE(this->HasFatalFailure());
      }
    }
  }
}

/// A panel product as a plan would call it.
template <class T>
class FormOfPanels {
 public:
  FormOfPanels(const Csr<T>& matrix, const Device& gpu, const cuda::PanelTuning& tuning)
      : matrix_(matrix.to(gpu)), product_(cuda::make_panel_product(gpu, matrix_.view(), tuning)) {}

  [[nodiscard]] std::int64_t rows() const { return matrix_.rows(); }
  [[nodiscard]] std::int64_t cols() const { return matrix_.cols(); }
  [[nodiscard]] Device device() const { return matrix_.device(); }
  void apply_many(T alpha, const MultiVectorView<const T>& x, T beta, const MultiVectorView<T>& y) const {
    if (y.empty()) return;
    if (alpha == T{0}) return cuda::scale_columns(device(), beta, y);
    product_->multiply(matrix_.view(), alpha, x, beta, y);
  }

 private:
  Csr<T> matrix_;
  std::unique_ptr<cuda::PanelProduct<T>> product_;
};

constexpr cuda::PanelTuning forms[] = {
    {cuda::PanelForm::rows, true, 1, 0}, {cuda::PanelForm::rows, true, 8, 0}, {cuda::PanelForm::rows, false, 0, 0},
    {cuda::PanelForm::path, true, 0, 5}, {cuda::PanelForm::path, true, 0, 0}, {{}, {}, 0, 0},
};

/// Short rows, empty ones first and last, and a row of several parts.
TYPED_TEST(CudaManyColumns, OfEveryFormOfPanels) {
  for (const ValueStorage storage : storages) {
    std::vector<index_t> lengths = testing::power_law_lengths(70, 90, 3);
    lengths.insert(lengths.begin(), {0, 0, 2500, 0});
    lengths.push_back(0);
    const auto matrix = testing::with_row_lengths<TypeParam>(lengths, 2600, storage);
    for (const auto& form : forms) {
      SCOPED_TRACE(&form - forms);
      testing::check_products_of_columns(FormOfPanels<TypeParam>(matrix, this->gpu(), form), matrix.view());
      ASSERT_FALSE(this->HasFatalFailure());
    }
  }
}

/// More carries than a block joins.
TYPED_TEST(CudaManyColumns, OfManyWarpsOfShares) {
  const auto matrix = testing::with_row_lengths<TypeParam>({20000, 1, 0, 20000, 3}, 21000, ValueStorage::weighted);
  const FormOfPanels<TypeParam> product(matrix, this->gpu(), {cuda::PanelForm::path, true, 0, 8});
  testing::check_product_of_columns(product, matrix.view(), TypeParam{2}, TypeParam{3}, {8, by_rows, by_columns, 0});
}

/// A row of 100 000 ones times (2^24, 1, 1, ...) in float: whoever holds 2^24 loses every 1 that it adds itself. With
/// all of the row on one warp that would be at least one of 32 lanes, 3125 ones; parts and shares lose less.
TEST_F(ManyColumnsOnGpu, LongRowsAreSplit) {
  constexpr index_t n = 100000;
  const auto matrix = testing::with_row_lengths<float>({n, 1}, n, ValueStorage::pattern);
  for (const auto& form : forms) {
    SCOPED_TRACE(&form - forms);
    const FormOfPanels<float> product(matrix, gpu(), form);
    const DenseBlock<float> x(n, 8, by_columns, 0,
                              [](std::int64_t i, std::int64_t) { return i == 0 ? 0x1p24F : 1.0F; });
    const auto y = DenseBlock<float>::filled(2, 8, by_rows, 0, 0.0F);
    const DenseBlock<float> result = testing::multiply_many(product, 1.0F, x, 0.0F, y);
    for (std::int64_t j = 0; j < 8; ++j) EXPECT_NEAR(result.at(0, j), 0x1p24F + (n - 1), 1500.0F);
  }
}

/// What a solver may record.
TYPED_TEST(CudaManyColumns, NeitherWaitNorAllocateOncePrepared) {
  const auto matrix =
      testing::with_row_lengths<TypeParam>(testing::power_law_lengths(90, 150, 3), 160, ValueStorage::weighted);
  for (const auto algorithm : {SpmvAlgorithm::automatic, SpmvAlgorithm::csr_vector, SpmvAlgorithm::merbit}) {
    CudaProduct<TypeParam> product(matrix, CudaCase{algorithm}.options(this->gpu()));
    const std::uint64_t bytes = product.plan().info().bytes;
    PlanInternals::prepare_columns(product.plan());
    EXPECT_GE(product.plan().info().bytes, bytes + 160 * 8 * sizeof(TypeParam));
    const Array<TypeParam> x(160 * 9, Init::zero, this->gpu());
    Array<TypeParam> y(90 * 9, Init::zero, this->gpu());
    const auto before = cuda::counts_of(this->gpu());
    for (const auto layout : {by_columns, by_rows}) {
      for (const std::int64_t columns : {2, 8, 9}) {
        product.plan().apply_many(TypeParam{2}, {x.span(), 160, columns, layout}, TypeParam{3},
                                  {y.span(), 90, columns, layout});
      }
    }
    const auto after = cuda::counts_of(this->gpu());
    EXPECT_EQ(after.allocations, before.allocations) << to_string(algorithm);
    EXPECT_EQ(after.waits, before.waits) << to_string(algorithm);
  }
}

TYPED_TEST(CudaManyColumns, OfTilesOfEveryFillAndNumber) {
  for (const ValueStorage storage : storages) {
    for (const double fill : {0.0, 0.3, 1.0}) {
      SCOPED_TRACE("fill " + std::to_string(fill));
      this->check_tiles(testing::with_tiles<TypeParam>({1, 0, 3, 2, 9, 4, 5, 8, 31, 32}, 33, storage, {fill, 3, 5}));
      ASSERT_FALSE(this->HasFatalFailure());
    }
  }
}

/// Among few tile rows those of more than 32 tiles are cut into parts of 16: up to 8, and more, strands of parts.
TYPED_TEST(CudaManyColumns, OfLongTileRows) {
  for (const ValueStorage storage : storages) {
    this->check_tiles(testing::with_tiles<TypeParam>({33, 48, 0, 49, 1, 200, 64}, 201, storage, {0.3, 6, 1}));
    ASSERT_FALSE(this->HasFatalFailure());
  }
}

TYPED_TEST(CudaManyColumns, NanAndInfinityStayInTheirRowsAndColumns) {
  const auto matrix = testing::with_one_entry_in_column<TypeParam>(3, 13);
  for (const CudaCase& kernel : testing::cuda_cases<TypeParam>(this->gpu())) {
    const CudaProduct<TypeParam> product(matrix, kernel.options(this->gpu()));
    for (const auto layout : {by_columns, by_rows}) {
      testing::check_special_values(product.plan(), product.matrix(), 13, layout);
      ASSERT_FALSE(this->HasFatalFailure()) << kernel.name();
    }
  }
}

/// NaN in the part of the last tile column that the matrix lacks is not read: X ends there.
TYPED_TEST(CudaManyColumns, NanAfterTheLastRowOfXIsNotRead) {
  const auto matrix = testing::with_tiles<TypeParam>({3, 3, 2}, 3, ValueStorage::weighted, {0.6, 0, 5});
  const CudaProduct<TypeParam> product(matrix, CudaCase{SpmvAlgorithm::tiles}.options(this->gpu()));
  auto x = DenseBlock<TypeParam>::random(matrix.cols(), 8, by_columns, 6, 3);
  for (TypeParam& element : x.elements) {
    if (element == DenseBlock<TypeParam>::gap) element = std::numeric_limits<TypeParam>::quiet_NaN();
  }
  const auto y = DenseBlock<TypeParam>::filled(matrix.rows(), 8, by_rows, 0, TypeParam{0});
  const auto result = testing::multiply_many(product.plan(), TypeParam{1}, x, TypeParam{0}, y);
  for (const TypeParam element : result.elements) ASSERT_TRUE(std::isfinite(element));
}

TYPED_TEST(CudaManyColumns, FollowUpdatedValues) {
  const auto matrix = testing::with_tiles<TypeParam>({3, 40, 0, 7}, 41, ValueStorage::weighted);
  CudaProduct<TypeParam> product(matrix, CudaCase{SpmvAlgorithm::tiles}.options(this->gpu()));
  product.update_values(testing::random_vector<TypeParam>(matrix.nnz(), 9), false);
  testing::check_products_of_columns(product.plan(), product.matrix());
}

TYPED_TEST(CudaManyColumns, RepeatBitwise) {
  const auto matrix = testing::with_tiles<TypeParam>({9, 300, 0, 31, 7, 33}, 310, ValueStorage::weighted, {0.2});
  const auto x = DenseBlock<TypeParam>::random(matrix.cols(), 17, by_rows, 2, 3);
  const auto y = DenseBlock<TypeParam>::random(matrix.rows(), 17, by_columns, 0, 4);
  for (const CudaCase& kernel :
       {CudaCase{SpmvAlgorithm::tiles}, CudaCase{SpmvAlgorithm::csr_vector}, CudaCase{SpmvAlgorithm::merbit}}) {
    const CudaProduct<TypeParam> first(matrix, kernel.options(this->gpu()));
    const CudaProduct<TypeParam> second(matrix, kernel.options(this->gpu()));
    const auto expected = testing::multiply_many(first.plan(), TypeParam{2}, x, TypeParam{3}, y).elements;
    for (int run = 0; run < testing::repetitions(20, 2); ++run) {
      const auto& plan = (run % 2 == 0 ? second : first).plan();
      ASSERT_EQ(testing::multiply_many(plan, TypeParam{2}, x, TypeParam{3}, y).elements, expected) << kernel.name();
    }
  }
}

}  // namespace
}  // namespace tessera
