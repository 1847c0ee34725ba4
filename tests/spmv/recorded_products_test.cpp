// Predicted times against the products that bench/results has times of, on an H200.
#include "spmv/prediction/device_figures.hpp"
#include "tests/spmv/recorded_traits.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace tessera {

using namespace detail;
namespace {

using testing::RecordedKernel;
using testing::RecordedMatrix;

const std::vector<RecordedMatrix>& recorded() {
  static const std::vector<RecordedMatrix> matrices = testing::recorded_matrices(TESSERA_BENCH_RESULTS_DIR, 1'000'000);
  return matrices;
}

/// Position of a kernel among those measured, by predicted time; the first is 1.
std::size_t rank_of(const RecordedMatrix& matrix, SpmvAlgorithm algorithm, const ProductTraits& traits,
                    const DeviceFigures& figures) {
  const double own = predict_product(algorithm, traits, figures)->ms;
  std::size_t rank = 1;
  for (const RecordedKernel& kernel : matrix.kernels) {
    const auto predicted = predict_product(kernel.algorithm, traits, figures);
    if (predicted && predicted->ms < own) ++rank;
  }
  return rank;
}

DeviceFigures h200() {
  GpuAttributes gpu;
  gpu.name = "NVIDIA H200";
  gpu.multiprocessors = 132;
  gpu.l2_bytes = 60'000'000;
  return figures_of(gpu);
}

TEST(RecordedProducts, TheBestKernelIsPredictedFirstOrSecond) {
  ASSERT_EQ(recorded().size(), 150U);
  std::size_t first = 0;
  for (const RecordedMatrix& matrix : recorded()) {
    const SpmvAlgorithm best = matrix.best().algorithm;
    ASSERT_TRUE(predict_product(best, matrix.promised, h200())) << matrix.name;
    const std::size_t rank = rank_of(matrix, best, matrix.promised, h200());
    first += rank == 1 ? 1 : 0;
    EXPECT_LE(rank, 2U) << matrix.name << ": " << to_string(best);
    EXPECT_LE(rank_of(matrix, best, matrix.planned, h200()), 2U) << matrix.name << ": " << to_string(best);
  }
  EXPECT_GE(first, 125U);
}

/// The best one could be left out of a measured choice that stops at twice the least prediction.
TEST(RecordedProducts, TheBestKernelIsPredictedNearTheLeast) {
  for (const RecordedMatrix& matrix : recorded()) {
    double least = std::numeric_limits<double>::infinity();
    for (const RecordedKernel& kernel : matrix.kernels) {
      if (const auto predicted = predict_product(kernel.algorithm, matrix.promised, h200())) {
        least = std::min(least, predicted->ms);
      }
    }
    EXPECT_LE(predict_product(matrix.best().algorithm, matrix.promised, h200())->ms, 1.25 * least) << matrix.name;
  }
}

/// Errors with the bytes that plans have, ascending. All below `most`. \param slowest kernels, over the best one
std::vector<double> errors_below(double most, const std::vector<RecordedMatrix>& matrices, double slowest) {
  std::vector<double> errors;
  for (const RecordedMatrix& matrix : matrices) {
    for (const RecordedKernel& kernel : matrix.kernels) {
      const auto predicted = predict_product(kernel.algorithm, matrix.planned, h200());
      if (!predicted || kernel.ms > slowest * matrix.best().ms) continue;
      errors.push_back(std::abs(predicted->ms / kernel.ms - 1.0));
      EXPECT_LT(errors.back(), most) << matrix.name << ": " << to_string(kernel.algorithm);
    }
  }
  std::sort(errors.begin(), errors.end());
  return errors;
}

TEST(RecordedProducts, ErrorsAreBounded) {
  const std::vector<double> errors = errors_below(0.5, recorded(), std::numeric_limits<double>::infinity());
  ASSERT_EQ(errors.size(), 695U);
  EXPECT_LT(errors[errors.size() / 2], 0.06);
  EXPECT_LT(errors[errors.size() * 9 / 10], 0.2);
}

/// Of today's kernels, all of them on the same matrices, with the traits of that day.
const std::vector<RecordedMatrix>& with_traits() {
  static const std::vector<RecordedMatrix> matrices = testing::matrices_with_traits(TESSERA_BENCH_RESULTS_DIR);
  return matrices;
}

TEST(RecordedTraits, TheBestKernelIsPredictedFirstOrSecond) {
  ASSERT_EQ(with_traits().size(), 92U);
  std::size_t first = 0;
  for (const RecordedMatrix& matrix : with_traits()) {
    ASSERT_GE(matrix.promised.nnz, 1'000'000) << matrix.name;
    const SpmvAlgorithm best = matrix.best().algorithm;
    for (const ProductTraits& traits : {matrix.promised, matrix.planned}) {
      ASSERT_TRUE(predict_product(best, traits, h200())) << matrix.name << ": " << to_string(best);
      const std::size_t rank = rank_of(matrix, best, traits, h200());
      first += rank == 1 ? 1 : 0;
      EXPECT_LE(rank, 2U) << matrix.name << ": " << to_string(best);
    }
  }
  EXPECT_GE(first, 138U) << "of twice as many";
}

/// A measured choice leaves out what is predicted to take twice the least.
TEST(RecordedTraits, TheBestKernelIsNotLeftOut) {
  for (const RecordedMatrix& matrix : with_traits()) {
    const double best = predict_product(matrix.best().algorithm, matrix.promised, h200())->ms;
    for (const RecordedKernel& kernel : matrix.kernels) {
      const auto predicted = predict_product(kernel.algorithm, matrix.promised, h200());
      if (!predicted) continue;
      EXPECT_LT(best, 2.0 * predicted->ms) << matrix.name << ": " << to_string(kernel.algorithm);
    }
  }
}

TEST(RecordedTraits, ErrorsOfFastKernelsAreBounded) {
  const std::vector<double> errors = errors_below(0.7, with_traits(), 2.0);
  ASSERT_EQ(errors.size(), 399U);
  EXPECT_LT(errors[errors.size() / 2], 0.08);
  EXPECT_LT(errors[errors.size() * 9 / 10], 0.29);
}

/// Of real matrices, whose times are those of launches and chains of loads.
TEST(RecordedProducts, SmallOnesTakeMicroseconds) {
  for (const SpmvAlgorithm algorithm : {SpmvAlgorithm::csr_vector, SpmvAlgorithm::merbit, SpmvAlgorithm::vendor_csr}) {
    ProductTraits tiny;  // 1138_bus: 3.7, 3.9 and 7.6 us
    tiny.rows = 1138;
    tiny.cols = 1138;
    tiny.nnz = 4054;
    tiny.value_bytes = 8.0;
    const double ms = predict_product(algorithm, tiny, h200())->ms;
    EXPECT_GT(ms, 0.002) << to_string(algorithm);
    EXPECT_LT(ms, 0.010) << to_string(algorithm);
  }
}

}  // namespace
}  // namespace tessera
