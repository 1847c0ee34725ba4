/// Binary files of PETSc and of AMGX, made here byte by byte as their formats say.
#include "tessera/matrix_file.hpp"
#include "tessera/petsc_file.hpp"
#include "tests/io/files.hpp"
#include "tests/io/format_bytes.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace tessera::testing {
namespace {

[[nodiscard]] std::string petsc64() {
  return Bytes(std::endian::big)
      .add<std::int64_t>({1211216, 2, 3, 3, 2, 1, 0, 2, 2})
      .add<double>({2.0, -1.0, 0.5})
      .text();
}

TEST(PetscFiles, MatricesOfEitherIndices) {
  EXPECT_EQ(read(petsc32()), small);
  EXPECT_EQ(read(petsc64()), small);
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

[[nodiscard]] std::string single_matrix() {
  return Bytes(std::endian::big)
      .add<std::int32_t>({1211216, 2, 3, 3, 2, 1, 0, 2, 2})
      .add<float>({2.F, -1.F, 0.5F})
      .text();
}

/// A class behind values tells their size, the end of the file does not.
TEST(PetscFiles, SinglePrecision) {
  const std::string vector = Bytes(std::endian::big).add<std::int32_t>({1211214, 2}).add<float>({7.F, 8.F}).text();
  for (const std::string& both : {single_matrix() + vector, vector + single_matrix()}) {
    EXPECT_EQ(read(both), small);
    EXPECT_EQ(parse_vector<double>(both, "b", {}, 2), (std::vector<double>{7.0, 8.0}));
  }
  EXPECT_EQ(
      refusal(single_matrix()),
      "A: byte 36: expected 3 numbers of 8 bytes (values; of 4 bytes only where another object follows), found 12 "
      "bytes to the end of the file");
  const std::string doubles = Bytes(std::endian::big).add<std::int32_t>({1211214, 2}).add<double>({7.0, 8.0}).text();
  EXPECT_NE(refusal(petsc32() + vector), "accepted");
  EXPECT_NE(refusal(single_matrix() + doubles), "accepted");
  EXPECT_NE(refusal(doubles + single_matrix()), "accepted");
  // An object without values does not tell.
  const std::string empty = Bytes(std::endian::big).add<std::int32_t>({1211214, 0}).text();
  EXPECT_EQ(read(empty + petsc32()), small);
  EXPECT_NE(refusal(empty + single_matrix()), "accepted");
}

TEST(PetscFiles, WhatIsWrittenHasTheirLayout) {
  const TemporaryDirectory directory;
  const auto a = parse_matrix<double>(petsc32(), "A");
  write_petsc(directory.file("A.petsc"), a.matrix.view());
  EXPECT_EQ(read_text(directory.file("A.petsc")), petsc32());
  write_petsc(directory.file("A.petsc"), a.matrix.view(), PetscIndices::bits64);
  EXPECT_EQ(read_text(directory.file("A.petsc")), petsc64());
  EXPECT_EQ(entries_of(read_matrix<double>(directory.file("A.petsc"))), small);
  const std::vector<float> b{1.0F, -2.5F};
  write_petsc_vector<float>(directory.file("b.petsc"), b);
  EXPECT_EQ(read_text(directory.file("b.petsc")),
            Bytes(std::endian::big).add<std::int32_t>({1211214, 2}).add<double>({1.0, -2.5}).text());
  EXPECT_EQ(read_vector<float>(directory.file("b.petsc")), b);
  EXPECT_THROW(write_petsc(directory.file("A.petsc.gz"), a.matrix.view()), InvalidArgument);
}

TEST(PetscFiles, Refusals) {
  // Cut in the middle of the values, too, where they are as many in single precision.
  expect_refused_when_cut(petsc32(), 4);
  expect_refused_when_cut(petsc64(), 8);
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

}  // namespace
}  // namespace tessera::testing
