// Samples of matrices, and predicted times of products with them.
#include "spmv/prediction/predicted_time.hpp"
#include "spmv/prediction/device_figures.hpp"
#include "tests/support/make_csr.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <set>
#include <vector>

namespace tessera {

using namespace detail;
namespace {

const Device host = Device::host(1);

/// Offsets of rows of equal length.
std::vector<offset_t> equal_rows(index_t rows, offset_t length) {
  std::vector<offset_t> offsets(static_cast<std::size_t>(rows) + 1);
  for (std::size_t i = 0; i < offsets.size(); ++i) offsets[i] = static_cast<offset_t>(i) * length;
  return offsets;
}

MatrixSample sample_of_columns(const std::vector<index_t>& columns) {
  return sample_matrix(equal_rows(static_cast<index_t>(columns.size()), 1), columns, host);
}

std::vector<index_t> ascending(std::size_t count, index_t step) {
  std::vector<index_t> columns(count);
  for (std::size_t k = 0; k < count; ++k) columns[k] = static_cast<index_t>(k) * step;
  return columns;
}

TEST(SampleParts, LieInsideAndApart) {
  for (const std::int64_t items : {1, 2, 31, 32, 33, 63, 64, 1000, 1 << 20}) {
    const SampleParts parts = SampleParts::of(items, 32, 7);
    ASSERT_GE(parts.count, 1);
    EXPECT_LE(parts.count, 7);
    for (std::int64_t p = 0; p < parts.count; ++p) {
      EXPECT_GE(parts.begin(p), p == 0 ? 0 : parts.begin(p - 1) + parts.length);
      EXPECT_LE(parts.begin(p) + parts.length, items);
    }
  }
  EXPECT_EQ(SampleParts::of(0, 32, 7).count, 0);
  const std::int64_t huge = std::int64_t{1} << 40;
  EXPECT_LE(SampleParts::of(huge, 512, 32).begin(31) + 512, huge);
}

TEST(VectorReads, OfAStreamAreItsLines) {
  for (const int bytes : {4, 8}) {
    const VectorReads reads = count_vector_reads(sample_of_columns(ascending(1 << 16, 1)), bytes);
    EXPECT_NEAR(reads.lines, bytes / 128.0, 1.0 / 512.0);
    EXPECT_EQ(reads.far_lines, 0.0);
  }
}

TEST(VectorReads, OneLineEachFarApart) {
  // A multiplicative permutation of 2^22 lines.
  std::vector<index_t> columns(1 << 16);
  for (std::size_t k = 0; k < columns.size(); ++k) {
    columns[k] = static_cast<index_t>((k * 2654435761U % (1U << 22)) * 16U);
  }
  const VectorReads reads = count_vector_reads(sample_of_columns(columns), 8);
  EXPECT_EQ(reads.lines, 1.0);
  EXPECT_GT(reads.far_lines, 0.95);
}

TEST(VectorReads, OneColumnIsOneLine) {
  const VectorReads reads = count_vector_reads(sample_of_columns(std::vector<index_t>(5000, 77)), 8);
  EXPECT_DOUBLE_EQ(reads.lines, 1.0 / 512.0);
  EXPECT_EQ(reads.far_lines, 0.0);
}

/// Against sets of the standard library, strip by strip.
TEST(VectorReads, AreCountedAsBySets) {
  std::mt19937 random(7);
  for (const index_t range : {300, 20000, 3000000}) {
    std::vector<index_t> columns(30 * 512 + 100);
    for (index_t& column : columns) column = static_cast<index_t>(random() % static_cast<unsigned>(range));
    const MatrixSample sample = sample_of_columns(columns);
    std::size_t lines = 0;
    std::size_t far = 0;
    for (std::int64_t s = 0; s < sample.strips.count; ++s) {
      std::set<index_t> seen;
      std::set<index_t> near;
      for (std::int64_t k = 0; k < 512; ++k) {
        const index_t line = columns[static_cast<std::size_t>(sample.strips.begin(s) + k)] / 16;
        const bool is_new = seen.insert(line).second;
        lines += is_new ? 1 : 0;
        const index_t place = line / 16;
        const bool is_near = near.contains(place - 1) || near.contains(place) || near.contains(place + 1);
        if (k < 256) {
          near.insert(place);
        } else if (is_new && !is_near) {
          ++far;
        }
      }
    }
    const VectorReads reads = count_vector_reads(sample, 8);
    const auto strips = static_cast<double>(sample.strips.count);
    EXPECT_DOUBLE_EQ(reads.lines, static_cast<double>(lines) / (512 * strips)) << range;
    EXPECT_DOUBLE_EQ(reads.far_lines, static_cast<double>(far) / (256 * strips)) << range;
  }
}

TEST(RowLengthSample, OfEqualRows) {
  // 27 nonzeros per row: 8 lanes in 4 rounds, so 32 slots.
  const RowLengthSample rows =
      measure_row_lengths(sample_matrix(equal_rows(10000, 27), std::vector<index_t>(270000), host));
  EXPECT_EQ(rows.lanes, 8);
  EXPECT_EQ(rows.typical_mean, 27.0);
  EXPECT_EQ(rows.short_nonzeros, 27.0);
  EXPECT_EQ(rows.lane_slots, 32.0);
  EXPECT_EQ(rows.padded, 27.0);
  EXPECT_EQ(rows.longest, 27);
}

TEST(RowLengthSample, LongRowsAreApart) {
  // One row of 5000 in each 32, the others of one: a lane per row, and a round for the short rows.
  std::vector<offset_t> offsets{0};
  for (int row = 0; row < 6400; ++row) offsets.push_back(offsets.back() + (row % 32 == 3 ? 5000 : 1));
  const std::vector<index_t> columns(static_cast<std::size_t>(offsets.back()));
  const RowLengthSample rows = measure_row_lengths(sample_matrix(offsets, columns, host));
  EXPECT_EQ(rows.lanes, 1);
  EXPECT_DOUBLE_EQ(rows.short_nonzeros, 31.0 / 32.0);
  EXPECT_EQ(rows.lane_slots, 1.0);
  EXPECT_EQ(rows.longest, 5000);
}

DeviceFigures some_gpu() {
  DeviceFigures gpu;
  gpu.multiprocessors = 132;
  gpu.l2_bytes = 50e6;
  gpu.copy_gbytes_per_s = 2000.0;
  gpu.l2_gbytes_per_s = 5000.0;
  gpu.memory_gathers_per_ns = 20.0;
  gpu.l2_gathers_per_ns = 100.0;
  gpu.launch_us = 2.0;
  gpu.latency_ns = 150.0;
  return gpu;
}

/// 10^8 nonzeros in rows of 10.
ProductTraits large_matrix() {
  ProductTraits m;
  m.rows = 10'000'000;
  m.cols = 10'000'000;
  m.nnz = 100'000'000;
  m.value_bytes = 8.0;
  m.reads = {0.05, 0.0};
  m.row_lengths = {4, 10.0, 10.0, 12.0, 10.0, 10};
  m.longest_row = 10;
  return m;
}

double ms_of(SpmvAlgorithm algorithm, const ProductTraits& m, const DeviceFigures& gpu = some_gpu()) {
  const auto predicted = predict_product(algorithm, m, gpu);
  EXPECT_TRUE(predicted) << to_string(algorithm);
  return predicted ? predicted->ms : 0.0;
}

TEST(PredictedTime, IsThatOfTheBytesAtLeast) {
  // 12 bytes per nonzero, 8 per row for offsets, x and y: 1.44 GB at 2 TB/s; no kernel beats a copy by more than a
  // tenth.
  for (const SpmvAlgorithm algorithm : {SpmvAlgorithm::merge, SpmvAlgorithm::merbit, SpmvAlgorithm::csr_vector}) {
    EXPECT_GT(ms_of(algorithm, large_matrix()), 0.9 * 0.72);
    EXPECT_LT(ms_of(algorithm, large_matrix()), 2.0 * 0.72);
  }
}

TEST(PredictedTime, FollowsTheFigureThatBinds) {
  const ProductTraits streamed = large_matrix();
  ProductTraits scattered = streamed;
  scattered.reads = {1.0, 1.0};
  DeviceFigures wide = some_gpu();
  wide.copy_gbytes_per_s *= 2.0;
  DeviceFigures quick = some_gpu();
  quick.memory_gathers_per_ns *= 2.0;
  const auto gain = [](const ProductTraits& m, const DeviceFigures& gpu) {
    return ms_of(SpmvAlgorithm::merbit, m) / ms_of(SpmvAlgorithm::merbit, m, gpu);
  };
  EXPECT_GT(gain(streamed, wide), 1.7);
  EXPECT_LT(gain(scattered, wide), 1.1);
  EXPECT_EQ(gain(streamed, quick), 1.0);
  EXPECT_GT(gain(scattered, quick), 1.4);
  // An x that the cache holds is never read from memory.
  scattered.cols = 1'000'000;
  EXPECT_EQ(gain(scattered, quick), 1.0);
}

/// 4·10^8 bytes of x, 10^8 scattered reads of it at 20 per ns from memory and 100 from the cache.
TEST(PredictedTime, HubColumnsSpareReadsOfMerbitAlone) {
  ProductTraits scattered = large_matrix();
  scattered.cols = 50'000'000;
  scattered.reads = {1.0, 1.0};
  ProductTraits with_hubs = scattered;
  with_hubs.hubs.spared = 0.5;
  const double gain = ms_of(SpmvAlgorithm::merbit, scattered) - ms_of(SpmvAlgorithm::merbit, with_hubs);
  EXPECT_GT(gain, 0.7 * 0.5 * 1e8 * (1.0 / 20 - 1.0 / 100) * 1e-6);
  EXPECT_LT(gain, 0.5 * 1e8 * (1.0 / 20 - 1.0 / 100) * 1e-6);
  EXPECT_EQ(ms_of(SpmvAlgorithm::csr_vector, scattered), ms_of(SpmvAlgorithm::csr_vector, with_hubs));
  // All reads that there are, and no more.
  with_hubs.hubs.spared = 2.0;
  ProductTraits cached = scattered;
  cached.reads.far_lines = 0.0;
  EXPECT_EQ(ms_of(SpmvAlgorithm::merbit, with_hubs), ms_of(SpmvAlgorithm::merbit, cached));
  cached.hubs.staged = 0.4;
  EXPECT_LT(ms_of(SpmvAlgorithm::merbit, cached), ms_of(SpmvAlgorithm::merbit, with_hubs));
}

TEST(PredictedTime, IdleLanesCost) {
  ProductTraits uneven = large_matrix();
  uneven.row_lengths.lane_slots = 60.0;
  EXPECT_GT(ms_of(SpmvAlgorithm::csr_vector, uneven), 1.1 * ms_of(SpmvAlgorithm::csr_vector, large_matrix()));
  EXPECT_EQ(ms_of(SpmvAlgorithm::merbit, uneven), ms_of(SpmvAlgorithm::merbit, large_matrix()));
}

TEST(PredictedTime, ALongRowOfASmallMatrixIsAChain) {
  ProductTraits small;
  small.rows = 8000;
  small.cols = 8000;
  small.nnz = 355000;
  small.value_bytes = 8.0;
  small.row_lengths = {16, 44.0, 44.0, 50.0, 60.0, 60};
  small.longest_row = 60;
  const double balanced = ms_of(SpmvAlgorithm::csr_vector, small);
  small.longest_row = 614;  // five batches of 32 lanes instead of one
  EXPECT_NEAR(ms_of(SpmvAlgorithm::csr_vector, small) - balanced, 4 * 2 * 300e-6, 1e-9);
}

TEST(PredictedTime, LaunchesAreTheTimeOfTinyMatrices) {
  ProductTraits tiny;
  for (const index_t n : {0, 1}) {
    tiny.rows = n;
    tiny.cols = n;
    tiny.nnz = n;
    tiny.value_bytes = 8.0;
    for (const PredictedProduct& each : predict_products(tiny, some_gpu())) {
      EXPECT_GT(each.ms, 0.002) << to_string(each.algorithm);
      EXPECT_LT(each.ms, 0.010) << to_string(each.algorithm);
      EXPECT_TRUE(std::isfinite(each.bytes_per_nonzero));
    }
  }
}

TEST(PredictedTime, LayoutsNeedTheirBytes) {
  ProductTraits m = large_matrix();
  for (const SpmvAlgorithm algorithm : {SpmvAlgorithm::tiles, SpmvAlgorithm::patterns, SpmvAlgorithm::sell}) {
    EXPECT_FALSE(predict_product(algorithm, m, some_gpu()));
    const ProductTraits planned = with_plan_bytes(m, algorithm, 500'000'000);
    const auto predicted = predict_product(algorithm, planned, some_gpu());
    ASSERT_TRUE(predicted);
    EXPECT_EQ(predicted->bytes_per_nonzero, 5.0);
    EXPECT_LT(predicted->ms, ms_of(SpmvAlgorithm::merge, planned));
  }
  for (const SpmvAlgorithm algorithm : {SpmvAlgorithm::csr, SpmvAlgorithm::streamed}) {
    EXPECT_FALSE(predict_product(algorithm, m, some_gpu()));
  }
}

TEST(PredictedTime, SortedRowsOfSlicesTakeMoreWork) {
  ProductTraits m = large_matrix();
  m.sell_bytes = 10.0;
  const double padded = ms_of(SpmvAlgorithm::sell, m);
  m.sell_is_sorted = true;
  const double sorted = ms_of(SpmvAlgorithm::sell, m);
  EXPECT_GT(sorted, padded);
  EXPECT_LT(sorted, 1.5 * padded);
}

TEST(PredictedTime, IsAscendingAndDescribed) {
  ProductTraits m = large_matrix();
  m.pattern_bytes = 5.0;
  const std::vector<PredictedProduct> predicted = predict_products(m, some_gpu());
  EXPECT_TRUE(std::is_sorted(predicted.begin(), predicted.end(),
                             [](const PredictedProduct& a, const PredictedProduct& b) { return a.ms < b.ms; }));
  ASSERT_EQ(predicted.front().algorithm, SpmvAlgorithm::patterns);
  const std::string second(to_string(predicted[1].algorithm));
  EXPECT_EQ(describe_prediction(predicted, SpmvAlgorithm::patterns).find("predicted 0."), 0U);
  EXPECT_NE(describe_prediction(predicted, SpmvAlgorithm::patterns).find(", " + second + " "), std::string::npos);
  EXPECT_NE(describe_prediction(predicted, SpmvAlgorithm::merge).find(", patterns "), std::string::npos);
  EXPECT_EQ(describe_prediction(predicted, SpmvAlgorithm::streamed), "");
  EXPECT_EQ(describe_prediction({}, SpmvAlgorithm::merge), "");
}

TEST(PredictedTime, TakesTheSampleOfAMatrix) {
  const Csr<double> none = testing::from_dense<double>({}, 0);
  const Csr<double> one = testing::from_dense<double>({{3.0}}, 1);
  SpmvOptions options;
  options.device = host;
  const ProductTraits of_none = sampled_traits(none.view(), options);
  EXPECT_EQ(of_none.nnz, 0);
  EXPECT_EQ(of_none.reads.lines, 0.0);
  const ProductTraits of_one = sampled_traits(one.view(), options);
  EXPECT_EQ(of_one.reads.lines, 1.0);
  EXPECT_EQ(of_one.row_lengths.typical_mean, 1.0);
  EXPECT_EQ(of_one.value_bytes, 8.0);
  options.fp32_values = true;
  EXPECT_EQ(sampled_traits(one.view(), options).value_bytes, 4.0);
}

}  // namespace
}  // namespace tessera
