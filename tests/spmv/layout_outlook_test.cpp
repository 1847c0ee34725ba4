// Outlook on layouts: which ones matrices of known structure and values qualify for, their bytes by hand, and why not
// the others.
#include "spmv/common/layout_outlook.hpp"

#include "tests/spmv/sliced_matrices.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace tessera {

using namespace detail;
namespace {

using testing::Kept;
using testing::Repeating;
using Outlooks = std::vector<LayoutOutlook>;

template <class T>
Outlooks patterns_of(const Csr<T>& matrix) {
  return outlook_on_patterns(matrix.view(), value_facts(matrix.view(), Device{}), Device{});
}
template <class T>
Outlooks sell_of(const Csr<T>& matrix) {
  return outlook_on_sell(matrix.view(), value_facts(matrix.view(), Device{}));
}

const LayoutOutlook& of(const Outlooks& outlooks, std::string_view layout) {
  static const LayoutOutlook none;
  const auto found = std::find_if(outlooks.begin(), outlooks.end(), [&](const auto& o) { return o.layout == layout; });
  if (found == outlooks.end()) {
    ADD_FAILURE() << "no layout " << layout;
    return none;
  }
  return *found;
}
std::string taken(const Outlooks& outlooks) {
  std::string names;
  for (const LayoutOutlook& outlook : outlooks) names += outlook.taken ? outlook.layout + " " : "";
  return names;
}

/// Five points on a grid of 64 x 64: 20224 nonzeros; slices of 128 rows, none of them cut.
constexpr index_t side = 64;
constexpr double rows = side * side;
constexpr double nonzeros = 5.0 * side * side - 4.0 * side;

Csr<double> grid_with(Kept kept) {
  return testing::with_values_that_allow(testing::symmetric_rows<double>(testing::five_points(side)), kept);
}

TEST(LayoutOutlook, AConstantStencilIsTemplates) {
  auto spec = testing::five_points(side);
  const auto matrix = testing::with_repeating_rows<double>(spec, Repeating::columns_and_values);
  const Outlooks outlooks = patterns_of(matrix);
  EXPECT_EQ(taken(outlooks), "row templates ");
  EXPECT_DOUBLE_EQ(of(outlooks, "row templates").bytes_per_nonzero, rows / nonzeros);
  EXPECT_TRUE(of(outlooks, "row templates").reason.starts_with("9 row templates name all rows: 0.20"));
  // What it would be without them. The rows at the boundary lack terms: slices have five places per row.
  EXPECT_DOUBLE_EQ(of(outlooks, "values in full").bytes_per_nonzero, (rows + 8 * 5 * rows) / nonzeros);
  EXPECT_DOUBLE_EQ(of(outlooks, "dictionary").bytes_per_nonzero, (rows + 5 * rows) / nonzeros);
  EXPECT_EQ(of(outlooks, "dictionary").reason, "13 different values") << "5 + 4 + 4 of three lists";
}

TEST(LayoutOutlook, FewValuesAreADictionary) {
  const Outlooks outlooks = patterns_of(grid_with(Kept::codes));
  EXPECT_EQ(taken(outlooks), "dictionary ");
  EXPECT_DOUBLE_EQ(of(outlooks, "dictionary").bytes_per_nonzero, (rows + 5 * rows) / nonzeros);
  EXPECT_NE(of(outlooks, "dictionary").reason.find("values by a dictionary of 200"), std::string::npos);
  EXPECT_FALSE(of(outlooks, "row templates").qualifies);
  EXPECT_NE(of(outlooks, "row templates").reason.find("lists of relative columns and values"), std::string::npos);
  EXPECT_EQ(of(sell_of(grid_with(Kept::codes)), "dictionary").bytes_per_nonzero, 3.0 * 5 * rows / nonzeros);
}

TEST(LayoutOutlook, SymmetricValuesAreAHalf) {
  const auto matrix = testing::symmetric_rows<double>(testing::five_points(side));
  const Outlooks outlooks = patterns_of(matrix);
  EXPECT_EQ(taken(outlooks), "symmetric half ");
  EXPECT_DOUBLE_EQ(of(outlooks, "symmetric half").bytes_per_nonzero, (rows + 8 * 3 * rows) / nonzeros);
  EXPECT_FALSE(of(outlooks, "single precision").qualifies);
  EXPECT_EQ(of(outlooks, "dictionary").reason, "more than 255 different values");
}

TEST(LayoutOutlook, OneValueThatDiffersFromItsMirrorImageRefusesTheHalf) {
  const auto matrix = testing::symmetric_rows<double>(testing::five_points(side));
  std::vector<double> values(matrix.values().data(), matrix.values().data() + matrix.nnz());
  values[7777] += 1.0;
  const Csr<double> other(matrix.rows(), matrix.cols(), Array<offset_t>::copy_of(matrix.row_offsets().span()),
                          Array<index_t>::copy_of(matrix.columns().span()), Array<double>::copy_of(values));
  const Outlooks outlooks = patterns_of(other);
  EXPECT_EQ(taken(outlooks), "values in full ");
  EXPECT_EQ(of(outlooks, "symmetric half").reason, "1 of 4096 rows differ from their mirror images");
}

TEST(LayoutOutlook, ValuesThatSinglePrecisionHolds) {
  const Outlooks outlooks = patterns_of(grid_with(Kept::floats));
  EXPECT_EQ(taken(outlooks), "single precision ");
  EXPECT_DOUBLE_EQ(of(outlooks, "single precision").bytes_per_nonzero, (rows + 4 * 5 * rows) / nonzeros);
  EXPECT_NE(of(outlooks, "symmetric half in single precision").reason.find("of 1024 rows of a sample differ"),
            std::string::npos);
  const auto in_float =
      testing::with_values_that_allow(testing::symmetric_rows<float>(testing::five_points(side)), Kept::in_full);
  const Outlooks of_floats = patterns_of(in_float);
  EXPECT_EQ(taken(of_floats), "values in full ");
  EXPECT_EQ(of_floats.size(), 4U) << "single precision is no layout of its own";
}

TEST(LayoutOutlook, APatternMatrixHasNoValues) {
  const auto matrix = testing::with_repeating_rows<double>(testing::five_points(side), Repeating::nothing);
  const Outlooks outlooks = patterns_of(matrix);
  ASSERT_EQ(outlooks.size(), 1U);
  EXPECT_EQ(taken(outlooks), "no values ");
  EXPECT_DOUBLE_EQ(outlooks[0].bytes_per_nonzero, rows / nonzeros);
  EXPECT_EQ(taken(sell_of(matrix)), "no values ");
}

TEST(LayoutOutlook, UnstructuredRowsHaveNoPatterns) {
  testing::RepeatingRows spec{500, 500, {}, {}, {}};
  for (index_t row = 0; row < spec.rows; ++row) spec.others.push_back(row);
  const auto matrix = testing::with_repeating_rows<double>(spec, Repeating::columns);
  const Outlooks outlooks = patterns_of(matrix);
  ASSERT_EQ(outlooks.size(), 1U);
  EXPECT_FALSE(outlooks[0].qualifies);
  EXPECT_EQ(outlooks[0].reason,
            "the table holds 254 of 500 lists of relative columns, which name 50.8 % of 500 rows, 99 % are needed")
      << "a list names one row of 500";
  const Outlooks sliced = sell_of(matrix);
  EXPECT_EQ(taken(sliced), "values in full ");
  EXPECT_DOUBLE_EQ(of(sliced, "values in full").bytes_per_nonzero, 10.0 * 512 / 500);
}

TEST(LayoutOutlook, FarColumnsAndLongRows) {
  // One row of 40000 reaches farther than 16 bits.
  const index_t n = 40000;
  testing::RepeatingRows spec{n, n, {{0}, {0, 39999}}, {}, {}};
  spec.list_of = [](index_t row) -> std::size_t { return row == 0 ? 1 : 0; };
  const Outlooks far = sell_of(testing::with_repeating_rows<double>(spec, Repeating::columns));
  EXPECT_EQ(of(far, "columns in 16 bits").reason, "1 of 40000 rows have a column farther than 32767 from their own");
  spec = {2, 10000, {testing::list_of_width(9000, 0, 1)}, {}, {}};
  const Outlooks refused = sell_of(testing::with_repeating_rows<double>(spec, Repeating::columns));
  ASSERT_EQ(refused.size(), 1U);
  EXPECT_FALSE(refused[0].qualifies);
}

TEST(LayoutOutlook, TilesByTheirFill) {
  const auto matrix = grid_with(Kept::in_full);
  EXPECT_DOUBLE_EQ(outlook_on_tiles(matrix.view(), 0.5).bytes_per_nonzero, 8.5) << "16 bytes per tile of 32 nonzeros";
}

TEST(LayoutOutlook, NothingOfNothing) {
  const auto empty = Csr<double>::pattern(3, 3, Array<offset_t>::copy_of(std::vector<offset_t>(4, 0)), {});
  EXPECT_TRUE(patterns_of(empty).empty());
  EXPECT_TRUE(sell_of(empty).empty());
}

}  // namespace
}  // namespace tessera
