// Binary files of bitmap tiles: read back as rows bit by bit; damaged files are refused.
#include "io/binary_header.hpp"
#include "io/checksum.hpp"
#include "tessera/binary_matrix.hpp"
#include "tessera/error.hpp"
#include "tessera/matrix_file_info.hpp"
#include "tests/io/files.hpp"
#include "tests/preprocess/naive_tiles.hpp"
#include "tests/support/make_csr.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>
#include <string>

namespace tessera {
namespace {

using io::BinaryHeader;
using testing::expect_identical;
using testing::make_csr;

/// 10 x 19 with tiles (0, 0), (0, 2) and (1, 1).
[[nodiscard]] Csr<double> small() {
  return make_csr<double>(10, 19, {0, 2, 2, 2, 2, 2, 2, 2, 3, 3, 5}, {0, 18, 7, 8, 15}, {1, 2, 3, 4, 5});
}

class BinaryTiles : public ::testing::Test {
 protected:
  [[nodiscard]] std::filesystem::path file() const { return dir_.file("a.tiles"); }

  /// The bytes of a file of small().
  [[nodiscard]] std::string small_file() const {
    write_binary_tiles(file(), to_tiles(small()).view());
    return testing::read_text(file());
  }

  /// "ok", or what the reader throws, without the name of the file.
  template <class T = double>
  [[nodiscard]] std::string outcome() const {
    const std::size_t name = file().string().size() + 2;
    try {
      validate(read_binary<T>(file()).matrix.view());
      return "ok";
    } catch (const ParseError& e) {
      return "parse: " + std::string(e.what()).substr(name);
    } catch (const InvalidMatrix& e) {
      return "invalid: " + std::string(e.what()).substr(name);
    }
  }

  /// Writes the file with a changed header and checksums that fit.
  void write_with(std::string bytes, const std::function<void(BinaryHeader&, char*)>& change) const {
    BinaryHeader header;
    std::memcpy(&header, bytes.data(), sizeof(header));
    change(header, bytes.data());
    for (std::size_t k = 0; k < io::section_count(header); ++k) {
      io::BinarySection& section = io::section_of(header, k);
      if (section.offset + section.bytes > bytes.size()) continue;
      section.checksum = io::checksum(io::checksum_of(header), bytes.data() + section.offset, section.bytes, Device{});
    }
    header.checksum = io::header_checksum(header);
    std::memcpy(bytes.data(), &header, sizeof(header));
    testing::write_text(file(), bytes);
  }

  testing::TemporaryDirectory dir_;
};

template <class T>
class BinaryTilesTyped : public ::testing::Test {
 protected:
  testing::TemporaryDirectory dir_;
};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(BinaryTilesTyped, Types);

TYPED_TEST(BinaryTilesTyped, MatricesComeBack) {
  const auto path = this->dir_.file("m.tiles");
  for (const ValueStorage storage : {ValueStorage::weighted, ValueStorage::pattern}) {
    for (const auto& [name, matrix] : testing::adversarial_matrices<TypeParam>(storage, {64})) {
      SCOPED_TRACE(name);
      const TileMatrix<TypeParam> tiles = testing::naive_tiles(matrix.view());
      write_binary_tiles(path, tiles.view());
      ASSERT_TRUE(is_binary_matrix(path));
      expect_identical(read_binary<TypeParam>(path).matrix.view(), matrix.view());
      const BinaryMatrixInfo info = read_binary_info(path);
      EXPECT_EQ(info.layout, BinaryLayout::tiles);
      EXPECT_EQ(info.tiles, tiles.tiles());
      EXPECT_EQ(info.nnz, matrix.nnz());
      EXPECT_EQ(info.header.entries, matrix.nnz());
    }
  }
}

TEST_F(BinaryTiles, LiesInTheFileAsDocumented) {
  const std::string bytes = small_file();
  const auto at = [&]<class U>(std::size_t byte, U) {
    U value{};
    std::memcpy(&value, bytes.data() + byte, sizeof(value));
    return value;
  };
  EXPECT_EQ(bytes.size(), 472U);
  EXPECT_EQ(at(8, std::uint32_t{}), 3U);
  EXPECT_EQ(at(68, std::uint32_t{}), 1U);
  EXPECT_EQ(at(232, std::int64_t{}), 3);
  EXPECT_EQ(at(256 + 8, std::int64_t{}), 2) << "tile row offsets";
  EXPECT_EQ(at(320 + 4, std::int32_t{}), 2) << "tile columns";
  EXPECT_EQ(at(384 + 8, double{}), 3.0) << "values";
  EXPECT_EQ(at(384 + 16, double{}), 2.0) << "values";
  EXPECT_EQ(at(448, std::uint64_t{}), std::uint64_t{1} << 63 | 1) << "bitmaps";
}

TEST_F(BinaryTiles, KeepsWhatTheTextSaid) {
  const auto text = parse_matrix_market<double>(
      "%%MatrixMarket matrix coordinate integer symmetric\n4 4 5\n1 1 7\n2 1 -3\n4 3 2\n4 3 5\n3 3 0\n", "t");
  write_binary_tiles(file(), to_tiles(text.matrix).view(), text);
  const auto back = read_binary<double>(file());
  expect_identical(back.matrix.view(), text.matrix.view());
  EXPECT_EQ(back.header.symmetry, MatrixMarketSymmetry::symmetric);
  EXPECT_EQ(back.header.entries, 5);
  EXPECT_EQ(back.duplicates, text.duplicates);
  EXPECT_EQ(back.explicit_zeros, text.explicit_zeros);
}

TEST_F(BinaryTiles, EveryChangedBitIsRefused) {
  const std::string bytes = small_file();
  ASSERT_EQ(outcome(), "ok");
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string changed = bytes;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
    testing::write_text(file(), changed);
    ASSERT_TRUE(outcome().starts_with("parse: byte ")) << "bit " << bit << ": " << outcome();
  }
  for (const std::size_t size : {std::size_t{0}, std::size_t{255}, bytes.size() - 1}) {
    testing::write_text(file(), bytes.substr(0, size));
    ASSERT_TRUE(outcome().starts_with("parse: byte ")) << size;
  }
}

TEST_F(BinaryTiles, HeadersThatCannotBeTrusted) {
  const std::string bytes = small_file();
  const struct {
    std::function<void(BinaryHeader&, char*)> change;
    std::string message;
  } cases[] = {
      {[](BinaryHeader& h, char*) { h.version = 2; }, "byte 68: layout: expected 0 in version 2, found 1"},
      {[](BinaryHeader& h, char*) { h.layout = 0; }, "byte 68: layout: expected 1 in version 3, found 0"},
      {[](BinaryHeader& h, char*) { h.tiles = -1; },
       "byte 232: tiles: expected a number in 0 ... 9223372036854775807, found -1"},
      {[](BinaryHeader& h, char*) { h.nnz = 2; }, "byte 40: nonzeros: expected 1 ... 64 for each of 3 tiles, found 2"},
      {[](BinaryHeader& h, char*) { h.nnz = 193; },
       "byte 40: nonzeros: expected 1 ... 64 for each of 3 tiles, found 193"},
      {[](BinaryHeader& h, char*) { h.tiles = 4; },
       "byte 144: expected section 1 of 16 bytes at byte 320, found 12 bytes at byte 320"},
      {[](BinaryHeader& h, char*) { h.bitmaps.offset += 64; },
       "byte 208: expected section 3 of 24 bytes at byte 448, found 24 bytes at byte 512"},
      {[](BinaryHeader& h, char*) { h.rows = 17; },
       "byte 120: expected section 0 of 32 bytes at byte 256, found 24 bytes at byte 256"},
      {[](BinaryHeader& h, char*) { h.reserved = 1; }, "byte 240: expected reserved bytes to be 0"},
  };
  for (const auto& c : cases) {
    write_with(bytes, c.change);
    EXPECT_EQ(outcome(), "parse: " + c.message);
  }
}

TEST_F(BinaryTiles, StructureIsCheckedThoughChecksumsAreRight) {
  const std::string bytes = small_file();
  const auto put = [](std::size_t byte, auto value) {
    return [byte, value](BinaryHeader&, char* all) { std::memcpy(all + byte, &value, sizeof(value)); };
  };
  const std::string where = " (tile row offsets from byte 256, tile columns from byte 320, bitmaps from byte 448)";
  const struct {
    std::function<void(BinaryHeader&, char*)> change;
    std::string message;
  } cases[] = {
      {put(256 + 8, std::int64_t{4}), "tile row 0: offsets 0 ... 4 do not ascend within the 3 tiles" + where},
      {put(320, std::int32_t{-1}), "tile row 0, tile 0: tile column -1 is outside [0, 3)" + where},
      {put(320 + 4, std::int32_t{0}),
       "tile row 0, tile 1: tile column 0 after tile column 0: tile columns must ascend without duplicates" + where},
      {put(448 + 8, std::uint64_t{8}), "tile row 0, tile 1: the bitmap has entries outside the 10 x 19 matrix" + where},
      {put(448 + 8, std::uint64_t{0}), "the bitmaps from byte 448 have 4 bits, expected one for each of 5 nonzeros"},
      {put(448 + 8, ~std::uint64_t{0}), "the bitmaps from byte 448 have 68 bits, expected one for each of 5 nonzeros"},
      {put(384 + 8, std::numeric_limits<double>::infinity()),
       "byte 392: nonzero 1 is inf, which a binary matrix file cannot hold"},
  };
  for (const auto& c : cases) {
    write_with(bytes, c.change);
    EXPECT_EQ(outcome(), "invalid: " + c.message);
  }
  // As many bits as there are nonzeros, but one tile has none.
  write_with(bytes, [](BinaryHeader&, char* all) {
    const std::uint64_t bitmaps[] = {std::uint64_t{7}, 0, std::uint64_t{3}};
    std::memcpy(all + 448, bitmaps, sizeof(bitmaps));
  });
  EXPECT_EQ(outcome(), "invalid: tile row 0, tile 1: the bitmap is empty" + where);
  std::string padding = bytes;
  padding[300] = 1;
  testing::write_text(file(), padding);
  EXPECT_EQ(outcome(), "parse: byte 300: expected zeros between the sections");
}

TEST_F(BinaryTiles, OtherPrecision) {
  static_cast<void>(small_file());
  expect_identical(read_binary<float>(file()).matrix.view(), small().with_value_type<float>().view());
  write_binary_tiles(file(), to_tiles(make_csr<double>(1, 1, {0, 1}, {0}, {1e300})).view());
  EXPECT_EQ(outcome<float>(), "invalid: byte 384: nonzero 0 is 1e+300, which does not fit single precision");
}

TEST_F(BinaryTiles, MemoryIsAskedForFirst) {
  const auto matrix = testing::random_windows<double>(100, 400, 60, 0.4, ValueStorage::weighted, 3);
  write_binary_tiles(file(), to_tiles(matrix).view());
  const auto info = read_matrix_file_info(file());
  ASSERT_TRUE(info.has_value());
  ReadOptions options;
  options.memory_limit_bytes = info->reading_bytes(sizeof(double));
  EXPECT_EQ(read_binary<double>(file(), options).matrix.nnz(), matrix.nnz());
  options.memory_limit_bytes -= 1;
  EXPECT_THROW(static_cast<void>(read_binary<double>(file(), options)), OutOfMemory);
}

TEST_F(BinaryTiles, WhatIsNotWritten) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(write_binary_tiles(file(), to_tiles(make_csr<double>(1, 1, {0, 1}, {0}, {nan})).view()), InvalidMatrix);
  EXPECT_THROW(write_binary_tiles(dir_.file("a.tiles.gz"), to_tiles(small()).view()), InvalidArgument);
  EXPECT_EQ(dir_.count(), 0U);
}

}  // namespace
}  // namespace tessera
