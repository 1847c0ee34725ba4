/// \file
/// Files of other formats are named with the way to Matrix Market; lists of numbers stay vectors.
#include "io/foreign_formats.hpp"
#include "tessera/error.hpp"
#include "tessera/matrix_cache.hpp"
#include "tessera/matrix_market.hpp"

#include "tests/io/files.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {
namespace {

using namespace std::string_view_literals;

struct Sample {
  std::string_view name;
  std::string bytes;
  std::string_view remedy;  ///< a part of it
};

[[nodiscard]] std::string tar_of(const std::string& name) {
  std::string header(512, '\0');
  header.replace(0, name.size(), name);
  header.replace(257, 8, "ustar  \0"sv);
  return header + "%%MatrixMarket matrix coordinate real general\n1 1 0\n";
}

[[nodiscard]] std::vector<Sample> binary_samples() {
  return {
      {"a MATLAB 5 .mat file", "MATLAB 5.0 MAT-file, Platform: GLNXA64", "read_matrix()"},
      {"a MATLAB 7.3 .mat file (HDF5)", "MATLAB 7.3 MAT-file, Platform: GLNXA64", "-v7"},
      {"an HDF5 file", std::string("\x89HDF\r\n\x1a\n\0\0"sv), "h5py"},
      {"a NumPy .npy file", std::string("\x93NUMPY\x01\0v\0"sv), "read_matrix()"},
      {"a zip archive; SciPy's .npz is one", std::string("PK\x03\x04\x14\0"sv), "read_matrix()"},
      {"an xz file", std::string("\xfd\x37zXZ\0\0\x04"sv), "unpack"},
      {"a bzip2 file", "BZh91AY&SY", "unpack"},
      {"a zstd file", std::string("\x28\xb5\x2f\xfd\x04\0"sv), "unpack"},
      {"a tar archive", tar_of("a/a.mtx"), "tar -xf"},
      {"a Parquet file", std::string("PAR1\x15\x04"sv), "pandas"},
      {"a PETSc binary matrix", std::string("\0\x12\x7b\x50\0\0\0\x03"sv), "read_matrix()"},
      {"a PETSc binary vector", std::string("\0\x12\x7b\x4e\0\0\0\x03"sv), "read_vector()"},
      {"text with a byte order mark (UTF-8)", "\xef\xbb\xbf%%MatrixMarket matrix coordinate real general\n", "UTF-8"},
      {"UTF-16 text", std::string("\xff\xfe%\0%\0"sv), "ASCII"},
      {"UTF-16 text", std::string("\xfe\xff\0%\0%"sv), "ASCII"},
      {"a pointer of git LFS, not the file itself",
       "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 12345\n", "git lfs pull"},
      {"a web page (HTML)", "\n<!DOCTYPE html>\n<html lang=\"en\">\n", "download"},
      {"a web page (HTML)", "<HTML><HEAD>", "download"},
      {"a Harwell-Boeing or Rutherford-Boeing file",
       "SYMMETRIC MATRIX OF A TRUSS                                             KEY\n"
       "             5             1             1             3             0\n"
       "RSA                        3             3             4             0\n(26I3)\n",
       "read_matrix()"},
      {"a Harwell-Boeing or Rutherford-Boeing file", "title |key\n 8 1 2 5\niua 10 10 20 0\n", "read_matrix()"},
  };
}

TEST(ForeignFormats, AreNamedWithTheirRemedy) {
  for (const Sample& sample : binary_samples()) {
    const auto matrix = io::foreign_format(sample.bytes);
    ASSERT_TRUE(matrix) << sample.name;
    EXPECT_EQ(matrix->name, sample.name);
    EXPECT_NE(matrix->remedy.find(sample.remedy), std::string_view::npos) << matrix->remedy;
    const auto vector = io::foreign_vector_format(sample.bytes);
    ASSERT_TRUE(vector) << sample.name;
    EXPECT_EQ(vector->name, sample.name);
  }
}

TEST(ForeignFormats, ListsOfEdgesAreNoMatrixMarket) {
  for (const char* text : {"# Directed graph\n# FromNodeId\tToNodeId\n0\t4\n0\t5\n", "1,2\n2,3\n",
                           "source,target\n1,2\n", "from;to;weight\r\n1;2;0.5\r\n", "3 3 1\n1 1 1\n", "1 2 3.5"}) {
    const auto format = io::foreign_format(text);
    ASSERT_TRUE(format) << text;
    EXPECT_EQ(format->name, "lines of numbers without a header, as a list of edges") << text;
    EXPECT_FALSE(io::foreign_vector_format(text)) << text;
  }
}

TEST(ForeignFormats, OtherBytesAreNotNamed) {
  for (const char* text : {"", "\n", "1\n2\n3\n", "# a comment\n1e-3\n", "hello, world\n", "a b\nc d\n", "1 2 3 4\n",
                           "BZ", "PK", "%MatrixMarket matrix coordinate real general\n"}) {
    EXPECT_FALSE(io::foreign_format(text)) << text;
  }
}

TEST(ForeignFormats, PlainNumbersStayAVector) {
  EXPECT_EQ(parse_vector<double>("1\n2\n3\n", "b.txt"), (std::vector<double>{1.0, 2.0, 3.0}));
  EXPECT_EQ(parse_vector<double>("# title\n% key\n1d0\n-2\n", "b.txt"), (std::vector<double>{1.0, -2.0}));
}

template <class Read>
[[nodiscard]] std::string refusal(const Read& read) {
  try {
    read();
  } catch (const ParseError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(ForeignFormats, BothReadersAndTheCacheNameThem) {
  const testing::TemporaryDirectory directory;
  const auto path = directory.path() / "A.mtx";
  std::ofstream(path) << "BZh91AY&SY";
  const std::string name = path.string();
  const std::string matrix = name +
                             ":1:1: expected a Matrix Market file, found a bzip2 file; hint: unpack it: only plain "
                             "files and those of gzip and zstd are read";
  EXPECT_EQ(refusal([&] { static_cast<void>(read_matrix_market<double>(path)); }), matrix);
  EXPECT_EQ(refusal([&] { static_cast<void>(read_cached<double>(path, {})); }), matrix);
  EXPECT_EQ(refusal([&] { static_cast<void>(read_vector<double>(path)); }),
            name +
                ":1:1: expected a vector (Matrix Market, or one number per line), found a bzip2 file; hint: unpack it: "
                "only plain files and those of gzip and zstd are read");
}

}  // namespace
}  // namespace tessera
