/// All-reductions over the blocks of a grid: each block gets the sums of all blocks, with the same bits in every block
/// and every run.
#include "core/cuda/context.hpp"
#include "tests/solvers/grid_reductions.hpp"
#include "tests/solvers/systems.hpp"
#include "tests/support/cuda_test.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tessera::testing {
namespace {

class GridReductionOnGpu : public CudaTest {
 protected:
  void SetUp() override {
    CudaTest::SetUp();
    if (!cuda::Context::of(gpu()).limits().launches_cooperative_grids) GTEST_SKIP() << "no cooperative launches";
  }
};

[[nodiscard]] std::vector<GridReductions> shapes(const Device& gpu) {
  const int multiprocessors = cuda::Context::of(gpu).limits().multiprocessors;
  std::vector<GridReductions> all;
  for (int sums = 1; sums <= 4; ++sums) {
    for (const int threads : {256, 384}) {
      // The most of them: more blocks than polling threads load words of at once.
      for (const int blocks : {1, repetitions(multiprocessors * 3 / 2, 3)}) {
        all.push_back({blocks, threads, sums, repetitions(20, 3), 1000});
      }
    }
  }
  all.push_back({33, 256, 4, 2, 1000});  // a word for each polling thread of an emulated GPU, too
  return all;
}

[[nodiscard]] std::size_t values_of(const GridReductions& shape) {
  return static_cast<std::size_t>(shape.rounds) * static_cast<std::size_t>(shape.sums) *
         static_cast<std::size_t>(shape.blocks) * static_cast<std::size_t>(shape.threads);
}

TEST_F(GridReductionOnGpu, EveryBlockGetsTheSumsOfAll) {
  for (const GridReductions& shape : shapes(gpu())) {
    SCOPED_TRACE(std::to_string(shape.blocks) + " blocks of " + std::to_string(shape.threads) + ", " +
                 std::to_string(shape.sums) + " sums");
    // Whole numbers, so that no order of adding rounds.
    std::vector<double> own(values_of(shape));
    for (std::size_t i = 0; i < own.size(); ++i) own[i] = static_cast<double>(i * 7919 % 1009) - 400.0;
    const ReducedSums found = run_reductions(gpu(), shape, own);
    const auto of_sum = static_cast<std::size_t>(shape.blocks) * static_cast<std::size_t>(shape.threads);
    std::size_t at = 0;
    for (int round = 0; round < shape.rounds; ++round) {
      for (int block = 0; block < shape.blocks; ++block) {
        for (int k = 0; k < shape.sums; ++k) {
          const double* const first = own.data() + static_cast<std::size_t>(round * shape.sums + k) * of_sum;
          double expected = 0.0;
          for (std::size_t i = 0; i < of_sum; ++i) expected += first[i];
          ASSERT_EQ(found.sums[at++], expected) << "round " << round << ", block " << block << ", sum " << k;
        }
      }
    }
  }
}

TEST_F(GridReductionOnGpu, BitsAreThoseOfEveryBlockAndRun) {
  for (const GridReductions& shape : shapes(gpu())) {
    const std::vector<double> own = random_values<double>(values_of(shape), 11);
    const ReducedSums one = run_reductions(gpu(), shape, own);
    EXPECT_EQ(one.sums, run_reductions(gpu(), shape, own).sums);
    const auto sums = static_cast<std::size_t>(shape.sums);
    const auto of_round = static_cast<std::size_t>(shape.blocks) * sums;
    for (std::size_t i = 0; i < one.sums.size(); ++i) {
      ASSERT_EQ(one.sums[i], one.sums[i / of_round * of_round + i % sums]) << i;
    }
  }
}

/// The threads that do not poll are each called once per reduction, with shares of half the block.
TEST_F(GridReductionOnGpu, OtherThreadsWorkMeanwhile) {
  const GridReductions shape{3, 384, 2, 4, 0};
  const ReducedSums found = run_reductions(gpu(), shape, std::vector<double>(values_of(shape), 1.0));
  for (std::size_t i = 0; i < found.shares.size(); ++i) {
    EXPECT_EQ(found.shares[i], i % 384 < 192 ? shape.rounds : 0) << i;
  }
}

}  // namespace
}  // namespace tessera::testing
