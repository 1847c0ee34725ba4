// Rows of a product in hash tables, on a GPU.
#include "spgemm/cuda/accumulators/accumulators.hpp"
#include "tessera/statistics.hpp"
#include "tests/spgemm/accumulator_cuda_check.hpp"
#include "tests/support/cuda_test.hpp"
#include "tests/support/make_csr.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

namespace tessera {
namespace {

class HashCuda : public testing::CudaTest {};

/// Entries with which the tables of 512, 1024, ... slots are full.
constexpr index_t brims[] = {384, 768, 1536, 3072, 4096};

/// Rows in the table for `Most` entries or a larger one, with long keys where the row is said to be wide.
template <class V, index_t Most, bool Wide, bool Ordered = true>
void enqueue(const cuda::Context& context, cuda::Phase phase, const cuda::Factors<V>& factors,
             const cuda::RowBatch& batch, const cuda::RowOutput<V>& out) {
  cuda::RowBatch larger = batch;
  larger.most_entries = std::max(batch.most_entries, Most);
  if (Wide) larger.widest = std::numeric_limits<index_t>::max();
  cuda::enqueue_hash<V>(context, phase, factors, larger, out, Ordered);
}

constexpr testing::AccumulatorTraits in_any_order{.allocates = true, .ordered = false};

index_t most_entries() { return testing::tuning_of_gpu().hash_entries; }

bool fits(const host::RowTask& row, offset_t) { return row.limit <= most_entries(); }

/// All rows that fit in the tables they need, those with few entries in all tables, with short and long keys.
template <class V, class T>
index_t check(const Device& gpu, const Csr<T>& a, const Csr<T>& b) {
  testing::AccumulatorCheck<V, T> rows(gpu, a, b);
  const index_t served = rows.run(enqueue<V, 0, false>, fits);
  if (::testing::Test::HasFailure()) return served;
  const auto small = [](const host::RowTask& row, offset_t) { return row.products > 0 && row.limit <= brims[0]; };
  rows.run(enqueue<V, 0, true>, small);
  rows.run(enqueue<V, brims[1], true>, small);
  rows.run(enqueue<V, brims[2], false>, small);
  rows.run(enqueue<V, brims[3], true>, small);
  const bool has_largest = brims[4] <= most_entries();
  if (has_largest) rows.run(enqueue<V, brims[4], false>, small);
  rows.run(enqueue<V, brims[2], true, false>, small, in_any_order);
  if (has_largest) rows.run(enqueue<V, brims[4], false, false>, small, in_any_order);
  return served;
}

/// Whether a product takes too long here.
template <class T>
bool is_too_slow(const Csr<T>& a, const Csr<T>& b) {
  const offset_t products = testing::count_products(a.view(), b.view());
  if (testing::gpu_is_emulated || testing::sparing()) return a.rows() > 24 || products > 6'000;
  return products > 600'000;
}

template <class V, class T>
void check_adversarial(const Device& gpu, ValueStorage storage) {
  for (const auto& [name, matrix] : testing::adversarial_matrices<T>(storage, {384})) {
    SCOPED_TRACE(name);
    const Csr<T> transposed = transpose(matrix.view());
    if (!is_too_slow(matrix, transposed)) check<V>(gpu, matrix, transposed);
    if (!is_too_slow(transposed, matrix)) check<V>(gpu, transposed, matrix);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST_F(HashCuda, AdversarialMatricesDouble) { check_adversarial<double, double>(gpu(), ValueStorage::weighted); }
TEST_F(HashCuda, AdversarialMatricesFloat) { check_adversarial<float, float>(gpu(), ValueStorage::weighted); }
TEST_F(HashCuda, AdversarialPatternsGiveCounts) { check_adversarial<double, double>(gpu(), ValueStorage::pattern); }
TEST_F(HashCuda, AdversarialPatternsWithoutValues) {
  check_adversarial<cuda::NoValue, double>(gpu(), ValueStorage::weighted);
}

TEST_F(HashCuda, PatternTimesWeights) {
  const auto a = testing::with_row_lengths<float>({5, 0, 30, 64, 1}, 70, ValueStorage::pattern, 3);
  const auto b = testing::with_row_lengths<float>(testing::lengths_of(70, 9), 50, ValueStorage::weighted, 4);
  check<float>(gpu(), a, b);
  check<float>(gpu(), transpose(b.view()), transpose(a.view()));
}

/// Short rows of B, which a warp reads several at a time, among long ones, in whose place the order could change.
TEST_F(HashCuda, ListsOfManyLengths) {
  std::vector<index_t> lengths(120);
  for (std::size_t i = 0; i < lengths.size(); ++i) lengths[i] = static_cast<index_t>(i * 7 % 41);
  lengths[50] = 350;
  lengths[51] = 65;
  const auto b = testing::with_row_lengths<double>(lengths, 380, ValueStorage::weighted, 5);
  const auto a = testing::with_row_lengths<double>({120, 0, 3, 33, 64, 1, 119}, 120, ValueStorage::weighted, 6);
  EXPECT_EQ(check<double>(gpu(), a, b), a.rows());
}

/// Every row has as many entries as its table admits, or one more or less, from `b_rows` rows of B without common
/// columns and one that has all of them.
template <class V>
void check_brims(const Device& gpu, index_t b_rows) {
  for (const index_t brim : brims) {
    if (brim > most_entries()) continue;
    for (const index_t entries : {brim - 1, brim, std::min(brim + 1, most_entries())}) {
      SCOPED_TRACE(std::to_string(entries) + " entries");
      std::vector<index_t> columns(static_cast<std::size_t>(entries));
      for (index_t j = 0; j < entries; ++j) columns[static_cast<std::size_t>(j)] = j;
      std::vector<offset_t> offsets{0};
      for (index_t l = 1; l <= b_rows; ++l) offsets.push_back(offset_t{entries} * l / b_rows);
      columns.insert(columns.end(), columns.begin(), columns.begin() + entries);
      offsets.push_back(2 * entries);
      const auto values = testing::random_vector<double>(2 * entries, 9);
      const auto b = testing::make_csr<double>(b_rows + 1, entries, offsets, columns, values);
      const auto a =
          testing::with_row_lengths<double>({b_rows + 1, 0, b_rows + 1}, b_rows + 1, ValueStorage::weighted, 10);
      testing::AccumulatorCheck<V, double> rows(gpu, a, b);
      EXPECT_EQ(rows.run(enqueue<V, 0, false>, fits), 3);
      rows.run(enqueue<V, 0, true>, fits);
      rows.run(enqueue<V, 0, false, false>, fits, in_any_order);
      rows.run(enqueue<V, 0, true, false>, fits, in_any_order);
      if (::testing::Test::HasFailure()) return;
    }
  }
}

TEST_F(HashCuda, TablesFilledToTheBrim) { check_brims<double>(gpu(), 40); }
TEST_F(HashCuda, TablesOfColumnsFilledToTheBrim) { check_brims<cuda::NoValue>(gpu(), 3); }

/// All columns belong into the last slot, so that they fill the table from its beginning.
TEST_F(HashCuda, ColumnsThatCollide) {
  std::vector<index_t> columns;
  for (index_t j = 0; columns.size() < brims[0]; ++j) {
    if (static_cast<std::uint32_t>(j) * 0x9e3779b1U >> 19 == 8191) columns.push_back(j);
  }
  const index_t last = columns.back();
  const auto entries = static_cast<offset_t>(columns.size());
  columns.insert(columns.end(), columns.begin() + 100, columns.begin() + 300);
  const auto values = testing::random_vector<double>(static_cast<std::int64_t>(columns.size()), 3);
  const auto b = testing::make_csr<double>(2, last + 1, {0, entries, entries + 200}, columns, values);
  const auto a = testing::make_csr<double>(2, 2, {0, 2, 3}, {0, 1, 1}, {0.3, 0.7, 2.0});
  EXPECT_EQ(check<double>(gpu(), a, b), 2);
}

TEST_F(HashCuda, WideRangesOfFewEntries) {
  const auto rows = static_cast<std::size_t>(testing::repetitions(900, 20));
  const auto a = testing::with_row_lengths<double>(testing::lengths_of(rows, 6), 900, ValueStorage::weighted, 7);
  const auto b =
      testing::with_row_lengths<double>(testing::lengths_of(900, 3), 2'000'000'000, ValueStorage::weighted, 8);
  EXPECT_EQ(check<double>(gpu(), a, b), a.rows());
  check<cuda::NoValue>(gpu(), a, b);
}

TEST_F(HashCuda, FirstAndLastColumnThereCanBe) {
  constexpr index_t last = std::numeric_limits<index_t>::max() - 1;
  const auto b = testing::make_csr<double>(4, std::int64_t{last} + 1, {0, 2, 3, 5, 5},
                                           {0, last, last - 1, last - 819'200, last}, {1, 2, 3, 4, 5});
  const auto a = testing::make_csr<double>(3, 4, {0, 3, 4, 6}, {0, 1, 2, 3, 2, 3}, {1, -1, 0.5, 7, 3, 1});
  EXPECT_EQ(check<double>(gpu(), a, b), 3);
}

template <class T>
void check_special_values(const Device& gpu) {
  constexpr T infinity = std::numeric_limits<T>::infinity();
  constexpr T nothing = std::numeric_limits<T>::quiet_NaN();
  // Rows with -0 from one product and from two, 0 - 0, 1 - 1, infinities, NaN.
  const auto a = testing::make_csr<T>(5, 4, {0, 2, 4, 6, 8, 10}, {0, 1, 0, 2, 0, 3, 1, 2, 0, 2},
                                      {T{-1}, T{-1}, T{1}, T{-1}, T{1}, T{-1}, infinity, T{1}, nothing, infinity});
  const auto b = testing::make_csr<T>(4, 400, {0, 3, 5, 8, 10}, {0, 5, 399, 0, 5, 0, 200, 399, 0, 399},
                                      {T{0}, T{1}, T{0}, T{0}, T{-1}, T{0}, T{1}, -infinity, T{0}, infinity});
  check<T>(gpu, a, b);
}

TEST_F(HashCuda, ZerosWithSignsCancellationAndInfinities) {
  check_special_values<double>(gpu());
  check_special_values<float>(gpu());
}

/// The sum of 10^16, 1, -10^16 and 3 in another order is another one; so in both loops over rows of B.
TEST_F(HashCuda, CancellationDependsOnTheOrder) {
  for (const index_t length : {1, 20, 40, 300}) {
    SCOPED_TRACE(length);
    std::vector<index_t> columns;
    for (int l = 0; l < 4; ++l) {
      for (index_t j = 0; j < length; ++j) columns.push_back(j);
    }
    const auto a = testing::make_csr<double>(2, 4, {0, 4, 6}, {0, 1, 2, 3, 1, 3}, {1e16, 1.0, -1e16, 3.0, 1e16, 1.0});
    const auto b = testing::make_csr<double>(4, length, {0, length, 2 * length, 3 * length, 4 * length}, columns,
                                             std::vector<double>(columns.size(), 1.0));
    EXPECT_EQ(check<double>(gpu(), a, b), 2);
  }
}

TEST_F(HashCuda, EmptyBatchDoesNothing) {
  const cuda::DeviceGuard current(gpu());
  for (const cuda::Phase phase : {cuda::Phase::symbolic, cuda::Phase::numeric, cuda::Phase::numeric_allocating}) {
    cuda::enqueue_hash<double>(cuda::Context::of(gpu()), phase, {}, {}, {}, false);
  }
  cuda::Context::of(gpu()).synchronize();
}

}  // namespace
}  // namespace tessera
