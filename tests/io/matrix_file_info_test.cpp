/// Sizes of matrix files, from their first bytes.

#include "tests/io/files.hpp"

#include "tessera/binary_matrix.hpp"
#include "tessera/error.hpp"
#include "tessera/generators.hpp"
#include "tessera/matrix_file_info.hpp"

#include <fstream>
#include <string>

namespace tessera::testing {

namespace {

class MatrixFileInfoTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::filesystem::path written(const std::string& name, const std::string& text) const {
    std::ofstream(directory_.file(name), std::ios::binary) << text;
    return directory_.file(name);
  }
  [[nodiscard]] std::filesystem::path path(const std::string& name) const { return directory_.file(name); }

 private:
  TemporaryDirectory directory_;
};

TEST_F(MatrixFileInfoTest, SizesOfTextAreThoseOfItsHeader) {
  const auto general = read_matrix_file_info(
      written("g.mtx", "%%MatrixMarket matrix coordinate real general\n% a comment\n\n3 4 2\n1 1 1\n3 4 2\n"));
  ASSERT_TRUE(general);
  EXPECT_EQ(general->header.rows, 3);
  EXPECT_EQ(general->header.cols, 4);
  EXPECT_EQ(general->most_nnz, 2);
  EXPECT_FALSE(general->is_binary);
  const auto symmetric =
      read_matrix_file_info(written("s.mtx", "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 3\n"));
  ASSERT_TRUE(symmetric);
  EXPECT_EQ(symmetric->most_nnz, 4) << "at most, since the diagonal is not mirrored";
  EXPECT_TRUE(symmetric->is_pattern);
}

TEST_F(MatrixFileInfoTest, AHeaderThatClaimsMoreThanTheFileHolds) {
  const auto claim = read_matrix_file_info(
      written("c.mtx", "%%MatrixMarket matrix coordinate pattern general\n9 9 9223372036854775807\n"));
  ASSERT_TRUE(claim);
  EXPECT_LT(claim->most_nnz, 100);
}

TEST_F(MatrixFileInfoTest, BinaryFilesAreExact) {
  const auto a = poisson2d<double>(20, 20);
  write_binary(path("a.tsb"), a.view());
  const auto info = read_matrix_file_info(path("a.tsb"));
  ASSERT_TRUE(info);
  EXPECT_TRUE(info->is_binary);
  EXPECT_EQ(info->most_nnz, a.nnz());
  EXPECT_GE(info->reading_bytes(sizeof(double)), a.bytes());
  EXPECT_LE(info->reading_bytes(sizeof(double)), a.bytes() + 512) << "header and padding";
}

/// A limit of so many bytes is enough for the reader, whatever the format.
TEST_F(MatrixFileInfoTest, WhatIsForetoldIsEnough) {
  const auto a = poisson3d<double>(12, 12, 12);
  write_matrix_market(path("general.mtx"), a.view());
  WriteOptions lower;
  lower.symmetry = MatrixMarketSymmetry::symmetric;
  write_matrix_market(path("symmetric.mtx"), a.view(), lower);
  write_binary(path("a.tsb"), a.view());
  static_cast<void>(written("array.mtx", "%%MatrixMarket matrix array real general\n2 3\n1\n2\n3\n4\n5\n6\n"));
  for (const char* name : {"general.mtx", "symmetric.mtx", "a.tsb", "array.mtx"}) {
    for (const Duplicates duplicates : {Duplicates::sum, Duplicates::error}) {
      ReadOptions options;
      options.duplicates = duplicates;
      const auto info = read_matrix_file_info(path(name));
      ASSERT_TRUE(info) << name;
      options.memory_limit_bytes = info->reading_bytes(sizeof(double), duplicates);
      const auto matrix = info->is_binary ? read_binary<double>(path(name), options).matrix
                                          : read_matrix_market<double>(path(name), options).matrix;
      EXPECT_LE(matrix.nnz(), info->most_nnz) << name;
      EXPECT_LE(matrix.bytes(), options.memory_limit_bytes) << name;
      EXPECT_LE(options.memory_limit_bytes, 6 * matrix.bytes() + 1000) << name << ": and not far beyond";
    }
  }
}

TEST_F(MatrixFileInfoTest, NothingWhereTheHeaderDoesNotTell) {
  EXPECT_FALSE(read_matrix_file_info(written("z.mtx", "\x1f\x8b\x08")));
  EXPECT_FALSE(read_matrix_file_info("/dev/null"));
  const std::string comments(std::size_t{3} << 20, '%');
  EXPECT_FALSE(read_matrix_file_info(
      written("long.mtx", "%%MatrixMarket matrix coordinate real general\n" + comments + "\n1 1 0\n")));
}

TEST_F(MatrixFileInfoTest, FaultsAreThoseOfTheReader) {
  EXPECT_THROW(static_cast<void>(read_matrix_file_info(path("none.mtx"))), IoError);
  for (const char* text : {"hello\n", "", "%%MatrixMarket matrix coordinate complex general\n1 1 1\n",
                           "%%MatrixMarket matrix coordinate real general\n1 x 1\n"}) {
    const auto file = written("bad.mtx", text);
    EXPECT_THROW(static_cast<void>(read_matrix_file_info(file)), ParseError) << text;
    EXPECT_THROW(static_cast<void>(read_matrix_market<double>(file)), ParseError) << text;
  }
}

}  // namespace

}  // namespace tessera::testing
