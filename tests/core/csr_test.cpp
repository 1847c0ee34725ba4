#include "tessera/csr.hpp"

#include "core/borrowed_csr.hpp"
#include "tests/support/make_csr.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

namespace tessera {
namespace {

using testing::make_csr;
using testing::make_pattern;

template <class Make>
std::string refusal_of(Make&& make) {
  try {
    static_cast<void>(make());
  } catch (const InvalidMatrix& e) {
    return e.what();
  }
  return "accepted";
}

TEST(Csr, DefaultIsEmpty) {
  const Csr<double> a;
  EXPECT_EQ(a.rows(), 0);
  EXPECT_EQ(a.nnz(), 0);
  validate(a.view());
}

TEST(Csr, KeepsItsArrays) {
  const auto a = make_csr<double>(2, 3, {0, 2, 3}, {0, 2, 1}, {1, 2, 3});
  EXPECT_EQ(a.view().value(1), 2.0);
  EXPECT_FALSE(a.view().is_square());
  EXPECT_EQ(a.bytes(), 3U * 8 + 3U * 4 + 3U * 8);
  const auto copy = Csr<double>::copy_of(a.view());
  EXPECT_NE(copy.columns().data(), a.columns().data());
  EXPECT_EQ(copy.values()[2], 3.0);
}

TEST(Csr, PatternIsAllOnes) {
  const auto a = make_pattern<float>(2, 2, {0, 1, 2}, {1, 0});
  EXPECT_TRUE(a.is_pattern());
  EXPECT_TRUE(a.values().empty());
  EXPECT_EQ(a.view().value(1), 1.0F);
  EXPECT_EQ(a.bytes(), 3U * 8 + 2U * 4);
}

TEST(Csr, SharesItsStructure) {
  const auto a = make_csr<double>(2, 3, {0, 2, 3}, {0, 2, 1}, {1, 2, 1.0 / 3.0});
  const Csr<float> rounded = a.with_value_type<float>();
  EXPECT_EQ(rounded.columns().data(), a.columns().data());
  EXPECT_EQ(rounded.row_offsets().data(), a.row_offsets().data());
  EXPECT_TRUE(rounded.shares_structure_with(a));
  EXPECT_EQ(rounded.values()[2], static_cast<float>(1.0 / 3.0));
  EXPECT_EQ(rounded.bytes(), 3U * 8 + 3U * 4 + 3U * 4);
  Csr<double> scaled;
  {
    const Csr<double> pattern = make_pattern<double>(2, 2, {0, 1, 2}, {1, 0});
    EXPECT_TRUE(pattern.with_value_type<float>().is_pattern());
    scaled = pattern.with_values(Array<double>::copy_of(std::vector<double>{5, 7}));
  }
  EXPECT_FALSE(scaled.is_pattern());
  EXPECT_EQ(scaled.view().value(1), 7.0);
  EXPECT_EQ(scaled.columns()[0], 1);
  EXPECT_TRUE(scaled.structure().is_pattern());
  EXPECT_TRUE(scaled.structure().shares_structure_with(scaled));
  EXPECT_FALSE(scaled.shares_structure_with(a));
}

TEST(Csr, RefusesValuesThatDoNotFit) {
  const auto a = make_csr<double>(2, 3, {0, 2, 3}, {0, 2, 1}, {1, 2, 3});
  EXPECT_EQ(refusal_of([&] { return a.with_values(Array<float>(2)); }),
            "a matrix of 3 nonzeros needs as many values, got 2");
}

TEST(Csr, MovedFromIsEmpty) {
  auto a = make_csr<double>(2, 3, {0, 2, 3}, {0, 2, 1}, {1, 2, 3});
  const Csr<double> b = std::move(a);
  EXPECT_EQ(b.nnz(), 3);
  EXPECT_EQ(a.rows(), 0);  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(a.nnz(), 0);
  validate(a.view());
  auto c = make_pattern<double>(2, 2, {0, 1, 2}, {1, 0});
  a = std::move(c);
  EXPECT_EQ(a.nnz(), 2);
  EXPECT_FALSE(c.is_pattern());  // NOLINT(bugprone-use-after-move)
  validate(c.view());
}

TEST(Csr, BorrowsAView) {
  const auto a = make_csr<double>(2, 3, {0, 2, 3}, {0, 2, 1}, {1, 2, 3});
  const Csr<double> borrowed = detail::borrow_csr(a.view(), Device{});
  EXPECT_EQ(borrowed.values().data(), a.values().data());
  EXPECT_EQ(borrowed.columns().data(), a.columns().data());
  validate(borrowed.view());
  const auto pattern = make_pattern<double>(2, 2, {0, 1, 2}, {1, 0});
  EXPECT_TRUE(detail::borrow_csr(pattern.view(), Device{}).is_pattern());
}

TEST(Csr, EveryInvariantIsChecked) {
  const auto refused = [](std::int64_t rows, std::int64_t cols, std::vector<offset_t> offsets,
                          std::vector<index_t> columns) {
    return refusal_of(
        [&] { return make_csr<double>(rows, cols, offsets, columns, std::vector<double>(columns.size(), 1.0)); });
  };
  EXPECT_EQ(refused(-1, 2, {0}, {}), "number of rows must be in [0, 2147483647], got -1");
  EXPECT_EQ(refused(1, std::int64_t{1} << 31, {0, 0}, {}),
            "number of columns must be in [0, 2147483647], got 2147483648");
  EXPECT_EQ(refused(2, 2, {0, 0}, {}), "2 x 2 matrix needs 3 row offsets, got 2");
  EXPECT_EQ(refused(1, 2, {1, 1}, {0}), "row offsets must run from 0 to the 1 nonzeros, but run from 1 to 1");
  EXPECT_EQ(refused(1, 2, {0, 2}, {0}), "row offsets must run from 0 to the 1 nonzeros, but run from 0 to 2");
  EXPECT_EQ(refused(2, 2, {0, 3, 2}, {0, 1}), "row 0: offsets 0 ... 3 do not ascend within the 2 nonzeros");
  EXPECT_EQ(refused(3, 2, {0, 2, 1, 2}, {0, 1}), "row 1: offsets 2 ... 1 do not ascend within the 2 nonzeros");
  EXPECT_EQ(refused(1, 2, {0, 1}, {2}), "row 0, nonzero 0: column 2 is outside [0, 2)");
  EXPECT_EQ(refused(1, 2, {0, 1}, {-1}), "row 0, nonzero 0: column -1 is outside [0, 2)");
  EXPECT_EQ(refused(2, 3, {0, 1, 3}, {0, 2, 1}),
            "row 1, nonzero 2: column 1 after column 2: columns must ascend without duplicates");
  EXPECT_EQ(refused(1, 3, {0, 2}, {1, 1}),
            "row 0, nonzero 1: column 1 after column 1: columns must ascend without duplicates");
  EXPECT_EQ(refusal_of([] {
              return make_csr<float>(1, 1, {0, 1}, {0}, {});
            }),
            "weighted matrix with 1 columns entries needs 1 values, got 0");
}

TEST(Csr, FirstInvalidRowIsReported) {
  const std::int64_t n = 100000;
  std::vector<offset_t> offsets;
  std::vector<index_t> columns;
  for (std::int64_t i = 0; i <= n; ++i) offsets.push_back(i);
  for (std::int64_t i = 0; i < n; ++i) columns.push_back(static_cast<index_t>(i));
  columns[99998] = -5;
  columns[61234] = static_cast<index_t>(n);
  EXPECT_EQ(refusal_of([&] { return make_pattern<double>(n, n, offsets, columns); }),
            "row 61234, nonzero 61234: column 100000 is outside [0, 100000)");
}

TEST(Csr, TrustedStillChecksTheShape) {
  EXPECT_THROW(Csr<double>(2, 2, Array<offset_t>(2), Array<index_t>(0), Array<double>(0), Check::trusted),
               InvalidMatrix);
}

}  // namespace
}  // namespace tessera
