// Multivectors in Matrix Market files: forms of files, sizes, and what is refused.
#include "tessera/multi_vector_file.hpp"
#include "tessera/error.hpp"
#include "tests/support/error_message.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

namespace tessera::testing {
namespace {

class MultiVectorFile : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("tessera-multi-vector." + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  [[nodiscard]] std::filesystem::path path(const std::string& name) const { return folder_ / name; }
  [[nodiscard]] std::filesystem::path file(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
    return path(name);
  }

 private:
  std::filesystem::path folder_;
};

TEST_F(MultiVectorFile, WhatIsWrittenIsRead) {
  MultiVector<double> written{{1.0, -0.1, 1e300, 4.0, 5e-324, 6.0}, 3, 2};
  for (const char* name : {"a.mtx", "a.mtx.gz"}) {
    write_multi_vector(path(name), written, {"two columns"});
    const auto found = read_multi_vector<double>(path(name), 3);
    EXPECT_EQ(found.rows, 3);
    EXPECT_EQ(found.columns, 2);
    EXPECT_EQ(found.elements, written.elements);
  }
  EXPECT_EQ(format_multi_vector(MultiVector<double>{{1.0, 2.0}, 1, 2}),
            "%%MatrixMarket matrix array real general\n1 2\n1\n2\n");
  EXPECT_EQ(columns_of_file(path("a.mtx"), 3), 2);
  EXPECT_EQ(columns_of_file(path("a.mtx.gz"), 3), std::nullopt);
  written.elements[4] = std::numeric_limits<double>::infinity();
  EXPECT_THROW(write_multi_vector(path("b.mtx"), written), InvalidMatrix);
}

TEST_F(MultiVectorFile, FormsOfFiles) {
  const auto places = file("places.mtx", "%%MatrixMarket matrix coordinate real general\n2 3 3\n1 1 1\n2 3 6\n1 3 5\n");
  EXPECT_EQ(read_multi_vector<double>(places, 2).elements, (std::vector<double>{1, 0, 0, 0, 5, 6}));
  const auto symmetric = file("symmetric.mtx", "%%MatrixMarket matrix array real symmetric\n2 2\n1\n2\n3\n");
  EXPECT_EQ(read_multi_vector<double>(symmetric, 2).elements, (std::vector<double>{1, 2, 2, 3}));
  const auto row = file("row.mtx", "%%MatrixMarket matrix array real general\n1 3\n1\n2\n3\n");
  EXPECT_EQ(read_multi_vector<float>(row, 3).columns, 1);
  EXPECT_EQ(read_multi_vector<float>(row, 1).columns, 3);
  const auto plain = file("plain.txt", "1\n2\n3\n");
  EXPECT_EQ(read_multi_vector<double>(plain, 3).elements, (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(columns_of_file(plain, 3), 1);
  EXPECT_EQ(columns_of_file(row, 1), 3);
}

TEST_F(MultiVectorFile, RefusalsHaveNumbers) {
  const auto two = file("two.mtx", "%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n");
  EXPECT_EQ(message_of<DimensionError>([&] { (void)read_multi_vector<double>(two, 3); }),
            two.string() + " has 2 rows and 2 columns, expected 3 rows");
  const auto none = file("none.mtx", "%%MatrixMarket matrix array real general\n2 0\n");
  EXPECT_EQ(message_of<ParseError>([&] { (void)read_multi_vector<double>(none, 2); }),
            none.string() + ":2:1: expected vectors, found no column");
  const auto cut = file("cut.mtx", "%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n");
  EXPECT_THROW((void)read_multi_vector<double>(cut, 2), ParseError);
  ReadOptions limited;
  limited.memory_limit_bytes = 16;
  EXPECT_THROW((void)read_multi_vector<double>(two, 2, limited), OutOfMemory);
}

}  // namespace
}  // namespace tessera::testing
