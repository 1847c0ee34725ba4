// Uniform rows: warps that are all on the most frequent list, beside warps that are not; values of a symmetric half.
#include "spmv/patterns/uniform_rows.hpp"

#include "spmv/patterns/patterns.hpp"
#include "tessera/generators.hpp"
#include "tests/spmv/cuda_check.hpp"
#include "tests/spmv/repeating_matrices.hpp"
#include "tests/support/compare.hpp"

namespace tessera {

using namespace detail;
namespace {

using testing::constant;
using testing::CudaCase;
using testing::CudaProduct;
using testing::helix;
using testing::mostly_uniform;
using testing::Repeating;
using testing::RepeatingRows;
using testing::says_half;
using testing::with_repeating_rows;

template <class T>
class CudaUniformRows : public testing::CudaTest {
 protected:
  [[nodiscard]] static SpmvOptions options() {
    return CudaCase{SpmvAlgorithm::patterns, Determinism::run_to_run}.options(testing::CudaTest::gpu());
  }
  static void check(const RepeatingRows& spec) {
    for (const Repeating repeating : {Repeating::nothing, Repeating::columns_and_values}) {
      SCOPED_TRACE(static_cast<int>(repeating));
      testing::check_all_products(CudaProduct<T>(with_repeating_rows<T>(spec, repeating), options()));
      ASSERT_FALSE(::testing::Test::HasFatalFailure());
    }
  }
  /// NaN and infinity in x reach exactly the rows that hold their column.
  static void check_not_finite(const CudaProduct<T>& product, const std::vector<index_t>& columns) {
    const CsrView<T> a = product.matrix();
    for (const index_t column : columns) {
      auto x = testing::random_vector<T>(a.cols, 5);
      x[static_cast<std::size_t>(column)] =
          column % 2 == 0 ? std::numeric_limits<T>::quiet_NaN() : std::numeric_limits<T>::infinity();
      const std::vector<T> y = product.apply(x);
      for (std::size_t i = 0; i < y.size(); ++i) {
        const auto begin = a.columns.begin() + a.row_offsets[i];
        const auto end = a.columns.begin() + a.row_offsets[i + 1];
        ASSERT_EQ(!std::isfinite(y[i]), std::binary_search(begin, end, column)) << "row " << i << ", " << column;
      }
    }
  }
};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(CudaUniformRows, Types);

TYPED_TEST(CudaUniformRows, BesideOtherRowsOfEveryWidth) {
  for (const index_t width : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 18, 19, 27, 28, 35, 36, 37, 45}) {
    SCOPED_TRACE("width " + std::to_string(width));
    this->check(mostly_uniform(testing::repetitions(5000, 2300), width));
    ASSERT_FALSE(this->HasFatalFailure());
  }
}

TYPED_TEST(CudaUniformRows, BesideExceptionsAndRaggedEnds) {
  for (const index_t rows : {127, 128, 129, 640, 1025, 2049}) {
    for (const index_t width : {5, 7, 27}) {
      SCOPED_TRACE("rows " + std::to_string(rows) + ", width " + std::to_string(width));
      RepeatingRows spec = testing::rows_of_width(rows, width);
      this->check(spec);
      if (rows >= 640) {
        spec.others = {0, 31, 130, rows - 1};
        this->check(spec);
      }
      ASSERT_FALSE(this->HasFatalFailure());
    }
  }
}

/// The same rows where most slices are not uniform, so that no warp is told apart.
TYPED_TEST(CudaUniformRows, HaveTheBitsOfOtherRows) {
  for (const index_t width : {1, 3, 5, 6, 9, 27, 36}) {
    SCOPED_TRACE("width " + std::to_string(width));
    const index_t rows = 1024;
    const RepeatingRows uniform{rows, 8 * rows, {testing::list_of_width(width)}, {}, {}};
    RepeatingRows more = uniform;
    more.rows = 4 * rows;
    more.lists.push_back(testing::list_of_width(width, 1, 2));
    more.list_of = [](index_t row) -> std::size_t { return row >= rows && row % 64 == 7 ? 1 : 0; };
    for (const Repeating repeating : {Repeating::nothing, Repeating::columns_and_values}) {
      const CudaProduct<TypeParam> alone(with_repeating_rows<TypeParam>(uniform, repeating), this->options());
      const CudaProduct<TypeParam> among(with_repeating_rows<TypeParam>(more, repeating), this->options());
      const auto x = testing::random_vector<TypeParam>(uniform.cols, 3);
      std::vector<TypeParam> expected = among.apply(x);
      expected.resize(static_cast<std::size_t>(rows));
      ASSERT_TRUE(testing::same_bytes(constant(alone.apply(x)), constant(expected)));
    }
  }
}

/// Grids of constant coefficients: their boundaries are on sub-lists. 27 points too, in chunks.
TYPED_TEST(CudaUniformRows, WithBoundariesOnSubLists) {
  for (const auto& matrix :
       {generate<TypeParam>(parse_generator("poisson2d:45")), generate<TypeParam>(parse_generator("poisson3d:13")),
        generate<TypeParam>(parse_generator("poisson3d:13,points=27"))}) {
    const CudaProduct<TypeParam> product(matrix, this->options());
    testing::check_all_products(product);
    ASSERT_FALSE(this->HasFatalFailure());
    this->check_not_finite(product, {0, 44, 45, 46, 1000});
    ASSERT_FALSE(this->HasFatalFailure());
  }
}

/// Warps of a block multiply slices a pitch apart, in as many blocks as cover all slices.
TYPED_TEST(CudaUniformRows, WithSlicesAPitchApart) {
  const RepeatingRows spec = helix(33000, 1030);
  const CudaProduct<TypeParam> product(with_repeating_rows<TypeParam>(spec, Repeating::columns_and_values),
                                       this->options());
  testing::check_all_products(product);
}

/// The most frequent list of a matrix. \param is_half whether values lie in a half; any places do
template <class T>
[[nodiscard]] cuda::UniformRows<T> uniform_rows(const Csr<T>& matrix, const Device& gpu, bool is_half) {
  const auto on_gpu = matrix.to(gpu);
  auto found = cuda::find_row_patterns(on_gpu.view(), gpu);
  const cuda::SliceShape shape = cuda::choose_pattern_slices(matrix.rows(), matrix.nnz(), found.width);
  found.codes = cuda::arrange_codes(gpu, found.codes, shape, found.lists);
  const Array<index_t> none;
  return {gpu, found, shape, is_half ? found.table : none};
}

TYPED_TEST(CudaUniformRows, MarksSlicesWhoseRowsAreAllOnTheList) {
  for (const index_t width : {5, 7}) {
    const RepeatingRows spec = mostly_uniform(5000, width);
    const auto rows =
        uniform_rows(with_repeating_rows<TypeParam>(spec, Repeating::columns_and_values), this->gpu(), false);
    ASSERT_NE(rows.list(), nullptr);
    const index_t of_slice = width > 5 ? 64 : 128;
    const index_t slices = (spec.rows + of_slice - 1) / of_slice;
    std::vector<std::uint32_t> bits((static_cast<std::size_t>(slices) + 31) / 32);
    copy_bytes(Device{}, bits.data(), this->gpu(), rows.list()->uniform_slices, 4 * bits.size());
    for (index_t slice = 0; slice < slices; ++slice) {
      bool expected = (slice + 1) * of_slice <= spec.rows;
      for (index_t row = slice * of_slice; row < (slice + 1) * of_slice; ++row) expected &= spec.list_of(row) == 0;
      EXPECT_EQ(bits[static_cast<std::size_t>(slice) / 32] >> slice % 32 & 1U, expected ? 1U : 0U) << slice;
    }
  }
}

/// A half with many slices on sub-lists stays at the table, which is faster there.
TYPED_TEST(CudaUniformRows, OfAHalfNeedManyUniformSlicesAndAShortList) {
  const auto are_taken = [&](const RepeatingRows& spec, bool is_half) {
    return uniform_rows(testing::symmetric_rows<TypeParam>(spec), this->gpu(), is_half).list() != nullptr;
  };
  EXPECT_TRUE(are_taken(helix(6000, 40), true));
  const RepeatingRows long_lists{6000, 6000, {{-40, -4, -3, -2, -1, 0, 1, 2, 3, 4, 40}}, {}, {}};
  EXPECT_TRUE(are_taken(long_lists, false));
  EXPECT_FALSE(are_taken(long_lists, true));
  RepeatingRows with_boundaries = helix(6000, 40);
  with_boundaries.lists.push_back({-40, -1, 0, 40});
  with_boundaries.lists.push_back({-40, 0, 1, 40});
  with_boundaries.list_of = [](index_t row) -> std::size_t { return row % 250 == 99 ? 1 : row % 250 == 100 ? 2 : 0; };
  EXPECT_TRUE(are_taken(with_boundaries, false));
  EXPECT_FALSE(are_taken(with_boundaries, true));
}

/// A symmetric half whose values are taken at the places of the list: products, and the bits of values in full.
TYPED_TEST(CudaUniformRows, OfAHalfMultiplyAsValuesInFullDo) {
  for (const std::vector<index_t>& list :
       std::vector<std::vector<index_t>>{{-40, -1, 0, 1, 40}, {-1030, -3, 3, 1030}, {-700, -40, -1, 0, 1, 40, 700}}) {
    const index_t rows = 33000;
    RepeatingRows spec{rows, rows, {list}, {}, {}};
    spec.seed = 7;
    const auto matrix = testing::symmetric_rows<TypeParam>(spec, {3000, 3001, 20000});
    const CudaProduct<TypeParam> half(matrix, this->options());
    ASSERT_TRUE(says_half(half));
    ASSERT_NE(uniform_rows(matrix, this->gpu(), true).list(), nullptr);
    testing::check_all_products(half);
    this->check_not_finite(half, {0, 1, 1030, 3000, rows - 1});
    ASSERT_FALSE(this->HasFatalFailure());
    std::vector<TypeParam> other(matrix.values().begin(), matrix.values().end());
    other[1] = TypeParam{5};
    CudaProduct<TypeParam> full(Csr<TypeParam>(rows, rows, matrix.row_offsets().to(Device{}),
                                               matrix.columns().to(Device{}), Array<TypeParam>::copy_of(other)),
                                this->options());
    ASSERT_FALSE(says_half(full));
    full.update_values(matrix.values().span(), false);
    const auto x = testing::random_vector<TypeParam>(rows, 3);
    ASSERT_TRUE(testing::same_bytes(constant(half.apply(x)), constant(full.apply(x))));
  }
}

/// Slices in blocks a pitch apart, until new values are not symmetric: then in their order.
TYPED_TEST(CudaUniformRows, OfAHalfGiveWayToValuesInFull) {
  const index_t rows = 33000;
  const auto matrix = testing::symmetric_rows<TypeParam>(helix(rows, 1030));
  CudaProduct<TypeParam> product(matrix, this->options());
  for (const bool is_symmetric : {true, false}) {
    const auto values = is_symmetric ? testing::symmetric_values(matrix.view(), 3)
                                     : testing::random_vector<TypeParam>(matrix.nnz(), 50);
    product.update_values(values, false);
    ASSERT_EQ(says_half(product), is_symmetric);
    testing::check_all_products(product);
    ASSERT_FALSE(this->HasFatalFailure());
  }
}

/// Rows far enough from the first that a warp prefetches for another one; x ends before the rows do, or behind them.
TYPED_TEST(CudaUniformRows, BesideOthersThatTheyPrefetchFor) {
  const index_t rows = testing::repetitions(300000, 6000);
  for (const index_t cols : {rows, rows - 2000, rows + 2000}) {
    RepeatingRows spec = helix(rows, 40);
    spec.cols = cols;
    this->check(spec);
    ASSERT_FALSE(this->HasFatalFailure()) << cols;
  }
  testing::check_all_products(
      CudaProduct<TypeParam>(testing::symmetric_rows<TypeParam>(helix(rows, 40)), this->options()));
}

TEST(SliceOrder, KnowsTheSliceOfALaterBlock) {
  for (const unsigned pitch : {1U, 39U, 132U, 2500U}) {
    const cuda::SliceOrder order{pitch};
    const unsigned ahead = order.ahead(132);
    const unsigned later = pitch > 132 ? 132 : (132 + pitch - 1) / pitch * pitch;
    for (const unsigned block : {0U, 5U, 38U, 39U, 1000U}) {
      if (pitch > 132 && block % pitch + later >= pitch) continue;  // in another group of pitches
      EXPECT_EQ(order.slice(block, 3) + ahead, order.slice(block + later, 3)) << pitch << ", " << block;
    }
  }
}

TEST(SliceOrder, TakesEverySliceOnce) {
  for (const unsigned pitch : {1U, 2U, 5U, 39U}) {
    const cuda::SliceOrder order{pitch};
    for (const unsigned slices : {1U, 7U, 8U, 9U, 40U, 41U, 312U, 313U, 1000U}) {
      std::vector<int> taken(slices, 0);
      for (unsigned block = 0; block < order.blocks(slices); ++block) {
        for (unsigned warp = 0; warp < cuda::SliceOrder::warps; ++warp) {
          if (order.slice(block, warp) < slices) ++taken[order.slice(block, warp)];
        }
      }
      EXPECT_EQ(std::count(taken.begin(), taken.end(), 1), slices) << pitch;
    }
  }
}

TEST(SliceOrder, FollowsTheFurthestColumn) {
  const std::vector<index_t> columns{-5000, -1, 0, 1, 5000};
  EXPECT_EQ(cuda::slice_order(columns, 195313, 128).pitch, 39U);
  EXPECT_EQ(cuda::slice_order(columns, 1000, 128).pitch, 1U) << "too few slices";
  EXPECT_EQ(cuda::slice_order(std::span(columns).subspan(1, 3), 195313, 128).pitch, 1U) << "neighbours alone";
}

/// Sub-lists, a list that has another column, one that has another value, and the list of the longest row.
TYPED_TEST(CudaUniformRows, MasksOfLists) {
  const std::vector<index_t> table{3, -1, 0, 1, 2, 0, 1, 1, 2, -1, 2, 2, 3, -1, 0, 1, 0, 0, 0, 0, -1, 5, 5, 5};
  const std::vector<TypeParam> values{-1, 4, -1, 4, -1, 0, -1, -1, 0, -1, 3, -1, 0, 0, 0, 0, 0, 0};
  using cuda::is_sub_list;
  EXPECT_EQ(cuda::masks_of_lists<TypeParam>(table, values, 3),
            (std::vector<cuda::TermMask>{is_sub_list | 7U, is_sub_list | 6U, 0, 0, is_sub_list, 0}));
  EXPECT_EQ(cuda::masks_of_lists<TypeParam>(table, {}, 3),
            (std::vector<cuda::TermMask>{is_sub_list | 7U, is_sub_list | 6U, 0, is_sub_list | 7U, is_sub_list, 0}));
}

TYPED_TEST(CudaUniformRows, NanAndInfinityReachExactlyTheRowsThatHoldTheColumn) {
  for (const RepeatingRows& spec : {mostly_uniform(1500, 5), mostly_uniform(1500, 27), helix(1500, 40)}) {
    for (const Repeating repeating : {Repeating::nothing, Repeating::columns_and_values}) {
      const CudaProduct<TypeParam> product(with_repeating_rows<TypeParam>(spec, repeating), this->options());
      this->check_not_finite(product, {0, 1, 77, 705, spec.cols - 1});
      ASSERT_FALSE(this->HasFatalFailure());
    }
  }
}

}  // namespace
}  // namespace tessera
