// Files of several chunks: every thread count gives the same matrix, and the first error in the file wins.
#include "tessera/error.hpp"
#include "tessera/matrix_market.hpp"
#include "tests/support/compare.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tessera {
namespace {

constexpr std::int64_t entries = 400000;

/// About 6 MB: entry k is ((7 k) mod rows, k / rows), with comments, blank lines and CRLF strewn in.
std::vector<std::string> big_file_lines() {
  constexpr std::int64_t rows = 1000;
  std::vector<std::string> lines{"%%MatrixMarket matrix coordinate real general",
                                 "1000 400 " + std::to_string(entries)};
  for (std::int64_t k = 0; k < entries; ++k) {
    if (k % 1001 == 0) lines.emplace_back("% a comment that holds numbers: 1 2 3");
    if (k % 997 == 0) lines.emplace_back(k % 2 == 0 ? "" : "\r");
    lines.push_back(std::to_string(1 + 7 * k % rows) + " " + std::to_string(1 + k / rows) + " " + std::to_string(k) +
                    (k % 3 == 0 ? "\r" : ""));
  }
  return lines;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

ReadOptions with_threads(int threads) {
  ReadOptions options;
  options.device = Device::host(threads);
  return options;
}

TEST(Chunks, SameMatrixForEveryNumberOfThreads) {
  const std::string text = joined(big_file_lines());
  ASSERT_GT(text.size(), std::size_t{5} << 20);
  const auto one = parse_matrix_market<double>(text, "t", with_threads(1));
  ASSERT_EQ(one.matrix.nnz(), entries);
  // Row i holds, in column j, the k with 7 k = i (mod 1000) and k / 1000 = j; 7 * 143 = 1 (mod 1000).
  for (std::int64_t i = 0; i < 1000; ++i) {
    for (std::int64_t j = 0; j < 400; ++j) {
      ASSERT_EQ(one.matrix.values()[400 * i + j], static_cast<double>(1000 * j + 143 * i % 1000));
    }
  }
  for (const int threads : {2, 3, 8}) {
    testing::expect_identical(parse_matrix_market<double>(text, "t", with_threads(threads)).matrix.view(),
                              one.matrix.view());
  }
}

TEST(Chunks, FirstErrorWinsWithItsLine) {
  const std::vector<std::string> lines = big_file_lines();
  for (const std::size_t broken : {std::size_t{2}, std::size_t{70000}, std::size_t{200001}, lines.size() - 1}) {
    std::vector<std::string> damaged = lines;
    damaged[broken] = " 5 five 5";
    damaged.back() = "x";  // a later error must not hide the earlier one
    const std::string text = joined(damaged);
    for (const int threads : {1, 4}) {
      try {
        static_cast<void>(parse_matrix_market<double>(text, "t", with_threads(threads)));
        FAIL() << "accepted";
      } catch (const ParseError& e) {
        EXPECT_EQ(e.line(), static_cast<std::int64_t>(broken) + 1);
        EXPECT_EQ(e.column(), broken + 1 == lines.size() ? 1 : 4);
      }
    }
  }
}

TEST(Chunks, SymmetricTrianglesAcrossChunks) {
  std::string text = "%%MatrixMarket matrix coordinate real symmetric\n% 123456789\n400001 400001 400001\n";
  for (int k = 1; k <= 400000; ++k) text += std::to_string(k + 1) + " " + std::to_string(k) + " -1\n";
  const std::string upper = text + "5 400001 1\n";
  for (const int threads : {1, 4}) {
    try {
      static_cast<void>(parse_matrix_market<double>(upper, "t", with_threads(threads)));
      FAIL() << "accepted";
    } catch (const ParseError& e) {
      EXPECT_EQ(e.line(), 400004);
    }
    const auto path = parse_matrix_market<double>(text + "7 7 3\n", "t", with_threads(threads));
    EXPECT_EQ(path.matrix.nnz(), 800001);
    EXPECT_EQ(path.matrix.row_offsets()[7] - path.matrix.row_offsets()[6], 3);
  }
}

TEST(Chunks, ALineLongerThanAChunk) {
  const std::string blanks(std::size_t{3} << 20, ' ');
  const auto m = parse_matrix_market<double>(
      "%%MatrixMarket matrix coordinate real general\n%" + blanks + "\n2 2 2\n1" + blanks + "1 4\n2 2 5", "t",
      with_threads(4));
  EXPECT_EQ(m.matrix.nnz(), 2);
  EXPECT_EQ(m.matrix.values()[1], 5.0);
}

}  // namespace
}  // namespace tessera
