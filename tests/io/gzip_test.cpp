#include "tessera/error.hpp"
#include "tessera/matrix_market.hpp"
#include "tests/io/files.hpp"
#include "tests/support/compare.hpp"

#include <gtest/gtest.h>

#include <string>

namespace tessera {
namespace {

/// Enough text for several blocks of the inflater; poorly compressible.
std::string array_text(int count) {
  std::string text = "%%MatrixMarket matrix array integer general\n" + std::to_string(count) + " 1\n";
  std::uint64_t state = 1;
  for (int k = 0; k < count; ++k) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    text += std::to_string(state >> 12) + "\n";
  }
  return text;
}

class Gzip : public ::testing::Test {
 protected:
  std::vector<double> read(const std::string& bytes, const char* name = "a.mtx.gz") {
    testing::write_text(dir_.file(name), bytes);
    return read_vector<double>(dir_.file(name));
  }
  std::string error_of(const std::string& bytes) {
    try {
      static_cast<void>(read(bytes));
    } catch (const ParseError& e) {
      const std::string what = e.what();
      const std::string prefix = dir_.file("a.mtx.gz").string() + ":";
      EXPECT_TRUE(what.starts_with(prefix)) << what;
      return what.substr(prefix.size());
    }
    return "accepted";
  }

  testing::TemporaryDirectory dir_;
};

TEST_F(Gzip, IsRecognisedByContent) {
  const std::string text = array_text(100000);
  const auto plain = parse_vector<double>(text, "t");
  EXPECT_EQ(read(testing::gzip(text), "named_plain.mtx"), plain);
  EXPECT_EQ(read(text, "named_compressed.mtx.gz"), plain);
}

TEST_F(Gzip, SeveralMembersAndPadding) {
  const std::string text = array_text(100000);
  const auto plain = parse_vector<double>(text, "t");
  const std::size_t cut = text.size() / 3;
  const std::string members = testing::gzip(text.substr(0, cut)) + testing::gzip("") + testing::gzip(text.substr(cut));
  EXPECT_EQ(read(members), plain);
  EXPECT_EQ(read(members + std::string(1000, '\0')), plain);
}

TEST_F(Gzip, TruncatedAnywhere) {
  const std::string whole = testing::gzip("%%MatrixMarket matrix array integer general\n2 1\n11\n22\n");
  for (std::size_t length = 2; length < whole.size(); ++length) {
    EXPECT_TRUE(
        error_of(whole.substr(0, length)).ends_with(": the gzip stream is truncated: expected more compressed data"))
        << length;
  }
  // All the text is there, only the checksum is not: the position is the end of the text.
  EXPECT_EQ(error_of(whole.substr(0, whole.size() - 1)),
            "5:1: the gzip stream is truncated: expected more compressed data");
  const std::string big = testing::gzip(array_text(100000));
  EXPECT_NE(error_of(big.substr(0, big.size() / 2)).find("truncated"), std::string::npos);
}

TEST_F(Gzip, Corrupt) {
  std::string bytes = testing::gzip("%%MatrixMarket matrix array integer general\n2 1\n11\n22\n");
  std::string checksum = bytes;
  checksum[checksum.size() - 6] = static_cast<char>(checksum[checksum.size() - 6] ^ 0x55);
  EXPECT_EQ(error_of(checksum), "5:1: the gzip stream is corrupt: incorrect data check");
  std::string method = bytes;
  method[2] = 7;
  EXPECT_EQ(error_of(method), "1:1: the gzip stream is corrupt: unknown compression method");
  EXPECT_EQ(error_of(bytes + "tail"), "5:1: expected the end of the file after the gzip stream, found other data");
}

TEST_F(Gzip, ErrorsInsideHaveTheirLine) {
  EXPECT_EQ(error_of(testing::gzip("%%MatrixMarket matrix array integer general\n2 1\n11\nx\n")),
            "4:1: expected an integer, found \"x\"");
  EXPECT_EQ(error_of(testing::gzip("")), "1:1: expected at least one number, found end of file");
}

}  // namespace
}  // namespace tessera
