#include "tessera/assemble.hpp"
#include "core/sort_entries.hpp"
#include "tessera/device.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/make_csr.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace tessera {
namespace {

using testing::expect_identical;
using testing::make_csr;
using testing::make_pattern;

template <class T>
struct Entries {
  std::vector<index_t> rows;
  std::vector<index_t> columns;
  std::vector<T> values;
};

template <class T>
Assembly<T> assembled(std::int64_t rows, std::int64_t cols, const Entries<T>& in,
                      ValueStorage storage = ValueStorage::weighted) {
  const std::span<const T> values =
      storage == ValueStorage::pattern ? std::span<const T>{} : std::span<const T>(in.values);
  return assemble<T>(rows, cols, in.rows, in.columns, values, storage);
}

/// A map keeps the order of rows and columns; values are added as they come.
template <class T>
Assembly<T> by_map(std::int64_t rows, std::int64_t cols, const Entries<T>& in) {
  std::map<std::pair<index_t, index_t>, T> sums;
  for (std::size_t k = 0; k < in.rows.size(); ++k) {
    const auto [place, inserted] = sums.try_emplace({in.rows[k], in.columns[k]}, in.values[k]);
    if (!inserted) place->second += in.values[k];
  }
  std::vector<offset_t> offsets(static_cast<std::size_t>(rows) + 1);
  std::vector<index_t> columns;
  std::vector<T> values;
  for (const auto& [position, value] : sums) {
    ++offsets[static_cast<std::size_t>(position.first) + 1];
    columns.push_back(position.second);
    values.push_back(value);
  }
  for (std::size_t i = 1; i < offsets.size(); ++i) offsets[i] += offsets[i - 1];
  return {make_csr<T>(rows, cols, offsets, columns, values), static_cast<offset_t>(in.rows.size() - sums.size())};
}

template <class T>
Entries<T> random_entries(std::int64_t rows, std::int64_t cols, std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Entries<T> in;
  for (std::size_t k = 0; k < count; ++k) {
    in.rows.push_back(static_cast<index_t>(random() % static_cast<std::uint64_t>(rows)));
    in.columns.push_back(static_cast<index_t>(random() % static_cast<std::uint64_t>(cols)));
    in.values.push_back(std::ldexp(static_cast<T>(random() % 1000), static_cast<int>(random() % 40)));
  }
  return in;
}

template <class T>
void expect_as_by_map(std::int64_t rows, std::int64_t cols, const Entries<T>& in) {
  const Assembly<T> expected = by_map(rows, cols, in);
  for (const int count : {1, 2, 5}) {
    set_default_host_threads(count);
    const Assembly<T> result = assembled<T>(rows, cols, in);
    const Assembly<T> pattern = assembled<T>(rows, cols, in, ValueStorage::pattern);
    set_default_host_threads(0);
    expect_identical(result.matrix.view(), expected.matrix.view());
    EXPECT_EQ(result.duplicates, expected.duplicates);
    EXPECT_TRUE(pattern.matrix.is_pattern());
    EXPECT_TRUE(testing::same_bytes(pattern.matrix.columns().span(), expected.matrix.columns().span()));
    EXPECT_EQ(pattern.duplicates, expected.duplicates);
  }
}

TEST(Assemble, EqualsAMap) {
  expect_as_by_map(50, 40, random_entries<double>(50, 40, 30, 1));           // hardly any duplicates
  expect_as_by_map(50, 40, random_entries<float>(50, 40, 20000, 2));         // mostly duplicates
  expect_as_by_map(3, 100000, random_entries<double>(3, 100000, 60000, 3));  // long rows
  expect_as_by_map(100000, 3, random_entries<double>(100000, 3, 60000, 4));  // many empty rows
  expect_as_by_map(1, 1, random_entries<double>(1, 1, 10000, 5));
  expect_as_by_map(30000, 30000, random_entries<float>(30000, 30000, 200000, 6));
  expect_as_by_map(2000, 300, random_entries<double>(2000, 300, 400000, 8));  // duplicates in many blocks of rows
  expect_as_by_map(40, 5000, random_entries<float>(40, 5000, 150000, 9));     // a block a row
}

TEST(Assemble, BlocksOfRowsAreBounded) {
  constexpr std::int64_t most_rows = (std::int64_t{1} << 31) - 1;
  for (const std::int64_t rows : {std::int64_t{1}, std::int64_t{5}, std::int64_t{4097}, most_rows}) {
    for (const offset_t entries : {offset_t{2}, offset_t{1000000}, offset_t{1} << 33}) {
      const RowBlocks blocks = choose_row_blocks(rows, entries, sizeof(WeightedEntry<double>));
      ASSERT_LE(blocks.count(), max_row_blocks);
      ASSERT_EQ(blocks.rows_of(0).begin, 0);
      ASSERT_EQ(blocks.rows_of(blocks.count() - 1).end, rows);
      ASSERT_EQ(blocks.block_of(static_cast<index_t>(rows - 1)), blocks.count() - 1);
      if (entries == 2) {
        ASSERT_EQ(blocks.count(), 1);
      }
    }
  }
}

TEST(Assemble, SortedInput) {
  // The shortcut for sorted entries, with empty rows at the start, in the middle and at the end.
  Entries<double> in = {{2, 2, 5, 6}, {1, 3, 0, 6}, {1, 2, 3, 4}};
  expect_as_by_map(9, 7, in);
  const Assembly<float> big = by_map(5000, 5000, random_entries<float>(5000, 5000, 60000, 7));
  Entries<float> sorted;
  for (index_t i = 0; i < 5000; ++i) {
    for (offset_t k = big.matrix.row_offsets()[i]; k < big.matrix.row_offsets()[i + 1]; ++k) {
      sorted.rows.push_back(i);
      sorted.columns.push_back(big.matrix.columns()[k]);
      sorted.values.push_back(big.matrix.values()[k]);
    }
  }
  expect_as_by_map(5000, 5000, sorted);
  // One entry out of order at the very end.
  sorted.rows.push_back(0);
  sorted.columns.push_back(0);
  sorted.values.push_back(1);
  expect_as_by_map(5000, 5000, sorted);
}

TEST(Assemble, NothingToAssemble) {
  expect_identical(assembled<double>(0, 0, {}).matrix.view(), Csr<double>{}.view());
  expect_identical(assembled<double>(3, 0, {}).matrix.view(), make_csr<double>(3, 0, {0, 0, 0, 0}, {}, {}).view());
  expect_identical(assembled<double>(0, 3, {}, ValueStorage::pattern).matrix.view(),
                   make_pattern<double>(0, 3, {0}, {}).view());
}

TEST(Assemble, DuplicatesAreAddedInTheirOrder) {
  const auto result = assembled<double>(2, 2, {{1, 0, 1, 1}, {0, 0, 0, 0}, {1e16, 3, 1, -1e16}});
  expect_identical(result.matrix.view(), make_csr<double>(2, 2, {0, 1, 2}, {0, 0}, {3, 0}).view());
  EXPECT_EQ(result.duplicates, 2);
}

TEST(Assemble, DuplicatesCanBeRefused) {
  const std::vector<index_t> rows{2, 0, 2, 1, 2};
  const std::vector<index_t> columns{1, 0, 0, 1, 1};
  try {
    static_cast<void>(assemble<double>(3, 2, rows, columns, {}, ValueStorage::pattern, Duplicates::error));
    FAIL() << "accepted";
  } catch (const InvalidMatrix& e) {
    EXPECT_EQ(std::string(e.what()), "position (2, 1) occurs more than once: entries 0 and 4");
  }
}

TEST(Assemble, TheFirstDuplicateIsThatOfTheFirstRow) {
  Entries<double> in;
  for (index_t i = 60000; i-- > 0;) {
    in.rows.push_back(i);
    in.columns.push_back(7);
    in.values.push_back(1);
  }
  for (const index_t row : {50000, 20000, 20000}) {
    in.rows.push_back(row);
    in.columns.push_back(7);
    in.values.push_back(1);
  }
  try {
    static_cast<void>(
        assemble<double>(60000, 8, in.rows, in.columns, in.values, ValueStorage::weighted, Duplicates::error));
    FAIL() << "accepted";
  } catch (const InvalidMatrix& e) {
    EXPECT_EQ(std::string(e.what()), "position (20000, 7) occurs more than once: entries 39999 and 60001");
  }
}

TEST(Assemble, InputIsChecked) {
  const std::vector<index_t> two{0, 1};
  const std::vector<index_t> three{0, 1, 2};
  const std::vector<double> values{1, 2};
  EXPECT_THROW(static_cast<void>(assemble<double>(3, 3, two, three, values)), DimensionError);
  EXPECT_THROW(static_cast<void>(assemble<double>(3, 3, three, three, values)), DimensionError);
  EXPECT_THROW(static_cast<void>(assemble<double>(3, 3, two, two, values, ValueStorage::pattern)), DimensionError);
  EXPECT_THROW(static_cast<void>(assemble<double>(-1, 3, {}, {}, {})), InvalidMatrix);
  EXPECT_THROW(static_cast<void>(assemble<double>(3, std::int64_t{1} << 31, {}, {}, {})), InvalidMatrix);
  for (const index_t bad : {-1, 3}) {
    const std::vector<index_t> index{0, bad};
    EXPECT_THROW(static_cast<void>(assemble<double>(3, 5, index, two, values)), InvalidMatrix);
    EXPECT_THROW(static_cast<void>(assemble<double>(5, 3, two, index, values)), InvalidMatrix);
  }
  try {
    const std::vector<index_t> rows{0, 7};
    static_cast<void>(assemble<double>(3, 5, rows, two, values));
  } catch (const InvalidMatrix& e) {
    EXPECT_EQ(std::string(e.what()), "entry 1: position (7, 1) is outside the 3 x 5 matrix");
  }
}

}  // namespace
}  // namespace tessera
