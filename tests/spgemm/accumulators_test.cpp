// The accumulators one by one: full tables, windows whose ends fall on blocks, rows that are given up.
#include "spgemm/host/accumulators/row_workspace.hpp"
#include "tests/support/adversarial.hpp"
#include "tests/support/make_csr.hpp"

#include <gtest/gtest.h>

#include <map>

namespace tessera {
namespace {

using host::RowTask;

/// A row of A with ones and rows of B with given columns.
struct OneRow {
  Csr<double> a;
  Csr<double> b;

  OneRow(const std::vector<std::vector<index_t>>& b_rows, index_t cols) {
    std::vector<index_t> all;
    std::vector<index_t> columns;
    std::vector<offset_t> offsets{0};
    std::vector<double> values;
    for (std::size_t k = 0; k < b_rows.size(); ++k) {
      all.push_back(static_cast<index_t>(k));
      for (const index_t column : b_rows[k]) {
        columns.push_back(column);
        values.push_back(1.0 + static_cast<double>(columns.size()));
      }
      offsets.push_back(static_cast<offset_t>(columns.size()));
    }
    const auto count = static_cast<index_t>(b_rows.size());
    a = testing::make_csr<double>(1, count, {0, count}, all, std::vector<double>(b_rows.size(), 1.0));
    b = testing::make_csr<double>(count, cols, offsets, columns, values);
  }

  [[nodiscard]] std::map<index_t, double> expected() const {
    std::map<index_t, double> sums;
    for (offset_t k = 0; k < b.nnz(); ++k) sums[b.columns()[k]] += b.values()[k];
    return sums;
  }

  [[nodiscard]] RowTask task(offset_t limit) const {
    const auto sums = expected();
    const index_t first = sums.begin()->first;
    return {0, a.nnz(), first, sums.rbegin()->first - first + 1, b.nnz(), limit};
  }
};

template <class Accumulator>
void expect_sums(Accumulator& accumulator, const OneRow& row) {
  const auto expected = row.expected();
  const auto size = static_cast<offset_t>(expected.size());
  const auto factors = host::factors_of<double>(row.a.view(), row.b.view());
  ASSERT_EQ(accumulator.accumulate(factors, row.task(size)), size);
  std::vector<index_t> columns(expected.size());
  std::vector<double> values(expected.size());
  accumulator.emit(columns.data(), values.data());
  std::size_t k = 0;
  for (const auto& [column, sum] : expected) {
    EXPECT_EQ(columns[k], column);
    EXPECT_EQ(values[k], sum);
    ++k;
  }
}

/// `count` columns from `first` on, `stride` apart.
std::vector<index_t> columns_from(index_t first, index_t stride, index_t count) {
  std::vector<index_t> columns;
  for (index_t k = 0; k < count; ++k) columns.push_back(first + k * stride);
  return columns;
}

template <class Accumulator>
void expect_overflow_leaves_nothing(Accumulator accumulator) {
  const OneRow row({columns_from(3, 7, 90), columns_from(0, 5, 100)}, 1000);
  const auto size = static_cast<offset_t>(row.expected().size());
  const auto factors = host::factors_of<double>(row.a.view(), row.b.view());
  for (const offset_t limit : {offset_t{0}, offset_t{1}, offset_t{89}, size - 1}) {
    EXPECT_EQ(accumulator.accumulate(factors, row.task(limit)), host::row_overflow) << limit;
    expect_sums(accumulator, row);
  }
}

TEST(Accumulators, OverflowLeavesNothingBehind) {
  expect_overflow_leaves_nothing(host::HashAccumulator<double>(190));
  expect_overflow_leaves_nothing(host::DenseAccumulator<double>(1000));
  expect_overflow_leaves_nothing(host::MergeAccumulator<double>(190));
  expect_overflow_leaves_nothing(host::EscAccumulator<double>(190));
}

TEST(Accumulators, HashTablesFilledToTheBrim) {
  for (const index_t count : {1, 2, 3, 4, 5, 6, 7, 11, 12, 13, 47, 48, 49, 95, 96, 97, 767, 768, 769, 3000}) {
    SCOPED_TRACE(count);
    host::HashAccumulator<double> accumulator(count);
    // Neighbours, powers of two and every 2^16th column: bad cases for a multiplicative hash.
    for (const index_t stride : {1, 64, 1 << 16}) {
      expect_sums(accumulator, OneRow({columns_from(5, stride, count), columns_from(5, stride, (count + 1) / 2)},
                                      5 + count * stride));
    }
  }
}

TEST(Accumulators, TablesAreNeverFull) {
  for (std::int64_t entries = 1; entries < 5000; ++entries) {
    const std::int64_t size = host::HashAccumulator<double>::table_size(entries);
    ASSERT_LE(4 * entries, 3 * size);
    ASSERT_EQ(size & (size - 1), 0);
  }
}

TEST(Accumulators, DenseWindowsEndAtBlocks) {
  for (const index_t width : {1, 2, 63, 64, 65, 127, 128, 129, 511, 512, 513, 4095, 4096, 4097}) {
    SCOPED_TRACE(width);
    host::DenseAccumulator<double> accumulator(width);
    expect_sums(accumulator, OneRow({columns_from(9, 1, width)}, 9 + width));
    expect_sums(accumulator, OneRow({{9}, {9 + width - 1}}, 9 + width));
  }
}

TEST(Accumulators, EscSortsByComparisonsAndByRadix) {
  for (const index_t count : {1, 2, 47, 48, 49, 96, 300}) {
    SCOPED_TRACE(count);
    host::EscAccumulator<double> accumulator(3 * std::int64_t{count});
    for (const index_t stride : {1, 100, 1 << 18}) {
      const auto columns = columns_from(2, stride, count);
      expect_sums(accumulator,
                  OneRow({columns, columns_from(2, 2 * stride, (count + 1) / 2), columns}, 3 + count * stride));
    }
  }
}

TEST(Accumulators, RowsDoNotSeeEachOther) {
  host::RowWorkspace<double> workspace({400, 3000, 400, 200});
  for (int round = 0; round < 30; ++round) {
    for (const SpgemmAccumulator accumulator : spgemm_accumulators()) {
      const OneRow row({columns_from(round, 3, 100), columns_from(2 * round, 5, 100)}, 3000);
      const auto expected = row.expected();
      const auto factors = host::factors_of<double>(row.a.view(), row.b.view());
      const RowTask task = row.task(static_cast<offset_t>(expected.size()));
      ASSERT_EQ(workspace.accumulate(factors, task, accumulator), task.limit);
      workspace.discard();
      ASSERT_EQ(workspace.accumulate(factors, task, accumulator), task.limit);
      std::vector<double> values(expected.size());
      workspace.emit(nullptr, values.data());
      std::size_t k = 0;
      for (const auto& [column, sum] : expected) ASSERT_EQ(values[k++], sum) << column;
    }
  }
}

TEST(SortKeys, BothSortsAgree) {
  for (const std::int64_t count : {0, 1, 2, 95, 96, 97, 1000, 70000}) {
    for (const std::uint32_t width : {200000U, 2147483647U}) {
      std::mt19937_64 generator(static_cast<std::uint64_t>(count) + width);
      std::set<std::uint32_t> columns;
      while (static_cast<std::int64_t>(columns.size()) < count)
        columns.insert(static_cast<std::uint32_t>(generator() % width));
      std::vector<host::SortKey> keys;
      for (const std::uint32_t column : columns) keys.push_back(host::sort_key(column, column ^ 5U));
      std::vector<host::SortKey> shuffled = keys;
      std::shuffle(shuffled.begin(), shuffled.end(), generator);
      std::vector<host::SortKey> scratch(keys.size());
      const host::SortKey* sorted = host::sort_keys(shuffled.data(), scratch.data(), count, width);
      ASSERT_TRUE(std::equal(keys.begin(), keys.end(), sorted)) << count;
    }
  }
}

TEST(ChooseAccumulator, ByListsProductsAndRange) {
  const host::AccumulatorPolicy policy;
  using enum SpgemmAccumulator;
  EXPECT_EQ(choose_accumulator({0, 1, 5, 1000000, 40, 40}, policy), merge);
  EXPECT_EQ(choose_accumulator({0, 40, 5, 3000, 4000, 3000}, policy), dense);
  EXPECT_EQ(choose_accumulator({0, 40, 5, 2000000, 90, 90}, policy), hash);
  EXPECT_EQ(choose_accumulator({0, 40, 5, 2000000000, 4000000, 4000000}, policy), hash) << "no array of 2^31 columns";
  host::AccumulatorPolicy named;
  named.preferred = merge;
  EXPECT_EQ(choose_accumulator({0, 256, 5, 3000, 4000, 3000}, named), merge);
  EXPECT_NE(choose_accumulator({0, 257, 5, 3000, 4000, 3000}, named), merge);
  host::AccumulatorPolicy low_memory;
  low_memory.low_memory = true;
  EXPECT_EQ(choose_accumulator({0, 40, 5, 3000, 300, 300}, low_memory), hash);
  EXPECT_EQ(choose_accumulator({0, 40, 5, 3000, 4000, 3000}, low_memory), dense);
}

}  // namespace
}  // namespace tessera
