// Rows of C by bitmap and rank on a GPU, against the host's product to the last bit.
#include "spgemm/cuda/accumulators/accumulators.hpp"
#include "tests/spgemm/warp_accumulator_cases.hpp"

#include <algorithm>

namespace tessera {
namespace {

struct BitmapAccumulator {
  template <class V>
  static void enqueue(const cuda::Context& context, cuda::Phase phase, const cuda::Factors<V>& factors,
                      const cuda::RowBatch& batch, const cuda::RowOutput<V>& out) {
    cuda::enqueue_bitmap<V>(context, phase, factors, batch, out);
  }
  /// Together within the shared memory of a block.
  static constexpr index_t most_columns = 150'000;
  static bool serves(const host::RowTask& row, offset_t /*entries*/) {
    const std::int64_t bytes = testing::tuning_of_gpu().block_bytes - cuda::bitmap_warp_bytes(most_columns, 0, 8);
    return row.width <= most_columns && row.limit <= std::min<std::int64_t>(15'000, bytes / 12 - 1);
  }
};

class BitmapCuda : public testing::CudaTest {
 protected:
  [[nodiscard]] static testing::WarpAccumulatorCases<BitmapAccumulator> cases() {
    return testing::WarpAccumulatorCases<BitmapAccumulator>(gpu());
  }
};

TEST_F(BitmapCuda, AdversarialPairsDouble) { cases().adversarial_pairs<double, double>(); }
TEST_F(BitmapCuda, AdversarialPairsFloat) { cases().adversarial_pairs<float, float>(); }
TEST_F(BitmapCuda, AdversarialPairsOfPositions) { cases().adversarial_pairs<cuda::NoValue, double>(); }

TEST_F(BitmapCuda, MuchAndLittleCompression) {
  cases().compression<double>();
  cases().compression<float>();
}

TEST_F(BitmapCuda, ListsOfAllLengths) {
  cases().lists_of_all_lengths<double>();
  cases().lists_of_all_lengths<float>();
}

TEST_F(BitmapCuda, WidthsAroundWords) {
  for (const index_t width : {1, 31, 32, 33, 1023, 1024, 1025, 1057}) cases().widths<double>({width});
  cases().widths<float>({1, 2, 31, 32, 33, 64, 1024, 2047});
  cases().widths<double>({1, 40'000});
}

TEST_F(BitmapCuda, SpecialValues) {
  cases().special_values<double>();
  cases().special_values<float>();
}

TEST_F(BitmapCuda, EmptyBatches) { cases().empty_batches<double>(); }

template <class V>
void check_estimates(const Device& gpu) {
  const auto a =
      testing::with_row_lengths<double>({1, 0, 9, 2, 30, 4, 4, 0, 12, 60, 3, 1, 5}, 60, ValueStorage::weighted, 11);
  const auto b = testing::with_row_lengths<double>(testing::lengths_of(60, 10), 400, ValueStorage::weighted, 12);
  testing::AccumulatorCheck<V, double> check(gpu, a, b);
  check.run(BitmapAccumulator::enqueue<V>, BitmapAccumulator::serves);
  for (const index_t estimate : {0, 1, 10, 19, 20, 39, 40, 100, 399}) {
    SCOPED_TRACE("estimate of " + std::to_string(estimate));
    check.run_allocating(estimate);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST_F(BitmapCuda, RowsBeyondAnEstimateAreCountedAndWrittenWholeOrNotAtAll) { check_estimates<double>(gpu()); }

TEST_F(BitmapCuda, PositionsNeedNoEstimate) {
  const auto a = testing::with_row_lengths<double>({1, 0, 9, 30}, 60, ValueStorage::weighted, 11);
  const auto b = testing::with_row_lengths<double>(testing::lengths_of(60, 10), 400, ValueStorage::weighted, 12);
  testing::AccumulatorCheck<cuda::NoValue, double> check(gpu(), a, b);
  check.run(
      [](const cuda::Context& context, cuda::Phase phase, const cuda::Factors<cuda::NoValue>& factors,
         const cuda::RowBatch& batch, const cuda::RowOutput<cuda::NoValue>& out) {
        cuda::RowBatch unknown = batch;
        unknown.most_entries = 0;
        cuda::enqueue_bitmap<cuda::NoValue>(context, phase, factors, unknown, out);
      },
      BitmapAccumulator::serves);
}

}  // namespace
}  // namespace tessera
