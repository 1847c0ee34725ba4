// Rows of C by bitmap and rank on a GPU, against the host's product to the last bit.
#include "spgemm/cuda/accumulators/accumulators.hpp"
#include "tests/spgemm/warp_accumulator_cases.hpp"

#include <algorithm>

namespace tessera {
namespace {

struct Window {
  template <class V>
  static void enqueue(const cuda::Context& context, cuda::RowPass pass, const cuda::Factors<V>& factors,
                      const cuda::RowBatch& batch, const cuda::RowOutput<V>& out) {
    cuda::enqueue_window<V>(context, pass, factors, batch, out);
  }
  /// Together within the shared memory of a block.
  static constexpr index_t most_columns = 150'000;
  static bool serves(const host::RowTask& row, offset_t /*entries*/) {
    const std::int64_t bytes = testing::tuning_of_gpu().block_bytes - cuda::window_bytes(most_columns, 0, 8);
    return row.width <= most_columns && row.limit <= std::min<std::int64_t>(15'000, bytes / 12 - 1);
  }
};

class WindowCuda : public testing::CudaTest {
 protected:
  [[nodiscard]] static testing::WarpAccumulatorCases<Window> cases() {
    return testing::WarpAccumulatorCases<Window>(gpu());
  }
};

TEST_F(WindowCuda, AdversarialPairsDouble) { cases().adversarial_pairs<double, double>(); }
TEST_F(WindowCuda, AdversarialPairsFloat) { cases().adversarial_pairs<float, float>(); }
TEST_F(WindowCuda, AdversarialPairsOfPositions) { cases().adversarial_pairs<cuda::NoValue, double>(); }

TEST_F(WindowCuda, MuchAndLittleCompression) {
  cases().compression<double>();
  cases().compression<float>();
}

TEST_F(WindowCuda, ListsOfAllLengths) {
  cases().lists_of_all_lengths<double>();
  cases().lists_of_all_lengths<float>();
}

TEST_F(WindowCuda, WidthsAroundWords) {
  for (const index_t width : {1, 31, 32, 33, 1023, 1024, 1025, 1057}) cases().widths<double>({width});
  cases().widths<float>({1, 2, 31, 32, 33, 64, 1024, 2047});
  cases().widths<double>({1, 40'000});
}

TEST_F(WindowCuda, SpecialValues) {
  cases().special_values<double>();
  cases().special_values<float>();
}

TEST_F(WindowCuda, EmptyBatches) { cases().empty_batches<double>(); }

template <class V>
void check_estimates(const Device& gpu) {
  const auto a =
      testing::with_row_lengths<double>({1, 0, 9, 2, 30, 4, 4, 0, 12, 60, 3, 1, 5}, 60, ValueStorage::weighted, 11);
  const auto b = testing::with_row_lengths<double>(testing::lengths_of(60, 10), 400, ValueStorage::weighted, 12);
  testing::AccumulatorCheck<V, double> check(gpu, a, b);
  check.run(Window::enqueue<V>, Window::serves);
  for (const index_t estimate : {0, 1, 10, 19, 20, 39, 40, 100, 399}) {
    SCOPED_TRACE("estimate of " + std::to_string(estimate));
    check.run_claims(estimate);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST_F(WindowCuda, RowsBeyondAnEstimateAreCountedAndWrittenWholeOrNotAtAll) { check_estimates<double>(gpu()); }

TEST_F(WindowCuda, PositionsNeedNoEstimate) {
  const auto a = testing::with_row_lengths<double>({1, 0, 9, 30}, 60, ValueStorage::weighted, 11);
  const auto b = testing::with_row_lengths<double>(testing::lengths_of(60, 10), 400, ValueStorage::weighted, 12);
  testing::AccumulatorCheck<cuda::NoValue, double> check(gpu(), a, b);
  check.run(
      [](const cuda::Context& context, cuda::RowPass pass, const cuda::Factors<cuda::NoValue>& factors,
         const cuda::RowBatch& batch, const cuda::RowOutput<cuda::NoValue>& out) {
        cuda::RowBatch unknown = batch;
        unknown.most_entries = 0;
        cuda::enqueue_window<cuda::NoValue>(context, pass, factors, unknown, out);
      },
      Window::serves);
}

}  // namespace
}  // namespace tessera
