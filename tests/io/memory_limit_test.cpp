// A few bytes must not make the reader allocate much: memory follows the data, not the sizes of the header.
#include "tessera/error.hpp"
#include "tessera/matrix_market.hpp"
#include "tests/io/files.hpp"

#include <gtest/gtest.h>

#include <string>

namespace tessera {
namespace {

constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20;

ReadOptions limited(std::uint64_t bytes) {
  ReadOptions options;
  options.memory_limit_bytes = bytes;
  return options;
}

TEST(MemoryLimit, HeaderBombs) {
  const std::string real = "%%MatrixMarket matrix coordinate real general\n";
  EXPECT_THROW(static_cast<void>(
                   parse_matrix_market<double>(real + "2000000000 2000000000 1\n1 1 1\n", "t", limited(64 * mebibyte))),
               OutOfMemory);
  EXPECT_THROW(
      static_cast<void>(parse_matrix_market<double>(real + "2000000000 2000000000 0\n", "t", limited(64 * mebibyte))),
      OutOfMemory);
  // The count is claimed only: the file ends before memory matters, even without a limit.
  EXPECT_THROW(static_cast<void>(parse_matrix_market<double>(real + "2000000000 2 9000000000000000000\n1 1 1\n", "t")),
               ParseError);
  EXPECT_THROW(static_cast<void>(parse_matrix_market<double>(
                   "%%MatrixMarket matrix array real general\n2000000000 2000000000\n1\n", "t")),
               ParseError);
  EXPECT_THROW(static_cast<void>(parse_vector<double>(real + "2000000000 1 1\n1 1 1\n", "t", limited(64 * mebibyte))),
               OutOfMemory);
  EXPECT_THROW(static_cast<void>(parse_vector<double>(real + "1 2000000000 1\n1 1 1\n", "t", limited(64 * mebibyte))),
               OutOfMemory);
}

TEST(MemoryLimit, GzipBomb) {
  const testing::TemporaryDirectory dir;
  const std::string bomb =
      testing::gzip("%%MatrixMarket matrix array real general\n" + std::string(64 * mebibyte, ' '));
  ASSERT_LT(bomb.size(), mebibyte);
  testing::write_text(dir.file("bomb.gz"), bomb);
  try {
    static_cast<void>(read_matrix_market<double>(dir.file("bomb.gz"), limited(8 * mebibyte)));
    FAIL() << "accepted";
  } catch (const OutOfMemory& e) {
    EXPECT_LE(e.available_bytes(), 8 * mebibyte);
  }
}

TEST(MemoryLimit, BoundsAreTight) {
  // 1000 entries on a diagonal; text, entries and assembly together are well below 200 kB and above 20 kB.
  std::string text = "%%MatrixMarket matrix coordinate real general\n1000 1000 1000\n";
  for (int k = 1; k <= 1000; ++k) text += std::to_string(k) + " " + std::to_string(k) + " 1.5\n";
  const testing::TemporaryDirectory dir;
  testing::write_text(dir.file("a.mtx"), text);
  EXPECT_EQ(read_matrix_market<double>(dir.file("a.mtx"), limited(200000)).matrix.nnz(), 1000);
  EXPECT_THROW(static_cast<void>(read_matrix_market<double>(dir.file("a.mtx"), limited(20000))), OutOfMemory);
  EXPECT_THROW(static_cast<void>(read_matrix_market<double>(dir.file("a.mtx"), limited(1000))), OutOfMemory);
}

TEST(MemoryLimit, TheTextMakesRoomForTheMatrix) {
  std::string text = "%%MatrixMarket matrix coordinate real general\n1000 1000 1000\n";
  for (int k = 1000; k >= 1; --k) {
    text += std::to_string(k) + " " + std::to_string(k) + " 1." + std::string(200, '0') + "\n";
  }
  const testing::TemporaryDirectory dir;
  testing::write_text(dir.file("a.mtx"), text);
  // Room for text and entries, but not for the matrix too.
  ReadOptions options = limited(text.size() + 20000);
  EXPECT_EQ(read_matrix_market<double>(dir.file("a.mtx"), options).matrix.nnz(), 1000);
  options.duplicates = Duplicates::error;  // which an error would have to find in the text
  EXPECT_THROW(static_cast<void>(read_matrix_market<double>(dir.file("a.mtx"), options)), OutOfMemory);
}

}  // namespace
}  // namespace tessera
