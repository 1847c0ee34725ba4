// Binary matrix files: written matrices come back bit by bit; damaged files are refused.
#include "io/binary_header.hpp"
#include "io/checksum.hpp"
#include "tessera/binary_matrix.hpp"
#include "tessera/error.hpp"
#include "tessera/generators.hpp"
#include "tests/io/files.hpp"
#include "tests/support/adversarial.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/make_csr.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace tessera {
namespace {

using io::BinaryHeader;
using testing::expect_identical;
using testing::make_csr;
using testing::make_pattern;

MatrixMarketMatrix<double> small_text() {
  return parse_matrix_market<double>(
      "%%MatrixMarket matrix coordinate integer symmetric\n4 4 5\n1 1 7\n2 1 -3\n4 3 2\n4 3 5\n3 3 0\n", "t");
}

class Binary : public ::testing::Test {
 protected:
  [[nodiscard]] std::filesystem::path file() const { return dir_.file("a.tsb"); }

  /// "ok", or what the reader throws, without the name of the file.
  template <class T = double>
  std::string outcome(const ReadOptions& options = {}) {
    const std::string prefix = file().string() + ": ";
    const auto shortened = [&](const std::string& what) {
      EXPECT_TRUE(what.starts_with(prefix)) << what;
      return what.substr(std::min(prefix.size(), what.size()));
    };
    try {
      validate(read_binary<T>(file(), options).matrix.view());
      return "ok";
    } catch (const ParseError& e) {
      EXPECT_EQ(e.file(), file().string());
      EXPECT_EQ(e.line(), 0);
      return "parse: " + shortened(e.what());
    } catch (const InvalidMatrix& e) {
      return "invalid: " + shortened(e.what());
    }
  }

  /// Overwrites one byte in place.
  void put_byte(std::size_t at, char byte) const {
    std::fstream stream(file(), std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(static_cast<std::streamoff>(at)).put(byte);
  }

  /// Refuses the file with any one bit changed.
  void expect_every_bit_counts(const std::string& bytes) {
    testing::write_text(file(), bytes);
    ASSERT_EQ(outcome(), "ok");
    ASSERT_LT(bytes.size(), 1000U);
    for (std::size_t k = 0; k < bytes.size(); ++k) {
      for (int bit = 0; bit < 8; ++bit) {
        put_byte(k, static_cast<char>(bytes[k] ^ (1 << bit)));
        ASSERT_TRUE(outcome().starts_with("parse: byte ")) << "byte " << k << ", bit " << bit << ": " << outcome();
      }
      put_byte(k, bytes[k]);
    }
  }

  /// Writes the file with a changed header and the checksum that fits it.
  void write_with(const std::string& bytes, const std::function<void(BinaryHeader&)>& change) {
    BinaryHeader header;
    std::memcpy(&header, bytes.data(), sizeof(header));
    change(header);
    header.checksum = io::header_checksum(header);
    std::string changed = bytes;
    std::memcpy(changed.data(), &header, sizeof(header));
    testing::write_text(file(), changed);
  }

  /// Changes a section through `change(bytes)`, with checksums that fit.
  void write_with_section(std::string bytes, std::size_t which, const std::function<void(char*)>& change) {
    BinaryHeader header;
    std::memcpy(&header, bytes.data(), sizeof(header));
    auto& section = header.sections.at(which);
    change(bytes.data() + section.offset);
    section.checksum = io::checksum(io::checksum_of(header), bytes.data() + section.offset, section.bytes, Device{});
    write_with(bytes, [&](BinaryHeader& h) { h.sections = header.sections; });
  }

  testing::TemporaryDirectory dir_;
};

template <class T>
class BinaryTyped : public ::testing::Test {
 protected:
  testing::TemporaryDirectory dir_;
};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(BinaryTyped, Types);

TYPED_TEST(BinaryTyped, AdversarialMatricesComeBack) {
  const auto path = this->dir_.file("m.tsb");
  for (const ValueStorage storage : {ValueStorage::weighted, ValueStorage::pattern}) {
    for (const auto& [name, matrix] : testing::adversarial_matrices<TypeParam>(storage, {64})) {
      SCOPED_TRACE(name);
      write_binary(path, matrix.view());
      expect_identical(read_binary<TypeParam>(path).matrix.view(), matrix.view());
      const BinaryMatrixInfo info = read_binary_info(path);
      EXPECT_EQ(info.header.rows, matrix.rows());
      EXPECT_EQ(info.header.cols, matrix.cols());
      EXPECT_EQ(info.nnz, matrix.nnz());
      EXPECT_FALSE(info.source.has_value());
    }
  }
}

TYPED_TEST(BinaryTyped, SeveralPiecesAndThreads) {
  const Csr<TypeParam> matrix = poisson3d<TypeParam>(60, 60, 60);
  ASSERT_GT(matrix.values().bytes(), 5 * io::checksum_chunk_bytes);
  const auto path = this->dir_.file("m.tsb");
  write_binary(path, matrix.view());
  for (const int threads : {1, 2, 7}) {
    ReadOptions options;
    options.device = Device::host(threads);
    expect_identical(read_binary<TypeParam>(path, options).matrix.view(), matrix.view());
  }
}

TEST_F(Binary, KeepsWhatTheTextSaid) {
  const auto text = small_text();
  const BinarySource source{123, -5, 77, 42, 0xfedcba9876543210U, true};
  write_binary(file(), text, source);
  EXPECT_TRUE(is_binary_matrix(file()));
  const BinaryMatrixInfo info = read_binary_info(file());
  EXPECT_EQ(info.header.field, MatrixMarketField::integer);
  EXPECT_EQ(info.header.symmetry, MatrixMarketSymmetry::symmetric);
  EXPECT_EQ(info.header.format, MatrixMarketFormat::coordinate);
  EXPECT_EQ(info.header.entries, 5);
  EXPECT_EQ(info.nnz, 6);
  EXPECT_EQ(info.values, BinaryValues::fp64);
  EXPECT_EQ(info.duplicates, 2);
  EXPECT_EQ(info.explicit_zeros, 1);
  EXPECT_EQ(info.source, source);
  const auto back = read_binary<double>(file());
  expect_identical(back.matrix.view(), text.matrix.view());
  EXPECT_EQ(back.header.symmetry, MatrixMarketSymmetry::symmetric);
  EXPECT_EQ(back.duplicates, 2);
  EXPECT_EQ(back.explicit_zeros, 1);
  ReadOptions strict;
  strict.duplicates = Duplicates::error;
  EXPECT_EQ(outcome(strict), "invalid: the text it was made from repeats positions: 2 entries were merged");
}

/// small_text() and its source in format version 1, as the version of Tessera that wrote it did: the 64-bit words that
/// are not 0.
std::string version_1_file() {
  constexpr std::pair<std::size_t, std::uint64_t> words[] = {
      {0, 0x0a1a0a0d42535489U},  {1, 0x0000010000000001U},  {2, 0x00000000000001b0U},  {3, 0x0000000000000004U},
      {4, 0x0000000000000004U},  {5, 0x0000000000000006U},  {6, 0x0000000300000002U},  {7, 0x0000000100000000U},
      {8, 0x0000000000000001U},  {9, 0x0000000000000005U},  {10, 0x0000000000000002U}, {11, 0x0000000000000001U},
      {12, 0x000000000000007bU}, {13, 0xfffffffffffffffbU}, {14, 0xfedcba9876543210U}, {15, 0x0000000000000100U},
      {16, 0x0000000000000028U}, {17, 0xf34eb4b4c89dbba0U}, {18, 0x0000000000000140U}, {19, 0x0000000000000018U},
      {20, 0x9dd4f4b3c9b0d52bU}, {21, 0x0000000000000180U}, {22, 0x0000000000000030U}, {23, 0xc47ec2bfcfed3f4eU},
      {24, 0x000000000000004dU}, {25, 0x000000000000002aU}, {31, 0x01defe465e1a3e42U}, {33, 0x0000000000000002U},
      {34, 0x0000000000000003U}, {35, 0x0000000000000005U}, {36, 0x0000000000000006U}, {40, 0x0000000100000000U},
      {41, 0x0000000200000000U}, {42, 0x0000000200000003U}, {48, 0x401c000000000000U}, {49, 0xc008000000000000U},
      {50, 0xc008000000000000U}, {52, 0x401c000000000000U}, {53, 0x401c000000000000U}};
  std::string bytes(432, '\0');
  for (const auto& [k, word] : words) std::memcpy(bytes.data() + k * sizeof(word), &word, sizeof(word));
  return bytes;
}

TEST_F(Binary, FormatVersion1IsStillRead) {
  testing::write_text(file(), version_1_file());
  const auto back = read_binary<double>(file());
  const auto text = small_text();
  expect_identical(back.matrix.view(), text.matrix.view());
  EXPECT_EQ(back.duplicates, 2);
  EXPECT_EQ(back.explicit_zeros, 1);
  const BinaryMatrixInfo info = read_binary_info(file());
  EXPECT_EQ(info.source, (BinarySource{123, -5, 77, 42, 0xfedcba9876543210U, true}));
  // Written anew it has the current version, and apart from version and checksums the same bytes.
  write_binary(file(), back, info.source);
  BinaryHeader header;
  const std::string bytes = testing::read_text(file());
  ASSERT_EQ(bytes.size(), 432U);
  std::memcpy(&header, bytes.data(), sizeof(header));
  EXPECT_EQ(header.version, 2U);
  EXPECT_EQ(bytes.substr(sizeof(header)), version_1_file().substr(sizeof(header)));
}

TEST_F(Binary, EveryChangedBitIsRefused) {
  write_binary(file(), small_text(), BinarySource{1, 2, 3, 4, 5, false});
  expect_every_bit_counts(testing::read_text(file()));
  expect_every_bit_counts(version_1_file());
}

TEST_F(Binary, CutOffAnywhereOrTooLong) {
  write_binary(file(), small_text());
  const std::string bytes = testing::read_text(file());
  for (std::size_t length = bytes.size(); length-- > 0;) {
    std::filesystem::resize_file(file(), length);
    const std::string message = outcome();
    if (length == 0) {
      EXPECT_EQ(message, "parse: byte 0: expected a binary matrix, found an empty file");
    } else if (length < sizeof(BinaryHeader)) {
      EXPECT_EQ(message, "parse: byte " + std::to_string(length) +
                             ": expected a header of 256 bytes, found the end of the file");
    } else {
      EXPECT_EQ(message, "parse: byte " + std::to_string(length) + ": expected " + std::to_string(bytes.size()) +
                             " bytes, found the end of the file: it is cut off");
    }
  }
  testing::write_text(file(), bytes + "more");
  EXPECT_EQ(outcome(), "parse: byte " + std::to_string(bytes.size()) +
                           ": expected the end of the file, found 4 more "
                           "bytes");
}

TEST_F(Binary, NotOurs) {
  testing::write_text(file(), "%%MatrixMarket matrix coordinate real general\n1 1 0\n");
  EXPECT_EQ(outcome(), "parse: byte 0: this is not a binary matrix file");
  EXPECT_FALSE(is_binary_matrix(file()));
  EXPECT_THROW(static_cast<void>(read_binary<double>(dir_.file("none.tsb"))), IoError);
  EXPECT_THROW(static_cast<void>(read_binary<double>(dir_.path())), IoError);
  EXPECT_THROW(static_cast<void>(read_binary_info("/dev/null")), IoError);
}

TEST_F(Binary, HeadersThatCannotBeTrusted) {
  write_binary(file(), small_text());
  const std::string bytes = testing::read_text(file());
  constexpr std::int64_t large = std::numeric_limits<std::int64_t>::max();
  const struct {
    std::function<void(BinaryHeader&)> change;
    std::string message;
  } cases[] = {
      {[](BinaryHeader& h) { h.version = 4; },
       "byte 8: expected format version 1, 2 or 3, found 4: written by a newer Tessera"},
      {[](BinaryHeader& h) { h.version = 0; }, "byte 8: expected format version 1, 2 or 3, found 0"},
      {[](BinaryHeader& h) { h.version = 3; }, "byte 68: layout: expected 1 in version 3, found 0"},
      {[](BinaryHeader& h) { h.header_bytes = 255; }, "byte 12: expected a header of 256 bytes, found 255"},
      {[](BinaryHeader& h) { h.file_bytes += 1; }, "byte 16: expected a file of 432 bytes for these sizes, found 433"},
      {[](BinaryHeader& h) { h.rows = -1; }, "byte 24: rows: expected a number in 0 ... 2147483647, found -1"},
      {[](BinaryHeader& h) { h.rows = std::int64_t{1} << 31; },
       "byte 24: rows: expected a number in 0 ... 2147483647, found 2147483648"},
      {[](BinaryHeader& h) { h.cols = large; },
       "byte 32: columns: expected a number in 0 ... 2147483647, found 9223372036854775807"},
      {[](BinaryHeader& h) { h.nnz = -7; },
       "byte 40: nonzeros: expected a number in 0 ... 9223372036854775807, found -7"},
      {[](BinaryHeader& h) { h.nnz = large; }, "byte 40: bytes of the columns: 9223372036854775807 * 4 overflows"},
      {[](BinaryHeader& h) { h.nnz = std::int64_t{1} << 61; },
       "byte 40: bytes of the values: 2305843009213693952 * 8 overflows"},
      {[](BinaryHeader& h) { h.values = 3; }, "byte 48: type of values: expected a number in 0 ... 2, found 3"},
      {[](BinaryHeader& h) { h.flags = 4; }, "byte 52: flags: expected a number in 0 ... 3, found 4"},
      {[](BinaryHeader& h) { h.format = 2; }, "byte 56: format of the text: expected a number in 0 ... 1, found 2"},
      {[](BinaryHeader& h) { h.field = 3; }, "byte 60: field of the text: expected a number in 0 ... 2, found 3"},
      {[](BinaryHeader& h) { h.symmetry = 3; }, "byte 64: symmetry of the text: expected a number in 0 ... 2, found 3"},
      {[](BinaryHeader& h) { h.layout = 2; }, "byte 68: layout: expected a number in 0 ... 1, found 2"},
      {[](BinaryHeader& h) { h.layout = 1; }, "byte 68: layout: expected 0 in version 2, found 1"},
      {[](BinaryHeader& h) { h.entries = -1; },
       "byte 72: entries of the text: expected a number in 0 ... 9223372036854775807, found -1"},
      {[](BinaryHeader& h) { h.duplicates = -1; },
       "byte 80: merged entries: expected a number in 0 ... 9223372036854775807, found -1"},
      {[](BinaryHeader& h) { h.explicit_zeros = -1; },
       "byte 88: explicit zeros: expected a number in 0 ... 9223372036854775807, found -1"},
      {[](BinaryHeader& h) { h.sections[0].offset += 64; },
       "byte 120: expected section 0 of 40 bytes at byte 256, found 40 bytes at byte 320"},
      {[](BinaryHeader& h) { h.sections[2].bytes = 8; },
       "byte 168: expected section 2 of 48 bytes at byte 384, found 8 bytes at byte 384"},
      {[](BinaryHeader& h) { h.bitmaps.checksum = 1; },
       "byte 208: expected no section of bitmaps in a file without tiles"},
      {[](BinaryHeader& h) { h.tiles = 1; }, "byte 232: tiles: expected a number in 0 ... 0, found 1"},
      {[](BinaryHeader& h) { h.reserved = 1; }, "byte 240: expected reserved bytes to be 0"},
      // Sizes that fit together, but not the file: nothing of that size is allocated.
      {[](BinaryHeader& h) {
         h.nnz = std::int64_t{1} << 50;
         io::lay_out_sections(h);
       },
       "byte 432: expected 13510798882111808 bytes, found the end of the file: it is cut off"},
      {[](BinaryHeader& h) { h.sections[1].checksum ^= 1; },
       "byte 320: the checksum of the columns (24 bytes) is wrong: the file is damaged"},
  };
  for (const auto& c : cases) {
    write_with(bytes, c.change);
    EXPECT_EQ(outcome(), "parse: " + c.message);
  }
}

TEST_F(Binary, StructureIsCheckedThoughChecksumsAreRight) {
  const auto matrix = make_csr<double>(3, 4, {0, 2, 2, 4}, {1, 3, 0, 2}, {1, 2, 3, 4});
  write_binary(file(), matrix.view());
  const std::string bytes = testing::read_text(file());
  const auto put = [](auto value, std::size_t at) {
    return [value, at](char* section) { std::memcpy(section + at * sizeof(value), &value, sizeof(value)); };
  };
  const struct {
    std::size_t section;
    std::function<void(char*)> change;
    std::string message;
  } cases[] = {
      {0, put(offset_t{1}, 0), "row offsets must run from 0 to the 4 nonzeros, but run from 1 to 4"},
      {0, put(offset_t{3}, 3), "row offsets must run from 0 to the 4 nonzeros, but run from 0 to 3"},
      {0, put(offset_t{-2}, 1), "row 0: offsets 0 ... -2 do not ascend within the 4 nonzeros"},
      {0, put(offset_t{5}, 2), "row 1: offsets 2 ... 5 do not ascend within the 4 nonzeros"},
      {1, put(index_t{-1}, 0), "row 0, nonzero 0: column -1 is outside [0, 4)"},
      {1, put(index_t{4}, 3), "row 2, nonzero 3: column 4 is outside [0, 4)"},
      {1, put(index_t{3}, 0), "row 0, nonzero 1: column 3 after column 3: columns must ascend without duplicates"},
      {1, put(index_t{3}, 2), "row 2, nonzero 3: column 2 after column 3: columns must ascend without duplicates"},
  };
  for (const auto& c : cases) {
    write_with_section(bytes, c.section, c.change);
    EXPECT_EQ(outcome(), "invalid: " + c.message + " (row offsets from byte 256, columns from byte 320)");
  }
  write_with_section(bytes, 2, put(std::numeric_limits<double>::infinity(), 1));
  EXPECT_EQ(outcome(), "invalid: byte 392: nonzero 1 is inf, which a binary matrix file cannot hold");
  write_with_section(bytes, 2, put(std::numeric_limits<double>::quiet_NaN(), 3));
  EXPECT_EQ(outcome<float>(), "invalid: byte 408: nonzero 3 is nan, which a binary matrix file cannot hold");
  std::string padding = bytes;
  padding[300] = 1;
  testing::write_text(file(), padding);
  EXPECT_EQ(outcome(), "parse: byte 300: expected zeros between the sections");
}

TEST_F(Binary, OtherPrecision) {
  const auto matrix = make_csr<double>(2, 2, {0, 1, 3}, {0, 0, 1}, {0.1, -3e38, 1e-60});
  write_binary(file(), matrix.view());
  EXPECT_EQ(read_binary_info(file()).values, BinaryValues::fp64);
  expect_identical(read_binary<float>(file()).matrix.view(),
                   make_csr<float>(2, 2, {0, 1, 3}, {0, 0, 1}, {0.1F, -3e38F, 0.0F}).view());
  write_binary(file(), make_csr<double>(1, 2, {0, 2}, {0, 1}, {1, -4e38}).view());
  EXPECT_EQ(outcome<float>(), "invalid: byte 392: nonzero 1 is -4e+38, which does not fit single precision");
  write_binary(file(), make_csr<float>(1, 2, {0, 2}, {0, 1}, {0.1F, 5e-42F}).view());
  EXPECT_EQ(read_binary_info(file()).values, BinaryValues::fp32);
  expect_identical(read_binary<double>(file()).matrix.view(),
                   make_csr<double>(1, 2, {0, 2}, {0, 1}, {0.1F, 5e-42F}).view());
  write_binary(file(), make_pattern<double>(1, 2, {0, 2}, {0, 1}).view());
  expect_identical(read_binary<float>(file()).matrix.view(), make_pattern<float>(1, 2, {0, 2}, {0, 1}).view());
}

TEST_F(Binary, MemoryLimit) {
  write_binary(file(), poisson2d<double>(20, 20).view());
  const std::uint64_t size = std::filesystem::file_size(file());
  ReadOptions options;
  options.memory_limit_bytes = size;
  EXPECT_EQ(read_binary<double>(file(), options).matrix.rows(), 400);
  EXPECT_THROW(static_cast<void>(read_binary<float>(file(), options)), OutOfMemory);
  options.memory_limit_bytes = size - 1;
  EXPECT_THROW(static_cast<void>(read_binary<double>(file(), options)), OutOfMemory);
}

TEST_F(Binary, WhatIsNotWritten) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(write_binary(file(), make_csr<double>(1, 2, {0, 2}, {0, 1}, {1, nan}).view()), InvalidMatrix);
  EXPECT_THROW(write_binary(dir_.file("a.tsb.gz"), poisson2d<double>(3, 3).view()), InvalidArgument);
  EXPECT_THROW(write_binary(dir_.file("no/such/dir.tsb"), poisson2d<double>(3, 3).view()), IoError);
  auto text = small_text();
  text.header.rows = 5;
  EXPECT_THROW(write_binary(file(), text), InvalidArgument);
  EXPECT_EQ(dir_.count(), 0U);
}

class ChecksumTest : public ::testing::TestWithParam<io::Checksum> {};
INSTANTIATE_TEST_SUITE_P(Functions, ChecksumTest, ::testing::Values(io::Checksum::lanes, io::Checksum::xxh3));

TEST_P(ChecksumTest, EveryWordCountsInItsPlace) {
  std::mt19937_64 random(3);
  std::vector<char> data(3 * io::checksum_chunk_bytes + 13);
  for (char& c : data) c = static_cast<char>(random());
  const std::uint64_t whole = io::checksum(GetParam(), data.data(), data.size(), Device{});
  EXPECT_EQ(io::checksum(GetParam(), data.data(), data.size(), Device::host(1)), whole);
  EXPECT_EQ(io::checksum(GetParam(), data.data(), data.size(), Device::host(5)), whole);
  EXPECT_NE(io::checksum(GetParam(), data.data(), data.size() - 1, Device{}), whole);
  for (int round = 0; round < 300; ++round) {
    const std::size_t a = random() % data.size();
    const std::size_t b = random() % data.size();
    if (data[a] == data[b]) continue;
    std::swap(data[a], data[b]);
    EXPECT_NE(io::checksum(GetParam(), data.data(), data.size(), Device{}), whole) << a << ' ' << b;
    std::swap(data[a], data[b]);
  }
  // Zeros at the end count, although the last word is filled up with zeros.
  const std::vector<char> zeros(100);
  for (std::size_t n = 1; n <= zeros.size(); ++n) {
    EXPECT_NE(io::chunk_checksum(GetParam(), zeros.data(), n), io::chunk_checksum(GetParam(), zeros.data(), n - 1));
  }
}

/// XXH3_64bits of the empty input, as xxHash publishes it; also with the seed 0 of joining.
TEST(Checksum, IsXxh3) {
  EXPECT_EQ(io::chunk_checksum(io::Checksum::xxh3, nullptr, 0), 0x2d06800538d394c2U);
  EXPECT_EQ(io::checksum(io::Checksum::xxh3, nullptr, 0, Device{}), 0x2d06800538d394c2U);
}

}  // namespace
}  // namespace tessera
