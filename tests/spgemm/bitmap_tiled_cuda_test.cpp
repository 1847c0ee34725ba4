// Rows of a product by a bitmap over ranges of their columns, on a GPU.
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

class BitmapTiledCuda : public testing::CudaTest {};

/// Bitmaps so small that rows have many ranges: 128 columns where entries are placed, 256 where they are counted.
constexpr std::size_t few_bytes = 32;

/// As many as the device has.
constexpr std::size_t all_bytes = std::size_t{1} << 30;

template <class V, bool Ordered, std::size_t Bytes>
void enqueue(const cuda::Context& context, cuda::Phase phase, const cuda::Factors<V>& factors,
             const cuda::RowBatch& batch, const cuda::RowOutput<V>& out) {
  const auto most = static_cast<std::size_t>(testing::tuning_of_gpu().tiled_bytes);
  cuda::enqueue_bitmap_tiled<V>(context, phase, factors, batch, out, Ordered, std::min(Bytes, most));
}

/// Phase symbolic as ever; numeric with the sums in shared memory.
template <class V>
void enqueue_in_shared(const cuda::Context& context, cuda::Phase phase, const cuda::Factors<V>& factors,
                       const cuda::RowBatch& batch, const cuda::RowOutput<V>& out) {
  if (phase == cuda::Phase::symbolic) return enqueue<V, true, all_bytes>(context, phase, factors, batch, out);
  cuda::enqueue_bitmap_tiled_in_shared<V>(context, factors, batch, out);
}

constexpr testing::AccumulatorTraits in_order{.allocates = false, .ordered = true};
constexpr testing::AccumulatorTraits in_any_order{.allocates = false, .ordered = false};

bool all_rows(const host::RowTask&, offset_t) { return true; }

/// All rows and some of them, in one range and in many, in both orders, and with sums in shared memory where they
/// fit.
template <class V, class T>
void check(const Device& gpu, const Csr<T>& a, const Csr<T>& b) {
  testing::AccumulatorCheck<V, T> rows(gpu, a, b);
  if constexpr (cuda::has_values<V>) {
    // The widest row and the one with the most entries together.
    const std::int64_t bytes = testing::tuning_of_gpu().tiled_bytes - cuda::tiled_shared_bytes(100'000, 0, sizeof(V));
    const std::int64_t most_entries = std::min<std::int64_t>(10'000, bytes / std::int64_t{sizeof(V)});
    const auto fits = [=](const host::RowTask& row, offset_t) {
      return row.width <= 100'000 && row.limit <= most_entries && row.products > 0;
    };
    rows.run(enqueue_in_shared<V>, fits, in_order);
  }
  rows.run(enqueue<V, true, few_bytes>, all_rows, in_order);
  rows.run(enqueue<V, false, all_bytes>, all_rows, in_any_order);
  if (::testing::Test::HasFailure()) return;
  const auto some_rows = [](const host::RowTask& row, offset_t entries) {
    return entries % 3 != 0 || row.products > 9;
  };
  rows.run(enqueue<V, true, all_bytes>, some_rows, in_order);
  rows.run(enqueue<V, false, few_bytes>, some_rows, in_any_order);
}

/// Whether a product takes too long here.
template <class T>
bool is_too_slow(const Csr<T>& a, const Csr<T>& b) {
  const offset_t products = testing::count_products(a.view(), b.view());
  if (testing::gpu_is_emulated || testing::sparing()) return a.rows() > 310 || products > 20'000;
  return products > 600'000;
}

template <class V, class T>
void check_adversarial(const Device& gpu, ValueStorage storage) {
  for (const auto& [name, matrix] : testing::adversarial_matrices<T>(storage, {128})) {
    SCOPED_TRACE(name);
    const Csr<T> transposed = transpose(matrix.view());
    if (!is_too_slow(matrix, transposed)) check<V>(gpu, matrix, transposed);
    if (!is_too_slow(transposed, matrix)) check<V>(gpu, transposed, matrix);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST_F(BitmapTiledCuda, AdversarialMatricesDouble) { check_adversarial<double, double>(gpu(), ValueStorage::weighted); }
TEST_F(BitmapTiledCuda, AdversarialMatricesFloat) { check_adversarial<float, float>(gpu(), ValueStorage::weighted); }
TEST_F(BitmapTiledCuda, AdversarialPatternsGiveCounts) {
  check_adversarial<double, double>(gpu(), ValueStorage::pattern);
}
TEST_F(BitmapTiledCuda, AdversarialPatternsWithoutValues) {
  check_adversarial<cuda::NoValue, double>(gpu(), ValueStorage::weighted);
}

TEST_F(BitmapTiledCuda, PatternTimesWeights) {
  const auto a = testing::with_row_lengths<float>({5, 0, 30, 64, 1}, 70, ValueStorage::pattern, 3);
  const auto b = testing::with_row_lengths<float>(testing::lengths_of(70, 9), 500, ValueStorage::weighted, 4);
  check<float>(gpu(), a, b);
  check<float>(gpu(), transpose(b.view()), transpose(a.view()));
}

/// Rows of B that are short and long, so that 4, 8, 16 and 32 lanes read one.
TEST_F(BitmapTiledCuda, ListsOfEveryLength) {
  for (const index_t length : {1, 4, 5, 9, 17, 100}) {
    SCOPED_TRACE(length);
    const auto a = testing::with_row_lengths<double>({0, 1, 15, 16, 17, 129, 250}, 300, ValueStorage::weighted, 5);
    auto lengths = testing::lengths_of(300, length);
    lengths[7] = 0;
    lengths[9] = 1300;
    check<double>(gpu(), a, testing::with_row_lengths<double>(lengths, 1400, ValueStorage::weighted, 6));
  }
}

/// Enough entries for blocks of many threads, and bitmaps of more than 48 KB.
TEST_F(BitmapTiledCuda, HeavyRows) {
  const index_t columns = testing::gpu_is_emulated ? 30'000 : 600'000;
  std::vector<index_t> lengths(40, 300);
  lengths[3] = columns / 2;
  lengths[29] = columns;
  const auto b = testing::with_row_lengths<double>(lengths, columns, ValueStorage::weighted, 8);
  const auto a = testing::with_row_lengths<double>({40, 0, 25, 1, 37}, 40, ValueStorage::weighted, 9);
  testing::AccumulatorCheck<double, double> rows(gpu(), a, b);
  const auto heavy = [](const host::RowTask&, offset_t entries) { return entries > 6000; };
  EXPECT_GE(rows.run(enqueue<double, true, all_bytes>, heavy, in_order), 2);
  rows.run(enqueue<double, false, all_bytes>, heavy, in_any_order);
  rows.run(enqueue<double, false, std::size_t{1} << 11>, heavy, in_any_order);
  rows.run(enqueue<double, true, std::size_t{1} << 11>, all_rows, in_order);
}

/// Nearly all ranges have no entries and are passed over.
TEST_F(BitmapTiledCuda, WideRangesOfFewEntries) {
  const auto rows = static_cast<std::size_t>(testing::repetitions(900, 12));
  const auto a = testing::with_row_lengths<double>(testing::lengths_of(rows, 6), 900, ValueStorage::weighted, 7);
  const auto b =
      testing::with_row_lengths<double>(testing::lengths_of(900, 3), 2'000'000'000, ValueStorage::weighted, 8);
  check<double>(gpu(), a, b);
  check<cuda::NoValue>(gpu(), a, b);
}

TEST_F(BitmapTiledCuda, FirstAndLastColumnThereCanBe) {
  constexpr index_t last = std::numeric_limits<index_t>::max() - 1;
  const auto b = testing::make_csr<double>(4, std::int64_t{last} + 1, {0, 2, 3, 5, 5},
                                           {0, last, last - 1, last - 819'200, last}, {1, 2, 3, 4, 5});
  const auto a = testing::make_csr<double>(3, 4, {0, 3, 4, 6}, {0, 1, 2, 3, 2, 3}, {1, -1, 0.5, 7, 3, 1});
  check<double>(gpu(), a, b);
  check<cuda::NoValue>(gpu(), a, b);
}

template <class T>
void check_special_values(const Device& gpu) {
  constexpr T infinity = std::numeric_limits<T>::infinity();
  constexpr T nothing = std::numeric_limits<T>::quiet_NaN();
  // 0: -0 alone, from one product and from two; 1: 0 and -0; 2: 1 - 1, kept; 3 and 4: infinities, NaN.
  const auto a = testing::make_csr<T>(5, 4, {0, 2, 4, 6, 8, 10}, {0, 1, 0, 2, 0, 3, 1, 2, 0, 2},
                                      {T{-1}, T{-1}, T{1}, T{-1}, T{1}, T{-1}, infinity, T{1}, nothing, infinity});
  const auto b = testing::make_csr<T>(4, 400, {0, 3, 5, 8, 10}, {0, 5, 399, 0, 5, 0, 200, 399, 0, 399},
                                      {T{0}, T{1}, T{0}, T{0}, T{-1}, T{0}, T{1}, -infinity, T{0}, infinity});
  check<T>(gpu, a, b);
}

TEST_F(BitmapTiledCuda, ZerosWithSignsCancellationAndInfinities) {
  check_special_values<double>(gpu());
  check_special_values<float>(gpu());
}

TEST_F(BitmapTiledCuda, CancellationDependsOnTheOrder) {
  const auto a = testing::make_csr<double>(1, 4, {0, 4}, {0, 1, 2, 3}, {1e16, 1.0, -1e16, 3.0});
  const auto b = testing::make_csr<double>(4, 300, {0, 2, 4, 6, 7}, {0, 299, 0, 299, 0, 299, 0},
                                           {1.0, 0.1, 1.0, 1e15, 1.0, 0.1, 1e-3});
  check<double>(gpu(), a, b);
}

TEST_F(BitmapTiledCuda, EmptyBatchDoesNothing) {
  const cuda::DeviceGuard current(gpu());
  cuda::enqueue_bitmap_tiled<double>(cuda::Context::of(gpu()), cuda::Phase::numeric, {}, {}, {}, true);
  cuda::Context::of(gpu()).synchronize();
}

TEST_F(BitmapTiledCuda, RefusesToLookForPlaces) {
  EXPECT_THROW(
      cuda::enqueue_bitmap_tiled<double>(cuda::Context::of(gpu()), cuda::Phase::numeric_allocating, {}, {}, {}, false),
      InvalidArgument);
}

}  // namespace
}  // namespace tessera
