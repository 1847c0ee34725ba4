/// Arrays of NumPy and sparse matrices of SciPy, made here byte by byte as their formats say.
#include "tessera/matrix_file.hpp"
#include "tessera/multi_vector_file.hpp"
#include "tests/io/files.hpp"
#include "tests/io/format_bytes.hpp"

#include <gtest/gtest.h>
#include <zlib.h>

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::testing {
namespace {

using namespace std::string_literals;
using namespace std::string_view_literals;

/// \param descr "<f8" \param shape "(2, 3)"
[[nodiscard]] std::string npy(const std::string& descr, const std::string& shape, std::string_view data,
                              const std::string& order = "False") {
  std::string header = "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }";
  header.resize((10 + header.size() + 64) / 64 * 64 - 10, ' ');
  header.back() = '\n';
  std::string text = "\x93NUMPY\x01"s + '\0';
  text += static_cast<char>(header.size() % 256);
  text += static_cast<char>(header.size() / 256);
  return text + header + std::string(data);
}

TEST(NumpyFiles, DenseArrays) {
  const std::string rows = npy("<f8", "(2, 3)", raw<double>({2, 0, -1, 0, 0, 0.5}));
  EXPECT_EQ(read(rows), small);
  EXPECT_EQ(read(npy("<f8", "(2, 3)", raw<double>({2, 0, 0, 0, -1, 0.5}), "True")), small);
  EXPECT_EQ(read(npy(">f4", "(2, 3)", raw<float>({2, 0, -1, 0, 0, 0.5}, std::endian::big))), small);
  EXPECT_EQ(read(npy("<i2", "(1, 2)", raw<std::int16_t>({-7, 9}))), "1 x 2: (1,1)=-7 (1,2)=9");
  EXPECT_EQ(read(npy("|b1", "(2, 1)", "\1\0"sv)), "2 x 1: (1,1)=1");
  EXPECT_EQ(read(npy("<f8", "(0, 3)", "")), "0 x 3:");
  expect_refused_when_cut(rows, 6);
}

TEST(NumpyFiles, Vectors) {
  const std::vector<double> expected{1.5, -2.0};
  for (const char* shape : {"(2,)", "(2, 1)", "(1, 2)"}) {
    EXPECT_EQ(parse_vector<double>(npy("<f8", shape, raw<double>({1.5, -2})), "b", {}, 2), expected) << shape;
  }
  const TemporaryDirectory directory;
  write_text(directory.file("B.npy"), npy("<f8", "(2, 2)", raw<double>({1, 2, 3, 4})));
  const auto columns = read_multi_vector<double>(directory.file("B.npy"), 2);
  EXPECT_EQ(columns.elements, (std::vector<double>{1, 3, 2, 4}));
  EXPECT_THROW(static_cast<void>(read_multi_vector<double>(directory.file("B.npy"), 3)), DimensionError);
  EXPECT_EQ(
      refusal_of([&] { return read_vector<double>(directory.file("B.npy")); }),
      directory.file("B.npy").string() + ": byte 0: expected a vector (one row or one column), found a 2 x 2 matrix");
}

TEST(NumpyFiles, Refusals) {
  EXPECT_EQ(
      refusal(npy("<c16", "(1, 1)", std::string(16, '\0'))),
      "A: byte 10: elements of type \"<c16\" are not read: expected real or whole numbers of up to 8 bytes; complex "
      "matrices are not supported");
  EXPECT_EQ(refusal(npy("<f8", "(1, 1, 1)", raw<double>({1}))),
            "A: byte 0: expected an array of one or two dimensions, found 3");
  EXPECT_EQ(refusal(npy("<f8", "(4294967296, 4294967296)", "")), "A: byte 10: the sizes of the shape overflow");
  EXPECT_EQ(refusal(npy("<f8", "(1000000000, 1000)", "")),
            "A: byte 128: expected 1000000000000 numbers of 8 bytes (elements), found 0 bytes to the end of the file");
  EXPECT_EQ(refusal(npy("<f8", "(-1,)", "")), "A: byte 10: expected sizes in the shape, found \"-1,\"");
  for (const char* text : {"<U0", "|S1"}) {
    const std::string word = npy(text, "()", "\0"sv);
    EXPECT_EQ(refusal(word), "A: byte 0: expected numbers, found text");
    EXPECT_EQ(refusal_of([&] { return parse_vector<double>(word, "b"); }), "b: byte 0: expected numbers, found text");
  }
  EXPECT_EQ(refusal(npy("<f8", "(0, 4294967296, 4294967296)", "")), "A: byte 10: the sizes of the shape overflow");
  EXPECT_EQ(refusal("\x93NUMPY\x09"s + std::string(10, '\0')), "A: byte 6: format version 9 is not known");
}

/// A zip archive whose members are stored.
[[nodiscard]] std::string zip(const std::vector<std::pair<std::string, std::string>>& members) {
  Bytes files(std::endian::little);
  Bytes directory(std::endian::little);
  std::string text;
  std::string central;
  for (const auto& [name, data] : members) {
    const auto crc = static_cast<std::uint32_t>(
        crc32(0, reinterpret_cast<const Bytef*>(data.data()), static_cast<uInt>(data.size())));
    const auto size = static_cast<std::uint32_t>(data.size());
    const auto at = static_cast<std::uint32_t>(text.size());
    const auto length = static_cast<std::uint16_t>(name.size());
    const std::string facts = Bytes(std::endian::little)
                                  .add<std::uint16_t>({20, 0, 0, 0, 33})
                                  .add<std::uint32_t>({crc, size, size})
                                  .add<std::uint16_t>({length, 0})
                                  .text();
    text += "PK\x03\x04" + facts + name + data;
    central += "PK\x01\x02" + raw<std::uint16_t>({20}) + facts + raw<std::uint16_t>({0, 0, 0}) +
               raw<std::uint32_t>({0, at}) + name;
  }
  const auto count = static_cast<std::uint16_t>(members.size());
  return text + central + "PK\x05\x06" + raw<std::uint16_t>({0, 0, count, count}) +
         raw<std::uint32_t>({static_cast<std::uint32_t>(central.size()), static_cast<std::uint32_t>(text.size())}) +
         raw<std::uint16_t>({0});
}

using Members = std::vector<std::pair<std::string, std::string>>;

[[nodiscard]] Members csr_members() {
  return {{"format.npy", npy("|S3", "()", "csr")},
          {"shape.npy", npy("<i8", "(2,)", raw<std::int64_t>({2, 3}))},
          {"indptr.npy", npy("<i4", "(3,)", raw<std::int32_t>({0, 2, 3}))},
          {"indices.npy", npy("<i8", "(3,)", raw<std::int64_t>({0, 2, 2}))},
          {"data.npy", npy("<f4", "(3,)", raw<float>({2, -1, 0.5}))}};
}

TEST(NumpyFiles, SparseMatrices) {
  if (!reads("scipy-npz")) {
    EXPECT_NE(refusal(zip(csr_members())).find("built without minizip"), std::string::npos);
    GTEST_SKIP() << "built without minizip";
  }
  auto members = csr_members();
  EXPECT_EQ(read(zip(members)), small);
  members[0].second = npy("<U3", "()", "c\0\0\0s\0\0\0r\0\0\0"sv);
  EXPECT_EQ(read(zip(members)), small);
  members[0].second = npy("|S3", "()", "csc");
  members[2].second = npy("<i4", "(4,)", raw<std::int32_t>({0, 1, 1, 3}));
  members[3].second = npy("<i4", "(3,)", raw<std::int32_t>({0, 0, 1}));
  EXPECT_EQ(read(zip(members)), small);
  const auto shape = members[1];
  EXPECT_EQ(read(zip({{"format.npy", npy("|S3", "()", "coo")},
                      shape,
                      {"row.npy", npy("<i4", "(4,)", raw<std::int32_t>({1, 0, 0, 0}))},
                      {"col.npy", npy("<i4", "(4,)", raw<std::int32_t>({2, 2, 0, 0}))},
                      {"data.npy", npy("<f8", "(4,)", raw<double>({0.5, -1, 1, 1}))}})),
            small);
  EXPECT_EQ(read(zip({{"format.npy", npy("|S3", "()", "dia")},
                      shape,
                      {"offsets.npy", npy("<i4", "(3,)", raw<std::int32_t>({0, 2, 1}))},
                      {"data.npy", npy("<i8", "(3, 3)", raw<std::int64_t>({2, 0, 9, 9, 9, -1, 9, 0, 5}))}})),
            "2 x 3: (1,1)=2 (1,3)=-1 (2,3)=5");
  EXPECT_EQ(read(zip({{"format.npy", npy("|S3", "()", "bsr")},
                      {"shape.npy", npy("<i8", "(2,)", raw<std::int64_t>({2, 4}))},
                      {"indptr.npy", npy("<i4", "(2,)", raw<std::int32_t>({0, 1}))},
                      {"indices.npy", npy("<i4", "(1,)", raw<std::int32_t>({1}))},
                      {"data.npy", npy("<f8", "(1, 2, 2)", raw<double>({1, 2, 3, 4}))}})),
            "2 x 4: (1,3)=1 (1,4)=2 (2,3)=3 (2,4)=4");
}

TEST(NumpyFiles, SparseRefusals) {
  if (!reads("scipy-npz")) GTEST_SKIP() << "built without minizip";
  const std::string whole = zip(csr_members());
  expect_refused_when_cut(whole, 4, whole.size() - 3);  // behind is the length of a comment
  std::string damaged = whole;
  damaged[damaged.find("csr")] = 'C';
  EXPECT_NE(refusal(damaged).find("format.npy in the archive is cut off or has another checksum"), std::string::npos);
  auto members = csr_members();
  members[1].second = npy("<i8", "(2,)", raw<std::int64_t>({4294967296, 3}));
  EXPECT_EQ(refusal(zip(members)),
            "A: expected a matrix of up to 2147483647 rows and columns, found a shape of 2 sizes: 4294967296 x 3");
  members = csr_members();
  members[2].second = npy("<i4", "(3,)", raw<std::int32_t>({0, 2, 2147483647}));
  EXPECT_EQ(refusal(zip(members)), "A: offsets from 0 to 2147483647 with 3 indices and 3 values");
  members.pop_back();
  EXPECT_EQ(refusal(zip(members)),
            "A: expected the array data of a sparse matrix (scipy.sparse.save_npz), found format.npy, shape.npy, "
            "indptr.npy, indices.npy");
  EXPECT_EQ(refusal(zip({{"format.npy", npy("|S3", "()", "lil")}, csr_members()[1]})),
            "A: expected the format csr, csc, bsr, coo or dia, found \"lil\"");
}

/// A matrix of every format; arrays of other kinds in the place of any are refused, or make a valid matrix.
TEST(NumpyFiles, ArraysOfOtherKinds) {
  if (!reads("scipy-npz")) GTEST_SKIP() << "built without minizip";
  const std::string format = "format.npy";
  const auto shape = csr_members()[1];
  const auto ints = [](std::initializer_list<std::int32_t> numbers) {
    return npy("<i4", "(" + std::to_string(numbers.size()) + ",)", raw<std::int32_t>(numbers));
  };
  const std::string values = npy("<f8", "(3,)", raw<double>({2, -1, 0.5}));
  const std::vector<Members> files{csr_members(),
                                   {{format, npy("|S3", "()", "csc")},
                                    shape,
                                    {"indptr.npy", ints({0, 1, 1, 3})},
                                    {"indices.npy", ints({0, 0, 1})},
                                    {"data.npy", values}},
                                   {{format, npy("|S3", "()", "coo")},
                                    shape,
                                    {"row.npy", ints({0, 0, 1})},
                                    {"col.npy", ints({0, 2, 2})},
                                    {"data.npy", values}},
                                   {{format, npy("|S3", "()", "coo")},
                                    shape,
                                    {"coords.npy", npy("<i8", "(2, 3)", raw<std::int64_t>({0, 0, 1, 0, 2, 2}))},
                                    {"data.npy", values}},
                                   {{format, npy("|S3", "()", "dia")},
                                    shape,
                                    {"offsets.npy", ints({0, 2, 1})},
                                    {"data.npy", npy("<f8", "(3, 3)", raw<double>({2, 0, 0, 0, 0, -1, 0, 0, 0.5}))}},
                                   {{format, npy("|S3", "()", "bsr")},
                                    shape,
                                    {"indptr.npy", ints({0, 2, 3})},
                                    {"indices.npy", ints({0, 2, 2})},
                                    {"data.npy", npy("<f8", "(3, 1, 1)", raw<double>({2, -1, 0.5}))}}};
  const std::string most = "9223372036854775807";
  const std::vector<std::string> others{npy("<U0", "()", ""),
                                        npy("|S3", "()", "xyz"),
                                        npy("|S1", "(1, 1, 1)", "\0"sv),
                                        npy("<f8", "(3,)", raw<double>({0.5, 1e300, -1e300})),
                                        npy("<f8", "(2, 3)", raw<double>({0, 0.9, 1, 0, 2, 2})),
                                        npy("|b1", "(3,)", "\0\1\1"sv),
                                        npy("<i8", "()", raw<std::int64_t>({1})),
                                        npy("<i8", "(2,)", raw<std::int64_t>({INT64_MIN, INT64_MAX})),
                                        npy("<i8", "(3,)", raw<std::int64_t>({0, INT64_MAX, INT64_MIN})),
                                        npy("<u8", "(4,)", raw<std::uint64_t>({0, UINT64_MAX, 1, UINT64_MAX})),
                                        npy("<i4", "(0,)", ""),
                                        npy("<f8", "(0, 0)", ""),
                                        npy("<f8", "(0, " + most + ")", ""),
                                        npy("<f8", "(" + most + ", 0)", ""),
                                        npy("<f8", "(0, 4294967296, 4294967296)", ""),
                                        npy("<f8", "(0, 2147483648, 2147483648)", ""),
                                        npy("<f8", "(0, " + most + ", 1)", "")};
  for (const Members& whole : files) {
    const std::string name = whole[0].second.substr(128);
    EXPECT_EQ(read(zip(whole)), small) << name;
    for (std::size_t k = 0; k < whole.size(); ++k) {
      Members changed = whole;
      changed.erase(changed.begin() + static_cast<std::ptrdiff_t>(k));
      EXPECT_NE(refusal(zip(changed)), "accepted") << name << " without " << whole[k].first;
      for (const std::string& other : others) {
        changed = whole;
        changed[k].second = other;
        const std::string place = name + ": " + other.substr(10, 70) + " as " + whole[k].first;
        const std::string answer = refusal_of([&] { return read(zip(changed)); });
        const char kind = other[other.find("'descr': '") + 11];
        const bool is_text = kind == 'U' || kind == 'S';
        const bool fits = !is_text && (kind != 'f' || whole[k].first == "data.npy");
        EXPECT_TRUE(fits || answer != "accepted") << place;
        // Beside an empty matrix, where fewer arrays have to fit.
        changed[1].second = k == 1 ? other : npy("<i8", "(2,)", raw<std::int64_t>({0, 0}));
        static_cast<void>(refusal_of([&] { return read(zip(changed)); }));
      }
    }
  }
}

TEST(NumpyFiles, KindsOfArraysAreNamed) {
  if (!reads("scipy-npz")) GTEST_SKIP() << "built without minizip";
  const std::string one_offset = npy("<i8", "(1,)", raw<std::int64_t>({0}));
  EXPECT_EQ(refusal(zip({{"format.npy", npy("|S3", "()", "bsr")},
                         {"shape.npy", npy("<i8", "(2,)", raw<std::int64_t>({0, 0}))},
                         {"indptr.npy", one_offset},
                         {"indices.npy", npy("<i8", "(0,)", "")},
                         {"data.npy", npy("<f8", "(0, 4294967296, 4294967296)", "")}})),
            "A: byte 10: of data.npy in it: the sizes of the shape overflow");
  const auto shape = csr_members()[1];
  EXPECT_EQ(refusal(zip({{"format.npy", npy("|S3", "()", "coo")},
                         shape,
                         {"coords.npy", npy("<f8", "(2, 1)", raw<double>({0.9, 1.9}))},
                         {"data.npy", npy("<f8", "(1,)", raw<double>({1}))}})),
            "A: expected coords of 2 dimensions, whole numbers, found 2, not whole");
  EXPECT_EQ(refusal(zip({{"format.npy", npy("|S3", "()", "dia")},
                         shape,
                         {"offsets.npy", npy("<i4", "(1,)", raw<std::int32_t>({0}))},
                         {"data.npy", npy("|S1", "(1, 1)", "1")}})),
            "A: expected data of 2 dimensions, numbers, found 2, text");
}

}  // namespace
}  // namespace tessera::testing
