// Uniform rows: warps that are all on one list and its sub-lists, beside warps that are not; values of a symmetric
// half.
#include "spmv/patterns/uniform_rows.hpp"

#include "spmv/patterns/patterns.hpp"
#include "tessera/generators.hpp"
#include "tests/spmv/cuda_check.hpp"
#include "tests/spmv/repeating_matrices.hpp"
#include "tests/support/compare.hpp"

#include <fmt/format.h>

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

/// Those of a matrix. \param is_half whether values lie in a half; any places do
template <class T>
[[nodiscard]] cuda::UniformRows<T> uniform_rows(const Csr<T>& matrix, const Device& gpu, bool is_half) {
  const auto on_gpu = matrix.to(gpu);
  auto found = cuda::find_row_patterns(on_gpu.view(), gpu);
  const cuda::SliceShape shape = cuda::choose_pattern_slices(matrix.rows(), matrix.nnz(), found.width, true);
  found.codes = cuda::arrange_codes(gpu, found.codes, shape, found.lists);
  const Array<index_t> none;
  return {gpu, found, shape, matrix.rows(), matrix.cols(), is_half ? found.table : none};
}

TYPED_TEST(CudaUniformRows, MarksSlicesWhoseRowsAreAllOnTheList) {
  for (const index_t width : {5, 7}) {
    const RepeatingRows spec = mostly_uniform(5000, width);
    const auto rows =
        uniform_rows(with_repeating_rows<TypeParam>(spec, Repeating::columns_and_values), this->gpu(), false);
    ASSERT_NE(rows.list(), nullptr);
    ASSERT_NE(rows.list()->uniform_slices, nullptr);
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

/// A half of which a third of the slices is on other lists stays at the table.
TYPED_TEST(CudaUniformRows, OfAHalfNeedMostSlices) {
  const auto are_taken = [&](const RepeatingRows& spec, bool is_half) {
    return uniform_rows(testing::symmetric_rows<TypeParam>(spec), this->gpu(), is_half).list() != nullptr;
  };
  EXPECT_TRUE(are_taken(helix(6000, 40), true));
  const RepeatingRows too_long{6000, 6000, {testing::list_of_width(37, -54)}, {}, {}};
  EXPECT_FALSE(are_taken(too_long, true));
  RepeatingRows on_sub_lists = helix(6000, 40);
  on_sub_lists.lists.push_back({-40, -1, 0, 40});
  on_sub_lists.list_of = [](index_t row) -> std::size_t { return row % 250 == 99 ? 1 : 0; };
  EXPECT_TRUE(are_taken(on_sub_lists, true));
  RepeatingRows on_others = on_sub_lists;
  on_others.lists[1] = {-40, -2, 0, 2, 40};
  on_others.list_of = [](index_t row) -> std::size_t { return row % 384 == 99 ? 1 : 0; };
  EXPECT_TRUE(are_taken(on_others, false));
  EXPECT_FALSE(are_taken(on_others, true));
}

/// Of templates, pattern matrices and a half: a third of the rows is on the most frequent list, a sixth on the longest.
TYPED_TEST(CudaUniformRows, AreThoseOfTheLongestListWhereItCoversMore) {
  const RepeatingRows spec = testing::loose_lines(9000, 70);
  const auto templates = testing::with_values_by_offset<TypeParam>(spec);
  const auto symmetric = testing::symmetric_rows<TypeParam>(spec);
  const auto pattern = with_repeating_rows<TypeParam>(spec, Repeating::nothing);
  for (const auto* matrix : {&templates, &symmetric, &pattern}) {
    const auto rows = uniform_rows(*matrix, this->gpu(), matrix == &symmetric);
    ASSERT_NE(rows.list(), nullptr);
    EXPECT_EQ(rows.list()->length, 4);
    EXPECT_EQ(rows.list()->uniform_slices, nullptr);
    const CudaProduct<TypeParam> product(*matrix, this->options());
    ASSERT_EQ(says_half(product), matrix == &symmetric) << product.plan().info().reason;
    testing::check_all_products(product);
    this->check_not_finite(product, {0, 1, 70, 1000, spec.cols - 1});
    ASSERT_FALSE(this->HasFatalFailure());
  }
}

/// Halves whose rows are on sub-lists: 27 points in chunks, and a grid with holes.
TYPED_TEST(CudaUniformRows, OfAHalfOnSubLists) {
  for (const RepeatingRows& spec : {testing::box_of_27(14), testing::grid_with_holes(70)}) {
    const auto matrix = testing::symmetric_rows<TypeParam>(spec);
    const auto rows = uniform_rows(matrix, this->gpu(), true);
    ASSERT_NE(rows.list(), nullptr);
    const CudaProduct<TypeParam> product(matrix, this->options());
    ASSERT_TRUE(says_half(product)) << product.plan().info().reason;
    testing::check_all_products(product);
    this->check_not_finite(product, {0, 1, 300, 1000, spec.cols - 1});
    ASSERT_FALSE(this->HasFatalFailure());
  }
}

/// CG takes them where products do not: a slab of three planes, of which one is interior.
TYPED_TEST(CudaUniformRows, OfFewPlanesServeCgAlone) {
  const auto list_of = [&](std::int64_t planes) {
    return uniform_rows(poisson3d<TypeParam>(64, 64, planes), this->gpu(), false);
  };
  EXPECT_EQ(list_of(3).list(), nullptr);
  EXPECT_NE(list_of(3).list_for_cg(), nullptr);
  EXPECT_NE(list_of(8).list(), nullptr);
  EXPECT_EQ(list_of(1).list_for_cg() == nullptr, list_of(1).list() == nullptr);
}

/// Terms that rows lack lie before x, or behind it: slices at both ends do not load them.
TYPED_TEST(CudaUniformRows, WithTermsOutsideOfTheMatrix) {
  for (const index_t rows : {2048, 2049, 2400}) {
    for (const index_t cols : {rows, rows + 500, rows - 100}) {
      for (const std::vector<index_t>& list :
           std::vector<std::vector<index_t>>{{-300, -1, 0, 1, 300}, {-600, 0}, {-300}, {0, 300}}) {
        SCOPED_TRACE(fmt::format("{} x {}, {}", rows, cols, list.front()));
        RepeatingRows spec{rows, cols, {list, {list.back()}}, {}, {}};
        spec.list_of = [](index_t row) -> std::size_t { return row % 100 == 50 ? 1 : 0; };
        for (const auto& matrix : {testing::with_values_by_offset<TypeParam>(spec),
                                   with_repeating_rows<TypeParam>(spec, Repeating::nothing)}) {
          ASSERT_NE(uniform_rows(matrix, this->gpu(), false).list(), nullptr);
          testing::check_all_products(CudaProduct<TypeParam>(matrix, this->options()));
          ASSERT_FALSE(this->HasFatalFailure());
        }
      }
    }
  }
}

/// A symmetric half whose values are taken at the places of the list: products, and the bits of values in full.
TYPED_TEST(CudaUniformRows, OfAHalfMultiplyAsValuesInFullDo) {
  for (const std::vector<index_t>& list : std::vector<std::vector<index_t>>{
           {-40, -1, 0, 1, 40},
           {-1030, -3, 3, 1030},
           {-700, -40, -1, 0, 1, 40, 700},
           {-701, -700, -699, -1, 0, 1, 699, 700, 701},
           {-1221, -1220, -1219, -1201, -1200, -1199, -1181, -1180, -1179, -21,  -20,  -19,  -1,  0,
            1,     19,    20,    21,    1179,  1180,  1181,  1199,  1200,  1201, 1219, 1220, 1221}}) {
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

/// A half in single precision, then in double, whose slices warps may share, with more blocks and sums.
TYPED_TEST(CudaUniformRows, OfAHalfWithWiderValues) {
  for (const std::vector<index_t>& list :
       std::vector<std::vector<index_t>>{{-1030, -3, 3, 1030}, {-701, -700, -699, -1, 0, 1, 699, 700, 701}}) {
    const index_t rows = 33000;
    RepeatingRows spec{rows, rows, {list}, {}, {}};
    spec.seed = 7;
    const auto matrix = testing::symmetric_rows<TypeParam>(spec);
    const auto wide = testing::symmetric_values(matrix.view(), 3);
    std::vector<TypeParam> rounded(wide.begin(), wide.end());
    for (TypeParam& value : rounded) value = static_cast<TypeParam>(static_cast<float>(value));
    CudaProduct<TypeParam> product(matrix, this->options());
    for (const auto& values : {rounded, wide}) {
      product.update_values(values, false);
      ASSERT_TRUE(says_half(product)) << product.plan().info().reason;
      testing::check_all_products(product);
      ASSERT_FALSE(this->HasFatalFailure());
    }
    CudaProduct<TypeParam> narrow(
        Csr<TypeParam>(rows, rows, matrix.row_offsets().to(Device{}), matrix.columns().to(Device{}),
                       Array<TypeParam>::copy_of(std::span<const TypeParam>(rounded))),
        this->options());
    ASSERT_TRUE(says_half(narrow)) << narrow.plan().info().reason;
    narrow.update_values(wide, false);
    ASSERT_TRUE(says_half(narrow)) << narrow.plan().info().reason;
    testing::check_all_products(narrow);
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

/// Sub-lists, a list that has another column, one that has another value, and the list of the longest row.
TYPED_TEST(CudaUniformRows, MasksOfLists) {
  const std::vector<index_t> table{3, -1, 0, 1, 2, 0, 1, 1, 2, -1, 2, 2, 3, -1, 0, 1, 0, 0, 0, 0, -1, 5, 5, 5};
  const std::vector<TypeParam> values{-1, 4, -1, 4, -1, 0, -1, -1, 0, -1, 3, -1, 0, 0, 0, 0, 0, 0};
  using cuda::is_sub_list;
  EXPECT_EQ(cuda::masks_of_lists<TypeParam>(table, values, 3, 0),
            (std::vector<cuda::TermMask>{is_sub_list | 7U, is_sub_list | 6U, 0, 0, is_sub_list, 0}));
  EXPECT_EQ(cuda::masks_of_lists<TypeParam>(table, {}, 3, 0),
            (std::vector<cuda::TermMask>{is_sub_list | 7U, is_sub_list | 6U, 0, is_sub_list | 7U, is_sub_list, 0}));
  // Of the terms of list 1.
  EXPECT_EQ(cuda::masks_of_lists<TypeParam>(table, values, 3, 1),
            (std::vector<cuda::TermMask>{0, is_sub_list | 3U, 0, 0, is_sub_list, 0}));
  EXPECT_EQ(cuda::masks_of_lists<TypeParam>(table, {}, 3, 1),
            (std::vector<cuda::TermMask>{0, is_sub_list | 3U, 0, 0, is_sub_list, 0}));
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
