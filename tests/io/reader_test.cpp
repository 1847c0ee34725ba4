#include "tessera/error.hpp"
#include "tessera/matrix_market.hpp"
#include "tests/io/files.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/make_csr.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace tessera {
namespace {

using testing::expect_identical;
using testing::make_csr;
using testing::make_pattern;

MatrixMarketMatrix<double> parse(const std::string& text) { return parse_matrix_market<double>(text, "t.mtx"); }

TEST(Reader, GeneralUnsorted) {
  const auto m = parse("%%MatrixMarket matrix coordinate real general\n3 4 4\n3 1 5\n1 4 -2.5\n1 2 1e-3\n3 3 7\n");
  expect_identical(m.matrix.view(), make_csr<double>(3, 4, {0, 2, 2, 4}, {1, 3, 0, 2}, {1e-3, -2.5, 5, 7}).view());
  EXPECT_EQ(m.header.format, MatrixMarketFormat::coordinate);
  EXPECT_EQ(m.header.field, MatrixMarketField::real);
  EXPECT_EQ(m.header.symmetry, MatrixMarketSymmetry::general);
  EXPECT_EQ(m.header.rows, 3);
  EXPECT_EQ(m.header.cols, 4);
  EXPECT_EQ(m.header.entries, 4);
}

TEST(Reader, WhatIsTolerated) {
  const std::string text =
      "%%matrixMARKET\tMatrix Coordinate  REAL General \r\n"
      "% comment\r\n\r\n  % indented comment\r\n"
      "  2\t3  3 \r\n"
      "\r\n"
      " +1 01 +1.5\r\n"
      "% between\r\n"
      "\t2 3\t-2.5D+1 \r\n"
      "2 1 1d0";
  expect_identical(parse(text).matrix.view(), make_csr<double>(2, 3, {0, 1, 3}, {0, 0, 2}, {1.5, 1.0, -25.0}).view());
}

/// 2^53 + 1 is the first integer that double does not hold; 2^53 + 2 is held again, 2^62 as well.
TEST(Reader, TheFirstRoundedIntegerIsNamed) {
  const std::string head = "%%MatrixMarket matrix coordinate integer general\n% c\n3 3 4\n";
  const auto odd = parse(head + "1 1 9007199254740992\n\n2 2 9007199254740994\n% c\n3 3 -9007199254740993\n" +
                         "1 2 9007199254740993\n");
  ASSERT_TRUE(odd.first_rounded);
  EXPECT_EQ(odd.first_rounded->line, 8);
  EXPECT_EQ(odd.first_rounded->value, -9007199254740993);
  EXPECT_EQ(odd.matrix.values()[3], -9007199254740992.0);
  const std::string exact =
      "1 1 9007199254740992\n2 2 4611686018427387904\n3 3 -9223372036854775808\n1 2 -9007199254740994\n";
  EXPECT_FALSE(parse(head + exact).first_rounded);
  EXPECT_EQ(parse(head + "1 1 1\n1 2 9223372036854775807\n1 3 1\n2 1 1\n").first_rounded->line, 5);
  EXPECT_EQ(
      parse("%%MatrixMarket matrix coordinate integer symmetric\n2 2 1\n2 1 9007199254740993\n").first_rounded->line,
      3);
  EXPECT_EQ(parse("%%MatrixMarket matrix array integer general\n2 1\n1\n+9007199254740993\n").first_rounded->line, 4);
  EXPECT_FALSE(parse("%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 9007199254740993\n").first_rounded)
      << "a real number is rounded as any other";
  const std::string small = "%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 16777217\n";
  EXPECT_FALSE(parse(small).first_rounded);
  EXPECT_EQ(parse_matrix_market<float>(small, "t.mtx").first_rounded->line, 3);
}

TEST(Reader, EmptyMatrices) {
  expect_identical(parse("%%MatrixMarket matrix coordinate real general\n0 0 0\n").matrix.view(),
                   make_csr<double>(0, 0, {0}, {}, {}).view());
  expect_identical(parse("%%MatrixMarket matrix coordinate real general\n2 5 0").matrix.view(),
                   make_csr<double>(2, 5, {0, 0, 0}, {}, {}).view());
  expect_identical(parse("%%MatrixMarket matrix array real general\n0 7\n").matrix.view(),
                   make_csr<double>(0, 7, {0}, {}, {}).view());
  expect_identical(parse("%%MatrixMarket matrix coordinate pattern symmetric\n1 1 0\n").matrix.view(),
                   make_pattern<double>(1, 1, {0, 0}, {}).view());
}

TEST(Reader, SymmetricIsExpandedDiagonalOnce) {
  const auto expected = make_csr<double>(3, 3, {0, 2, 4, 6}, {0, 2, 1, 2, 0, 1}, {1, 4, 2, 5, 4, 5});
  const std::string head = "%%MatrixMarket matrix coordinate real symmetric\n3 3 4\n1 1 1\n2 2 2\n";
  const auto lower = parse(head + "3 1 4\n3 2 5\n");
  expect_identical(lower.matrix.view(), expected.view());
  EXPECT_EQ(lower.header.entries, 4);
  expect_identical(parse(head + "1 3 4\n2 3 5\n").matrix.view(), expected.view());
}

TEST(Reader, SkewSymmetric) {
  const auto m = parse("%%MatrixMarket matrix coordinate integer skew-symmetric\n3 3 3\n2 1 4\n3 2 -5\n2 2 0\n");
  expect_identical(m.matrix.view(), make_csr<double>(3, 3, {0, 1, 4, 5}, {1, 0, 1, 2, 1}, {-4, 4, 0, 5, -5}).view());
  EXPECT_EQ(m.header.field, MatrixMarketField::integer);
}

TEST(Reader, PatternHasNoValues) {
  const auto m = parse("%%MatrixMarket matrix coordinate pattern symmetric\n3 3 3\n3 1\n2 2\n3 1\n");
  expect_identical(m.matrix.view(), make_pattern<double>(3, 3, {0, 1, 2, 3}, {2, 1, 0}).view());
  EXPECT_EQ(m.duplicates, 2);
}

TEST(Reader, DuplicatesAreSummedInOrderAndCounted) {
  // (1e16 + 1) - 1e16 is 0 in double, any other order gives 1.
  const auto m = parse("%%MatrixMarket matrix coordinate real general\n2 2 4\n2 1 1e16\n1 1 3\n2 1 1\n2 1 -1e16\n");
  expect_identical(m.matrix.view(), make_csr<double>(2, 2, {0, 1, 2}, {0, 0}, {3, 0}).view());
  EXPECT_EQ(m.duplicates, 2);
}

TEST(Reader, ExplicitZerosStay) {
  const auto m = parse("%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 0\n2 1 -0.0\n2 2 1\n");
  expect_identical(m.matrix.view(), make_csr<double>(2, 2, {0, 2, 4}, {0, 1, 0, 1}, {0, -0.0, -0.0, 1}).view());
  EXPECT_EQ(m.explicit_zeros, 2);
}

TEST(Reader, ArrayIsColumnMajorAndDropsZeros) {
  const auto m = parse("%%MatrixMarket matrix array real general\n2 3\n1\n2\n0\n4\n5\n-0\n");
  expect_identical(m.matrix.view(), make_csr<double>(2, 3, {0, 2, 4}, {0, 2, 0, 1}, {1, 5, 2, 4}).view());
  EXPECT_EQ(m.explicit_zeros, 0);
  EXPECT_EQ(m.header.entries, 6);
}

TEST(Reader, ArraySymmetricAndSkew) {
  const auto s = parse("%%MatrixMarket matrix array integer symmetric\n3 3\n1\n2\n3\n4\n5\n6\n");
  expect_identical(
      s.matrix.view(),
      make_csr<double>(3, 3, {0, 3, 6, 9}, {0, 1, 2, 0, 1, 2, 0, 1, 2}, {1, 2, 3, 2, 4, 5, 3, 5, 6}).view());
  const auto k = parse("%%MatrixMarket matrix array real skew-symmetric\n3 3\n1\n2\n3\n");
  expect_identical(k.matrix.view(),
                   make_csr<double>(3, 3, {0, 2, 4, 6}, {1, 2, 0, 2, 0, 1}, {-1, -2, 1, -3, 2, 3}).view());
  EXPECT_EQ(k.header.entries, 3);
}

TEST(Reader, TinyNumbersBecomeZeroOrDenormal) {
  const auto m = parse("%%MatrixMarket matrix coordinate real general\n1 3 3\n1 1 1e-400\n1 2 -4e-320\n1 3 0.0e9999\n");
  const auto expected = make_csr<double>(1, 3, {0, 3}, {0, 1, 2}, {0.0, -4e-320, 0.0});
  expect_identical(m.matrix.view(), expected.view());
  const auto f = parse_matrix_market<float>("%%MatrixMarket matrix array real general\n2 1\n1e-60\n2e-40\n", "t.mtx");
  expect_identical(f.matrix.view(), make_csr<float>(2, 1, {0, 0, 1}, {0}, {2e-40F}).view());
}

TEST(Reader, FloatIsRoundedOnce) {
  // A hair above halfway between two floats, too little for double: rounding through double would go down to even.
  const auto m = parse_matrix_market<float>(
      "%%MatrixMarket matrix array real general\n1 1\n1.00000005960464477539062500001\n", "t");
  EXPECT_EQ(m.matrix.values()[0], 1.00000005960464477539062500001F);
  EXPECT_NE(m.matrix.values()[0], static_cast<float>(1.00000005960464477539062500001));
}

TEST(Reader, FilesThatCannotBeRead) {
  const testing::TemporaryDirectory dir;
  const auto reason_of = [](const std::filesystem::path& path) -> std::string {
    try {
      static_cast<void>(read_matrix_market<double>(path));
    } catch (const IoError& e) {
      return e.what();
    }
    return "accepted";
  };
  EXPECT_EQ(reason_of(dir.file("none.mtx")),
            "cannot open \"" + dir.file("none.mtx").string() + "\": No such file or directory");
  EXPECT_EQ(reason_of(dir.path()), "cannot read \"" + dir.path().string() + "\": Is a directory");
  EXPECT_THROW(static_cast<void>(read_vector<float>(dir.file("none.mtx"))), IoError);
}

TEST(Reader, ErrorsNameTheFile) {
  const testing::TemporaryDirectory dir;
  testing::write_text(dir.file("a.mtx"), "%%MatrixMarket matrix array real general\n1 1\nx\n");
  try {
    static_cast<void>(read_matrix_market<double>(dir.file("a.mtx")));
    FAIL() << "accepted";
  } catch (const ParseError& e) {
    EXPECT_EQ(e.file(), dir.file("a.mtx").string());
    EXPECT_EQ(e.line(), 3);
  }
}

TEST(Reader, HeaderNames) {
  EXPECT_EQ(to_string(MatrixMarketFormat::array), "array");
  EXPECT_EQ(to_string(MatrixMarketField::integer), "integer");
  EXPECT_EQ(to_string(MatrixMarketSymmetry::skew_symmetric), "skew-symmetric");
}

}  // namespace
}  // namespace tessera
