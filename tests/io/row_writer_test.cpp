// Binary matrix files written rows by rows: the bytes of write_binary(), and no file before all rows are there.
#include "io/checksum.hpp"
#include "tessera/binary_matrix.hpp"
#include "tessera/error.hpp"
#include "tessera/generators.hpp"
#include "tests/io/files.hpp"
#include "tests/support/adversarial.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/make_csr.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

namespace tessera {
namespace {

std::string content(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Rows [begin, end) as a matrix.
template <class T>
Csr<T> rows_of(const CsrView<T>& a, std::size_t begin, std::size_t end) {
  std::vector<offset_t> offsets;
  for (std::size_t i = begin; i <= end; ++i) offsets.push_back(a.row_offsets[i] - a.row_offsets[begin]);
  const auto first = a.columns.begin() + a.row_offsets[begin];
  const std::vector<index_t> columns(first, first + offsets.back());
  const auto rows = static_cast<std::int64_t>(end - begin);
  if (a.is_pattern()) return testing::make_pattern<T>(rows, a.cols, offsets, columns);
  const auto value = a.values.begin() + a.row_offsets[begin];
  return testing::make_csr<T>(rows, a.cols, offsets, columns, std::vector<T>(value, value + offsets.back()));
}

class RowWriter : public ::testing::Test {
 protected:
  /// The file, written `step` rows at a time.
  template <class T>
  [[nodiscard]] std::string written(const CsrView<T>& a, std::size_t step) const {
    BinaryMatrixWriter<T> writer(dir_.file("rows.tsb"), a.rows, a.cols, a.storage);
    for (std::size_t begin = 0; begin < static_cast<std::size_t>(a.rows); begin += step) {
      writer.append(rows_of(a, begin, std::min(begin + step, static_cast<std::size_t>(a.rows))).view());
    }
    writer.finish();
    return content(dir_.file("rows.tsb"));
  }

  testing::TemporaryDirectory dir_;
};

TEST_F(RowWriter, GivesTheBytesOfTheWhole) {
  for (const ValueStorage storage : {ValueStorage::weighted, ValueStorage::pattern}) {
    for (const auto& [name, matrix] : testing::adversarial_matrices<float>(storage, {})) {
      SCOPED_TRACE(name);
      write_binary(dir_.file("whole.tsb"), matrix.view());
      ASSERT_TRUE(written(matrix.view(), 97) == content(dir_.file("whole.tsb")));
    }
  }
}

TEST_F(RowWriter, OfSeveralPieces) {
  const Csr<double> matrix = poisson3d<double>(40, 40, 40);
  ASSERT_GT(matrix.columns().bytes(), 5 * io::checksum_chunk_bytes);
  write_binary(dir_.file("whole.tsb"), matrix.view());
  EXPECT_TRUE(written(matrix.view(), 30000) == content(dir_.file("whole.tsb")));
}

TEST_F(RowWriter, LeavesNothingBehindBeforeTheEnd) {
  const Csr<double> matrix = poisson2d<double>(3, 3);
  {
    BinaryMatrixWriter<double> writer(dir_.file("rows.tsb"), 10, 9);
    writer.append(matrix.view());
    EXPECT_EQ(writer.nnz(), matrix.nnz());
    EXPECT_EQ(testing::message_of<InvalidArgument>([&] { writer.finish(); }),
              "a binary matrix file of 10 rows cannot be finished after 9");
  }
  EXPECT_EQ(dir_.count(), 0U);
}

TEST_F(RowWriter, Refusals) {
  const Csr<double> matrix = poisson2d<double>(3, 3);
  BinaryMatrixWriter<double> writer(dir_.file("rows.tsb"), 12, 9);
  const auto message = [&](const Csr<double>& rows) {
    return testing::message_of<InvalidArgument>([&] { writer.append(rows.view()); });
  };
  EXPECT_EQ(message(poisson2d<double>(2, 2)), "rows 1 ... of a 12 x 9 matrix file cannot be 4 rows of 4 columns");
  EXPECT_EQ(message(matrix.structure()),
            "rows 1 ... of a 12 x 9 matrix file cannot be 9 rows of 9 columns without values");
  writer.append(matrix.view());
  EXPECT_EQ(message(matrix), "rows 10 ... of a 12 x 9 matrix file cannot be 9 rows of 9 columns");
  const auto infinite = testing::make_csr<double>(1, 9, {0, 1}, {0}, {std::numeric_limits<double>::infinity()});
  EXPECT_THROW(writer.append(infinite.view()), InvalidMatrix);
  writer.append(rows_of(matrix.view(), 0, 3).view());
  writer.finish();
  EXPECT_THROW(writer.finish(), InvalidArgument);
  EXPECT_THROW(BinaryMatrixWriter<double>(dir_.file("rows.tsb.gz"), 1, 1), InvalidArgument);
  EXPECT_THROW(BinaryMatrixWriter<double>(dir_.file("rows.tsb"), std::int64_t{1} << 31, 1), InvalidArgument);
  EXPECT_THROW(BinaryMatrixWriter<double>(dir_.file("no/such/rows.tsb"), 1, 1), IoError);
  EXPECT_EQ(dir_.count(), 1U);
}

}  // namespace
}  // namespace tessera
