// Rows of C with a value and a flag a column on a GPU, against the host's product to the last bit.
#include "spgemm/cuda/accumulators/accumulators.hpp"
#include "tests/spgemm/warp_accumulator_cases.hpp"

namespace tessera {
namespace {

struct Dense {
  template <class V>
  static void enqueue(const cuda::Context& context, cuda::Phase phase, const cuda::Factors<V>& factors,
                      const cuda::RowBatch& batch, const cuda::RowOutput<V>& out) {
    cuda::enqueue_dense<V>(context, phase, factors, batch, out);
  }
  static bool serves(const host::RowTask& row, offset_t /*entries*/) { return row.width <= cuda::dense_columns; }
};

class DenseCuda : public testing::CudaTest {
 protected:
  [[nodiscard]] static testing::WarpAccumulatorCases<Dense> cases() {
    return testing::WarpAccumulatorCases<Dense>(gpu());
  }
};

TEST_F(DenseCuda, AdversarialPairsDouble) { cases().adversarial_pairs<double, double>(); }
TEST_F(DenseCuda, AdversarialPairsFloat) { cases().adversarial_pairs<float, float>(); }
TEST_F(DenseCuda, AdversarialPairsOfPositions) { cases().adversarial_pairs<cuda::NoValue, double>(); }

TEST_F(DenseCuda, MuchAndLittleCompression) {
  cases().compression<double>();
  cases().compression<float>();
}

TEST_F(DenseCuda, ListsOfAllLengths) {
  cases().lists_of_all_lengths<double>();
  cases().lists_of_all_lengths<float>();
}

TEST_F(DenseCuda, Widths) {
  for (const index_t width : {1, 3, 4, 5, 15, 17, 31, 32, 33, 1024, 2047}) cases().widths<double>({width});
  cases().widths<float>({1, 4, 31, 33, 1025, cuda::dense_columns});
}

TEST_F(DenseCuda, SpecialValues) {
  cases().special_values<double>();
  cases().special_values<float>();
}

TEST_F(DenseCuda, EmptyBatches) { cases().empty_batches<double>(); }

}  // namespace
}  // namespace tessera
