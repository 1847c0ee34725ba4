/// \file
/// Text files of Harwell-Boeing, files of MATLAB, compressed files, and how content and name tell a format. More files
/// of other programs: petsc_files_test.cpp, numpy_files_test.cpp; tests/python/test_formats.py has those that SciPy
/// writes.
#include "tessera/matrix_file.hpp"
#include "tests/io/files.hpp"
#include "tests/io/format_bytes.hpp"

#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::testing {
namespace {

using namespace std::string_literals;
using namespace std::string_view_literals;

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

[[nodiscard]] std::string mat_element(std::int32_t type, const std::string& data) {
  std::string padded = data;
  padded.resize((data.size() + 7) / 8 * 8, '\0');
  return raw<std::int32_t>({type, static_cast<std::int32_t>(data.size())}) + padded;
}

/// A sparse variable of a MATLAB 5 file, by default that of `small`.
struct MatVariable {
  static constexpr std::uint32_t logical = 0x200;
  static constexpr std::uint32_t complex = 0x800;
  static constexpr std::int32_t int8 = 1, uint8 = 2, int32 = 5, uint32 = 6, float64 = 9, matrix = 14;

  std::string name = "A";
  std::uint32_t flags = 0;
  std::vector<std::int32_t> sizes{2, 3};
  std::vector<std::int32_t> row_indices{0, 0, 1};
  std::vector<std::int32_t> column_offsets{0, 1, 1, 3};
  std::int32_t values_type = float64;
  std::string values = raw<double>({2, -1, 0.5});

  [[nodiscard]] static std::string words(const std::vector<std::int32_t>& numbers) {
    std::string text;
    for (const std::int32_t number : numbers) text += raw<std::int32_t>({number});
    return text;
  }
  [[nodiscard]] std::string bytes() const {
    constexpr std::uint32_t sparse = 5;
    const std::string elements =
        mat_element(uint32, raw<std::uint32_t>({flags | sparse, static_cast<std::uint32_t>(row_indices.size())})) +
        mat_element(int32, words(sizes)) + mat_element(int8, name) + mat_element(int32, words(row_indices)) +
        mat_element(int32, words(column_offsets)) + mat_element(values_type, values);
    return mat_element(matrix, (flags & complex) == 0 ? elements : elements + mat_element(values_type, values));
  }
};

/// A MATLAB 5 file of variables as they are stored.
[[nodiscard]] std::string mat_file(std::string_view variables) {
  std::string file = "MATLAB 5.0 MAT-file, written by a test";
  file.resize(116, ' ');
  file.resize(124, '\0');
  file += raw<std::uint16_t>({0x0100, 0x4d49});
  return file.append(variables);
}

[[nodiscard]] std::string mat(const std::vector<MatVariable>& variables) {
  std::string bytes;
  for (const MatVariable& each : variables) bytes += each.bytes();
  return mat_file(bytes);
}

TEST(MatlabFiles, SparseVariables) {
  const std::string file = mat({{}});
  if (!reads("matlab")) {
    EXPECT_EQ(refusal(file), "A: this build reads no .mat files: built without matio");
    GTEST_SKIP() << "built without matio";
  }
  EXPECT_EQ(read(file), small);
  const TemporaryDirectory directory;
  const std::string path = directory.file("A.mat").string();
  write_text(path, file);
  EXPECT_EQ(entries_of(read_matrix<float>(path + ":A")), small);
  EXPECT_EQ(refusal_of([&] { return read_matrix<double>(path + ":B"); }), path + ": expected the variable B, found A");
  EXPECT_EQ(refusal_of([&] { return read_vector<double>(path); }),
            path + ": expected one dense vector or matrix, found none among the variables A");
  expect_refused_when_cut(file, 20);
  // The same as a dense variable, a cell array and a structure: 2 x 3 of what is not there.
  for (const auto& [matlab_class, what] : {std::pair{'\6', "values"}, {'\1', "cells"}, {'\2', "structures"}}) {
    std::string claims = file;
    claims[144] = matlab_class;
    write_text(path, claims);
    EXPECT_EQ(
        refusal_of([&] { return read_matrix<double>(path + ":A"); }),
        path + std::string(": byte 128: the dimensions of the variable ask for 6 ") + what + ", which are not there");
  }
}

/// Else matio reads what follows at another place.
TEST(MatlabFiles, FlagsOfAnotherSizeAreRefused) {
  if (!reads("matlab")) GTEST_SKIP() << "built without matio";
  std::string flags = mat({MatVariable{}});
  flags[140] = 16;
  EXPECT_EQ(refusal(flags), "A: byte 128: expected 8 bytes of flags of the variable, found 16 of type 6");
  flags[140] = 8;
  flags[136] = 5;
  EXPECT_EQ(refusal(flags), "A: byte 128: expected 8 bytes of flags of the variable, found 8 of type 5");
}

/// As MATLAB and SciPy write them.
TEST(MatlabFiles, LogicalAndEmptySparseVariables) {
  if (!reads("matlab")) GTEST_SKIP() << "built without matio";
  const std::string ones = "2 x 3: (1,1)=1 (1,3)=1 (2,3)=1";
  const std::string bytes = "\1\1\1"s;
  const MatVariable logical{.flags = MatVariable::logical, .values_type = MatVariable::uint8, .values = bytes};
  EXPECT_EQ(read(mat({logical})), ones);
  // MATLAB calls these bytes double.
  const MatVariable called_double{.flags = MatVariable::logical, .values = bytes};
  EXPECT_EQ(read(mat({called_double})), ones);
  const MatVariable empty{.sizes = {2, 1}, .row_indices = {}, .column_offsets = {0, 0}, .values = ""};
  EXPECT_EQ(read(mat({empty})), "2 x 1:");
  const MatVariable none{.sizes = {0, 0}, .row_indices = {}, .column_offsets = {0}, .values = ""};
  EXPECT_EQ(read(mat({none})), "0 x 0:");
  // Beside others the wanted one is named.
  MatVariable mask = called_double;
  mask.name = "mask";
  MatVariable wave{.flags = MatVariable::complex};
  wave.name = "wave";
  const TemporaryDirectory directory;
  const std::string path = directory.file("A.mat").string();
  write_text(path, mat({mask, {}, wave}));
  EXPECT_EQ(entries_of(read_matrix<double>(path + ":A")), small);
  EXPECT_EQ(entries_of(read_matrix<double>(path + ":mask")), ones);
  EXPECT_EQ(refusal_of([&] { return read_matrix<double>(path + ":wave"); }),
            path + ": expected wave to be a real matrix, found complex numbers, which are not supported");
}

TEST(MatlabFiles, SparseArraysAsMatioReadsThem) {
  if (!reads("matlab")) GTEST_SKIP() << "built without matio";
  const std::string file = mat({{}});
  constexpr std::size_t class_at = 144, row_indices_at = 184, column_offsets_at = 208, values_at = 232;
  const auto refused = [&](std::size_t at, char byte) {
    std::string changed = file;
    changed[at] = byte;
    return refusal(changed);
  };
  const std::string start = "A: byte 128: ";
  EXPECT_EQ(refused(row_indices_at, 123),
            start + "expected 32-bit row indices of the sparse matrix, found 12 bytes of type 123");
  EXPECT_EQ(refused(row_indices_at, 3),
            start + "expected 32-bit row indices of the sparse matrix, found 12 bytes of type 3");
  EXPECT_EQ(refused(column_offsets_at, 9),
            start + "expected 32-bit column offsets of the sparse matrix, found 16 bytes of type 9");
  EXPECT_EQ(refused(column_offsets_at + 4, 15),
            start + "expected 32-bit column offsets of the sparse matrix, found 15 bytes of type 5");
  EXPECT_EQ(refused(values_at, 8), start + "expected values of the sparse matrix, found 24 bytes of type 8");
  EXPECT_EQ(refused(values_at + 4, 23), start + "expected values of the sparse matrix, found 23 bytes of type 9");
  const std::string logical = raw<double>({1, 1, 1});
  EXPECT_EQ(refusal(mat({{.flags = MatVariable::logical, .values = logical}})),
            start + "expected a byte per logical value of the sparse matrix, found 24 bytes of type 9");
  const std::string lacks = start + "the sparse matrix lacks row indices, column offsets or values";
  EXPECT_EQ(refused(class_at + 1, 8), lacks);  // complex, without imaginary parts
  std::string without_values = file.substr(0, values_at);
  without_values[132] = static_cast<char>(values_at - 136);
  EXPECT_EQ(refusal(without_values), lacks);
}

[[nodiscard]] std::string compressed_variable(const std::string& variable) {
  std::string packed(compressBound(variable.size()), '\0');
  uLongf size = packed.size();
  EXPECT_EQ(compress(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(variable.data()),
                     variable.size()),
            Z_OK);
  return raw<std::int32_t>({15, static_cast<std::int32_t>(size)}) + packed.substr(0, size);
}

/// Variables nobody wants stay compressed; the copy that matio reads counts.
TEST(MatlabFiles, MemoryOfVariables) {
  if (!reads("matlab")) GTEST_SKIP() << "built without matio";
  constexpr std::int32_t count = 1 << 20;
  constexpr std::uint32_t float64_class = 6;
  const auto zeros = [&](const std::string& name) {
    return mat_element(MatVariable::matrix,
                       mat_element(MatVariable::uint32, raw<std::uint32_t>({float64_class, 0})) +
                           mat_element(MatVariable::int32, raw<std::int32_t>({count, 1})) +
                           mat_element(MatVariable::int8, name) +
                           mat_element(MatVariable::float64, std::string(sizeof(double) * count, '\0')));
  };
  std::string variables;
  for (const char* name : {"p", "q", "r"}) variables += compressed_variable(zeros(name));
  variables += compressed_variable(MatVariable{}.bytes());
  const TemporaryDirectory directory;
  const std::string path = directory.file("A.mat").string();
  write_text(path, mat_file(variables));
  ReadOptions options;
  options.memory_limit_bytes = 4 << 20;
  EXPECT_EQ(entries_of(read_matrix<double>(path, options)), small);
  EXPECT_EQ(entries_of(read_matrix<double>(path + ":A", options)), small);
  EXPECT_EQ(refusal_of([&] { return read_matrix<double>(path + ":B", options); }),
            path + ": expected the variable B, found p, q, r, A");
  EXPECT_THROW(static_cast<void>(read_vector<double>(path + ":q", options)), OutOfMemory);
  options.memory_limit_bytes = 12 << 20;  // one copy, but not two
  EXPECT_THROW(static_cast<void>(read_vector<double>(path + ":q", options)), OutOfMemory);
  options.memory_limit_bytes = 40 << 20;
  EXPECT_EQ(read_vector<double>(path + ":q", options).size(), std::size_t{count});
  EXPECT_NE(refusal_of([&] { return read_vector<double>(path, options); }).find("found p, q, r; name one"),
            std::string::npos);
  options.memory_limit_bytes = 20 << 20;  // all three may be meant
  EXPECT_THROW(static_cast<void>(read_vector<double>(path, options)), OutOfMemory);
}

TEST(CompressedFiles, BlocksOfBgzipInParallel) {
  // Members with the extra field "BC" and their length less 1, as bgzip writes them.
  std::string text = "%%MatrixMarket matrix coordinate pattern general\n3000 3000 3000\n";
  for (int k = 1; k <= 3000; ++k) text += std::to_string(k) + " 1\n";
  std::string blocks;
  for (std::size_t at = 0; at <= text.size(); at += 1000) {
    std::string member = gzip(std::string_view(text).substr(at, 1000));
    const auto length = static_cast<std::uint16_t>(member.size() + 8 - 1);
    member = member.substr(0, 3) + '\4' + member.substr(4, 6) + raw<std::uint16_t>({6}) + "BC\2" + '\0' +
             raw<std::uint16_t>({length}) + member.substr(10);
    blocks += member;
  }
  const TemporaryDirectory directory;
  const auto path = directory.file("A.mtx.bgz");
  write_text(path, blocks);
  ReadOptions options;
  options.device = Device::host(3);
  EXPECT_EQ(read_matrix<double>(path, options).matrix.nnz(), 3000);
  EXPECT_EQ(inflate_file(path), text);
  for (const std::size_t damaged : {std::size_t{30}, blocks.size() / 2, blocks.size() - 3}) {
    std::string wrong = blocks;
    wrong[damaged] = static_cast<char>(wrong[damaged] ^ 0x10);
    write_text(path, wrong);
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
  const TemporaryDirectory directory;
  const auto path = directory.file("A.mtx.zst");
  write_text(path, frame);
  const std::string refused = refusal_of([&] { return read_matrix<double>(path); });
  if (refused.find("built without libzstd") != std::string::npos) GTEST_SKIP() << refused;
  EXPECT_EQ(entries_of(read_matrix<double>(path)), "1 x 1: (1,1)=2.5");
  write_text(path, frame.substr(0, frame.size() - 2));
  EXPECT_EQ(refusal_of([&] { return read_matrix<double>(path); }),
            path.string() + ":3:7: the zstd stream is truncated: expected more compressed data");
  write_text(path, frame + "x");
  EXPECT_NE(refusal_of([&] { return read_matrix<double>(path); }).find("zstd stream is"), std::string::npos);
  // Two frames are one text.
  write_text(path, "\x28\xb5\x2f\xfd\x20\x02\x11\0\0"s.substr(0, 9) + "%%" + "\x28\xb5\x2f\xfd\x20"s +
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
}  // namespace tessera::testing
