#include "tessera/error.hpp"
#include "tessera/matrix_market.hpp"

#include <gtest/gtest.h>

#include <string>

namespace tessera {
namespace {

/// A text that must be refused, and exactly where and how.
struct Malformed {
  const char* name;
  std::string text;
  std::int64_t line;
  std::int64_t column;
  std::string message;
};

const std::string real = "%%MatrixMarket matrix coordinate real general\n";
const std::string integer = "%%MatrixMarket matrix coordinate integer general\n";
const std::string pattern = "%%MatrixMarket matrix coordinate pattern general\n";
const std::string symmetric = "%%MatrixMarket matrix coordinate real symmetric\n";
const std::string skew = "%%MatrixMarket matrix coordinate real skew-symmetric\n";
const std::string array = "%%MatrixMarket matrix array real general\n";
const std::string form =
    "\"%%MatrixMarket matrix <coordinate|array> <real|integer|pattern> <general|symmetric|skew-symmetric>\"";
const std::string three = "expected 3 numbers (row, column, value), found ";
const std::string sizes = "expected 3 sizes (rows, columns, entries), found ";

const Malformed banners[] = {
    {"empty", "", 1, 1, "expected " + form + ", found an empty file"},
    {"only_newline", "\n", 1, 1, "expected " + form + ", found \"\""},
    {"quotes", "a \"b\" \\\n", 1, 1, "expected " + form + ", found \"a \\\"b\\\" \\\\\""},
    {"no_banner", "3 x 1\n1 1 1\n", 1, 1, "expected " + form + ", found \"3 x 1\""},
    {"one_percent", "%MatrixMarket matrix coordinate real general\n", 1, 1,
     "expected " + form + ", found \"%MatrixMarket matrix coordinate real gen...\""},
    {"binary", std::string("QK\x03\x04\xff", 5), 1, 1, "expected " + form + ", found \"QK\\x03\\x04\\xff\""},
    {"blank_before_banner", " " + real + "1 1 0\n", 1, 1,
     "expected " + form + ", found \" %%MatrixMarket matrix coordinate real g...\""},
    {"banner_alone", "%%MatrixMarket", 1, 15, "expected the object \"matrix\", found end of line"},
    {"object_vector", "%%MatrixMarket vector coordinate real general\n1 1 0\n", 1, 16,
     "expected the object \"matrix\", found \"vector\""},
    {"format_missing", "%%MatrixMarket matrix\n", 1, 22,
     "expected a supported format (coordinate, array), found end of line"},
    {"format_unknown", "%%MatrixMarket matrix elemental real general\n", 1, 23,
     "expected a supported format (coordinate, array), found \"elemental\""},
    {"field_missing", "%%MatrixMarket matrix coordinate \r\n", 1, 33,
     "expected a supported field (real, integer, pattern), found end of line"},
    {"complex", "%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 1\n", 1, 34,
     "expected a supported field (real, integer, pattern), found \"complex\": complex matrices are not supported"},
    {"hermitian", "%%MatrixMarket matrix coordinate real Hermitian\n1 1 1\n1 1 1\n", 1, 39,
     "expected a supported symmetry (general, symmetric, skew-symmetric), found \"Hermitian\": complex matrices are "
     "not "
     "supported"},
    {"symmetry_missing", "%%MatrixMarket matrix coordinate real\n", 1, 38,
     "expected a supported symmetry (general, symmetric, skew-symmetric), found end of line"},
    {"symmetry_unknown", "%%MatrixMarket matrix coordinate real skew\n", 1, 39,
     "expected a supported symmetry (general, symmetric, skew-symmetric), found \"skew\""},
    {"banner_too_long", "%%MatrixMarket matrix coordinate real general 7\n", 1, 47,
     "expected end of line, found \"7\""},
    {"array_pattern", "%%MatrixMarket matrix array pattern general\n1 1\n", 1, 29,
     "expected a field with values (real, integer) in an array file, found \"pattern\""},
    {"pattern_skew", "%%MatrixMarket matrix coordinate pattern skew-symmetric\n1 1 0\n", 1, 42,
     "expected symmetry general or symmetric of a pattern file, found \"skew-symmetric\": a pattern has no signs"},
};

const Malformed size_lines[] = {
    {"no_size_line", real, 2, 1, sizes + "end of file"},
    {"only_comments", real + "% a\n\n% b\n", 5, 1, sizes + "end of file"},
    {"two_sizes", real + "3 3\n", 2, 4, sizes + "2"},
    {"four_sizes", real + "3 3 1 9\n", 2, 7, sizes + "\"9\""},
    {"three_array_sizes", array + "2 2 4\n", 2, 5, "expected 2 sizes (rows, columns), found \"4\""},
    {"one_array_size", array + "2", 2, 2, "expected 2 sizes (rows, columns), found 1"},
    {"negative_rows", real + "-3 3 1\n", 2, 1,
     "expected the number of rows, an integer in 0 ... 2147483647, found \"-3\""},
    {"fractional_columns", real + "3 3.0 1\n", 2, 3,
     "expected the number of columns, an integer in 0 ... 2147483647, found \"3.0\""},
    {"rows_past_31_bits", real + "2147483648 3 1\n", 2, 1,
     "expected the number of rows, an integer in 0 ... 2147483647, found \"2147483648\""},
    {"columns_past_64_bits", real + "3 99999999999999999999 1\n", 2, 3,
     "expected the number of columns, an integer in 0 ... 2147483647, found \"99999999999999999999\""},
    {"entries_past_64_bits", real + "3 3 9223372036854775808\n", 2, 5,
     "expected the number of entries, an integer in 0 ... 9223372036854775807, found \"9223372036854775808\""},
    {"negative_entries", real + "3 3 -1\n", 2, 5,
     "expected the number of entries, an integer in 0 ... 9223372036854775807, found \"-1\""},
    {"word_as_size", real + "3 x 1\n", 2, 3,
     "expected the number of columns, an integer in 0 ... 2147483647, found \"x\""},
    {"symmetric_rectangle", symmetric + "% c\n 3 4 0\n", 3, 2,
     "expected a square matrix in a symmetric file, found 3 x 4"},
    {"skew_rectangle", skew + "4 3 0\n", 2, 1, "expected a square matrix in a skew-symmetric file, found 4 x 3"},
    {"entries_without_rows", real + "0 3 1\n1 1 1\n", 2, 1, "expected 0 entries in a 0 x 3 matrix, found 1"},
};

const Malformed counts[] = {
    {"too_few", real + "3 3 2\n1 1 1\n", 4, 1, "expected 2 entries (sizes in line 2), found end of file after 1"},
    {"too_few_no_newline", real + "3 3 2\n1 1 1", 3, 6,
     "expected 2 entries (sizes in line 2), found end of file after 1"},
    {"no_entries", real + "3 3 2", 2, 6, "expected 2 entries (sizes in line 2), found end of file after 0"},
    {"huge_count", real + "3 3 9223372036854775807\n1 1 1\n", 4, 1,
     "expected 9223372036854775807 entries (sizes in line 2), found end of file after 1"},
    {"too_many", real + "% c\n3 3 1\n1 1 1\n\n 2 2 2 \r\n", 6, 2,
     "expected end of file after 1 entries (sizes in line 3), found \"2 2 2\""},
    {"garbage_at_end", real + "3 3 1\n1 1 1\nend\n", 4, 1,
     "expected end of file after 1 entries (sizes in line 2), found \"end\""},
    {"array_too_few", array + "2 2\n1\n2\n3\n", 6, 1,
     "expected 4 entries (sizes in line 2), found end of file after 3"},
    {"array_too_many", array + "1 1\n1\n2\n", 4, 1,
     "expected end of file after 1 entries (sizes in line 2), found \"2\""},
    {"array_overflowing_sizes", array + "2147483647 2147483647\n1\n", 4, 1,
     "expected 4611686014132420609 entries (sizes in line 2), found end of file after 1"},
    {"malformed_before_too_many", real + "3 3 1\n1 1 x\n2 2 2\n", 3, 5, "expected a real number, found \"x\""},
    {"malformed_before_too_few", real + "3 3 3\n1 1 1\n0 1 1\n", 4, 1,
     "expected a row index in 1 ... 3, found \"0\"; hint: indices are 1-based"},
};

const Malformed entries[] = {
    {"row_zero", real + "3 4 1\n0 1 1\n", 3, 1,
     "expected a row index in 1 ... 3, found \"0\"; hint: indices are 1-based"},
    {"column_zero", real + "3 4 1\n1 0 1\n", 3, 3,
     "expected a column index in 1 ... 4, found \"0\"; hint: indices are 1-based"},
    {"row_negative", real + "3 4 1\n-1 1 1\n", 3, 1, "expected a row index in 1 ... 3, found \"-1\""},
    {"row_past_size", real + "3 4 1\n4 1 1\n", 3, 1, "expected a row index in 1 ... 3, found \"4\""},
    {"column_past_size", real + "3 4 2\n3 4 1\n  3\t5 1\n", 4, 5, "expected a column index in 1 ... 4, found \"5\""},
    {"column_past_64_bits", real + "3 4 1\n1 18446744073709551617 1\n", 3, 3,
     "expected a column index in 1 ... 4, found \"18446744073709551617\""},
    {"row_fraction", real + "3 4 1\n1.0 1 1\n", 3, 1, "expected a row index in 1 ... 3, found \"1.0\""},
    {"row_word", real + "3 4 1\nrow 1 1\n", 3, 1, "expected a row index in 1 ... 3, found \"row\""},
    {"column_sign_alone", real + "3 4 1\n1 + 1\n", 3, 3, "expected a column index in 1 ... 4, found \"+\""},
    {"commas", real + "3 4 1\n1,1,1\n", 3, 1, "expected a row index in 1 ... 3, found \"1,1,1\""},
    {"nul_byte", real + "3 4 1\n1 " + std::string(1, '\0') + " 1\n", 3, 3,
     "expected a column index in 1 ... 4, found \"\\x00\""},
    {"one_number", real + "3 4 1\n2\n", 3, 2, three + "1: \"2\""},
    {"two_numbers", real + "3 4 1\n2 3 \n", 3, 4,
     three + "2: \"2 3\"; hint: pattern matrices need the header field \"pattern\""},
    {"four_numbers", real + "3 4 1\n1 2 3 4\n", 3, 7,
     three + "4: \"1 2 3 4\"; hint: complex matrices are not supported"},
    {"comment_behind_entry", real + "3 4 1\n1 2 3 % c d\n", 3, 7, three + "6: \"1 2 3 % c d\""},
    {"pattern_one_number", pattern + "3 4 1\n2\n", 3, 2, "expected 2 numbers (row, column), found 1: \"2\""},
    {"pattern_with_value", pattern + "3 4 1\n2 2 1.5\n", 3, 5,
     "expected 2 numbers (row, column), found 3: \"2 2 1.5\"; hint: matrices with values need the header field "
     "\"real\" "
     "or \"integer\""},
    {"value_word", real + "3 4 1\n1 1 abc\n", 3, 5, "expected a real number, found \"abc\""},
    {"value_trailing_letters", real + "3 4 1\n1 1 1.5x\n", 3, 5, "expected a real number, found \"1.5x\""},
    {"value_two_signs", real + "3 4 1\n1 1 +-1\n", 3, 5, "expected a real number, found \"+-1\""},
    {"value_hexadecimal", real + "3 4 1\n1 1 0x10\n", 3, 5, "expected a real number, found \"0x10\""},
    {"value_exponent_missing", real + "3 4 1\n1 1 1e\n", 3, 5, "expected a real number, found \"1e\""},
    {"value_decimal_comma", real + "3 4 1\n1 1 1,5\n", 3, 5, "expected a real number, found \"1,5\""},
    {"value_nan", real + "3 4 1\n1 1 NaN\n", 3, 5, "expected a finite number, found \"NaN\""},
    {"value_infinity", real + "3 4 1\n1 1 -inf\n", 3, 5, "expected a finite number, found \"-inf\""},
    {"value_overflow", real + "3 4 1\n1 1 1e309\n", 3, 5,
     "expected a number that fits double precision, found \"1e309\""},
    {"value_overflow_digits", real + "1 1 1\n1 1 1" + std::string(400, '0') + "\n", 3, 5,
     "expected a number that fits double precision, found \"1" + std::string(39, '0') + "...\""},
    {"integer_fraction", integer + "3 4 1\n1 1 3.5\n", 3, 5,
     "expected an integer, found \"3.5\"; hint: numbers with fractions or exponents need the header field \"real\""},
    {"integer_word", integer + "3 4 1\n1 1 x\n", 3, 5, "expected an integer, found \"x\""},
    {"integer_overflow", integer + "3 4 1\n1 1 9223372036854775808\n", 3, 5,
     "expected a number that fits 64 bits, found \"9223372036854775808\""},
    {"array_word", array + "1 1\none\n", 3, 1, "expected a real number, found \"one\""},
    {"array_two_on_a_line", array + "1 2\n1 2\n", 3, 3, "expected 1 number, found 2: \"1 2\""},
};

const Malformed symmetries[] = {
    {"upper_after_lower", symmetric + "3 3 3\n1 1 1\n2 1 5\n1 3 5\n", 5, 1,
     "expected an entry of the lower triangle as before, found (1, 3): a symmetric file holds one triangle, the other "
     "one is its mirror image"},
    {"lower_after_upper", symmetric + "3 3 3\n1 2 1\n2 1 5\n1 3 5\n", 4, 1,
     "expected an entry of the upper triangle as before, found (2, 1): a symmetric file holds one triangle, the other "
     "one is its mirror image"},
    {"pattern_both_triangles", "%%MatrixMarket matrix coordinate pattern symmetric\n2 2 2\n2 1\n1 2\n", 4, 1,
     "expected an entry of the lower triangle as before, found (1, 2): a symmetric file holds one triangle, the other "
     "one is its mirror image"},
    {"skew_diagonal", skew + "3 3 2\n2 1 1\n2 2 -4\n", 4, 5,
     "expected 0 on the diagonal of a skew-symmetric matrix, found \"-4\""},
    {"skew_both_triangles", skew + "3 3 2\n2 1 1\n1 2 -1\n", 4, 1,
     "expected an entry of the lower triangle as before, found (1, 2): a skew-symmetric file holds one triangle, the "
     "other one is its mirror image"},
    {"malformed_before_triangles", symmetric + "3 3 3\n2 1 1\n1 x 5\n1 3 5\n", 4, 3,
     "expected a column index in 1 ... 3, found \"x\""},
    {"triangles_before_malformed", symmetric + "3 3 3\n2 1 1\n1 3 5\n1 x 5\n", 4, 1,
     "expected an entry of the lower triangle as before, found (1, 3): a symmetric file holds one triangle, the other "
     "one is its mirror image"},
};

template <class T>
void expect_refused(const Malformed& m) {
  try {
    static_cast<void>(parse_matrix_market<T>(m.text, "t.mtx"));
    FAIL() << m.name << " was accepted";
  } catch (const ParseError& e) {
    EXPECT_EQ(std::string(e.what()),
              "t.mtx:" + std::to_string(m.line) + ":" + std::to_string(m.column) + ": " + m.message)
        << m.name;
    EXPECT_EQ(e.line(), m.line) << m.name;
    EXPECT_EQ(e.column(), m.column) << m.name;
    EXPECT_EQ(e.file(), "t.mtx") << m.name;
  }
}

TEST(Malformed, Banner) {
  for (const Malformed& m : banners) expect_refused<double>(m);
}

TEST(Malformed, SizeLine) {
  for (const Malformed& m : size_lines) expect_refused<double>(m);
}

TEST(Malformed, NumberOfEntries) {
  for (const Malformed& m : counts) expect_refused<double>(m);
}

TEST(Malformed, Entries) {
  for (const Malformed& m : entries) expect_refused<double>(m);
}

TEST(Malformed, Symmetry) {
  for (const Malformed& m : symmetries) expect_refused<double>(m);
}

TEST(Malformed, OverflowInSinglePrecision) {
  expect_refused<float>(
      {"float", real + "1 1 1\n1 1 -1e39\n", 3, 5, "expected a number that fits single precision, found \"-1e39\""});
}

TEST(Malformed, RepeatedEntriesWhoseSumIsNotFinite) {
  const std::string text = "%%MatrixMarket matrix coordinate real general\n3 3 3\n1 1 1\n2 3 1e308\n2 3 1e308\n";
  try {
    static_cast<void>(parse_matrix_market<double>(text, "t.mtx"));
    FAIL() << "accepted";
  } catch (const InvalidMatrix& error) {
    EXPECT_STREQ(error.what(), "t.mtx: the repeated entries at row 2, column 3 sum to inf");
  }
}

TEST(Malformed, DuplicatesWhenRefused) {
  const std::string text = real + "3 3 5\n1 1 1\n2 2 1\n3 1 1\n2 2 4\n1 1 1\n";
  ReadOptions options;
  options.duplicates = Duplicates::error;
  try {
    static_cast<void>(parse_matrix_market<double>(text, "t.mtx", options));
    FAIL() << "accepted";
  } catch (const ParseError& e) {
    EXPECT_EQ(std::string(e.what()), "t.mtx:6:1: expected every position once, found (2, 2) again");
  }
  EXPECT_EQ(parse_matrix_market<double>(text, "t.mtx").duplicates, 2);
}

TEST(Malformed, VectorsAreNoMatrices) {
  try {
    static_cast<void>(parse_vector<double>(array + "2 2\n1\n2\n3\n4\n", "b.mtx"));
    FAIL() << "accepted";
  } catch (const ParseError& e) {
    EXPECT_EQ(std::string(e.what()), "b.mtx:2:1: expected a vector (one row or one column), found a 2 x 2 matrix");
  }
}

TEST(Malformed, PlainVectors) {
  const Malformed cases[] = {
      {"empty", "", 1, 1, "expected at least one number, found end of file"},
      {"comments_only", "# a\n% b\n", 3, 1, "expected at least one number, found end of file"},
      {"two_numbers", "1\n2 3\n", 2, 3, "expected 1 number, found 2: \"2 3\""},
      {"word", "# x\n1\nx\n", 3, 1, "expected a real number, found \"x\""},
      {"nan", "1\nnan\n", 2, 1, "expected a finite number, found \"nan\""},
  };
  for (const Malformed& m : cases) {
    try {
      static_cast<void>(parse_vector<double>(m.text, "b.txt"));
      ADD_FAILURE() << m.name << " was accepted";
    } catch (const ParseError& e) {
      EXPECT_EQ(std::string(e.what()),
                "b.txt:" + std::to_string(m.line) + ":" + std::to_string(m.column) + ": " + m.message)
          << m.name;
    }
  }
}

}  // namespace
}  // namespace tessera
