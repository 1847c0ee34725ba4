/// \file
/// Files of other programs, made here byte by byte as their formats say; tests/python/test_formats.py has those that
/// SciPy writes.
#include "tessera/error.hpp"
#include "tessera/matrix_file.hpp"
#include "tessera/multi_vector_file.hpp"
#include "tessera/petsc_file.hpp"

#include "tests/io/files.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <vector>

namespace tessera {
namespace {

using namespace std::string_literals;
using namespace std::string_view_literals;

/// Numbers one after the other in either byte order.
class Bytes {
 public:
  explicit Bytes(std::endian order, std::string text = {}) : order_(order), text_(std::move(text)) {}

  template <class U>
  Bytes& add(std::initializer_list<U> numbers) {
    for (const U number : numbers) {
      std::string raw(sizeof(U), '\0');
      std::memcpy(raw.data(), &number, sizeof(U));
      if (order_ != std::endian::native) std::reverse(raw.begin(), raw.end());
      text_ += raw;
    }
    return *this;
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::endian order_;
  std::string text_;
};

/// "2 x 3: (1,1)=2 (1,3)=-1": what is stored, counted from 1.
template <class T>
[[nodiscard]] std::string entries_of(const MatrixMarketMatrix<T>& file) {
  const CsrView<T> a = file.matrix.view();
  validate(a);
  std::string text = std::to_string(a.rows) + " x " + std::to_string(a.cols) + ":";
  for (std::size_t i = 0; i < static_cast<std::size_t>(a.rows); ++i) {
    for (auto k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
      text += " (" + std::to_string(i + 1) + ',' + std::to_string(a.columns[static_cast<std::size_t>(k)] + 1) + ")=";
      text += fmt::format("{:g}", a.value(k));
    }
  }
  return text;
}

[[nodiscard]] std::string read(std::string_view bytes, const std::string& name = "A") {
  return entries_of(parse_matrix<double>(bytes, name));
}

template <class Read>
[[nodiscard]] std::string refusal_of(const Read& read) {
  try {
    static_cast<void>(read());
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

[[nodiscard]] std::string refusal(std::string_view bytes, const std::string& name = "A") {
  return refusal_of([&] { return parse_matrix<double>(bytes, name); });
}

/// Cut anywhere, the file is refused; no reader looks beyond its end (the sanitizers would tell).
/// \param to bytes from which on all is there \param except a length at which the file is another one of the format
void expect_refused_when_cut(const std::string& bytes, std::size_t from, std::size_t to, std::size_t except = 0) {
  for (std::size_t size = from; size < to; ++size) {
    if (size == except) continue;
    const std::vector<char> cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_NE(refusal({cut.data(), cut.size()}), "accepted") << size << " of " << bytes.size() << " bytes";
  }
}

void expect_refused_when_cut(const std::string& bytes, std::size_t from) {
  expect_refused_when_cut(bytes, from, bytes.size());
}

// 2 x 3 with 2 at (1,1), -1 at (1,3), 0.5 at (2,3).
const std::string small = "2 x 3: (1,1)=2 (1,3)=-1 (2,3)=0.5";

[[nodiscard]] std::string petsc32() {
  return Bytes(std::endian::big)
      .add<std::int32_t>({1211216, 2, 3, 3, 2, 1, 0, 2, 2})
      .add<double>({2.0, -1.0, 0.5})
      .text();
}

[[nodiscard]] std::string petsc64() {
  return Bytes(std::endian::big)
      .add<std::int64_t>({1211216, 2, 3, 3, 2, 1, 0, 2, 2})
      .add<double>({2.0, -1.0, 0.5})
      .text();
}

TEST(PetscFiles, MatricesOfEitherIndices) {
  EXPECT_EQ(read(petsc32()), small);
  EXPECT_EQ(read(petsc64()), small);
  const auto single =
      Bytes(std::endian::big).add<std::int32_t>({1211216, 2, 3, 3, 2, 1, 0, 2, 2}).add<float>({2.F, -1.F, 0.5F});
  EXPECT_EQ(read(single.text()), small);
  const auto dense = Bytes(std::endian::big).add<std::int32_t>({1211216, 2, 3, -1}).add<double>({2, 0, -1, 0, 0, 0.5});
  EXPECT_EQ(read(dense.text()), small);
  EXPECT_EQ(read(Bytes(std::endian::big).add<std::int32_t>({1211216, 0, 0, 0}).text()), "0 x 0:");
  EXPECT_EQ(read(Bytes(std::endian::big).add<std::int32_t>({1211216, 2, 4, 0, 0, 0}).text()), "2 x 4:");
}

TEST(PetscFiles, SeveralObjects) {
  const std::string vector = Bytes(std::endian::big).add<std::int32_t>({1211214, 2}).add<double>({7.0, 8.0}).text();
  for (const std::string& both : {petsc32() + vector, vector + petsc32()}) {
    EXPECT_EQ(read(both), small);
    EXPECT_EQ(parse_vector<double>(both, "b", {}, 2), (std::vector<double>{7.0, 8.0}));
  }
  EXPECT_EQ(refusal(vector), "A: byte 0: expected a PETSc matrix, found a vector alone");
  EXPECT_EQ(refusal_of([&] { return parse_vector<double>(petsc32(), "b"); }),
            "b: byte 0: expected a PETSc vector, found none");
}

TEST(PetscFiles, WhatIsWrittenHasTheirLayout) {
  const testing::TemporaryDirectory directory;
  const auto a = parse_matrix<double>(petsc32(), "A");
  write_petsc(directory.file("A.petsc"), a.matrix.view());
  EXPECT_EQ(testing::read_text(directory.file("A.petsc")), petsc32());
  write_petsc(directory.file("A.petsc"), a.matrix.view(), PetscIndices::bits64);
  EXPECT_EQ(testing::read_text(directory.file("A.petsc")), petsc64());
  EXPECT_EQ(entries_of(read_matrix<double>(directory.file("A.petsc"))), small);
  const std::vector<float> b{1.0F, -2.5F};
  write_petsc_vector<float>(directory.file("b.petsc"), b);
  EXPECT_EQ(testing::read_text(directory.file("b.petsc")),
            Bytes(std::endian::big).add<std::int32_t>({1211214, 2}).add<double>({1.0, -2.5}).text());
  EXPECT_EQ(read_vector<float>(directory.file("b.petsc")), b);
  EXPECT_THROW(write_petsc(directory.file("A.petsc.gz"), a.matrix.view()), InvalidArgument);
}

TEST(PetscFiles, Refusals) {
  // Cut in the middle of the values, they are as many in single precision.
  expect_refused_when_cut(petsc32(), 4, petsc32().size(), petsc32().size() - 12);
  expect_refused_when_cut(petsc64(), 8, petsc64().size(), petsc64().size() - 12);
  const auto big = [](std::initializer_list<std::int32_t> words) { return Bytes(std::endian::big).add(words).text(); };
  EXPECT_EQ(refusal(big({1211216, -1, 3, 3})), "A: byte 4: expected rows in 0 ... 2147483647, found -1");
  EXPECT_EQ(
      refusal(big({1211216, 2147483647, 2147483647, 2147483647})),
      "A: byte 16: expected 2147483647 numbers of 4 bytes (lengths of rows), found 0 bytes to the end of the file");
  EXPECT_EQ(refusal(big({1211216, 1, 1, 2, 3})),
            "A: byte 12: 2 nonzeros, but the length of row 1 is 3, after 0 in the rows before it");
  EXPECT_EQ(refusal(big({1211216, 1, 1, 2, 1})), "A: byte 12: 2 nonzeros, but the rows have 1");
  EXPECT_EQ(refusal(petsc32() + big({1211218})),
            "A: byte 60: expected a PETSc matrix (1211216) or vector (1211214) of real numbers, found class 1211218");
  EXPECT_EQ(refusal(Bytes(std::endian::big).add<std::int32_t>({1211216, 1, 1, 1, 1, 1}).add<double>({1.0}).text()),
            "A: entry 1 is at (1, 2), outside the 1 x 1 matrix");
  EXPECT_EQ(refusal(Bytes(std::endian::big)
                        .add<std::int32_t>({1211216, 1, 1, 1, 1, 0})
                        .add<double>({std::numeric_limits<double>::infinity()})
                        .text()),
            "A: the value at (1, 1) is inf");
}

[[nodiscard]] Bytes amgx(std::initializer_list<std::uint32_t> words) {
  return Bytes(std::endian::little, "%%NVAMGBinary\n").add(words);
}

TEST(AmgxFiles, Systems) {
  const std::string plain =
      amgx({1, 1, 0, 0, 0, 1, 1, 2, 3}).add<std::int32_t>({0, 2, 3, 0, 1, 1}).add<double>({2, -1, 0.5, 7, 8}).text();
  EXPECT_EQ(read(plain), "2 x 2: (1,1)=2 (1,2)=-1 (2,2)=0.5");
  EXPECT_EQ(parse_vector<double>(plain, "b", {}, 2), (std::vector<double>{7.0, 8.0}));
  expect_refused_when_cut(plain, 14);
  const std::string diagonal =
      amgx({1, 0, 0, 0, 1, 1, 1, 2, 1}).add<std::int32_t>({0, 1, 1, 1}).add<double>({-1, 2, 0.5}).text();
  EXPECT_EQ(read(diagonal), "2 x 2: (1,1)=2 (1,2)=-1 (2,2)=0.5");
  EXPECT_EQ(refusal_of([&] { return parse_vector<double>(diagonal, "b"); }),
            "b: byte 18: expected a right-hand side, found a matrix alone");
  const std::string blocks =
      amgx({1, 0, 0, 0, 0, 2, 2, 1, 1}).add<std::int32_t>({0, 1, 0}).add<double>({1, 2, 3, 4}).text();
  EXPECT_EQ(read(blocks), "2 x 2: (1,1)=1 (1,2)=2 (2,1)=3 (2,2)=4");
}

TEST(AmgxFiles, Refusals) {
  EXPECT_EQ(refusal(amgx({1, 0, 0, 256, 0, 1, 1, 1, 1}).text()),
            "A: byte 26: expected a real matrix in compressed rows (format 0), found format 256");
  EXPECT_EQ(refusal(amgx({1, 0, 0, 0, 0, 0, 1, 1, 1}).text()), "A: byte 34: expected blocks of 1 x 1 or more");
  EXPECT_EQ(refusal(amgx({1, 0, 0, 0, 0, 1, 1, 4294967295, 1}).text()),
            "A: byte 42: expected rows in 0 ... 2147483647, found 4294967295");
  EXPECT_EQ(refusal(amgx({1, 0, 0, 0, 0, 1, 1, 1, 1}).add<std::int32_t>({0, 1, 5}).add<double>({1}).text()),
            "A: index 1 is 5, expected 0 ... 0");
  EXPECT_EQ(refusal(amgx({1, 0, 0, 0, 0, 1, 1, 2, 1}).add<std::int32_t>({0, 2, 1, 0}).add<double>({1}).text()),
            "A: offset 2 is 2, outside 0 ... 1");
}

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

template <class U>
[[nodiscard]] std::string raw(std::initializer_list<U> numbers, std::endian order = std::endian::little) {
  return Bytes(order).add(numbers).text();
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
  const testing::TemporaryDirectory directory;
  testing::write_text(directory.file("B.npy"), npy("<f8", "(2, 2)", raw<double>({1, 2, 3, 4})));
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

[[nodiscard]] std::vector<std::pair<std::string, std::string>> csr_members() {
  return {{"format.npy", npy("|S3", "()", "csr")},
          {"shape.npy", npy("<i8", "(2,)", raw<std::int64_t>({2, 3}))},
          {"indptr.npy", npy("<i4", "(3,)", raw<std::int32_t>({0, 2, 3}))},
          {"indices.npy", npy("<i8", "(3,)", raw<std::int64_t>({0, 2, 2}))},
          {"data.npy", npy("<f4", "(3,)", raw<float>({2, -1, 0.5}))}};
}

/// Where this build has no minizip, archives are refused, and that is all.
[[nodiscard]] bool reads(std::string_view format) {
  const auto formats = matrix_formats();
  return std::any_of(formats.begin(), formats.end(),
                     [&](const MatrixFormatInfo& f) { return f.name == format && f.available; });
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

TEST(HarwellBoeing, Types) {
  const std::string header =
      "Title                                                                   KEY     \n"
      "             3             1             1             1\n";
  EXPECT_EQ(read(header + "rra                        2             3             3             0\n"
                          "(4I3)           (3I3)           (3E8.1)             \n"
                          "  1  2  2  4\n  1  1  2\n     2.0   -1.D0 .50E+00\n"),
            small);
  // Fields without blanks between them, exponents without a letter, formats with a scale factor.
  EXPECT_EQ(read(header + "RUA 2 3 3 0\n(26I1) (26I1) (1P,3E7.1)\n1224\n112\n2.0E+00-1.0+0050.0-02\n"), small);
  EXPECT_EQ(read(header + "RUA 2 3 3 0\n(26I1) (26I1) (1P3D7.1)\n1224\n112\n2.0D+00-1.0+0050.0-02\n"), small);
  EXPECT_EQ(read(header + "psa 2 2 2\n(9I2) (9I2)\n 1 3 3\n 1 2\n"), "2 x 2: (1,1)=1 (1,2)=1 (2,1)=1");
  EXPECT_EQ(read(header + "IZA 2 2 1 0\n(9I2) (9I2) (9I4)\n 1 2 2\n 2\n  -5\n"), "2 x 2: (1,2)=5 (2,1)=-5");
  EXPECT_EQ(read(header + "RUA 0 0 0 0\n(9I2) (9I2) (5E16.8)\n 1\n"), "0 x 0:");
}

TEST(HarwellBoeing, RightHandSides) {
  const std::string file =
      "Title                                                                   KEY     \n"
      "5 1 1 1 1\nRUA 2 2 2 0\n(9I2) (9I2) (4E8.1) (4E8.1)\nF 1 0\n 1 2 3\n 1 2\n     1.0     2.0\n     7.0     8.0\n";
  EXPECT_EQ(read(file), "2 x 2: (1,1)=1 (2,2)=2");
  EXPECT_EQ(parse_vector<double>(file, "b", {}, 2), (std::vector<double>{7.0, 8.0}));
  const std::size_t end = file.rfind("     7.0");
  expect_refused_when_cut(file.substr(0, end), 90, end - 3);  // "2." is a number, too
}

TEST(HarwellBoeing, Refusals) {
  const auto file = [](const std::string& type, const std::string& rest) {
    return "T\n3 1 1 1\n" + type + "\n" + rest;
  };
  EXPECT_EQ(refusal(file("CUA 1 1 1 0", "")),
            "A:3:1: matrices of type \"CUA\" are not read: expected an assembled (A) one with values real (R), integer "
            "(I) or "
            "none (P)");
  EXPECT_NE(refusal(file("RUE 1 1 1 1", "")).find("type \"RUE\""), std::string::npos);
  EXPECT_EQ(refusal(file("RUA 1 1 1 0", "(A8) (I8) (E8.1)\n")),
            "A:4:1: expected a Fortran format of pointers like (10I8), found \"(A8)\"");
  EXPECT_EQ(refusal(file("RUA 1 9223372036854775807 1 0", "")),
            "A:3:1: expected up to 2147483647 rows and columns, found 1 x 9223372036854775807");
  EXPECT_EQ(refusal(file("RUA 1 1 999999999999 0", "(9I2) (9I2) (4E8.1)\n 1 2\n 1\n     1.0\n")),
            "A:6:1: expected 999999999999 row indices, found 12 characters to the end of the file");
  EXPECT_EQ(refusal(file("RUA 1 1 1 0", "(9I2) (9I2) (4E8.1)\n 1 2\n x\n     1.0\n")),
            "A:6:2: expected one of the row indices, 2 characters wide, found \"x\"");
  EXPECT_EQ(refusal(file("RUA 1 1 1 0", "(9I2) (9I2) (4E8.1)\n 1 2\n 3\n     1.0\n")),
            "A: index 1 is 3, expected 1 ... 1");
  EXPECT_EQ(refusal(file("RSA 2 2 2 0", "(9I2) (9I2) (4E8.1)\n 1 2 3\n 2 1\n     1.0     1.0\n")),
            "A: a symmetric file holds one triangle, found 1 entries of the lower and 1 of the upper one");
}

/// A MATLAB 5 file with one sparse variable, uncompressed.
[[nodiscard]] std::string mat(const std::string& name) {
  const auto element = [](std::int32_t type, const std::string& data) {
    std::string padded = data;
    padded.resize((data.size() + 7) / 8 * 8, '\0');
    return raw<std::int32_t>({type, static_cast<std::int32_t>(data.size())}) + padded;
  };
  constexpr std::int32_t uint32 = 6;
  constexpr std::int32_t int32 = 5;
  constexpr std::int32_t int8 = 1;
  constexpr std::int32_t float64 = 9;
  constexpr std::int32_t matrix = 14;
  const std::string body = element(uint32, raw<std::uint32_t>({5, 3})) + element(int32, raw<std::int32_t>({2, 3})) +
                           element(int8, name) + element(int32, raw<std::int32_t>({0, 0, 1})) +
                           element(int32, raw<std::int32_t>({0, 1, 1, 3})) +
                           element(float64, raw<double>({2, -1, 0.5}));
  std::string header = "MATLAB 5.0 MAT-file, written by a test";
  header.resize(116, ' ');
  header.resize(124, '\0');
  return header + raw<std::uint16_t>({0x0100, 0x4d49}) + element(matrix, body);
}

TEST(MatlabFiles, SparseVariables) {
  const std::string file = mat("A");
  if (!reads("matlab")) {
    EXPECT_EQ(refusal(file), "A: this build reads no .mat files: built without matio");
    GTEST_SKIP() << "built without matio";
  }
  EXPECT_EQ(read(file), small);
  const testing::TemporaryDirectory directory;
  const std::string path = directory.file("A.mat").string();
  testing::write_text(path, file);
  EXPECT_EQ(entries_of(read_matrix<float>(path + ":A")), small);
  EXPECT_EQ(refusal_of([&] { return read_matrix<double>(path + ":B"); }), path + ": expected the variable B, found A");
  EXPECT_EQ(refusal_of([&] { return read_vector<double>(path); }),
            path + ": expected one dense vector or matrix, found none among the variables A");
  expect_refused_when_cut(file, 20);
  // The same as a dense variable, a cell array and a structure: 2 x 3 of what is not there.
  for (const auto& [matlab_class, what] : {std::pair{'\6', "values"}, {'\1', "cells"}, {'\2', "structures"}}) {
    std::string claims = file;
    claims[144] = matlab_class;
    EXPECT_EQ(refusal(claims),
              std::string("A: byte 128: the dimensions of the variable ask for 6 ") + what + ", which are not there");
  }
}

TEST(CompressedFiles, BlocksOfBgzipInParallel) {
  // Members with the extra field "BC" and their length less 1, as bgzip writes them.
  std::string text = "%%MatrixMarket matrix coordinate pattern general\n3000 3000 3000\n";
  for (int k = 1; k <= 3000; ++k) text += std::to_string(k) + " 1\n";
  std::string blocks;
  for (std::size_t at = 0; at <= text.size(); at += 1000) {
    std::string member = testing::gzip(std::string_view(text).substr(at, 1000));
    const auto length = static_cast<std::uint16_t>(member.size() + 8 - 1);
    member = member.substr(0, 3) + '\4' + member.substr(4, 6) + raw<std::uint16_t>({6}) + "BC\2" + '\0' +
             raw<std::uint16_t>({length}) + member.substr(10);
    blocks += member;
  }
  const testing::TemporaryDirectory directory;
  const auto path = directory.file("A.mtx.bgz");
  testing::write_text(path, blocks);
  ReadOptions options;
  options.device = Device::host(3);
  EXPECT_EQ(read_matrix<double>(path, options).matrix.nnz(), 3000);
  EXPECT_EQ(testing::inflate_file(path), text);
  for (const std::size_t damaged : {std::size_t{30}, blocks.size() / 2, blocks.size() - 3}) {
    std::string wrong = blocks;
    wrong[damaged] = static_cast<char>(wrong[damaged] ^ 0x10);
    testing::write_text(path, wrong);
    EXPECT_NE(refusal_of([&] { return read_matrix<double>(path, options); }).find("gzip stream is corrupt"),
              std::string::npos);
  }
}

TEST(CompressedFiles, Zstd) {
  // One frame of a raw block, as the format says (RFC 8878): magic, descriptor (single segment), size, block header.
  const std::string text = "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 2.5\n";
  const auto size = static_cast<std::uint32_t>(text.size());
  const std::string frame =
      "\x28\xb5\x2f\xfd\x20"s + static_cast<char>(size) + raw<std::uint32_t>({size << 3U | 1U}).substr(0, 3) + text;
  const testing::TemporaryDirectory directory;
  const auto path = directory.file("A.mtx.zst");
  testing::write_text(path, frame);
  const std::string refused = refusal_of([&] { return read_matrix<double>(path); });
  if (refused.find("built without libzstd") != std::string::npos) GTEST_SKIP() << refused;
  EXPECT_EQ(entries_of(read_matrix<double>(path)), "1 x 1: (1,1)=2.5");
  testing::write_text(path, frame.substr(0, frame.size() - 2));
  EXPECT_EQ(refusal_of([&] { return read_matrix<double>(path); }),
            path.string() + ":3:7: the zstd stream is truncated: expected more compressed data");
  testing::write_text(path, frame + "x");
  EXPECT_NE(refusal_of([&] { return read_matrix<double>(path); }).find("zstd stream is"), std::string::npos);
  // Two frames are one text.
  testing::write_text(path, "\x28\xb5\x2f\xfd\x20\x02\x11\0\0"s.substr(0, 9) + "%%" + "\x28\xb5\x2f\xfd\x20"s +
                                static_cast<char>(size - 2) + raw<std::uint32_t>({(size - 2) << 3U | 1U}).substr(0, 3) +
                                text.substr(2));
  EXPECT_EQ(entries_of(read_matrix<double>(path)), "1 x 1: (1,1)=2.5");
}

TEST(MatrixFiles, TheContentDecides) {
  EXPECT_EQ(read("%%MatrixMarket matrix coordinate pattern general\n1 1 1\n1 1\n", "A.npz"), "1 x 1: (1,1)=1");
  EXPECT_EQ(read(petsc32(), "A.mtx"), small);
  EXPECT_EQ(parse_matrix<double>("1 2\n2 3\n", "/dev/stdin").format, "edge-list");
  EXPECT_EQ(parse_matrix<double>("zoe,adam\nadam,bob\n", "/dev/stdin").labels.size(), 3U);
  EXPECT_NE(refusal("hello, world\n", "/dev/stdin").find("%%MatrixMarket"), std::string::npos);
  EXPECT_NE(refusal("a, b\nc, d, e, f\n", "/dev/stdin").find("%%MatrixMarket"), std::string::npos);
  EXPECT_EQ(parse_matrix<double>("a,b\n", "g.csv").labels, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(parse_matrix<double>("a b\nb c\nRUA d\n", "g.edges").labels.size(), 5U);
  EXPECT_EQ(parse_matrix<double>(petsc32(), "A").format, "petsc-binary");
}

TEST(MatrixFiles, ContentAndNameThatDisagree) {
  EXPECT_EQ(refusal("1 2\n2 3\n", "A.npz"),
            "A.npz: byte 0: named as a file of the format scipy-npz, but it begins like lines of numbers without a "
            "header, as "
            "a list of edges");
  EXPECT_EQ(refusal("<html>", "A.mat.gz"),
            "A.mat.gz: byte 0: named as a file of the format matlab, but it begins like a web page (HTML)");
  EXPECT_EQ(refusal("", "A.rb"),
            "A.rb: byte 0: named as a file of the format harwell-boeing, but it begins like an empty file");
  EXPECT_NE(refusal("1 2\n2 3\n", "A.mtx").find("expected a Matrix Market file, found lines of numbers"),
            std::string::npos);
  EXPECT_NE(refusal("<html>", "g.csv").find("found a web page (HTML)"), std::string::npos);
}

}  // namespace
}  // namespace tessera
