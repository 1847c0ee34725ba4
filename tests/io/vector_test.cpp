#include "tessera/error.hpp"
#include "tessera/matrix_market.hpp"
#include "tests/io/files.hpp"
#include "tests/support/compare.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace tessera {
namespace {

using Vector = std::vector<double>;

Vector parse(const std::string& text) { return parse_vector<double>(text, "b"); }

TEST(Vector, ArrayColumnAndRow) {
  EXPECT_EQ(parse("%%MatrixMarket matrix array real general\n3 1\n1\n0\n-2.5\n"), (Vector{1, 0, -2.5}));
  EXPECT_EQ(parse("%%MatrixMarket matrix array integer general\n1 3\n1\n0\n-2\n"), (Vector{1, 0, -2}));
  EXPECT_EQ(parse("%%MatrixMarket matrix array real general\n0 1\n"), Vector{});
  EXPECT_EQ(parse("%%MatrixMarket matrix array real symmetric\n1 1\n4\n"), Vector{4});
}

TEST(Vector, CoordinateFillsWithZeros) {
  EXPECT_EQ(parse("%%MatrixMarket matrix coordinate real general\n4 1 3\n4 1 2\n1 1 5\n4 1 1\n"), (Vector{5, 0, 0, 3}));
  EXPECT_EQ(parse("%%MatrixMarket matrix coordinate pattern general\n1 3 1\n1 2\n"), (Vector{0, 1, 0}));
}

TEST(Vector, PlainNumbers) {
  EXPECT_EQ(parse("1\n# comment\n\n  2.5e1\r\n% another\n-3"), (Vector{1, 25, -3}));
  EXPECT_EQ(parse("7"), Vector{7});
}

template <class T>
std::vector<T> awkward_values() {
  using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  std::vector<T> values{T{0},
                        -T{0},
                        T{1} / T{3},
                        std::numeric_limits<T>::denorm_min(),
                        -std::numeric_limits<T>::min(),
                        std::numeric_limits<T>::max(),
                        std::numeric_limits<T>::lowest(),
                        std::nextafter(T{1}, T{2})};
  std::mt19937_64 random(3);
  while (values.size() < 50000) {
    const T value = std::bit_cast<T>(static_cast<Bits>(random()));
    if (std::isfinite(value)) values.push_back(value);
  }
  return values;
}

template <class T>
void round_trip() {
  const std::vector<T> values = awkward_values<T>();
  const testing::TemporaryDirectory dir;
  for (const char* name : {"x.mtx", "x.mtx.gz"}) {
    write_vector<T>(dir.file(name), values, {" two", " comments"});
    EXPECT_TRUE(testing::same_bytes<T>(read_vector<T>(dir.file(name)), values)) << name;
  }
  EXPECT_EQ(testing::read_text(dir.file("x.mtx")), format_vector<T>(values, {" two", " comments"}));
  EXPECT_EQ(testing::inflate_file(dir.file("x.mtx.gz")), testing::read_text(dir.file("x.mtx")));
  EXPECT_EQ(dir.count(), 2U);
}

TEST(Vector, RoundTripIsExactDouble) { round_trip<double>(); }
TEST(Vector, RoundTripIsExactFloat) { round_trip<float>(); }

TEST(Vector, WrittenText) {
  EXPECT_EQ(format_vector<double>(Vector{1, -0.1, 1e300}, {" from here", "line\nbreak"}),
            "%%MatrixMarket matrix array real general\n% from here\n%line break\n3 1\n1\n-0.1\n1e+300\n");
  EXPECT_EQ(format_vector<float>({}), "%%MatrixMarket matrix array real general\n0 1\n");
}

TEST(Vector, NotFiniteIsRefusedAndLeavesNoFile) {
  const testing::TemporaryDirectory dir;
  const Vector bad{1, 2, std::numeric_limits<double>::quiet_NaN()};
  try {
    write_vector<double>(dir.file("x.mtx"), bad);
    FAIL() << "accepted";
  } catch (const InvalidMatrix& e) {
    EXPECT_NE(std::string(e.what()).find("element 2"), std::string::npos);
  }
  EXPECT_EQ(dir.count(), 0U);
}

TEST(VectorSize, IsComparedBeforeMemoryIsAllocated) {
  const std::string text = "%%MatrixMarket matrix coordinate real general\n100000000 1 0\n";
  ReadOptions options;
  options.memory_limit_bytes = 1 << 20;
  try {
    static_cast<void>(parse_vector<double>(text, "b.mtx", options, 9));
    FAIL() << "accepted";
  } catch (const DimensionError& error) {
    EXPECT_STREQ(error.what(), "b.mtx has 100000000 elements, expected 9");
  }
  EXPECT_THROW(static_cast<void>(parse_vector<double>("1\n2\n", "b.txt", {}, 3)), DimensionError);
  EXPECT_EQ(parse_vector<double>("1\n2\n", "b.txt", {}, 2).size(), 2U);
}

}  // namespace
}  // namespace tessera
